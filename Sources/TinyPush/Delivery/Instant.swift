/// A point in time by the clock that never jumps and counts suspended time (CLOCK_BOOTTIME), in milliseconds.
public struct Instant: Comparable, BitwiseCopyable {
  public var milliseconds: UInt64

  public init(milliseconds: UInt64) {
    self.milliseconds = milliseconds
  }

  public static func < (left: Instant, right: Instant) -> Bool {
    left.milliseconds < right.milliseconds
  }

  public static func + (instant: Instant, duration: Duration) -> Instant {
    Instant(milliseconds: instant.milliseconds &+ duration.milliseconds)
  }

  /// How much later `later` is; nothing when it is not.
  public func until(_ later: Instant) -> Duration {
    Duration(milliseconds: later > self ? later.milliseconds - milliseconds : 0)
  }
}

/// A length of time, in milliseconds.
public struct Duration: Comparable, Sendable, BitwiseCopyable {
  public var milliseconds: UInt64

  public init(milliseconds: UInt64) {
    self.milliseconds = milliseconds
  }

  public static func < (left: Duration, right: Duration) -> Bool {
    left.milliseconds < right.milliseconds
  }

  public static func + (left: Duration, right: Duration) -> Duration {
    Duration(milliseconds: left.milliseconds + right.milliseconds)
  }

  public static func milliseconds(_ count: UInt64) -> Duration { Duration(milliseconds: count) }
  public static func seconds(_ count: UInt64) -> Duration { Duration(milliseconds: count * 1000) }
}

/// The two clocks, read together: one for ages, one for what the service is told.
public struct Time {
  public var now: Instant
  /// UNIX seconds, UTC, as this machine believes; nil while it cannot be right (before the program was built).
  public var wallSeconds: Int64?
  /// What the machine's clock says, right or wrong, in UNIX milliseconds.
  public var clockMilliseconds: Int64

  /// No clock that says less is right: 2026-01-01, which is before the program was built. Boards without a battery wake up in
  /// 1970.
  public static let plausibleSince: Int64 = 1_767_225_600

  public init(now: Instant, wallSeconds: Int64?, clockMilliseconds: Int64? = nil) {
    self.now = now
    self.wallSeconds = wallSeconds
    self.clockMilliseconds = clockMilliseconds ?? (wallSeconds ?? 0) * 1000
  }
}
