import Testing

@testable import Simulation
@testable import TinyPush

/// The time of a right clock, in UNIX seconds.
private let day: Int64 = 1_800_000_000

/// - Parameters:
///   - up: seconds since the machine started.
///   - clock: the wall clock, in UNIX seconds.
private func time(up: Int64, clock: Int64) -> Time {
  Time(
    now: Instant(milliseconds: UInt64(up * 1000)),
    wallSeconds: clock >= Time.plausibleSince ? clock : nil, clockMilliseconds: clock * 1000)
}

private struct Row: Sendable, CustomTestStringConvertible {
  var testDescription: String
  /// The settings of the clock: the uptime, and the clock's time from then on.
  ///
  /// The first is the start of the agent.
  var settings: [(up: Int64, clock: Int64)]
  /// The clock's time at the start of the machine, if the agent knows it.
  var earliest: Int64?
  var changed: Int64
  /// Seconds after the start of the machine; nil: unknown.
  var came: Int64?

  init(
    _ description: String, _ settings: [(up: Int64, clock: Int64)], earliest: Int64? = nil,
    changed: Int64, came: Int64?
  ) {
    testDescription = description
    self.settings = settings
    self.earliest = earliest
    self.changed = changed
    self.came = came
  }
}

@Test(arguments: [
  Row("a clock that is right", [(up: 100, clock: day)], changed: day - 40, came: 60),
  Row("before the machine started", [(up: 100, clock: day)], changed: day - 7200, came: -7100),
  Row("in the future", [(up: 100, clock: day)], changed: day + 9999, came: nil),
  Row(
    "in the future, and a clock was set back since",
    [(up: 100, clock: day + 9000), (up: 200, clock: day)], changed: day + 9050, came: 150),
  Row(
    "by a clock that was behind, and was set since",
    [(up: 20, clock: day - 7200), (up: 60, clock: day)], changed: day - 7190, came: 30),
  Row(
    "before the machine started, and the clock was behind at first",
    [(up: 20, clock: day - 7200), (up: 60, clock: day)], changed: day - 9000, came: -8940),
  Row(
    "by a clock that was not set, and was since",
    [(up: 20, clock: 20), (up: 60, clock: day)], changed: 50, came: 50),
  Row(
    "by a clock that was not set when the machine ran before",
    [(up: 20, clock: 20), (up: 60, clock: day)], changed: 5000, came: nil),
  Row(
    "by a clock that was not set, and of which nothing is known",
    [(up: 60, clock: day)], changed: 50, came: nil),
  Row("a clock that is not set", [(up: 60, clock: 60)], changed: 50, came: 50),
  Row(
    "a clock that is not set, and a file of a time when it was",
    [(up: 60, clock: 60)], changed: day, came: nil),
  Row(
    "by a clock that was set before the agent started",
    [(up: 60, clock: day)], earliest: day - 7200, changed: day - 7180, came: 35),
  Row(
    "long before the machine started, by a clock that was set before the agent started",
    [(up: 60, clock: day)], earliest: day - 7200, changed: day - 8000, came: -7940),
  Row(
    "the machine started as long ago as the clock says",
    [(up: 60, clock: day)], earliest: day - 55, changed: day - 50, came: 10),
  Row(
    "by the first of several clocks",
    [
      (up: 10, clock: day), (up: 20, clock: 20), (up: 30, clock: day + 5000),
      (up: 40, clock: day + 9000),
    ],
    changed: day + 5, came: 15),
  Row(
    "by the first of more clocks than there is room for",
    [
      (up: 10, clock: day), (up: 20, clock: day + 90_000), (up: 30, clock: day + 180_000),
      (up: 40, clock: day + 270_000), (up: 50, clock: day + 360_000),
      (up: 60, clock: day + 450_000),
    ],
    changed: day + 5, came: 20),
])
private func `the arrival of a file is computed with the clock setting of that time`(row: Row) {
  var clock = ArrivalClock(plausibleSince: Time.plausibleSince)
  for (index, setting) in row.settings.enumerated() {
    let time = time(up: setting.up, clock: setting.clock)
    if index == 0, let earliest = row.earliest { clock.machineStarted(at: earliest, time) }
    clock.observe(time)
    let next = index + 1 < row.settings.count ? row.settings[index + 1].up : setting.up + 5
    clock.observe(TinyPushTests.time(up: next - 1, clock: setting.clock + next - 1 - setting.up))
  }
  let last = row.settings.last!
  let now = time(up: last.up + 5, clock: last.clock + 5)
  let came = clock.arrival(changeTimeNs: row.changed * 1_000_000_000, now)
  #expect(came == row.came.map { $0 * 1000 })
}

@Test func `a clock that was set before the agent started is known as set`() {
  for (earliest, wasSet) in [(day - 7200, true), (day - 55, false)] {
    var clock = ArrivalClock(plausibleSince: Time.plausibleSince)
    clock.machineStarted(at: earliest, time(up: 60, clock: day))
    #expect(clock.wasSet == wasSet)
  }
}

// MARK: - In the courier

/// Puts a file with one notification that has a `ttl`.
private func put(
  _ world: World, _ name: String, _ number: Int, ttl: UInt64, notBefore: Int64 = 0,
  with members: String = ""
) {
  var members = #", "ttl": \#(ttl)"# + members
  if notBefore > 0 { members += #", "not-before": \#(notBefore)"# }
  world.put(
    name, World.notification(number, with: members),
    items: [Item(number: number, ttl: ttl, notBefore: notBefore)], tells: true)
}

@Test func `a notification whose ttl ends while the agent is offline expires`() {
  let world = World()
  world.canDial = { _ in world.timeline.elapsed > 15_000 }
  put(world, "a", 1, ttl: 2)
  put(world, "b", 2, ttl: 3600)
  world.run(.seconds(60))
  #expect(world.accepted == [2])
  #expect(world.gateway.pushes.map(\.expiration) == [1_700_003_600])
  #expect(world.courier.counters.expired == 1)
  #expect(world.waiting == [])
}

@Test(arguments: [false, true])
func `a ttl counts on while no agent runs`(isOver: Bool) {
  let world = World()
  world.canDial = { _ in false }
  put(world, "a", 1, ttl: 100)
  world.run(.seconds(30))
  world.timeline.advance(to: world.timeline.now + .seconds(isOver ? 80 : 40))
  world.canDial = { _ in true }
  world.restart()
  world.run(.seconds(10))
  #expect(world.accepted == (isOver ? [] : [1]))
  #expect(world.courier.counters.expired == (isOver ? 1 : 0))
}

@Test func `setting the clock ends no ttl too early`() {
  let world = World()
  world.wallAtStart = 1_699_990_000
  world.canDial = { _ in world.timeline.elapsed > 30_000 }
  put(world, "a", 1, ttl: 60)
  put(world, "b", 2, ttl: 20)
  world.run(.seconds(5))
  world.wallAtStart = 1_700_000_000
  world.run(.seconds(60))
  #expect(world.accepted == [1])
  #expect(world.gateway.pushes.map(\.expiration) == [1_700_000_060])
  #expect(world.courier.counters.expired == 1)
}

@Test func `a ttl of appended text starts at the append, even after the clock was set back`() {
  let world = World()
  world.wallAtStart = 1_900_000_000
  world.put("a", 1)
  let file = world.waitingFiles[0]
  file.mayGrow = true
  world.run(.seconds(60))
  world.wallAtStart = 1_700_000_000
  world.run(.seconds(1))
  let text = #"{"token": "\#(World.token(2))", "ttl": 40, "payload": {"aps": {"badge": 1}}}"#
  world.append(to: file, text, items: [Item(number: 2)], tells: true)
  world.run(.seconds(10))
  #expect(world.accepted == [1, 2])
  #expect(world.courier.counters.expired == 0)
}

@Test func `nothing expires while the clock is not set`() {
  let world = World()
  world.wallAtStart = nil
  world.canDial = { _ in world.timeline.elapsed > 15_000 }
  put(world, "a", 1, ttl: 2)
  world.run(.seconds(60))
  #expect(world.accepted == [1])
}

@Test func `the ttl of a notification in later/ starts at its not-before`() {
  let world = World()
  let due: Int64 = 1_700_000_100
  put(world, "a", 1, ttl: 60, notBefore: due)
  put(world, "b", 2, ttl: 90, notBefore: due)
  world.run(.seconds(50))
  #expect(world.later.count == 2)
  // No agent runs when they are due.
  world.timeline.advance(to: world.timeline.now + .seconds(125))
  world.restart()
  world.run(.seconds(10))
  #expect(world.accepted == [2])
  #expect(world.gateway.pushes.map(\.expiration) == [UInt32(due + 90)])
  #expect(world.courier.counters.expired == 1)
}

@Test func `the ttl of a retried notification starts again despite an old not-before`() {
  let world = World()
  put(
    world, "a.0123456789abcdef", 1, ttl: 60, notBefore: 1_600_000_000,
    with: #", "failed": {"reason": "x"}"#)
  world.run(.seconds(10))
  #expect(world.accepted == [1])
}
