/// Where a notification to one recipient stands, in a file under way.
public struct FilePlace: Equatable, BitwiseCopyable, Sendable {
  /// Bytes of the file before the notification.
  public var offset: Int64
  public var claim: ClaimNumber
  /// Recipients that come before this one.
  public var recipient: UInt32

  /// Of a notification that stands in no file.
  package static var nowhere: Self { Self(offset: 0, claim: ClaimNumber(0), recipient: 0) }
}

/// Notifications that stand one behind the other in a file, and were offered to the link one behind the other. What must go
/// again is read again from there: places are kept, not bytes.
public struct Stretch: BitwiseCopyable, Sendable {
  /// Where the notification stands from which these are counted.
  public var place: FilePlace
  /// Notifications from there on that come before the first of these.
  public var skipped: UInt32 = 0
  public var count: UInt32 = 1
  /// The notifications were on the wire before: writing them is a repetition.
  public var wasSent = false
  /// How the notifications were settled, which are read again to tell of that; nil: they are to be sent.
  var outcome: Settlement.Outcome?

  public init(place: FilePlace, count: UInt32 = 1, wasSent: Bool = false) {
    self.place = place
    self.count = count
    self.wasSent = wasSent
  }

  /// The first so many of these, which are taken away here.
  @inline(never)
  public mutating func removeFirst(_ notifications: UInt32) -> Stretch {
    var first = self
    first.count = notifications
    skipped += notifications
    count -= notifications
    return first
  }
}

/// A queue of stretches; bounded.
struct StretchQueue: ~Copyable {
  private let ring: FixedBuffer<Stretch>
  private var head = 0
  private(set) var count = 0
  /// Notifications in all stretches.
  private(set) var notifications = 0

  init(capacity: Int) { ring = FixedBuffer(capacity: capacity) }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(ring.bytes) }

  var isEmpty: Bool { count == 0 }
  var capacity: Int { ring.capacity }

  var first: Stretch? { count > 0 ? ring[head] : nil }
  var last: Stretch? { count > 0 ? ring[index(count - 1)] : nil }

  /// The one behind so many.
  subscript(offset: Int) -> Stretch {
    precondition(offset >= 0 && offset < count)
    return ring[index(offset)]
  }

  @inline(never)
  mutating func append(_ stretch: Stretch) {
    precondition(count < ring.capacity)
    ring[index(count)] = stretch
    count += 1
    notifications += Int(stretch.count)
  }

  /// So many notifications directly behind the last stretch are of it, too.
  mutating func lengthenLast(by notifications: UInt32) {
    ring[index(count - 1)].count += notifications
    self.notifications += Int(notifications)
  }

  @inline(never)
  mutating func prepend(_ stretch: Stretch) {
    precondition(count < ring.capacity)
    head = head == 0 ? ring.capacity - 1 : head - 1
    ring[head] = stretch
    count += 1
    notifications += Int(stretch.count)
  }

  @inline(never)
  mutating func removeFirst() -> Stretch? {
    guard let stretch = first else { return nil }
    head = head + 1 == ring.capacity ? 0 : head + 1
    count -= 1
    notifications -= Int(stretch.count)
    // Starting again at the front keeps what few notifications need on few pages.
    if count == 0 { head = 0 }
    return stretch
  }

  @inline(never)
  mutating func removeLast() -> Stretch? {
    guard let stretch = last else { return nil }
    count -= 1
    notifications -= Int(stretch.count)
    if count == 0 { head = 0 }
    return stretch
  }

  /// Takes so many notifications from the front, all in the first stretch.
  @inline(never)
  mutating func removeFirst(notifications wanted: UInt32) -> Stretch {
    precondition(count > 0 && wanted > 0 && wanted <= ring[head].count)
    guard wanted < ring[head].count else { return removeFirst()! }
    notifications -= Int(wanted)
    return ring[head].removeFirst(wanted)
  }

  /// One more notification at the end of the last stretch.
  mutating func extendLast() {
    precondition(count > 0)
    ring[index(count - 1)].count += 1
    notifications += 1
  }

  /// The notifications of all stretches were on the wire.
  func recordSent() {
    for offset in 0..<count { ring[index(offset)].wasSent = true }
  }

  private func index(_ offset: Int) -> Int {
    let index = head + offset
    return index < ring.capacity ? index : index - ring.capacity
  }
}
