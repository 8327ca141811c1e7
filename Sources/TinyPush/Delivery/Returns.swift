/// Notifications that the link gave back, to be read again from their files: those that go again, those that go again later,
/// and those that are settled and of which that is to be recorded or told.
struct Returns: ~Copyable {
  struct Delayed: BitwiseCopyable {
    var stretch: Stretch
    var until: Instant
  }

  private var again: StretchQueue
  private var decided: StretchQueue
  private let delayed: FixedBuffer<Delayed>
  private var delayedCount = 0
  /// When the first of the delayed ones goes again.
  private(set) var nextDueAt: Instant?

  init(capacity: Int) {
    again = StretchQueue(capacity: 2 * capacity)
    decided = StretchQueue(capacity: 2 * capacity)
    delayed = FixedBuffer(capacity: capacity)
  }

  /// Whether nothing is left to do.
  var isEmpty: Bool { count == 0 }
  var count: Int { again.count + decided.count + delayedCount }

  var notifications: Int {
    var sum = again.notifications + decided.notifications
    for index in 0..<delayedCount { sum += Int(delayed[index].stretch.count) }
    return sum
  }

  /// Whether so many stretches find room here, when all that the link has comes back, and some in two pieces.
  func hasRoom(for stretches: Int) -> Bool { count + stretches + 4 < again.capacity }

  /// Whether there is something to do before a file is read on.
  func isUrgent(at now: Instant) -> Bool {
    !decided.isEmpty || !again.isEmpty || nextDueAt.map { $0 <= now } ?? false
  }

  // MARK: - Coming back

  /// These go again before anything else.
  mutating func putFirst(_ stretch: Stretch) { again.prepend(stretch) }

  /// These go again, but not before an instant.
  mutating func delay(_ stretch: Stretch, until instant: Instant) {
    delayed[delayedCount] = Delayed(stretch: stretch, until: instant)
    delayedCount += 1
    if nextDueAt.map({ instant < $0 }) ?? true { nextDueAt = instant }
  }

  /// These are settled.
  mutating func decide(_ stretch: Stretch, _ outcome: Settlement.Outcome) {
    var stretch = stretch
    stretch.outcome = outcome
    // Parts of a stretch, as they are settled one after the other, take no more room than the stretch.
    if let last = decided.last, last.outcome == outcome, last.place == stretch.place,
      last.skipped + last.count == stretch.skipped
    {
      decided.lengthenLast(by: stretch.count)
    } else {
      decided.append(stretch)
    }
  }

  /// What was taken from here, and could not be read on.
  mutating func putBack(_ stretch: Stretch) {
    if stretch.outcome == nil { again.prepend(stretch) } else { decided.prepend(stretch) }
  }

  // MARK: - Going again

  mutating func takeDecided() -> Stretch? { decided.removeFirst() }

  /// The next stretch that goes again, if there is one.
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

  // MARK: - Looking

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
