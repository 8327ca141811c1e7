import TinyPush

/// When the peer's kernel acknowledged the bytes of the notifications.
///
/// An acknowledgement proves nothing about the gateway, but the wait for an error response begins
/// with it. When the wait of `settle` is over, the notifications count as settled. The wait can be
/// restarted.
struct Acknowledgements: ~Copyable {
  struct Mark: BitwiseCopyable {
    /// The frames up to this identifier end before `wireEnd` in the stream.
    var lastID: UInt32
    var wireEnd: UInt64
    var startedAt: Instant
    var sentAt: Instant
    var acknowledgedAt: Instant?
  }

  private static let marksMax = 32
  private let marks = FixedBuffer<Mark>(capacity: marksMax)
  private var count = 0
  private let settle: Duration
  /// The instant before which no wait begins.
  private var restartedAt = Instant(milliseconds: 0)
  /// Whether the marks wait for the newest one, since the answer to a barrier covers all.
  var waitsForAll = false
  /// When to ask whether the oldest mark was acknowledged.
  private var askAt = Instant(milliseconds: 0)

  init(settle: Duration) {
    self.settle = settle
  }

  var isEmpty: Bool { count == 0 }

  /// Forgets the marks when the connection ends.
  mutating func clear() {
    count = 0
    waitsForAll = false
  }

  /// Records a write.
  ///
  /// Notifications that are written at about the same time share a mark. When there are many marks,
  /// the newest one is extended.
  mutating func sent(upTo lastID: UInt32, wireEnd: UInt64, at now: Instant) {
    if count > 0 {
      let newest = marks[count - 1]
      let isFresh =
        newest.startedAt.until(now).milliseconds < settle.milliseconds / UInt64(Self.marksMax)
      if newest.acknowledgedAt == nil && isFresh || count == Self.marksMax {
        marks[count - 1].lastID = lastID
        marks[count - 1].wireEnd = wireEnd
        marks[count - 1].sentAt = now
        marks[count - 1].acknowledgedAt = nil
        return
      }
    }
    if count == 0 { askAt = now + settle }
    marks[count] = Mark(
      lastID: lastID, wireEnd: wireEnd, startedAt: now, sentAt: now, acknowledgedAt: nil)
    count += 1
  }

  /// Restarts all waits.
  mutating func restart(at now: Instant) {
    restartedAt = now
    for index in 0..<count where marks[index].acknowledgedAt != nil {
      marks[index].acknowledgedAt = now
    }
  }

  /// Records an acknowledgement.
  ///
  /// - Parameters:
  ///   - wireEnd: the end of the acknowledged part of the stream.
  ///   - instant: the latest time at which it was acknowledged.
  mutating func acknowledged(upTo wireEnd: UInt64, at instant: Instant, now: Instant) {
    for index in 0..<count {
      let mark = marks[index]
      guard mark.acknowledgedAt == nil, mark.wireEnd <= wireEnd else { continue }
      let since = instant > mark.sentAt ? instant : mark.sentAt
      marks[index].acknowledgedAt = since > restartedAt ? since : restartedAt
    }
    askAt = now + Duration(milliseconds: settle.milliseconds / 4 + 1)
  }

  /// When the wait of the oldest mark, or of all, is over; nil: it has not begun.
  var settledAt: Instant? {
    guard count > 0, let since = marks[waitsForAll ? count - 1 : 0].acknowledgedAt else {
      return nil
    }
    return since + settle
  }

  /// Removes the oldest mark if its wait is over, and returns its last identifier.
  ///
  /// - Parameter heard: the instant up to which everything from the gateway was read.
  mutating func takeSettled(at heard: Instant) -> UInt32? {
    guard let settledAt, heard >= settledAt else { return nil }
    let lastID = marks[0].lastID
    for index in 1..<max(count, 1) { marks[index - 1] = marks[index] }
    count -= 1
    return lastID
  }

  /// Returns whether to ask for the acknowledgements now.
  func mustAsk(at now: Instant) -> Bool {
    isUnacknowledged && now >= askAt
  }

  /// When the next wait or question is due.
  var deadline: Instant? {
    guard count > 0 else { return nil }
    guard isUnacknowledged else { return settledAt }
    return settledAt.map { $0 < askAt ? $0 : askAt } ?? askAt
  }

  private var isUnacknowledged: Bool { count > 0 && marks[count - 1].acknowledgedAt == nil }
}
