import Testing

@testable import Simulation
@testable import TinyPush

@Test func `the time until an earlier instant is zero`() {
  let noon = Instant(milliseconds: 1000)
  #expect(noon + .seconds(2) == Instant(milliseconds: 3000))
  #expect(noon.until(noon + .milliseconds(5)) == .milliseconds(5))
  #expect((noon + .milliseconds(5)).until(noon) == .milliseconds(0))
  #expect(noon < noon + .milliseconds(1))
}
