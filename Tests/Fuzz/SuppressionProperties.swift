import TinyPush

// MARK: - What the feedback service sends

private struct Tuple: Equatable {
  var timestamp: UInt32
  var token: [UInt8]
}

/// The tuples of a stream that comes in pieces with these ends, and whether it ends within one; nil when the reader goes astray.
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

func feedbackViolation(_ stream: [UInt8], cut: Int) -> String? {
  var whole: [Tuple]?
  for ends in pieces(of: stream.count, cut: cut) {
    guard let (found, isCut) = tuples(stream, ends: ends) else {
      return "the reader goes astray at \(ends)"
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

/// Whatever is taken for a chunk has its sum.
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
  else { return "a chunk that is sealed is none" }
  return nil
}

// MARK: - The list

private let pageBytes = 4096

/// FNV-1a, 64 bits.
private func sum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
  bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
}

private func word(_ bytes: [UInt8]) -> UInt64 {
  bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
}

/// Pages of a list, the sum of most of them right. Of each the first ten bytes of the text say what is in its head, and all of
/// the rest what it holds.
private func pages(of text: [UInt8]) -> [UInt8] {
  let count = Int(text.first ?? 0) % 7
  let heads = text.dropFirst().prefix(10 * count)
  let rest = Array(text.dropFirst(1 + heads.count))
  var list: [UInt8] = []
  for index in 0..<count where heads.count >= 10 * (index + 1) {
    let head = Array(heads.dropFirst(10 * index).prefix(10))
    var page = [UInt8](repeating: 0, count: pageBytes)
    page.replaceSubrange(8..<12, with: [0x54, 0x50, 0x4C, 0x31])
    page.replaceSubrange(
      12..<16, with: head[0] < 128 ? [0, 0, 0, UInt8(index)] : Array(head[0..<4]))
    page[19] = head[4]
    page.replaceSubrange(20..<24, with: [head[5], 0, 0, head[6]])
    page.replaceSubrange(24..<28, with: [0, head[7], head[8], head[9]])
    if !rest.isEmpty {
      for place in 32..<pageBytes { page[place] = rest[(place - 32 + 40 * index) % rest.count] }
    }
    let value = sum(page[8...])
    for place in 0..<8 {
      page[place] = UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64(place)))
    }
    if head[0] == 255 { page[Int(head[1]) * 16] ^= 1 }
    list += page
  }
  // A part of a page may stand at the end.
  return list + rest.prefix(rest.count % 3 == 0 ? rest.count : 0)
}

/// Whatever a list is made of, a token is looked up in it and only that one is found, each time.
func listViolation(_ text: [UInt8]) -> String? {
  let bytes = pages(of: text)
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 1, alignment: 8)
  defer { memory.deallocate() }
  memory.copyBytes(from: bytes)
  var list = SuppressionList(UnsafeRawBufferPointer(rebasing: memory[..<bytes.count]))
  var tokens = [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 255, count: 32)]
  for start in stride(from: 32, to: bytes.count - 32, by: 40 * 17) {
    tokens.append(Array(bytes[start..<start + 32]))
  }
  var found: [UInt32?] = []
  for round in 0..<3 {
    // In the last one the file has been cut short under the reader's hands.
    if round == 2 { for place in bytes.count / 2..<bytes.count { memory[place] = 0 } }
    for (index, bytes) in tokens.enumerated() {
      let token = DeviceToken(bytes: bytes.span)!
      let wasDamaged = list.isDamaged
      let record = list.find(token)
      if let record, record.token != token { return "another token than \(bytes) is found" }
      if wasDamaged, !list.isDamaged { return "what was damaged is not any more" }
      if round == 0 {
        found.append(record?.time)
      } else if round == 1, found[index] != record?.time {
        return "\(bytes) is of \(found[index] ?? 0), and then of \(record?.time ?? 0)"
      }
    }
  }
  return nil
}
