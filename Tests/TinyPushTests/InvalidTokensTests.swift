import Testing

@testable import Simulation
@testable import TinyPush

private func token(_ number: Int) -> DeviceToken {
  var bytes = [UInt8](repeating: 0, count: 32)
  (bytes[0], bytes[31]) = (UInt8(number >> 8), UInt8(number & 255))
  return DeviceToken(bytes: bytes.span)!
}

@Test func `the newest invalid tokens are kept, each once`() {
  var tokens = InvalidTokens()
  func known(_ numbers: Range<Int>) -> Int {
    var count = 0
    for number in numbers where tokens.contains(token(number), registered: 0) { count += 1 }
    return count
  }
  #expect(known(0..<10) == 0)
  for _ in 0..<3 {
    for number in 0..<InvalidTokens.capacity { tokens.insert(token(number), at: 1_700_000_000) }
  }
  #expect(known(0..<InvalidTokens.capacity + 10) == InvalidTokens.capacity)
  for number in 5000..<5010 { tokens.insert(token(number), at: 1_700_000_000) }
  #expect(known(5000..<5010) == 10)
  #expect(known(0..<10) == 0, "the oldest go first")
  #expect(known(10..<InvalidTokens.capacity) == InvalidTokens.capacity - 10)
}

@Test func `a token that registered later is good again`() {
  var tokens = InvalidTokens()
  let one = token(1)
  tokens.insert(one, at: 1_700_000_000)
  func isKnown(_ registered: UInt32) -> Bool { tokens.contains(one, registered: registered) }
  #expect(isKnown(0) && isKnown(1_699_999_999) && isKnown(1_700_000_000))
  #expect(!isKnown(1_700_000_001))
  tokens.insert(one, at: 1_800_000_000)
  #expect(isKnown(1_700_000_001))
}
