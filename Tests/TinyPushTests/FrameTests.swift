import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

/// Golden frames: 6553f100 is 1700000000; `{"aps":{"alert":"Hi"}}` has 22 (hex 16) bytes.
private enum Golden {
  static let token = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
  static let payload = "7b22617073223a7b22616c657274223a224869227d7d"
  static let frames: [(FrameFormat, String)] = [
    (
      .items,
      "02 0000004e" + "03 0004 00000102" + "01 0020 \(token)" + "02 0016 \(payload)"
        + "04 0004 6553f100" + "05 0001 0a"
    ),
    (.enhanced, "01 00000102 6553f100 0020 \(token) 0016 \(payload)"),
    (.simple, "00 0020 \(token) 0016 \(payload)"),
  ]
}

/// Returns the bytes of a frame that is written at `start` into a buffer.
private func frame(
  _ format: FrameFormat, identifier: UInt32 = 0x102, expiration: UInt32 = 1_700_000_000,
  priority: UInt8 = 10, payload: String, payloadBytes: Int, start: Int = 0
) -> [UInt8] {
  let buffer = FixedBuffer<UInt8>(capacity: 8192)
  let end = Frame(identifier: identifier, expiration: expiration, priority: priority).write(
    format, token: [UInt8](hex: Golden.token).span, payload: payload.bytes.span,
    payloadBytes: payloadBytes, to: buffer, at: start)
  return [UInt8](buffer.span(start..<end))
}

@Test(arguments: Golden.frames)
func `a frame is written byte for byte as the protocol specifies`(
  format: FrameFormat, hex: String
) {
  let bytes = frame(format, payload: #"{"aps":{"alert":"Hi"}}"#, payloadBytes: 22)
  #expect(bytes.hex == [UInt8](hex: hex).hex)
  #expect(Frame.byteCount(format, payloadBytes: 22) == bytes.count)
}

@Test(arguments: Golden.frames)
func `white space of the payload is left out, at any position in the buffer`(
  format: FrameFormat, hex: String
) {
  let spaced = " { \"aps\" :\t{\r\n  \"alert\" : \"Hi\" }\n}"
  let bytes = frame(format, payload: spaced, payloadBytes: 22, start: 77)
  #expect(bytes.hex == [UInt8](hex: hex).hex)
}

@Test(arguments: [
  (#"{"a" : "b c"}"#, #"{"a":"b c"}"#),
  (#"{"a" : "\" : "}"#, #"{"a":"\" : "}"#),
  (#"{"a\\" : "\\" , "b":[ 1 , 2 ]}"#, #"{"a\\":"\\","b":[1,2]}"#),
  (#"{ "ü" : "  \\\" " }"#, #"{"ü":"  \\\" "}"#),
  ("{\n}", "{}"),
])
func `white space inside strings is kept`(text: String, compact: String) {
  let bytes = frame(.simple, payload: text, payloadBytes: compact.utf8.count)
  #expect(String(decoding: bytes[37...], as: UTF8.self) == compact)
}

@Test(arguments: [0, 1, 255, 256, 2048, 4096], [FrameFormat.items, .enhanced, .simple])
func `byteCount agrees with the bytes written`(payloadBytes: Int, format: FrameFormat) {
  let payload = String(repeating: "x", count: payloadBytes)
  let bytes = frame(format, payload: payload, payloadBytes: payloadBytes)
  #expect(bytes.count == Frame.byteCount(format, payloadBytes: payloadBytes))
}

@Test(arguments: [
  (UInt32.max, UInt32.max, UInt8(5), "03 0004 ffffffff", "04 0004 ffffffff 05 0001 05"),
  (1, 0, 10, "03 0004 00000001", "04 0004 00000000 05 0001 0a"),
])
func `identifier, expiration and priority cover their whole range`(
  identifier: UInt32, expiration: UInt32, priority: UInt8, head: String, tail: String
) {
  let bytes = frame(
    .items, identifier: identifier, expiration: expiration, priority: priority, payload: "{}",
    payloadBytes: 2)
  #expect(Array(bytes[5..<12]).hex == [UInt8](hex: head).hex)
  #expect(Array(bytes.suffix(11)).hex == [UInt8](hex: tail).hex)
}

@Test(arguments: [
  (
    FrameFormat.items,
    "02 00000023  03 0004 00000009  01 0001 00  02 000a 7b22617073223a7b7d7d  04 0004 00000000"
      + "05 0001 05"
  ),
  (.enhanced, "01 00000009 00000000 0001 00 000a 7b22617073223a7b7d7d"),
])
func `a barrier has its identifier before the token at which a gateway stops reading`(
  format: FrameFormat, hex: String
) {
  let buffer = FixedBuffer<UInt8>(capacity: 100)
  let count = Frame.writeRefusable(format, identifier: 9, to: buffer)
  #expect([UInt8](buffer.span(0..<count)).hex == [UInt8](hex: hex).hex)
}
