/// When the peer's kernel acknowledged what was sent. It proves nothing about the gateway, but the wait for an error
/// response begins there: a notification counts as settled when that wait is over, unless it has to begin anew.
struct Acknowledgements: ~Copyable {
  struct Mark: BitwiseCopyable {
    /// Everything up to this identifier lies before `wireEnd` in the stream.
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
  /// No wait began earlier.
  private var restartedAt = Instant(milliseconds: 0)
  /// Whether an answer to the newest mark is waited for, which will speak of all.
  var waitsForAll = false
  /// When it is time to ask whether the oldest mark has been acknowledged.
  private var askAt = Instant(milliseconds: 0)

  init(settle: Duration) {
    self.settle = settle
  }

  var isEmpty: Bool { count == 0 }

  /// Forgets the connection.
  mutating func clear() {
    count = 0
    waitsForAll = false
  }

  /// What was sent at about the same time settles together; when there are many marks, the newest one grows.
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

  /// Whatever waits for an answer waits for it from now on.
  mutating func restart(at now: Instant) {
    restartedAt = now
    for index in 0..<count where marks[index].acknowledgedAt != nil {
      marks[index].acknowledgedAt = now
    }
  }

  /// - Parameters:
  ///   - wireEnd: the place in the stream up to which the peer has everything.
  ///   - instant: when that became so, at the latest.
  mutating func acknowledged(upTo wireEnd: UInt64, at instant: Instant, now: Instant) {
    for index in 0..<count {
      let mark = marks[index]
      guard mark.acknowledgedAt == nil, mark.wireEnd <= wireEnd else { continue }
      let since = instant > mark.sentAt ? instant : mark.sentAt
      marks[index].acknowledgedAt = since > restartedAt ? since : restartedAt
    }
    askAt = now + Duration(milliseconds: settle.milliseconds / 4 + 1)
  }

  /// When the wait for the oldest mark, or for all of them, is over; nil before it has begun.
  var settledAt: Instant? {
    guard count > 0, let since = marks[waitsForAll ? count - 1 : 0].acknowledgedAt else {
      return nil
    }
    return since + settle
  }

  /// The last identifier whose wait is over; its mark is done with.
  ///
  /// - Parameter heard: until when everything that the gateway said has been read.
  mutating func takeSettled(at heard: Instant) -> UInt32? {
    guard let settledAt, heard >= settledAt else { return nil }
    let lastID = marks[0].lastID
    for index in 1..<max(count, 1) { marks[index - 1] = marks[index] }
    count -= 1
    return lastID
  }

  /// Whether it must now be known how much the peer has.
  func mustAsk(at now: Instant) -> Bool {
    isUnacknowledged && now >= askAt
  }

  /// When something here is due.
  var deadline: Instant? {
    guard count > 0 else { return nil }
    guard isUnacknowledged else { return settledAt }
    return settledAt.map { $0 < askAt ? $0 : askAt } ?? askAt
  }

  private var isUnacknowledged: Bool { count > 0 && marks[count - 1].acknowledgedAt == nil }
}
