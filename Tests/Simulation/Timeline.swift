import TinyPush

/// The simulated clocks, which jump to the next event, and the events to come.
///
/// Events happen in order of time; events at the same time happen in the order of planning.
final class Timeline {
  private let start = Instant(milliseconds: 1_000_000)
  private(set) var now = Instant(milliseconds: 1_000_000)
  /// The wall clock's UNIX seconds at the start; nil: it is not set.
  ///
  /// A change lets the clock jump.
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

  /// The wall clock's time, even if it is not set.
  private var clockMilliseconds: Int64 { (wallAtStart ?? 60) * 1000 + Int64(elapsed) }

  /// The time that a file system would give to a change now.
  var fileTimeNs: Int64 { clockMilliseconds * 1_000_000 }

  /// Whether the clock was set after `start` and not after `end`.
  func wasSet(between start: Instant, and end: Instant) -> Bool {
    walls.contains { $0.until >= start && $0.until <= end }
  }

  /// Whether the clock was set twice at the same instant.
  func wasSetTwice(at instant: Instant) -> Bool { walls.count { $0.until == instant } > 1 }

  /// Sets the wall clock for the whole run.
  func begin(wallAtStart wall: Int64?) {
    wallAtStart = wall
    walls = []
  }

  /// Returns the latest wall time since `instant`; nil if the clock was never set in that time.
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

  /// Runs all events that are due.
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
