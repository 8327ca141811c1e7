import Testing

@testable import Simulation
@testable import TinyPush

@Suite struct LatenciesTests {
  private func latencies(_ milliseconds: [UInt64]) -> Latencies {
    var latencies = Latencies()
    for latency in milliseconds { latencies.add(.milliseconds(latency), count: 1) }
    return latencies
  }

  @Test func `no latencies have no percentile`() {
    #expect(Latencies().percentile(50) == nil)
    #expect(Latencies().count == 0)
  }

  @Test(arguments: [0, 1, 2, 3, 4, 7, 100, 999, 1000, 60_000, 86_400_000, 1 << 31])
  func `the percentiles of one latency are within a quarter of it`(latency: UInt64) {
    let latencies = latencies([latency])
    for percent: UInt64 in [1, 50, 99, 100] {
      let found = latencies.percentile(percent)!.milliseconds
      #expect(max(found, latency) - min(found, latency) <= latency / 4)
    }
  }

  @Test func `very long latencies count, too`() {
    let latencies = latencies([.max, 1 << 40, 5])
    #expect(latencies.count == 3)
    #expect(latencies.percentile(99)!.milliseconds >= 1 << 31)
  }

  @Test func `percentiles are within a third of the exact ones`() {
    let times = (0..<1000).map { UInt64($0 * $0) / 7 }
    var random = Seeded(1)
    let latencies = latencies(times.shuffled(using: &random))
    for percent in [1, 10, 50, 90, 99, 100] {
      let exact = times[times.count * percent / 100 - 1]
      let found = latencies.percentile(UInt64(percent))!.milliseconds
      let (low, high) = (min(found, exact), max(found, exact))
      #expect(high - low <= high / 3 + 1, "\(percent) %")
    }
  }

  @Test func `latencies below a power of two are counted exactly`() {
    let latencies = latencies([0, 1, 3, 4, 5, 15, 16, 17, 1023, 1024, 5000])
    for (bound, count) in [(1, 1), (2, 2), (4, 3), (16, 6), (1024, 9), (4096, 10), (8192, 11)] {
      #expect(latencies.count(below: .milliseconds(UInt64(bound))) == UInt64(count), "\(bound)")
    }
  }
}

@Suite struct TrafficTests {
  private func instant(_ seconds: UInt64) -> Instant { Instant(milliseconds: seconds * 1000) }

  @Test func `the minute, the hour and the whole time have separate counts`() {
    var traffic = Traffic()
    let start = instant(1_000_000)
    traffic.add(7, latency: .milliseconds(3), at: start)
    for second in UInt64(0)..<90 {
      traffic.add(2, latency: .milliseconds(5), at: start + .seconds(7200 + second))
    }
    let now = start + .seconds(7289)
    #expect(traffic.sent(in: .minute, at: now) == 120)
    #expect(traffic.sent(in: .hour, at: now) == 180)
    #expect(traffic.sent(in: .start, at: now) == 187)
    #expect(traffic.latencies(in: .start, at: now).count == 187)
    #expect(traffic.latencies(in: .hour, at: now).count == 180)
    // The latencies of the minute are dropped in steps of ten seconds.
    #expect((102...120).contains(traffic.latencies(in: .minute, at: now).count))
    #expect(traffic.latencySum == 21 + 180 * 5)
  }

  @Test func `old counts are left out even if nothing was sent since`() {
    var traffic = Traffic()
    traffic.add(5, latency: .milliseconds(1), at: instant(100))
    for (later, minute, hour) in [(0, 5, 5), (59, 5, 5), (60, 0, 5), (3540, 0, 5), (3660, 0, 0)] {
      let now = instant(100 + UInt64(later))
      #expect(traffic.sent(in: .minute, at: now) == UInt64(minute), "\(later) s later")
      #expect(traffic.sent(in: .hour, at: now) == UInt64(hour), "\(later) s later")
    }
    #expect(traffic.latencies(in: .minute, at: instant(170)).count == 0)
    #expect(traffic.latencies(in: .hour, at: instant(4000)).count == 0)
    #expect(traffic.sent(in: .start, at: instant(1_000_000)) == 5)
  }

  @Test func `each second and each minute of the last sixty has its count`() {
    var traffic = Traffic()
    for second in UInt64(0)..<200 { traffic.add(second, latency: nil, at: instant(6000 + second)) }
    let now = instant(6199)
    for ago in 0..<60 { #expect(traffic.sent(secondsAgo: ago, at: now) == UInt32(199 - ago)) }
    #expect(traffic.sent(secondsAgo: 60, at: now) == 0)
    #expect(traffic.sent(minutesAgo: 0, at: now) == (180..<200).reduce(0, +))
    #expect(traffic.sent(minutesAgo: 1, at: now) == (120..<180).reduce(0, +))
    #expect(traffic.sent(minutesAgo: 4, at: now) == 0)
    #expect(traffic.latencies(in: .start, at: now).count == 0)
  }

  @Test func `counting works in the first second of a machine`() {
    var traffic = Traffic()
    let start = Instant(milliseconds: 0)
    traffic.add(3, latency: .milliseconds(0), at: start)
    #expect(traffic.sent(secondsAgo: 0, at: start) == 3)
    #expect(traffic.sent(secondsAgo: 1, at: start) == 0)
    #expect(traffic.latencies(in: .minute, at: start).percentile(50) == .milliseconds(0))
  }
}
