import TinyPush

/// The notifications and devices that the service did not take, and how long each waits.
///
/// The wait doubles from a second to five minutes, until the service takes the notification, or one
/// for the device. The newest 1,024 are remembered.
struct Waits: ~Copyable {
  struct Entry: BitwiseCopyable {
    /// The hash of the notification or the device.
    var key: UInt64
    var failures: UInt8 = 0
    /// The last refusals in a row for the same reason that show that it is the cause itself.
    var strikes: UInt8 = 0
    /// Whether the service has accepted none between the last two refusals.
    var isAmongRefused = false
    /// Whether the service said goodbye twice when it was sent.
    fileprivate var bringsGoodbye = false
    /// Whether others were let go before it on this connection.
    fileprivate var wasPassedOver = false
    /// When its wait is over, if that was noted.
    fileprivate var until: Instant?
    fileprivate var reason = Rejection.Reason.other
    /// The number of accepted notifications at the last refusal.
    private var accepted: UInt64 = 0

    init(key: UInt64) { self.key = key }

    /// How long it waits after its last failure.
    var wait: Duration {
      let doubled = Backoff.first.milliseconds << UInt64(failures - 1)
      return .milliseconds(min(doubled, Backoff.longest.milliseconds))
    }

    fileprivate mutating func strike(
      _ reason: Rejection.Reason, accepted: UInt64, isOnlyOne: Bool
    ) {
      isAmongRefused = strikes > 0 && accepted == self.accepted
      if strikes == 0 || reason != self.reason {
        strikes = 1
      } else if accepted > self.accepted || isOnlyOne {
        strikes = min(strikes + 1, UInt8(Waits.strikesMax))
      }
      self.reason = reason
      self.accepted = accepted
    }

    /// Whether the service refuses this one, and not all.
    var isHopeless: Bool { strikes >= Waits.strikesMax }
  }

  private static let capacity = 1024
  /// A notification that is refused this often while others are accepted is not sent again.
  private static let strikesMax = 3
  private static let failuresMax = 10

  private let entries = FixedBuffer<Entry>(capacity: capacity)
  private var count = 0
  private var next = 0

  init() {}

  /// Notes a failure, and returns the entry.
  mutating func fail(_ key: UInt64) -> Entry { entries[noteFailure(of: key)] }

  private mutating func noteFailure(of key: UInt64) -> Int {
    let index = index(of: key) ?? add(key)
    entries[index].failures = min(entries[index].failures + 1, UInt8(Self.failuresMax))
    return index
  }

  private func index(of key: UInt64) -> Int? { (0..<count).first { entries[$0].key == key } }

  /// Notes that a device had too many requests, and returns how long the refused one waits.
  ///
  /// Only the first refusal counts of all requests that were sent before the wait is over. Otherwise
  /// ten requests that are refused together would wait for five minutes.
  ///
  /// - Parameter wanted: how long the service wants the device to wait; nil: it does not say.
  mutating func failTogether(
    _ key: UInt64, sentAt: Instant, at now: Instant, _ wanted: Duration?
  ) -> Duration {
    if let index = index(of: key), let until = entries[index].until, sentAt < until {
      return max(entries[index].wait, wanted ?? entries[index].wait)
    }
    let index = noteFailure(of: key)
    let wait = max(entries[index].wait, wanted ?? entries[index].wait)
    entries[index].until = now + wait
    return wait
  }

  /// Notes a refusal for a reason that may concern this notification or all, and returns the entry.
  ///
  /// - Parameters:
  ///   - accepted: the number of notifications that the service has accepted so far.
  ///   - isOnlyOne: whether the service accepted others before, and refuses only this one now.
  mutating func refuse(
    _ key: UInt64, _ reason: Rejection.Reason, accepted: UInt64, isOnlyOne: Bool = false
  ) -> Entry {
    let index = noteFailure(of: key)
    entries[index].strike(reason, accepted: accepted, isOnlyOne: isOnlyOne)
    return entries[index]
  }

  /// Notes that the service said goodbye when it was sent this, and returns how long this waits; nil:
  /// not at all, since that may be chance.
  mutating func failByGoodbye(_ key: UInt64) -> Duration? {
    let index = noteFailure(of: key)
    guard entries[index].failures > 1 else { return nil }
    entries[index].bringsGoodbye = true
    return entries[index].wait
  }

  /// Whether connections ended when the service was sent only this.
  func endsConnections(_ key: UInt64) -> Bool {
    guard let index = index(of: key) else { return false }
    return entries[index].strikes > 0 && entries[index].reason == .endsConnections
      || entries[index].bringsGoodbye
  }

  /// Lets others go before a notification once on each connection.
  ///
  /// Returns false if that was done already.
  func passOver(_ key: UInt64) -> Bool {
    guard let index = index(of: key) else { return false }
    defer { entries[index].wasPassedOver = true }
    return !entries[index].wasPassedOver
  }

  /// Begins a connection.
  func connected() { for index in 0..<count { entries[index].wasPassedOver = false } }

  private mutating func add(_ key: UInt64) -> Int {
    let index = count < Self.capacity ? count : next
    if count < Self.capacity { count += 1 } else { next = (next + 1) % Self.capacity }
    entries[index] = Entry(key: key)
    return index
  }

  /// Forgets what the service has taken or refused.
  mutating func forget(_ key: UInt64) {
    guard let index = index(of: key) else { return }
    count -= 1
    entries[index] = entries[count]
    next = 0
  }
}
