import TinyPush

/// The clocks, which jump to whatever happens next, and what is going to happen: in order of time, and what is due at the
/// same time in the order in which it was planned.
final class Timeline {
  private let start = Instant(milliseconds: 1_000_000)
  private(set) var now = Instant(milliseconds: 1_000_000)
  /// What the wall clock would have said at the start, in UNIX seconds; nil: it is not set. Changing it lets the clock
  /// jump.
  var wallAtStart: Int64? = 1_700_000_000 {
    willSet { walls.append((wallAtStart, until: now)) }
  }
  private var walls: [(atStart: Int64?, until: Instant)] = []

  private struct Plan {
    var at: Instant
    var order: UInt64
    var act: () -> Void

    func isBefore(_ other: Plan) -> Bool { (at, order) < (other.at, other.order) }
  }

  /// A binary heap, the earliest first.
  private var plans: [Plan] = []
  private var planned: UInt64 = 0

  /// Milliseconds since the start.
  var elapsed: UInt64 { start.until(now).milliseconds }

  var time: Time {
    Time(
      now: now, wallSeconds: wallAtStart.map { $0 + Int64(elapsed / 1000) },
      clockMilliseconds: clockMilliseconds)
  }

  /// What the wall clock says, also where it is not set.
  private var clockMilliseconds: Int64 { (wallAtStart ?? 60) * 1000 + Int64(elapsed) }

  /// The time that a file system gives to a change.
  var fileTimeNs: Int64 { clockMilliseconds * 1_000_000 }

  /// Whether the clock was set after `start`, and before `end` or then.
  func wasSet(between start: Instant, and end: Instant) -> Bool {
    walls.contains { $0.until >= start && $0.until <= end }
  }

  /// What the wall clock says from the start on.
  func begin(wallAtStart wall: Int64?) {
    wallAtStart = wall
    walls = []
  }

  /// The latest that the wall clock has said since `instant`; nil when it was not set.
  func latestWall(since instant: Instant) -> Int64? {
    (walls + [(wallAtStart, until: now)]).compactMap { wall in
      guard wall.until >= instant else { return nil }
      return wall.atStart.map { $0 + Int64(start.until(wall.until).milliseconds / 1000) }
    }.max()
  }

  // MARK: - Plans

  var nextAt: Instant? { plans.first?.at }

  func plan(at instant: Instant, _ act: @escaping () -> Void) {
    planned += 1
    plans.append(Plan(at: max(instant, now), order: planned, act: act))
    var place = plans.count - 1
    while place > 0, plans[place].isBefore(plans[(place - 1) / 2]) {
      plans.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  func plan(after milliseconds: UInt64, _ act: @escaping () -> Void) {
    plan(at: now + .milliseconds(milliseconds), act)
  }

  func cancelAll() { plans = [] }

  func advance(to instant: Instant) { now = max(now, instant) }

  /// Does all that is due.
  func happen() {
    while let plan = plans.first, plan.at <= now {
      removeFirst()
      plan.act()
    }
  }

  private func removeFirst() {
    plans.swapAt(0, plans.count - 1)
    plans.removeLast()
    var place = 0
    while true {
      var least = place
      for child in 2 * place + 1...2 * place + 2
      where child < plans.count && plans[child].isBefore(plans[least]) {
        least = child
      }
      if least == place { return }
      plans.swapAt(place, least)
      place = least
    }
  }
}
