import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary
@testable import TinyPushSandbox

/// A golden frame of each command, with the token 00 01 … 1F, identifier 7 and payload `{}`.
private enum Golden {
  static let token = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
  static let items =
    "02 0000003a" + "01 0020 \(token)" + "02 0002 7b7d" + "03 0004 00000007" + "04 0004 65432100"
    + "05 0001 0a"
  static let enhanced = "01 00000007 65432100 0020 \(token) 0002 7b7d"
  static let simple = "00 0020 \(token) 0002 7b7d"
}

/// Decodes a text of hexadecimal digits; white space is ignored.
private func bytes(_ hex: String) -> [UInt8] {
  let digits = hex.utf8.filter { $0 > 0x20 }.map { digit in
    digit < 0x3A ? digit - 0x30 : (digit | 0x20) - 0x57
  }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// The frames of a stream, each in words, and the problem that ended it.
private struct Reading: Equatable {
  var frames: [String] = []
  var problem: FrameProblem?
  var heldBytes = 0
}

/// Feeds a stream to a reader in pieces of `size` bytes.
private func read(_ stream: [UInt8], inPiecesOf size: Int, limit: Int? = nil) -> Reading {
  var reader = FrameReader(frameBytesMax: limit ?? FrameReader.frameBytesMax)
  var reading = Reading()
  var index = 0
  do throws(FrameProblem) {
    while index < stream.count {
      let end = min(index + size, stream.count)
      index += stream[index..<end].withUnsafeBufferPointer {
        reader.append(Span(_unsafeElements: $0))
      }
      while let frame = try reader.next() { reading.frames.append(line(frame, of: reader)) }
    }
  } catch {
    reading.problem = error
  }
  if reading.problem == nil { reading.heldBytes = reader.heldBytes }
  return reading
}

private func line(_ frame: ReceivedFrame, of reader: borrowing FrameReader) -> String {
  func hex(_ range: Range<Int>?) -> String {
    guard let range else { return "none" }
    let span = reader.bytes(range)
    var text = ""
    for index in span.indices {
      text += (span[index] < 16 ? "0" : "") + String(span[index], radix: 16)
    }
    return text
  }
  func number<Number: FixedWidthInteger>(_ value: Number?) -> String {
    value.map { "\($0)" } ?? "none"
  }
  return "\(frame.format.rawValue) id \(number(frame.identifier)) until \(number(frame.expiration))"
    + " priority \(number(frame.priority)) token \(hex(frame.token)) payload \(hex(frame.payload))"
}

@Test(arguments: [
  (Golden.items, "2 id 7 until 1698898176 priority 10 token \(Golden.token) payload 7b7d"),
  (Golden.enhanced, "1 id 7 until 1698898176 priority none token \(Golden.token) payload 7b7d"),
  (Golden.simple, "0 id none until none priority none token \(Golden.token) payload 7b7d"),
  ("02 00000000", "2 id none until none priority none token none payload none"),
  ("02 00000006 020000 010000", "2 id none until none priority none token  payload "),
  ("00 0000 0000", "0 id none until none priority none token  payload "),
  ("00 0003 616263 0001 78", "0 id none until none priority none token 616263 payload 78"),
])
func `a frame is read with all its fields`(hex: String, line: String) {
  #expect(read(bytes(hex), inPiecesOf: 1000) == Reading(frames: [line]))
}

@Test(arguments: [1, 2, 3, 7, 64, 1000])
func `a stream gives the same frames in pieces of any size`(size: Int) {
  let stream = bytes(Golden.items + Golden.simple + Golden.enhanced + Golden.items)
  let reading = read(stream, inPiecesOf: size)
  #expect(reading == read(stream, inPiecesOf: stream.count))
  #expect(reading.frames.count == 4)
  #expect(reading.problem == nil)
}

@Test(arguments: [Golden.items, Golden.enhanced, Golden.simple])
func `an incomplete frame asks for more bytes`(hex: String) {
  let whole = bytes(hex)
  for count in 1..<whole.count {
    let reading = read(Array(whole[..<count]), inPiecesOf: count)
    #expect(reading == Reading(heldBytes: count))
  }
}

@Test(arguments: [
  ("09", FrameProblem.Kind.command(9), Int64(0), UInt32?.none),
  ("ff 00", .command(255), 0, nil),
  ("02 00000004 06 0001 00", .item(6), 5, nil),
  ("02 00000003 00 0000", .item(0), 5, nil),
  ("02 0000000b 03 0004 00000007 ff 0001 00", .item(255), 12, 7),
  ("02 0000000e 03 0004 00000007 03 0004 00000008", .itemTwice(3), 12, 7),
  ("02 00000008 02 0001 78 02 0001 78", .itemTwice(2), 9, nil),
  ("02 00000006 03 0003 000007", .itemSize(3, bytes: 3, wanted: 4), 5, nil),
  ("02 00000003 05 0000", .itemSize(5, bytes: 0, wanted: 1), 5, nil),
  ("02 00000008 04 0005 0000000000", .itemSize(4, bytes: 5, wanted: 4), 5, nil),
  ("02 00000004 01 0020 ff", .itemOverrun(1, bytes: 32, left: 1), 5, nil),
  ("02 00000002 01 00", .itemHead(left: 2), 5, nil),
  ("02 00000008 03 0004 00000007 01", .itemHead(left: 1), 12, 7),
  ("02 ffffffff", .frameSize(bytes: 4_294_967_300, limit: FrameReader.frameBytesMax), 0, nil),
  (
    "01 00000009 00000000 ffff" + String(repeating: "00", count: 65_535) + "ffff",
    .frameSize(bytes: 131_083, limit: FrameReader.frameBytesMax), 0, 9
  ),
])
func `a malformed stream gives a problem with kind, place and identifier`(
  hex: String, kind: FrameProblem.Kind, offset: Int64, identifier: UInt32?
) {
  let problem = FrameProblem(kind: kind, offset: offset, identifier: identifier)
  #expect(read(bytes(hex), inPiecesOf: 1000).problem == problem)
  #expect(read(bytes(hex), inPiecesOf: 1).problem == problem)
}

@Test
func `frames before a problem are read, and its place counts from the stream's start`() {
  let reading = read(bytes(Golden.items + Golden.simple + "07"), inPiecesOf: 1000)
  #expect(reading.frames.count == 2)
  let offset = Int64(bytes(Golden.items + Golden.simple).count)
  #expect(reading.problem == FrameProblem(kind: .command(7), offset: offset, identifier: nil))
}

@Test func `a reader repeats its problem`() {
  var reader = FrameReader()
  let stream = bytes("07" + Golden.items)
  _ = stream.withUnsafeBufferPointer { reader.append(Span(_unsafeElements: $0)) }
  for _ in 0..<2 {
    do throws(FrameProblem) {
      #expect(try reader.next() == nil)
      Issue.record("the problem was forgotten")
    } catch {
      #expect(error.kind == .command(7))
    }
  }
}

@Test func `a frame of the largest size is accepted, and one byte more is refused`() {
  let limit = 100
  let head: [UInt8] = [2, 0, 0, 0, 95, 2, 0, 92]
  let whole = head + [UInt8](repeating: 0x78, count: 92)
  let reading = read(whole + whole, inPiecesOf: 33, limit: limit)
  #expect(reading.frames.count == 2)
  #expect(reading.problem == nil)
  let larger = read([2, 0, 0, 0, 96], inPiecesOf: 5, limit: limit)
  #expect(larger.problem?.kind == .frameSize(bytes: 101, limit: limit))
}

@Test func `the reader always has room for a TLS record`() {
  var reader = FrameReader()
  let head: [UInt8] = [2, 0, 1, 0x07, 0xFB]  // 67,584 bytes in all
  _ = head.withUnsafeBufferPointer { reader.append(Span(_unsafeElements: $0)) }
  let piece = [UInt8](repeating: 0, count: 1000)
  while reader.heldBytes < FrameReader.frameBytesMax - 1000 {
    #expect(reader.makeRoom().count >= FrameReader.roomBytesMin)
    let taken = piece.withUnsafeBufferPointer { reader.append(Span(_unsafeElements: $0)) }
    #expect(taken == piece.count)
  }
  #expect(reader.makeRoom().count >= FrameReader.roomBytesMin)
}

@Test func `a frame that the agent writes is read back`() throws {
  let token = bytes(Golden.token)
  let payload = Array(#"{"aps": {"alert": "Füllstand 12 %"}}"#.utf8)
  let compact = Array(#"{"aps":{"alert":"Füllstand 12 %"}}"#.utf8)
  for (format, head) in [
    (FrameFormat.simple, "0 id none until none priority none"),
    (.enhanced, "1 id 9 until 10 priority none"), (.items, "2 id 9 until 10 priority 5"),
  ] {
    let buffer = FixedBuffer<UInt8>(capacity: 1000)
    let end = Frame(identifier: 9, expiration: 10, priority: 5).write(
      format, token: token.span, payload: payload.span, payloadBytes: compact.count, to: buffer,
      at: 0)
    var stream: [UInt8] = []
    for index in 0..<end { stream.append(buffer[index]) }
    let reading = read(stream, inPiecesOf: 5)
    let text = compact.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(reading.frames.count == 1 && reading.problem == nil && reading.heldBytes == 0)
    #expect(reading.frames.first == "\(head) token \(Golden.token) payload \(text)")
  }
}

@Test(arguments: 1...20)
func `random bytes give the same result in pieces of any size`(seed: UInt64) {
  var state = seed &* 0x9E37_79B9_7F4A_7C15
  func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
  let golden = bytes(Golden.items + Golden.enhanced + Golden.simple)
  for _ in 0..<200 {
    var stream = golden
    for _ in 0...next() % 4 {
      stream[Int(next() % UInt64(stream.count))] = UInt8(truncatingIfNeeded: next())
    }
    let whole = read(stream, inPiecesOf: stream.count)
    #expect(read(stream, inPiecesOf: Int(next() % 9) + 1) == whole, "seed \(seed)")
  }
}
