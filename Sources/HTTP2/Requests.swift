import TinyPush

/// The requests that were made and whose outcome was not told yet: a place for each.
///
/// Those without an answer are in a list in the order of sending, those with an outcome in another one.
struct Requests: ~Copyable {
  static let none = UInt16.max

  enum Connection: UInt8 {
    /// The one to which requests go.
    case current
    /// The one that goes on only until its answers are there.
    case leaving
  }

  struct Request: BitwiseCopyable {
    var stretch: Stretch
    /// Which device it is for.
    var device: UInt64
    var connection = Connection.current
    /// Whether the notification gave its own topic.
    var namesTopic: Bool
    /// What it shares with others of which the device shows only the last; 0: nothing. And which comes last.
    var collapse: UInt64 = 0
    var order: UInt64 = 0
    /// A newer one was accepted.
    var isOvertaken = false
    /// When its frames were written; nil: they are in the batch.
    var sentAt: Instant?
    var outcome: Outcome?
    var older = Requests.none
    var newer = Requests.none
  }

  enum Outcome: BitwiseCopyable {
    case accepted
    case rejected(Rejection)
    case returned(notBefore: Instant?)
    case superseded
    case dropped
  }

  let capacity: Int
  private let slots: FixedBuffer<Request>
  private var usedSlots = 0
  private var firstFree = Requests.none
  /// Without an outcome.
  private(set) var oldest = Requests.none
  private(set) var newest = Requests.none
  private(set) var openCount = 0
  /// Of those, on the connection that is leaving.
  private(set) var leavingCount = 0
  /// With one that was not told.
  private var firstDecided = Requests.none
  private var lastDecided = Requests.none
  private(set) var decidedCount = 0

  init(capacity: Int) {
    precondition(capacity < Int(Self.none))
    self.capacity = capacity
    slots = FixedBuffer(capacity: capacity)
  }

  var count: Int { openCount + decidedCount }
  var currentCount: Int { openCount - leavingCount }
  var hasRoom: Bool { count < capacity }

  subscript(place: UInt16) -> Request {
    get { slots[Int(place)] }
    nonmutating set { slots[Int(place)] = newValue }
  }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(slots.bytes) }

  /// Takes a request, whose frames are in the batch by now.
  mutating func append(_ stretch: Stretch, device: UInt64, namesTopic: Bool) -> UInt16 {
    precondition(hasRoom)
    var place = firstFree
    if place == Self.none {
      place = UInt16(usedSlots)
      usedSlots += 1
    } else {
      firstFree = slots[Int(place)].newer
    }
    slots[Int(place)] = Request(
      stretch: stretch, device: device, namesTopic: namesTopic, older: newest)
    if newest == Self.none { oldest = place } else { slots[Int(newest)].newer = place }
    newest = place
    openCount += 1
    return place
  }

  /// The requests in the batch are written. Returns how many.
  func recordWritten(at now: Instant) -> Int {
    var place = newest
    var count = 0
    while place != Self.none, slots[Int(place)].sentAt == nil {
      slots[Int(place)].sentAt = now
      count += 1
      place = slots[Int(place)].older
    }
    return count
  }

  /// What waits for its answer waits anew.
  func restart(at now: Instant) {
    var place = oldest
    while place != Self.none {
      if slots[Int(place)].sentAt != nil { slots[Int(place)].sentAt = now }
      place = slots[Int(place)].newer
    }
  }

  /// The connection of all of these is leaving.
  mutating func moveToLeaving() {
    var place = oldest
    while place != Self.none {
      slots[Int(place)].connection = .leaving
      place = slots[Int(place)].newer
    }
    leavingCount = openCount
  }

  /// What becomes of a request is known.
  mutating func decide(_ place: UInt16, _ outcome: Outcome) {
    let request = slots[Int(place)]
    precondition(request.outcome == nil)
    if request.older == Self.none {
      oldest = request.newer
    } else {
      slots[Int(request.older)].newer = request.newer
    }
    if request.newer == Self.none {
      newest = request.older
    } else {
      slots[Int(request.newer)].older = request.older
    }
    openCount -= 1
    if request.connection == .leaving { leavingCount -= 1 }
    slots[Int(place)].outcome = outcome
    slots[Int(place)].newer = Self.none
    if lastDecided == Self.none {
      firstDecided = place
    } else {
      slots[Int(lastDecided)].newer = place
    }
    lastDecided = place
    decidedCount += 1
  }

  /// The first of those whose outcome was not told; its place is free again.
  mutating func takeDecided() -> Request? {
    guard firstDecided != Self.none else { return nil }
    let place = firstDecided
    let request = slots[Int(place)]
    firstDecided = request.newer
    if firstDecided == Self.none { lastDecided = Self.none }
    decidedCount -= 1
    slots[Int(place)].newer = firstFree
    firstFree = place
    if count == 0 {
      // Nothing in the buffer is needed: the system may have its memory back.
      usedSlots = 0
      firstFree = Self.none
    }
    return request
  }

  /// One that replaces others on the device was accepted.
  func overtake(_ collapse: UInt64, _ order: UInt64) {
    var place = oldest
    while place != Self.none {
      let other = slots[Int(place)]
      if other.collapse == collapse, other.order < order { slots[Int(place)].isOvertaken = true }
      place = other.newer
    }
  }

  // MARK: - Looking

  /// Whether a newer one that replaces it on the device waits for its answer.
  func isFollowed(_ collapse: UInt64, _ order: UInt64) -> Bool {
    var place = oldest
    while place != Self.none {
      let other = slots[Int(place)]
      if other.collapse == collapse, other.order > order { return true }
      place = other.newer
    }
    return false
  }

  func visit(_ body: (Request) -> Void) {
    var place = oldest
    while place != Self.none {
      body(slots[Int(place)])
      place = slots[Int(place)].newer
    }
    visitDecided(body)
  }

  func visitDecided(_ body: (Request) -> Void) {
    var place = firstDecided
    while place != Self.none {
      body(slots[Int(place)])
      place = slots[Int(place)].newer
    }
  }
}
