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

/// Checks that a chunk is only accepted with a correct sum, and that sealing makes a valid one.
func chunkViolation(_ bytes: [UInt8]) -> String? {
  guard bytes.count > 16 else { return nil }
  return chunkViolation(bytes, FixedBuffer<UInt8>(capacity: bytes.count))
}

private func chunkViolation(
  _ bytes: [UInt8], _ buffer: borrowing FixedBuffer<UInt8>
) -> String? {
  for index in bytes.indices { buffer[index] = bytes[index] }
  let count = bytes.count - 16
  if let chunk = ReceivedChunk(head: buffer.span(0..<16)), chunk.count <= count,
    chunk.holds(buffer.span(16..<16 + chunk.count)),
    sum(bytes[16..<16 + chunk.count]) != word(bytes)
  {
    return "a chunk of \(chunk.count) bytes with a wrong sum"
  }
  ReceivedChunk.seal(buffer, count: count)
  guard let chunk = ReceivedChunk(head: buffer.span(0..<16)), chunk.count == count,
    chunk.holds(buffer.span(16..<bytes.count))
  else { return "a sealed chunk is invalid" }
  return nil
}

// MARK: - The list

/// Returns the FNV-1a hash, 64 bits.
private func sum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
  bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
}

private func word(_ bytes: [UInt8]) -> UInt64 {
  bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
}

/// Returns a list as it may be on a disk, usually with a correct sum.
///
/// The text's first seven bytes decide what the list's end says and how often the rest is repeated.
private func list(of text: [UInt8]) -> [UInt8] {
  guard text.count > 7 else { return text }
  let head = text.prefix(7).map { Int($0) }
  let rest = text.dropFirst(7)
  var list: [UInt8] = []
  for _ in 0...head[0] % 8 { list += rest }
  let records = head[1] < 192 ? max(list.count / 40 - head[2] % 4, 0) : head[2]
  let others = head[3] < 192 ? max(list.count - 40 * records, 0) : head[4]
  list += [0x54, 0x50, 0x53, 0x32]
  for number in [records, others] {
    list += [0, UInt8(number >> 16), UInt8(number >> 8 & 255), UInt8(number & 255)]
  }
  let value = sum(list[...])
  for place in 0..<8 { list.append(UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64(place)))) }
  if head[5] == 255 { list[head[6] * list.count / 256] ^= 1 }
  return list
}

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
  for start in stride(from: 0, to: bytes.count - 32, by: 40 * 17) {
    tokens.append(Array(bytes[start..<start + 32]))
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
  medium.end = bytes.count
  var count = 0
  while lists.next() != nil { count += 1 }
  return count > bytes.count / 40 ? "\(count) records in \(bytes.count) bytes" : nil
}
