import Testing

@testable import Simulation
@testable import TinyPush

@Test(arguments: 0...20, [true, false])
func `the longest pause doubles from a second to five minutes, or one, with full jitter`(
  failures: Int, wasConnected: Bool
) {
  let bound = min(wasConnected ? 300_000 : 60_000, 1000 << UInt64(min(failures, 20)))
  var longest: UInt64 = 0
  var shortest = UInt64.max
  for seed in UInt64(1)...400 {
    var backoff = Backoff(seed: seed &* 0x9E37_79B9_7F4A_7C15)
    for _ in 0..<failures { _ = backoff.fail() }
    #expect(backoff.failures == failures)
    let wait = backoff.fail(wasConnected: wasConnected).milliseconds
    longest = max(longest, wait)
    shortest = min(shortest, wait)
  }
  #expect(longest <= bound)
  #expect(longest > bound * 9 / 10 && shortest < bound / 10)
}

@Test func `a reset starts the pauses from the first again`() {
  var backoff = Backoff(seed: 7)
  for _ in 0..<1000 { #expect(backoff.fail() <= Backoff.longest) }
  backoff.reset()
  for _ in 0..<50 {
    #expect(backoff.fail() <= Backoff.first)
    backoff.reset()
  }
}

@Test func `equal seeds give equal pauses, and other seeds other pauses`() {
  func waits(_ seed: UInt64) -> [UInt64] {
    var backoff = Backoff(seed: seed)
    return (0..<12).map { _ in backoff.fail().milliseconds }
  }
  #expect(waits(2) != waits(4))
  #expect(waits(5) == waits(5))
  #expect(waits(0).contains { $0 > 0 })
}
