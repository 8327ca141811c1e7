import TinyPush

/// The requests whose outcome was not taken yet, each in a place with a number.
///
/// Unanswered requests form a list in the order of sending; requests with an outcome form another.
struct Requests: ~Copyable {
  static let none = UInt16.max

  struct Request: BitwiseCopyable {
    var message: MessageNumber
    /// Whether the service may have the notification already.
    var wasSent: Bool
    /// The hash of the notification.
    var fingerprint: UInt64
    /// The hash of the device token.
    var device: UInt64
    var connection = Courier.Connection.current
    /// Whether the notification names its own topic, or its push type does.
    var namesTopic: Bool
    /// A hash of the `collapse-id` and the device token; 0: no `collapse-id`, or no known order.
    var collapse: UInt64 = 0
    /// Of two notifications, the newer one has the larger number.
    var order: UInt64 = 0
    /// When the request's frames were written; nil while they are in the batch.
    var sentAt: Instant?
    var outcome: LinkOutcome?
    var older = Requests.none
    var newer = Requests.none
  }

  let capacity: Int
  private let slots: FixedBuffer<Request>
  private var usedSlots = 0
  private var firstFree = Requests.none
  // The list of unanswered requests, and their number.
  private(set) var oldest = Requests.none
  private(set) var newest = Requests.none
  private(set) var openCount = 0
  /// The number of unanswered requests on the connection that is set aside.
  private(set) var asideCount = 0
  // The list of requests whose outcome was not taken yet, and their number.
  private var firstDecided = Requests.none
  private var lastDecided = Requests.none
  private(set) var decidedCount = 0

  init(capacity: Int) {
    precondition(capacity < Int(Self.none))
    self.capacity = capacity
    slots = FixedBuffer(capacity: capacity)
  }

  var count: Int { openCount + decidedCount }
  var currentCount: Int { openCount - asideCount }
  var hasRoom: Bool { count < capacity }

  subscript(place: UInt16) -> Request {
    get { slots[Int(place)] }
    nonmutating set { slots[Int(place)] = newValue }
  }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(slots.bytes) }

  /// Adds a request and returns its place.
  mutating func append(
    _ message: MessageNumber, wasSent: Bool, fingerprint: UInt64, device: UInt64, namesTopic: Bool
  ) -> UInt16 {
    precondition(hasRoom)
    var place = firstFree
    if place == Self.none {
      place = UInt16(usedSlots)
      usedSlots += 1
    } else {
      firstFree = slots[Int(place)].newer
    }
    slots[Int(place)] = Request(
      message: message, wasSent: wasSent, fingerprint: fingerprint, device: device,
      namesTopic: namesTopic,
      older: newest)
    if newest == Self.none { oldest = place } else { slots[Int(newest)].newer = place }
    newest = place
    openCount += 1
    return place
  }

  /// Notes that the requests in the batch are written.
  ///
  /// Returns how many they are.
  ///
  /// - Parameter isWhole: whether the newest is written to its end.
  func recordWritten(isWhole: Bool, at now: Instant) -> Int {
    var place = newest
    var count = 0
    if !isWhole, place != Self.none { place = slots[Int(place)].older }
    while place != Self.none, slots[Int(place)].sentAt == nil {
      slots[Int(place)].sentAt = now
      count += 1
      place = slots[Int(place)].older
    }
    return count
  }

  /// Starts the wait for each answer again.
  func restart(at now: Instant) {
    var place = oldest
    while place != Self.none {
      if slots[Int(place)].sentAt != nil { slots[Int(place)].sentAt = now }
      place = slots[Int(place)].newer
    }
  }

  /// Moves all unanswered requests to the connection that is set aside.
  mutating func setAside() {
    var place = oldest
    while place != Self.none {
      slots[Int(place)].connection = .aside
      place = slots[Int(place)].newer
    }
    asideCount = openCount
  }

  /// Sets a request's outcome.
  mutating func decide(_ place: UInt16, _ outcome: LinkOutcome) {
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
    if request.connection == .aside { asideCount -= 1 }
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

  /// Removes and returns the first request with an outcome; its place becomes free.
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
      // The buffer is unused now: the system may take its memory back.
      usedSlots = 0
      firstFree = Self.none
    }
    return request
  }

  // MARK: - Searches

  /// Whether a newer request with the same `collapse-id` is unanswered.
  func isFollowed(_ collapse: UInt64, _ order: UInt64) -> Bool {
    var place = oldest
    while place != Self.none {
      let other = slots[Int(place)]
      if other.collapse == collapse, other.order > order { return true }
      place = other.newer
    }
    return false
  }

  func visitDecided(_ body: (Request) -> Void) {
    var place = firstDecided
    while place != Self.none {
      body(slots[Int(place)])
      place = slots[Int(place)].newer
    }
  }
}
