import Testing

@testable import Simulation
@testable import TinyPush

/// Returns those of these instants, in milliseconds, at which a limit lets an alert through.
private func admitted(_ limit: RateLimit, _ instants: [UInt64]) -> [UInt64] {
  var bucket = TokenBucket()
  return instants.filter { at in
    let now = Instant(milliseconds: at)
    guard bucket.hasRoom(limit, at: now) else {
      #expect(bucket.roomAt(limit) > now)
      return false
    }
    bucket.take(limit, at: now)
    return true
  }
}

@Test(
  arguments: [
    // The whole count at once, and then one at a time as the bucket refills.
    (3, 30, [0, 0, 0, 0, 9_999, 10_000, 10_000, 19_999, 20_000], [0, 0, 0, 10_000, 20_000]),
    // After the whole period the bucket is full again.
    (2, 10, [0, 0, 0, 10_000, 10_000, 10_000], [0, 0, 10_000, 10_000]),
    // The bucket holds no more than the count.
    (
      2, 10, [1_000_000, 1_000_000, 1_000_000, 1_005_000, 1_005_000],
      [1_000_000, 1_000_000, 1_005_000]
    ),
    (1, 1, [5, 5, 1004, 1005, 2004, 2005], [5, 1005, 2005]),
    // Without rounding: 7 in 10 s is one in 1428.57… ms.
    (
      7, 10, Array(repeating: 0, count: 8) + [1428, 1429, 2857, 2858],
      Array(repeating: 0, count: 7) + [1429, 2858]
    ),
    (10_000, 86_400, [1 << 41, 1 << 41], [1 << 41, 1 << 41]),
  ] as [(UInt32, UInt64, [UInt64], [UInt64])])
func `a token bucket lets a burst through and then refills evenly`(
  count: UInt32, seconds: UInt64, instants: [UInt64], expected: [UInt64]
) {
  let limit = RateLimit(count: count, period: .seconds(seconds))
  #expect(admitted(limit, instants) == expected)
}

@Test func `no period lets more alerts through than the limit and its refill`() {
  for seed in UInt64(1)...200 {
    var random = Seeded(seed)
    let limit = RateLimit(
      count: UInt32(1 + random.upTo(6)), period: .milliseconds(UInt64(1 + random.upTo(5000))))
    var now: UInt64 = 0
    let instants = (0..<200).map { _ -> UInt64 in
      now += UInt64(random.oneIn(3) ? 0 : random.upTo(random.oneIn(9) ? 9000 : 300))
      return now
    }
    let times = admitted(limit, instants)
    for first in times.indices {
      for last in first..<times.count {
        let refilled =
          Double(times[last] - times[first]) * Double(limit.count)
          / Double(limit.period.milliseconds)
        #expect(last - first + 1 <= Int(limit.count) + Int(refilled), "SEED=\(seed)")
      }
    }
  }
}

@Test func `the oldest recent keys are forgotten if there is no room`() {
  var keys = RecentKeys()
  #expect(keys.find(1) == nil)
  for key in UInt64(1)...100_000 {
    var hash = Hash()
    hash.add(key)
    keys.put(RecentKeys.Entry(key: hash.value, value: key, number: ~key))
    #expect(keys.find(hash.value)?.number == ~key)
  }
  var known = 0
  for key in UInt64(1)...100_000 {
    var hash = Hash()
    hash.add(key)
    guard let entry = keys.find(hash.value) else { continue }
    known += 1
    #expect(entry.value == key)
    #expect(key > 95_000)
    keys.remove(hash.value)
    #expect(keys.find(hash.value) == nil)
  }
  #expect(known > 900 && known <= 1024)
}

private func words(_ template: String, _ alerts: UInt32, _ seconds: UInt64) -> String? {
  guard let words = SummaryWords(template.bytes.span) else { return nil }
  var text = Text()
  words.append(alerts: alerts, in: seconds, to: &text)
  return String(text.bytes)
}

@Test(
  arguments: [
    ("", 37, 600, "37 more alerts in 10 minutes"), ("", 1, 0, "1 more alert in 1 second"),
    ("", 2, 89, "2 more alerts in 89 seconds"), ("", 2, 90, "2 more alerts in 2 minutes"),
    ("", 9, 86_400, "9 more alerts in 24 hours"),
    ("{count} Meldungen in {time}", 37, 600, "37 Meldungen in 10 min"),
    ("{time}{count}{coun} ö", 1, 3, "3 s1{coun} ö"), ("Pumpe", 5, 5, "Pumpe"),
    (String(repeating: "x", count: 120), 1, 1, String(repeating: "x", count: 120)),
    (String(repeating: "x", count: 121), 1, 1, nil), ("a\tb", 1, 1, nil),
  ] as [(String, UInt32, UInt64, String?)])
func `a summary fills in count and time`(
  template: String, alerts: UInt32, seconds: UInt64, expected: String?
) {
  #expect(words(template, alerts, seconds) == expected)
}

// MARK: - The courier

private func world(
  _ limit: RateLimit?, all: RateLimit? = nil, once: Bool = false
) -> World {
  World(once: once) {
    $0.limit = limit
    $0.limitAll = all
  }
}

/// The alerts that the gateway accepted.
private func alerts(_ world: World) -> [String] {
  world.gateway.pushes.map { push in
    String(push.payload.firstMatch(of: #/"alert": ?"([^"]*)"/#)?.1 ?? "")
  }
}

@Test func `no limit applies to an alert that was refused and is sent again`() {
  let world = world(RateLimit(count: 2, period: .seconds(60)))
  for number in 0..<4 { world.put("\(100 + number)", 7) }
  world.run(.seconds(1))
  #expect(world.recorded == [7, 7])
  let again = #", "failed": {"reason": "limit allows 2 alerts in 1 min", "code": "limited"}"#
  world.put("200", text: World.notification(7, with: again), numbers: [7])
  world.run(.seconds(1))
  #expect(world.accepted == [7, 7, 7])
  #expect(world.courier.counters.limited == 2)
}

@Test func `a storm gets one summary after a quiet time`() {
  let world = world(RateLimit(count: 2, period: .seconds(60)))
  for number in 0..<40 {
    world.after(UInt64(number * 1000)) { world.put("\(100 + number)", 7) }
  }
  world.run(.seconds(45))
  // One more alert passed after 30 s.
  #expect(alerts(world).count == 3)
  #expect(world.courier.counters.limited == 37)
  #expect(world.courier.counters.summaries == 0)
  world.run(.seconds(60))
  #expect(alerts(world).suffix(1) == ["37 more alerts in 37 seconds"])
  #expect(world.courier.counters.summaries == 1)
  #expect(world.reports.count { if case .stormBegan = $0 { true } else { false } } == 1)
  world.run(.seconds(3600))
  #expect(alerts(world).count == 4)
}

@Test func `a long storm gets a summary after each period of the limit`() {
  let world = world(RateLimit(count: 1, period: .seconds(60)))
  for number in 0..<150 {
    world.after(UInt64(number * 1000)) { world.put("\(100 + number)", 7) }
  }
  world.run(.seconds(400))
  let summaries = alerts(world).filter { $0.contains("more") }
  #expect(summaries.count == 3)
  let told = summaries.compactMap { Int($0.prefix { $0.isNumber }) }.reduce(0, +)
  #expect(told == world.recorded.count)
  #expect(told + alerts(world).count - 3 == 150)
}

@Test func `a summary that cannot be written is written later`() {
  let world = world(RateLimit(count: 1, period: .seconds(10)))
  world.put("a", text: World.notification(1) + World.notification(1), numbers: [1, 1])
  world.run(.seconds(1))
  #expect(world.courier.counters.limited == 1)
  world.canPostpone = false
  world.run(.seconds(30))
  #expect(world.courier.counters.summaries == 0)
  world.canPostpone = true
  world.run(.seconds(60))
  #expect(alerts(world).suffix(1) == ["1 more alert in 1 second"])
}

@Test func `a limit whose record cannot be written keeps the alert in the spool`() {
  let world = world(RateLimit(count: 1, period: .seconds(1000)))
  world.canRecord = false
  world.put("a", 1)
  world.put("b", 1)
  world.run(.seconds(15))
  #expect(world.waiting == ["b"])
  world.canRecord = true
  world.run(.seconds(90))
  #expect(world.waiting == [])
  #expect(world.courier.counters.limited == 1)
}

@Test func `what was sent before a limited alert came does not replace the alert`() {
  let world = world(RateLimit(count: 1, period: .seconds(60)))
  func put(_ name: String, _ alert: String) {
    world.put(
      name,
      text:
        #"{"token":"\#(World.token(7))","collapse-id":"tank","payload":{"aps":{"alert":"\#(alert)"}}}"#
    )
  }
  put("b", "sent")
  // The gateway has the first one, and its outcome is not known yet.
  world.after(2000) { put("a", "limited") }
  world.run(.seconds(120))
  #expect(alerts(world) == ["sent", "limited"])
  #expect(world.courier.counters.superseded == 0)
}

@Test func `without a clock a limited alert with a collapse ID also goes to failed/`() {
  let world = world(RateLimit(count: 1, period: .seconds(60)))
  world.wallAtStart = nil
  world.put("a", 1)
  world.put("b", 1, collapsing: "tank")
  world.run(.seconds(5))
  #expect(world.recorded == [1])
  world.run(.seconds(100))
  #expect(alerts(world).suffix(1) == ["1 more alert in 1 second"])
}

@Test func `an alert that waits for the limit does not expire because the clock was set`() {
  let world = world(RateLimit(count: 1, period: .seconds(60)))
  world.put("a", 1)
  world.run(.seconds(1))
  world.put("b", 1, collapsing: "tank", with: #", "ttl": 3600"#)
  world.run(.seconds(10))
  world.after(100) { world.wallAtStart = world.wallAtStart! + 432_000 }
  world.run(.seconds(120))
  #expect(world.gateway.pushes.count == 2)
  #expect(world.courier.counters.expired == 0)
}

@Test func `an alert that waits for the limit keeps its ttl`() {
  let world = world(RateLimit(count: 1, period: .seconds(60)))
  world.put("a", 1)
  world.run(.seconds(1))
  world.put("b", 1, collapsing: "tank", with: #", "ttl": 100"#)
  world.put("c", 1, collapsing: "door", with: #", "ttl": 30"#)
  world.run(.seconds(70))
  let expirations = world.gateway.pushes.map(\.expiration)
  #expect(expirations.count == 2)
  let start = world.wallAtStart ?? 0
  #expect(expirations.last == UInt32(start) + 101)
  #expect(world.courier.counters.expired == 1)
}

@Test func `the longer alerts wait for the limit, the less often they are written again`() {
  let world = world(RateLimit(count: 10, period: .seconds(600)))
  for number in 0..<210 { world.put("\(1000 + number)", 7, collapsing: "door \(number)") }
  world.run(.seconds(3200))
  // Each minute has room for one more alert, and the last alerts came back after 52 minutes.
  #expect(world.accepted.count == 10 + 52)
  #expect(world.courier.counters.postponed < 200 * 12)
}

@Test func `an alert that no summary counts promises no summary`() {
  let world = world(nil, all: RateLimit(count: 1, period: .seconds(86_400)))
  for number in 1...1100 { world.put("\(1000 + number)", number) }
  world.run(.seconds(60))
  let promises = world.failures.count { $0.reason.contains("a summary is sent instead") }
  #expect(world.failures.count == 1099)
  #expect(promises == 1024)
}

@Test func `limit-all limits the alerts to all tokens`() {
  let world = world(nil, all: RateLimit(count: 3, period: .seconds(60)))
  world.put("a", 1, 2, 3, 4, 5)
  world.run(.seconds(10))
  #expect(world.accepted == [1, 2, 3])
  #expect(world.recorded == [4, 5])
  world.run(.seconds(60))
  #expect(world.courier.counters.summaries == 2)
}
