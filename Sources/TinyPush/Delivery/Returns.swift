/// The stretches that the link gave back, and that are read again from their files.
///
/// Some are sent again at once, some not before an instant, and some are settled and only recorded
/// or reported.
struct Returns: ~Copyable {
  struct Delayed: BitwiseCopyable {
    var stretch: Stretch
    var until: Instant
  }

  private var again: StretchQueue
  private var decided: StretchQueue
  private let delayed: FixedBuffer<Delayed>
  private var delayedCount = 0
  /// When the first delayed stretch may be sent.
  private(set) var nextDueAt: Instant?

  init(capacity: Int) {
    again = StretchQueue(capacity: 2 * capacity)
    decided = StretchQueue(capacity: 2 * capacity)
    delayed = FixedBuffer(capacity: 2 * capacity)
  }

  /// Whether there are no stretches.
  var isEmpty: Bool { count == 0 }
  var count: Int { again.count + decided.count + delayedCount }

  var notifications: Int {
    var sum = again.notifications + decided.notifications
    for index in 0..<delayedCount { sum += Int(delayed[index].stretch.count) }
    return sum
  }

  /// Returns whether this number of stretches has room, even if some come back in two parts.
  func hasRoom(for stretches: Int) -> Bool { count + stretches + 4 < again.capacity }

  /// Returns whether a stretch must be read before the present file goes on.
  func isUrgent(at now: Instant) -> Bool {
    !decided.isEmpty || !again.isEmpty || nextDueAt.map { $0 <= now } ?? false
  }

  // MARK: - Returning

  /// Sends a stretch again before anything else.
  mutating func putFirst(_ stretch: Stretch) { again.prepend(stretch) }

  /// Sends a stretch again, but not before an instant.
  mutating func delay(_ stretch: Stretch, until instant: Instant) {
    delayed[delayedCount] = Delayed(stretch: stretch, until: instant)
    delayedCount += 1
    if nextDueAt.map({ instant < $0 }) ?? true { nextDueAt = instant }
  }

  /// Records or reports the outcome of a stretch.
  mutating func decide(_ stretch: Stretch, _ outcome: Settlement.Outcome) {
    var stretch = stretch
    stretch.outcome = outcome
    // Parts of a stretch that are settled one after the other are joined again.
    if let last = decided.last, last.outcome == outcome, last.place == stretch.place,
      last.skipped + last.count == stretch.skipped
    {
      decided.lengthenLast(by: stretch.count)
    } else {
      decided.append(stretch)
    }
  }

  /// Puts a stretch back that was taken and could not be read to its end.
  mutating func putBack(_ stretch: Stretch) {
    if stretch.outcome == nil { again.prepend(stretch) } else { decided.prepend(stretch) }
  }

  // MARK: - Taking

  mutating func takeDecided() -> Stretch? { decided.removeFirst() }

  /// Takes the next stretch to send again.
  mutating func takeNext(at now: Instant) -> Stretch? {
    if let nextDueAt, nextDueAt <= now { releaseDelayed(at: now) }
    return again.removeFirst()
  }

  private mutating func releaseDelayed(at now: Instant) {
    nextDueAt = nil
    var kept = 0
    for index in 0..<delayedCount {
      let one = delayed[index]
      if one.until <= now {
        again.append(one.stretch)
      } else {
        delayed[kept] = one
        kept += 1
        if nextDueAt.map({ one.until < $0 }) ?? true { nextDueAt = one.until }
      }
    }
    delayedCount = kept
  }

  // MARK: - State

  func forEach(_ body: (Stretch) -> Void) {
    for index in 0..<again.count { body(again[index]) }
    for index in 0..<decided.count { body(decided[index]) }
    for index in 0..<delayedCount { body(delayed[index].stretch) }
  }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    again.forEachBuffer(body)
    decided.forEachBuffer(body)
    body(delayed.bytes)
  }
}
