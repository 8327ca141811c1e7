import CLinux
import TinyPush

/// The system's two clocks.
public enum Clock {
  static let plausibleSinceNs = Time.plausibleSince * 1_000_000_000

  public static func now() -> Instant { read(CLOCK_BOOTTIME) }

  /// How long this machine has been suspended since it started.
  static func asleep() -> Duration { read(CLOCK_MONOTONIC).until(now()) }

  private static func read(_ clock: clockid_t) -> Instant {
    var time = timespec()
    clock_gettime(clock, &time)
    return Instant(milliseconds: UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000)
  }

  /// UNIX seconds, UTC, as the machine believes.
  @inline(never)
  public static func wallSeconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec)
  }

  /// The same in nanoseconds; the last moment that can be told for any later one.
  static func wallNs() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return clinux_nanoseconds(&time)
  }

  @inline(never)
  public static func time() -> Time {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let wall = Int64(time.tv_sec)
    return Time(
      now: now(), wallSeconds: wall >= Time.plausibleSince ? wall : nil,
      clockMilliseconds: wall * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// The earliest time that is left of this machine's start, in UNIX seconds: that of the oldest entry of /run, which is made
  /// anew at each start. Nil: nobody knows, or the clock was not set.
  static func earliestSeconds(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int64? {
    var error: Int32 = 0
    var trait: Int32 = 0
    guard let run = Descriptor(AT_FDCWD, directory: "/run", error: &error),
      clinux_file_system(run.number, &trait) != nil, trait == Int32(CLINUX_VOLATILE)
    else { return nil }
    var earliest: Int64?
    DirectoryEntry.forEach(in: run.number, room) { entry in
      var information = stat()
      guard !entry.isHidden,
        fstatat(run.number, entry.name, &information, AT_SYMLINK_NOFOLLOW) == 0
      else { return }
      let seconds = clinux_change_time_s(&information)
      if seconds >= Time.plausibleSince { earliest = min(earliest ?? seconds, seconds) }
    }
    return earliest
  }
}

extension Text {
  /// A day as RFC 3339 has it, in UTC: `2026-11-21`.
  ///
  /// - Parameter seconds: UNIX seconds.
  @inline(never)
  mutating func append(day seconds: Int64) {
    var seconds = time_t(seconds)
    var time = tm()
    guard gmtime_r(&seconds, &time) != nil else { return }
    append(Int64(time.tm_year) + 1900, digits: 4)
    append("-")
    append(time.tm_mon + 1, digits: 2)
    append("-")
    append(time.tm_mday, digits: 2)
  }

  /// A time as RFC 3339 has it, in UTC: `2026-11-21T18:00:00Z`.
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
