/// Works out when a file came into the spool, from the time at which the file system says that it changed last: to be renamed
/// changes a file, and nobody can set that time.
///
/// That time is one of the wall clock, which may have been set since. So the settings of the wall clock since the machine
/// started are remembered, and a time that one of them showed counts by that setting. Where several did, the file counts as
/// younger: rather too late than never.
public struct ArrivalClock: BitwiseCopyable {
  /// The wall clock from one time that it was set to the next.
  private struct Setting: BitwiseCopyable {
    /// What the wall clock says, less what the clock that never jumps does, in milliseconds.
    var ahead: Int64
    /// When it was in force, by the clock that never jumps.
    var from: Int64
    var until: Int64
  }

  private static let settingsMax = 4
  /// Below that, a clock is steered, and not set.
  private static let stepMs: Int64 = 2000
  private static let steeringMs: Int64 = 500
  /// The earliest time of a machine's start that is left to be seen is from no later than so long after it.
  private static let startMs: Int64 = 15_000

  private let plausibleSinceMs: Int64
  private var present: Setting?
  private var former: InlineArray<4, Setting> = .init(
    repeating: Setting(ahead: 0, from: 0, until: 0))
  private var formerCount = 0
  /// When the wall clock was looked at last.
  private var observedAt: Int64 = 0

  /// - Parameter plausibleSince: UNIX seconds: times before that are from a clock that was not set.
  init(plausibleSince: Int64) {
    plausibleSinceMs = plausibleSince * 1000
  }

  /// Notices whether the wall clock was set.
  mutating func observe(_ time: Time) {
    let now = Int64(time.now.milliseconds)
    let ahead = time.clockMilliseconds - now
    defer { observedAt = now }
    guard let known = present else {
      present = Setting(ahead: ahead, from: 0, until: .max)
      return
    }
    let step = ahead - known.ahead
    if step.magnitude <= Self.steeringMs { return }
    if step.magnitude <= Self.stepMs {
      present!.ahead = ahead
      return
    }
    remember(Setting(ahead: known.ahead, from: known.from, until: now))
    // Somewhere between the two looks it was set, and files may have come before and after.
    present = Setting(ahead: ahead, from: observedAt, until: .max)
  }

  /// What the wall clock said soon after the machine started, as is left to be seen: where it was set before this program
  /// started, that shows it.
  ///
  /// - Parameter earliest: UNIX seconds.
  mutating func machineStarted(at earliest: Int64, _ time: Time) {
    observe(time)
    let now = Int64(time.now.milliseconds)
    let ahead = earliest * 1000 - Self.startMs
    guard let present, ahead + 4 * Self.startMs < present.ahead else { return }
    remember(Setting(ahead: ahead, from: 0, until: now + Self.startMs))
  }

  private mutating func remember(_ setting: Setting) {
    if formerCount == Self.settingsMax {
      for index in 1..<Self.settingsMax { former[index - 1] = former[index] }
      formerCount -= 1
    }
    former[formerCount] = setting
    formerCount += 1
  }

  /// When a file came, in milliseconds by the clock that never jumps, and negative before the machine started; nil: nobody
  /// knows.
  ///
  /// - Parameter changeTimeNs: when it changed last, in UNIX nanoseconds.
  func arrival(changeTimeNs: Int64, _ time: Time) -> Int64? {
    guard let present else { return nil }
    let now = Int64(time.now.milliseconds)
    let changed = changeTimeNs / 1_000_000
    var youngest: Int64?
    let age = changed - present.ahead
    let isTold = time.wallSeconds != nil && changed >= plausibleSinceMs
    if age <= now, age >= present.from || isTold { youngest = age }
    for index in 0..<formerCount {
      let setting = former[index]
      let at = changed - setting.ahead
      guard at >= setting.from, at <= setting.until else { continue }
      youngest = max(youngest ?? at, min(at, now))
    }
    return youngest
  }
}
