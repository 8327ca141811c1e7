import CLinux
import TinyPush

/// The time as it was when the loop's turn began.
struct SystemClock {
  /// For deadlines: milliseconds since some fixed point, which nobody sets.
  private(set) var monotonicMs: Int64 = 0
  /// For people: milliseconds since 1970, UTC.
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

  /// The local time of day: `14:05:59`.
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
