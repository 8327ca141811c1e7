import TinyPush

/// How many requests may be under way, and when: everything at once as long as all is well, one as a try after trouble.
struct Pace {
  /// One request goes alone, until the service accepts something.
  private(set) var isTrying = true
  /// Nothing goes before this, since the service is in trouble.
  private(set) var pausedUntil: Instant?
  private var pausedAt = Instant(milliseconds: 0)
  private var trouble: Backoff

  init(seed: UInt64) { trouble = Backoff(seed: seed) }

  /// A connection begins.
  mutating func connected(isTrying: Bool) {
    self.isTrying = isTrying || self.isTrying
  }

  mutating func accepted() {
    isTrying = false
    pausedUntil = nil
    trouble.reset()
  }

  /// Only one at a time, until something is accepted.
  mutating func tryOne() { isTrying = true }

  /// The service is in trouble. Requests that were sent before that was known say nothing new.
  ///
  /// - Parameter wait: what the service asks for.
  /// - Returns: whether this is news.
  mutating func troubled(sentAt: Instant, wait: Duration?, at now: Instant) -> Bool {
    isTrying = true
    if let pausedUntil, now < pausedUntil || sentAt < pausedAt { return false }
    var pause = trouble.fail()
    if let wait, pause < wait { pause = wait }
    pausedAt = now
    pausedUntil = now + pause
    return true
  }

  func isPaused(at now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }
}

/// Devices to which too much was sent: how long each waits, doubling from a second to five minutes. The newest are
/// remembered.
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

  /// How long the device waits now.
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

  /// The device takes notifications again.
  mutating func forget(_ device: UInt64) {
    for index in 0..<count where entries[index].device == device {
      count -= 1
      entries[index] = entries[count]
      next = 0
      return
    }
  }
}
