import TinyPush

/// How many requests may wait for answers: all that the service allows, or one at a time.
struct Pace {
  /// Whether only one request may be unanswered at a time, until the service accepts one.
  private(set) var sendsOneAtATime = true
  /// The instant before which nothing is sent, because the service is in trouble.
  private(set) var pausedUntil: Instant?
  private var pausedAt = Instant(milliseconds: 0)
  private var trouble: Backoff

  init(seed: UInt64) { trouble = Backoff(seed: seed) }

  /// Begins a connection.
  mutating func connected(sendsOneAtATime: Bool) {
    self.sendsOneAtATime = sendsOneAtATime || self.sendsOneAtATime
  }

  mutating func accepted() {
    sendsOneAtATime = false
    pausedUntil = nil
    trouble.reset()
  }

  /// Sends one request at a time, until the service accepts one.
  mutating func sendOneAtATime() { sendsOneAtATime = true }

  /// Pauses because the service is in trouble.
  ///
  /// Requests sent before the last pause began bring no news: their answers do not lengthen it.
  ///
  /// - Parameter wait: the wait that the service asks for (`retry-after`).
  /// - Returns: whether a new pause has begun.
  mutating func troubled(sentAt: Instant, wait: Duration?, at now: Instant) -> Bool {
    sendsOneAtATime = true
    if let pausedUntil, now < pausedUntil || sentAt < pausedAt { return false }
    var pause = trouble.fail()
    if let wait, pause < wait { pause = wait }
    pausedAt = now
    pausedUntil = now + pause
    return true
  }

  func isPaused(at now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }
}

/// The devices that were sent too much (status 429), and how long each waits.
///
/// The wait doubles from a second to five minutes. The newest 64 devices are remembered.
struct Overloaded: ~Copyable {
  struct Entry: BitwiseCopyable {
    var device: UInt64
    var failures: UInt8
  }

  private static let capacity = 64
  private let entries = FixedBuffer<Entry>(capacity: capacity)
  private var count = 0
  private var next = 0

  init() {}

  /// Returns how long the device waits now, and doubles its next wait.
  mutating func wait(_ device: UInt64) -> Duration {
    for index in 0..<count where entries[index].device == device {
      let failures = entries[index].failures
      if failures < 9 { entries[index].failures = failures + 1 }
      let doubled = Backoff.first.milliseconds << UInt64(failures)
      return .milliseconds(min(doubled, Backoff.longest.milliseconds))
    }
    let index = count < Self.capacity ? count : next
    if count < Self.capacity { count += 1 } else { next = (next + 1) % Self.capacity }
    entries[index] = Entry(device: device, failures: 1)
    return Backoff.first
  }

  /// Forgets the device, which takes notifications again.
  mutating func forget(_ device: UInt64) {
    for index in 0..<count where entries[index].device == device {
      count -= 1
      entries[index] = entries[count]
      next = 0
      return
    }
  }
}
