import TinyPush

/// The topic filters that the broker is asked for, and its answers.
public struct Subscriptions: ~Copyable {
  /// The time after which a refused subscription is asked for again.
  private static let pause = Duration.seconds(300)

  /// The topic filters.
  public private(set) var filters = FilterList()
  /// The filters to ask for, a bit for each.
  private var due: UInt32 = 0
  /// For each filter, the number under which the broker was asked for it.
  private var asked = InlineArray<32, UInt16>(repeating: 0)
  /// The filters that the broker refused, a bit for each.
  private var refused: UInt32 = 0
  /// When to ask for them again, once the broker has answered all others.
  private(set) var askAt: Instant?
  /// Filters of earlier rules, which the broker must forget, and how many of them it was told.
  private var gone = FilterList()
  private var goneTold = 0

  init() {}

  @inline(never)
  deinit {}

  /// Begins anew, on a connection that the broker accepted.
  ///
  /// Some brokers end the connection with a refusal, so that no later subscription gets an answer.
  /// What was refused is asked for only at its time, behind all others.
  mutating func connected() {
    goneTold = 0
    askForAll()
    due &= ~refused
  }

  /// Forgets what the broker was asked on a connection that has ended.
  mutating func ended() { due = 0 }

  /// Takes other filters; those that are not among them are ended.
  ///
  /// - Parameter isConnected: whether the broker can be asked now.
  mutating func replace(_ fresh: inout FilterList, isConnected: Bool) {
    swap(&filters, &fresh)
    for index in 0..<fresh.count where !gone.contains(fresh.filter(index)) {
      if !filters.contains(fresh.filter(index)) { _ = gone.append(fresh.filter(index)) }
    }
    goneTold = 0
    refused = 0
    askAt = nil
    due = 0
    if isConnected { askForAll() }
  }

  private mutating func askForAll() {
    asked = InlineArray(repeating: 0)
    due = filters.count == 32 ? .max : 1 << UInt32(filters.count) - 1
  }

  /// A subscription that is not asked for, since the broker does not offer it.
  typealias Refusal = (filter: Int, reason: UInt8)

  /// Asks for what is due, as far as there is room; returns after the first refusal.
  mutating func ask(_ session: inout BrokerSession, at now: Instant) -> Refusal? {
    if let askAt, askAt <= now, due == 0, !session.isAsking {
      self.askAt = nil
      due |= refused
    }
    while due != 0 {
      let index = due.trailingZeroBitCount
      let filter = filters.filter(index)
      if let reason = session.lack(for: filter) {
        due &= due - 1
        refuse(index, at: now)
        return (index, reason)
      }
      guard let packetID = session.subscribe(filter, isState: false, at: now) else { return nil }
      asked[index] = packetID
      due &= due - 1
    }
    // The new filters come first, so that no message is missed that both match.
    while goneTold < gone.count {
      let filter = gone.filter(goneTold)
      guard filters.contains(filter) || session.unsubscribe(filter, at: now) else { break }
      goneTold += 1
    }
    return nil
  }

  /// The number of the filter for which this is the answer; nil: the filter is no longer wanted.
  mutating func take(_ answer: BrokerSession.Subscription, at now: Instant) -> Int? {
    for index in 0..<filters.count where asked[index] == answer.packetID {
      if answer.reason >= 0x80 { refuse(index, at: now) } else { refused &= ~(1 << UInt32(index)) }
      return index
    }
    return nil
  }

  /// The broker has ended all subscriptions that it was told to end.
  mutating func unsubscribed() {
    guard goneTold == gone.count else { return }
    gone.clear()
    goneTold = 0
  }

  /// Whether a subscription is still to be asked for.
  var isAsking: Bool { due != 0 }

  /// Whether the broker refused a subscription.
  var hasRefused: Bool { refused != 0 }

  private mutating func refuse(_ index: Int, at now: Instant) {
    refused |= 1 << UInt32(index)
    askAt = now + Self.pause
  }
}
