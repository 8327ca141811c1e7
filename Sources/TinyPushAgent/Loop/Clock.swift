import CLinux
import TinyPush

/// The system's two clocks.
public enum Clock {
  static let plausibleSinceNs = Time.plausibleSince * 1_000_000_000

  /// Returns the time since the machine started, including the time it was suspended.
  public static func now() -> Instant { read(CLOCK_BOOTTIME) }

  /// Returns how long this machine has been suspended since it started.
  fileprivate static func asleep() -> Duration { read(CLOCK_MONOTONIC).until(now()) }

  @inline(never)
  private static func read(_ clock: clockid_t) -> Instant {
    var time = timespec()
    clock_gettime(clock, &time)
    return Instant(milliseconds: UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000)
  }

  /// Returns the wall clock's time in UNIX seconds, which is wrong if the clock was never set.
  @inline(never)
  public static func wallSeconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec)
  }

  /// Returns the wall clock's time in UNIX nanoseconds, limited to the range of the type.
  static func wallNs() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return clinux_nanoseconds(&time)
  }

  /// Returns how far the wall clock is ahead of the monotonic clock, in seconds.
  static func offsetSeconds() -> Int64 {
    wallNs() / 1_000_000_000 - Int64(now().milliseconds / 1000)
  }

  /// Returns both clocks' times, without the wall clock's seconds if that is not set.
  @inline(never)
  public static func time() -> Time {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let wall = Int64(time.tv_sec)
    return Time(
      now: now(), wallSeconds: wall >= Time.plausibleSince ? wall : nil,
      clockMilliseconds: wall * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// Returns the earliest known time after this machine's start, in UNIX seconds; nil if unknown.
  ///
  /// That is the time of the oldest entry of /run, which is empty at each start. An entry from
  /// before the clock was set does not count.
  static func earliestSeconds(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int64? {
    var error: Int32 = 0
    guard let run = Descriptor(AT_FDCWD, directory: "/run", error: &error),
      clinux_is_volatile(run.number) != 0
    else { return nil }
    var earliest: Int64?
    DirectoryEntry.forEach(in: run.number, room) { entry in
      var information = stat()
      guard !entry.isHidden,
        fstatat(run.number, entry.name, &information, AT_SYMLINK_NOFOLLOW) == 0
      else { return }
      let seconds = clinux_change_time_ns(&information) / 1_000_000_000
      if seconds >= Time.plausibleSince { earliest = min(earliest ?? seconds, seconds) }
    }
    return earliest
  }
}

/// Notes how long the machine is suspended.
package struct Suspension {
  private var total = Clock.asleep()

  package init() {}

  /// Returns for how long the machine was suspended since the last call; nil: less than a second.
  package mutating func lasted() -> Duration? {
    let before = total
    total = Clock.asleep()
    guard total > before + .seconds(1) else { return nil }
    return .milliseconds(total.milliseconds - before.milliseconds)
  }
}

extension Text {
  /// Appends a day in UTC as in RFC 3339: `2026-11-21`.
  ///
  /// - Parameter seconds: UNIX seconds.
  @inline(never)
  public mutating func append(day seconds: Int64) {
    var seconds = time_t(seconds)
    var time = tm()
    guard gmtime_r(&seconds, &time) != nil else { return }
    append(Int64(time.tm_year) + 1900, digits: 4)
    append("-")
    append(time.tm_mon + 1, digits: 2)
    append("-")
    append(time.tm_mday, digits: 2)
  }

  /// Appends a time in UTC as in RFC 3339: `2026-11-21T18:00:00Z`.
  ///
  /// - Parameter seconds: UNIX seconds.
  @inline(never)
  public mutating func append(utc seconds: UInt32) {
    var seconds = time_t(seconds)
    var time = tm()
    append(day: Int64(seconds))
    gmtime_r(&seconds, &time)
    append("T")
    append(time.tm_hour, digits: 2)
    append(":")
    append(time.tm_min, digits: 2)
    append(":")
    append(time.tm_sec, digits: 2)
    append("Z")
  }
}
