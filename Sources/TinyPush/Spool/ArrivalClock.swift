/// Computes when a file arrived in the spool from the time of its last status change.
///
/// A rename updates that time, and no user can set it. But it is a time of the wall clock, which
/// may have been set since. So the agent remembers the settings of the wall clock since the machine
/// started, and converts a time by the setting in force then. If several settings match, the latest
/// arrival counts: a notification that is sent too late is better than one that expires too early.
public struct ArrivalClock: BitwiseCopyable {
  /// The wall clock between two times at which it was set.
  private struct Setting: BitwiseCopyable {
    /// Wall clock minus monotonic clock, in milliseconds.
    var ahead: Int64
    /// When the setting began, in milliseconds of the monotonic clock.
    var from: Int64
    /// When the setting ended, in milliseconds of the monotonic clock.
    var until: Int64
  }

  private static let settingsMax = 4
  /// A larger difference means that the clock was set, a smaller one that it is slewed.
  private static let stepMs: Int64 = 2000
  /// A smaller difference is ignored.
  private static let slewMs: Int64 = 500
  /// The longest time from the start of the machine to the earliest time stamp of that start.
  private static let startMs: Int64 = 15_000

  private let plausibleSinceMs: Int64
  private var present: Setting?
  private var former: InlineArray<4, Setting> = .init(
    repeating: Setting(ahead: 0, from: 0, until: 0))
  private var formerCount = 0
  /// When the last setting ended for which there was no more room; nil: none was forgotten.
  private var forgottenUntil: Int64?
  /// When ``observe(_:)`` was last called, in milliseconds of the monotonic clock.
  private var observedAt: Int64 = 0

  /// - Parameter plausibleSince: UNIX seconds; earlier times are from a clock that was not set.
  init(plausibleSince: Int64) {
    plausibleSinceMs = plausibleSince * 1000
  }

  /// Whether the wall clock is known to have been set since the machine started.
  public var wasSet: Bool { formerCount > 0 }

  /// Detects whether the wall clock was set.
  mutating func observe(_ time: Time) {
    let now = Int64(time.now.milliseconds)
    let ahead = time.clockMilliseconds - now
    defer { observedAt = now }
    guard let known = present else {
      present = Setting(ahead: ahead, from: 0, until: .max)
      return
    }
    let step = ahead - known.ahead
    if step.magnitude <= Self.slewMs { return }
    if step.magnitude <= Self.stepMs {
      present!.ahead = ahead
      return
    }
    remember(Setting(ahead: known.ahead, from: known.from, until: now))
    // The clock was set between two observations; files may have arrived before and after that.
    present = Setting(ahead: ahead, from: observedAt, until: .max)
  }

  /// Learns what the wall clock showed soon after the machine started.
  ///
  /// This shows whether the clock was set before this program started.
  ///
  /// - Parameter earliest: the earliest time stamp of the start, in UNIX seconds.
  mutating func machineStarted(at earliest: Int64, _ time: Time) {
    observe(time)
    let now = Int64(time.now.milliseconds)
    let ahead = earliest * 1000 - Self.startMs
    guard let present, ahead + 4 * Self.startMs < present.ahead else { return }
    remember(Setting(ahead: ahead, from: 0, until: now + Self.startMs))
  }

  private mutating func remember(_ setting: Setting) {
    if formerCount == Self.settingsMax {
      forgottenUntil = former[0].until
      for index in 1..<Self.settingsMax { former[index - 1] = former[index] }
      formerCount -= 1
    }
    former[formerCount] = setting
    formerCount += 1
  }

  /// Returns when a file arrived, in milliseconds of the monotonic clock; nil: unknown.
  ///
  /// The time is negative if the file arrived before the machine started.
  ///
  /// - Parameter changeTimeNs: the last status change of the file, in UNIX nanoseconds.
  func arrival(changeTimeNs: Int64, _ time: Time) -> Int64? {
    guard let present else { return nil }
    let now = Int64(time.now.milliseconds)
    let changed = changeTimeNs / 1_000_000
    var youngest: Int64?
    let age = changed - present.ahead
    let isPlausible = time.wallSeconds != nil && changed >= plausibleSinceMs
    // A clock that is slewed may be a little ahead.
    if age <= now + Self.stepMs, age >= present.from || isPlausible { youngest = min(age, now) }
    for index in 0..<formerCount {
      let setting = former[index]
      let at = changed - setting.ahead
      guard at >= setting.from, at <= setting.until else { continue }
      youngest = max(youngest ?? at, min(at, now))
    }
    // The file may have arrived while a forgotten setting was in force.
    if let forgottenUntil { youngest = max(youngest ?? forgottenUntil, forgottenUntil) }
    return youngest
  }
}
