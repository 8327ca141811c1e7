import CLinux
import TinyPush

/// When to tell the service manager that the agent works (`WatchdogSec=` of systemd).
///
/// The agent does so twice per `WatchdogSec=`, but only if it made progress or slept since the last
/// time: a loop that does neither is stuck.
struct Watchdog {
  /// The longest sleep when a message is overdue, so that an idle loop can show that it sleeps.
  private static let rest = Duration.seconds(1)

  private let interval: Duration?
  private var dueAt: Instant?
  private var progress: UInt64 = 0
  private var hasRested = false

  /// Creates a watchdog.
  ///
  /// - Parameter interval: the time between two messages; nil if no service manager watches.
  init(interval: Duration?, at now: Instant) {
    self.interval = interval
    dueAt = interval.map { now + $0 }
  }

  /// Creates a watchdog with the interval that the service manager sets in the environment.
  init(at now: Instant) {
    var interval: Duration?
    if let timeUs = EnvironmentVariable.watchdogInterval.number {
      let process = EnvironmentVariable.watchdogProcess.number
      if timeUs >= 2000, process == nil || process == UInt64(getpid()) {
        interval = .milliseconds(timeUs / 2000)
      }
    }
    self.init(interval: interval, at: now)
  }

  var isOn: Bool { interval != nil }

  /// Returns until when the agent may sleep; nil for ever.
  func restUntil(at now: Instant) -> Instant? {
    dueAt.map { $0 > now ? $0 : now + Self.rest }
  }

  /// Records that the agent slept from `start` to `end`.
  mutating func rested(since start: Instant, until end: Instant) {
    if end > start { hasRested = true }
  }

  /// Returns whether to tell the service manager now.
  ///
  /// - Parameter progress: a number that changes with all progress.
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
