import CLinux
import TinyPush

/// The time at which the current turn of the loop began.
struct SystemClock {
  /// The time for deadlines: milliseconds of the monotonic clock.
  private(set) var monotonicMs: Int64 = 0
  /// The time for people: milliseconds since 1970, UTC.
  private(set) var unixMs: Int64 = 0
  private var local = tm()
  private var localSeconds: Int64 = -1

  init() { tick() }

  var unixSeconds: Int64 { unixMs / 1000 }

  mutating func tick() {
    monotonicMs = Self.read(CLOCK_MONOTONIC)
    unixMs = Self.read(CLOCK_REALTIME)
    guard unixSeconds != localSeconds else { return }
    localSeconds = unixSeconds
    var seconds = time_t(unixSeconds)
    localtime_r(&seconds, &local)
  }

  /// Appends the local time of day: `14:05:59`.
  func write(in text: inout Text) {
    text.append(local.tm_hour, digits: 2)
    text.append(":")
    text.append(local.tm_min, digits: 2)
    text.append(":")
    text.append(local.tm_sec, digits: 2)
  }

  private static func read(_ clock: Int32) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
