/// A point in time on CLOCK_BOOTTIME, in milliseconds.
///
/// That clock never jumps, and counts the time in which the machine is suspended.
public struct Instant: Comparable, BitwiseCopyable {
  /// The milliseconds since the machine started.
  public var milliseconds: UInt64

  /// Creates an instant from the milliseconds since the machine started.
  public init(milliseconds: UInt64) {
    self.milliseconds = milliseconds
  }

  /// Returns whether the left instant is earlier.
  public static func < (left: Instant, right: Instant) -> Bool {
    left.milliseconds < right.milliseconds
  }

  /// Returns the instant that is later by a duration.
  public static func + (instant: Instant, duration: Duration) -> Instant {
    Instant(milliseconds: instant.milliseconds &+ duration.milliseconds)
  }

  /// Returns how much later `later` is; zero if it is not later.
  public func until(_ later: Instant) -> Duration {
    Duration(milliseconds: later > self ? later.milliseconds - milliseconds : 0)
  }
}

extension Instant? {
  /// Becomes another instant if that is earlier, or if there was none.
  public mutating func include(_ other: Instant?) {
    guard let other else { return }
    if let instant = self, instant <= other { return }
    self = other
  }

  /// Becomes another instant if that is earlier, or if there was none, but not one that is over.
  ///
  /// What is overdue waits for another event: a timer would not help.
  public mutating func include(_ other: Instant?, after now: Instant) {
    if let other, other > now { include(other) }
  }
}

/// A length of time, in milliseconds.
public struct Duration: Comparable, Sendable, BitwiseCopyable {
  /// The length in milliseconds.
  public var milliseconds: UInt64

  /// Creates a duration from milliseconds.
  public init(milliseconds: UInt64) {
    self.milliseconds = milliseconds
  }

  /// Returns whether the left duration is shorter.
  public static func < (left: Duration, right: Duration) -> Bool {
    left.milliseconds < right.milliseconds
  }

  /// Returns the sum of two durations.
  public static func + (left: Duration, right: Duration) -> Duration {
    Duration(milliseconds: left.milliseconds + right.milliseconds)
  }

  /// Returns a duration of `count` milliseconds.
  public static func milliseconds(_ count: UInt64) -> Duration { Duration(milliseconds: count) }
  /// Returns a duration of `count` seconds.
  public static func seconds(_ count: UInt64) -> Duration { Duration(milliseconds: count * 1000) }
}

/// The two clocks, read together: one for intervals, one for dates.
public struct Time {
  /// The clock for intervals.
  public var now: Instant
  /// The date in UNIX seconds, UTC; nil while the clock shows an impossible date.
  ///
  /// Impossible is a date before the program was built.
  public var wallSeconds: Int64?
  /// The machine's clock, right or wrong, in UNIX milliseconds.
  public var clockMilliseconds: Int64

  /// The earliest UNIX second that a correct clock can show: 2026-01-01.
  ///
  /// The program was built later. Boards without a battery start in 1970.
  public static let plausibleSince: Int64 = 1_767_225_600

  /// Creates a time; without `clockMilliseconds`, the clock shows `wallSeconds`.
  public init(now: Instant, wallSeconds: Int64?, clockMilliseconds: Int64? = nil) {
    self.now = now
    self.wallSeconds = wallSeconds
    self.clockMilliseconds = clockMilliseconds ?? (wallSeconds ?? 0) * 1000
  }
}
