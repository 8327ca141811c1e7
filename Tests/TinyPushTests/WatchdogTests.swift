import Testing

@testable import TinyPush
@testable import TinyPushAgent

@Suite struct WatchdogTests {
  private func at(_ seconds: UInt64) -> Instant { Instant(milliseconds: seconds * 1000) }

  @Test func `a loop that makes progress counts as alive`() {
    var watchdog = Watchdog(interval: .seconds(10), at: at(0))
    let first = watchdog.isDue(at: at(9), progress: 1)
    let second = watchdog.isDue(at: at(10), progress: 1)
    let third = watchdog.isDue(at: at(19), progress: 2)
    let fourth = watchdog.isDue(at: at(20), progress: 2)
    #expect([first, second, third, fourth] == [false, true, false, true])
  }

  @Test func `a loop that rests counts as alive`() {
    var watchdog = Watchdog(interval: .seconds(10), at: at(0))
    #expect(watchdog.restUntil(at: at(3)) == at(10))
    watchdog.rested(since: at(3), until: at(10))
    let isDue = watchdog.isDue(at: at(10), progress: 0)
    #expect(isDue)
    #expect(watchdog.restUntil(at: at(10)) == at(20))
  }

  @Test func `a loop that neither makes progress nor rests does not count as alive`() {
    var watchdog = Watchdog(interval: .seconds(10), at: at(0))
    for second in UInt64(0)...1000 {
      watchdog.rested(since: at(second), until: at(second))
      let isDue = watchdog.isDue(at: at(second), progress: 0)
      #expect(!isDue)
    }
    // The watchdog grants time to rest.
    #expect(watchdog.restUntil(at: at(1000)) == at(1001))
    watchdog.rested(since: at(1000), until: at(1001))
    let isDue = watchdog.isDue(at: at(1001), progress: 0)
    #expect(isDue)
  }

  @Test func `without an interval the watchdog is never due`() {
    var watchdog = Watchdog(interval: nil, at: at(0))
    watchdog.rested(since: at(0), until: at(1000))
    let isDue = watchdog.isDue(at: at(1000), progress: 1)
    #expect(!isDue)
    #expect(watchdog.restUntil(at: at(0)) == nil)
  }
}
