import CLinux
import TinyPush

/// When to tell the service manager that the work goes on (`WatchdogSec=` of systemd): twice in the time after which it ends
/// what has fallen silent, if since the last time something was done, or there was a rest, since nothing was to be done.
struct Watchdog {
  /// A loop that neither rests nor does anything is given so long to rest.
  private static let rest = Duration.seconds(1)

  private let interval: Duration?
  private var dueAt: Instant?
  private var progress: UInt64 = 0
  private var hasRested = false

  /// - Parameter interval: nil: nobody watches.
  init(interval: Duration?, at now: Instant) {
    self.interval = interval
    dueAt = interval.map { now + $0 }
  }

  /// As the service manager asks for in the environment.
  init(at now: Instant) {
    var interval: Duration?
    if let time = getenv("WATCHDOG_USEC"), let timeUs = Config.number(CString.span(time)) {
      let process = getenv("WATCHDOG_PID").map { Config.number(CString.span($0)) } ?? nil
      if timeUs >= 2000, process == nil || process == UInt64(getpid()) {
        interval = .milliseconds(timeUs / 2000)
      }
    }
    self.init(interval: interval, at: now)
  }

  var isOn: Bool { interval != nil }

  /// Until when there may be a rest; nil: for ever.
  func restUntil(at now: Instant) -> Instant? {
    dueAt.map { $0 > now ? $0 : now + Self.rest }
  }

  /// There was a rest from then until now.
  mutating func rested(since start: Instant, until end: Instant) {
    if end > start { hasRested = true }
  }

  /// Whether to tell now.
  ///
  /// - Parameter progress: a number that changes with all that is done.
  mutating func isDue(at now: Instant, progress: UInt64) -> Bool {
    guard let interval, let due = dueAt, now >= due, hasRested || progress != self.progress else {
      return false
    }
    dueAt = now + interval
    self.progress = progress
    hasRested = false
    return true
  }
}
