import Testing
import TinyPush
import TinyPushWebhooks

private let secret = "0123456789abcdef"

/// Returns the number of the first wrong line of a file with tokens.
private func wrongLine(_ file: String, _ tokens: inout BearerTokens) -> Int? {
  tokens.read(Array(file.utf8).span)
}

@Test(arguments: [
  ("Bearer \(secret)", true), ("bearer \(secret)", true), ("BEARER \(secret)", true),
  ("Bearer \(secret)0", false), ("Bearer 0123456789abcde", false), ("Bearer ", false),
  ("Bearer", false), ("Basic \(secret)", false), ("", false), (secret, false),
  ("Bearer 0123456789abcdeg", false), ("Bearer \(secret)\(secret)", false),
  ("Bearer  \(secret)", false), ("Bearer \(secret)\n", false), ("Bearer # of the boiler", false),
  ("Bearer fedcba9876543210", true), ("Bearer \n", false),
])
func `only a whole token is accepted`(header: String, matches: Bool) {
  var tokens = BearerTokens()
  let line = wrongLine("# of the boiler\n\(secret)\r\n\n  fedcba9876543210  ", &tokens)
  let found = tokens.matches(Array(header.utf8).span)
  #expect(line == nil)
  #expect(found == matches)
}

@Test(arguments: [
  (secret, nil), ("short", 1), ("\(secret)\n# x\n\n0123456789 abcdef\n", 4), ("0123456789abcdé", 1),
  ("AbCdEfGhIjKlMnO", nil), ("AbCdEfGhIjKlMn", 1),
  (String(repeating: "a", count: 256), nil), (String(repeating: "a", count: 257), 1),
])
func `a token is visible ASCII of a sensible length`(file: String, line: Int?) {
  var tokens = BearerTokens()
  let found = wrongLine(file, &tokens)
  #expect(found == line)
}

@Test(arguments: ["", "\n", "# 0123456789abcdef\n"])
func `a file without tokens matches nothing`(file: String) {
  var tokens = BearerTokens()
  let line = wrongLine(file, &tokens)
  let isEmpty = tokens.isEmpty
  let found = tokens.matches(Array("Bearer x".utf8).span)
  #expect(line == nil)
  #expect(isEmpty)
  #expect(!found)
}

@Test(arguments: [(0, 1, 1), (1, 1, 2), (3, 2, 1), (5, 2, 2), (99, 2, 3)])
func `a place is counted in lines and characters`(index: Int, line: Int, column: Int) {
  let text = Array("ab\néd".utf8)
  let place = TextPlace(index, in: text.span)
  #expect(place.line == line)
  #expect(place.column == column)
}
