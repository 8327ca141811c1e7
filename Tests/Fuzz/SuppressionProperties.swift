import TinyPush
import TinyPushBinary

// MARK: - The feedback service

private struct Tuple: Equatable {
  var timestamp: UInt32
  var token: [UInt8]
}

/// Reads tuples from a stream in pieces with these ends; nil if the reader breaks its rules.
///
/// Returns the tuples, and whether the stream ends within one.
private func tuples(_ stream: [UInt8], ends: [Int]) -> (found: [Tuple], isCut: Bool)? {
  var reader = FeedbackReader()
  var found: [Tuple] = []
  var given = 0
  for end in ends {
    let piece = Array(stream[given..<end])
    given = end
    var place = 0
    while reader.next(in: piece.span, at: &place) {
      let token = reader.token
      found.append(Tuple(timestamp: reader.timestamp, token: token.indices.map { token[$0] }))
      guard found.count <= stream.count, place <= piece.count else { return nil }
    }
    guard place == piece.count else { return nil }
  }
  return (found, reader.isCut)
}

/// Checks that the way a stream is cut into pieces does not change its tuples.
func feedbackViolation(_ stream: [UInt8], cut: Int) -> String? {
  var whole: [Tuple]?
  for ends in pieces(of: stream.count, cut: cut) {
    guard let (found, isCut) = tuples(stream, ends: ends) else {
      return "the reader breaks its rules at \(ends)"
    }
    if let whole, whole != found { return "\(whole), but \(found) at \(ends)" }
    whole = found
    let taken = found.reduce(0) { $0 + 6 + $1.token.count }
    if taken > stream.count || isCut != (taken < stream.count) {
      return "\(taken) bytes of \(stream.count), and it is \(isCut ? "" : "not ")cut"
    }
  }
  return nil
}

// MARK: - The list

/// Returns a list as it may be on a disk: the text, or lines of tokens that its bytes choose.
///
/// The text's first byte decides between both; then four bytes a line decide the token's first
/// digits, the time and the reason. Some bytes leave something else in a line's place.
private func list(of text: [UInt8]) -> [UInt8] {
  guard let first = text.first, first & 1 == 0 else { return Array(text.dropFirst()) }
  let words = [
    " feedback\n", " invalid token\n", " by hand\n", " gone\n", " registered\n", "", " x\n",
  ]
  var list: [UInt8] = []
  var high = 0
  for start in stride(from: 1, to: text.count - 3, by: 4) {
    let part = text[start..<start + 4].map { Int($0) }
    high += part[0] == 255 ? -7 : part[0]
    for shift in stride(from: 12, through: 0, by: -4) { list.append(digit(high >> shift)) }
    list += [UInt8](repeating: digit(part[1]), count: part[1] == 255 ? 40 : 60)
    list += Array(" \(part[2])".utf8)
    list += Array(words[part[3] % words.count].utf8)
  }
  return list
}

private func digit(_ number: Int) -> UInt8 { Array("0123456789abcdef".utf8)[number & 15] }

/// Bytes on a disk, whose end may become unreadable.
private final class Medium {
  let bytes: [UInt8]
  var end: Int

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    end = bytes.count
  }

  deinit {}

  func list() -> SuppressionList {
    SuppressionList(size: Int64(bytes.count)) { room, place in
      let count = max(min(room.count, self.end - Int(place)), 0)
      for index in 0..<count { room[index] = self.bytes[Int(place) + index] }
      return count
    }
  }
}

/// Checks that any list gives only the token that was looked up, the same each time, and can be
/// read to its end.
func listViolation(_ text: [UInt8]) -> String? {
  let bytes = list(of: text)
  let medium = Medium(bytes)
  var lists = SuppressionLists()
  lists.list = medium.list()
  var tokens = [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 255, count: 32)]
  var listed: [SuppressionRecord] = []
  while let record = lists.next() {
    if let last = listed.last, !(last.token < record.token) { return "the records are not sorted" }
    listed.append(record)
    tokens.append((0..<32).map { record.token.bytes[$0] })
  }
  guard lists.list.count == listed.count else {
    return "\(lists.list.count) records are counted, and \(listed.count) read"
  }
  for record in listed {
    guard let found = lists.find(record.token), found.time == record.time else {
      return "a record in the list is not found"
    }
  }
  var found: [UInt32?] = []
  for round in 0..<3 {
    if round == 2 { medium.end = bytes.count / 2 }
    for (index, bytes) in tokens.enumerated() {
      let token = TokenIdentity(of: bytes.span)
      let wasDamaged = lists.isDamaged
      let record = lists.find(token)
      if let record, record.token != token { return "the lookup of \(bytes) finds another token" }
      if wasDamaged, !lists.isDamaged { return "a damaged list becomes undamaged" }
      if round == 0 {
        found.append(record?.time)
      } else if round == 1, found[index] != record?.time {
        return "\(bytes) has the time \(found[index] ?? 0), and then \(record?.time ?? 0)"
      }
    }
  }
  return listed.count > bytes.count / 70 ? "\(listed.count) records in \(bytes.count) bytes" : nil
}
