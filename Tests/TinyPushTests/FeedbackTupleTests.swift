import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

@Test func `a feedback tuple consists of time, size and token`() {
  let token = String(repeating: "0a", count: 31) + "ff"
  let tuple = FeedbackTuple(
    timestamp: 1_700_000_000, token: DeviceToken(hex: token.bytes.span)!)
  let buffer = FixedBuffer<UInt8>(capacity: 50)
  #expect(tuple.write(to: buffer, at: 10) == 48)
  #expect([UInt8](buffer.span(10..<48)).hex == [UInt8](hex: "6553f100 0020 \(token)").hex)
  #expect(tuple.byteCount == 38)
}
