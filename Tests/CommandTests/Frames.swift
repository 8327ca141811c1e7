// The bytes of frames in hex, the form of client.py's arguments.

/// Returns a big-endian number of this many bytes.
func hex(_ number: Int, _ bytes: Int) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: 2 * bytes - digits.count) + digits
}

func hex(_ text: String) -> String {
  text.utf8.map { hex(Int($0), 1) }.joined()
}

private func item(_ number: Int, _ bytes: String) -> String {
  hex(number, 1) + hex(bytes.count / 2, 2) + bytes
}

/// Returns a frame of command 2, without the items that are nil.
func frame(
  token: String? = CommandTests.token(7), payload: String? = #"{"aps":{"alert":"x"}}"#,
  identifier: Int = 9, expiration: Int? = nil, priority: Int? = 10
) -> String {
  let items =
    (token.map { item(1, $0) } ?? "") + (payload.map { item(2, hex($0)) } ?? "")
    + item(3, hex(identifier, 4)) + (expiration.map { item(4, hex($0, 4)) } ?? "")
    + (priority.map { item(5, hex($0, 1)) } ?? "")
  return "02" + hex(items.count / 2, 4) + items
}
