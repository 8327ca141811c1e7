/// The place of a notification to one recipient, in a file under way.
public struct FilePlace: Equatable, BitwiseCopyable, Sendable {
  /// The offset in the file from which the notification is read, in bytes.
  public var offset: Int64
  /// The claim of the file.
  public var claim: ClaimNumber
  /// The number of the notification's recipients before this one.
  public var recipient: UInt32

  /// The place of a notification that is in no file.
  package static var nowhere: Self { Self(offset: 0, claim: ClaimNumber(0), recipient: 0) }
}

/// Notifications that follow each other in a file, and were offered one after the other.
///
/// A notification that is sent again is read again from its place: links keep places, not bytes.
public struct Stretch: BitwiseCopyable, Sendable {
  /// The place from which the notifications are counted.
  public var place: FilePlace
  /// The number of notifications between the place and the first one of the stretch.
  public var skipped: UInt32 = 0
  /// The number of notifications.
  public var count: UInt32 = 1
  /// Whether the notifications were written before, so that they are now repeated.
  public var wasSent = false
  /// The outcome to record or report; nil: the notifications are to be sent.
  var outcome: Settlement.Outcome?

  /// Creates a stretch that begins at `place`.
  public init(place: FilePlace, count: UInt32 = 1, wasSent: Bool = false) {
    self.place = place
    self.count = count
    self.wasSent = wasSent
  }

  /// Removes the first notifications, and returns them as a stretch.
  @inline(never)
  public mutating func removeFirst(_ notifications: UInt32) -> Stretch {
    var first = self
    first.count = notifications
    skipped += notifications
    count -= notifications
    return first
  }
}

/// A bounded queue of stretches.
package struct StretchQueue: ~Copyable {
  private let ring: FixedBuffer<Stretch>
  private var head = 0
  package private(set) var count = 0
  /// The number of notifications in all stretches.
  package private(set) var notifications = 0

  package init(capacity: Int) { ring = FixedBuffer(capacity: capacity) }

  package func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(ring.bytes) }

  package var isEmpty: Bool { count == 0 }
  package var capacity: Int { ring.capacity }

  package var first: Stretch? { count > 0 ? ring[head] : nil }
  package var last: Stretch? { count > 0 ? ring[index(count - 1)] : nil }

  /// The stretch at an index.
  package subscript(offset: Int) -> Stretch {
    precondition(offset >= 0 && offset < count)
    return ring[index(offset)]
  }

  @inline(never)
  package mutating func append(_ stretch: Stretch) {
    precondition(count < ring.capacity)
    ring[index(count)] = stretch
    count += 1
    notifications += Int(stretch.count)
  }

  /// Adds notifications that directly follow the last stretch to it.
  mutating func lengthenLast(by notifications: UInt32) {
    ring[index(count - 1)].count += notifications
    self.notifications += Int(notifications)
  }

  @inline(never)
  package mutating func prepend(_ stretch: Stretch) {
    precondition(count < ring.capacity)
    head = head == 0 ? ring.capacity - 1 : head - 1
    ring[head] = stretch
    count += 1
    notifications += Int(stretch.count)
  }

  @inline(never)
  package mutating func removeFirst() -> Stretch? {
    guard let stretch = first else { return nil }
    head = head + 1 == ring.capacity ? 0 : head + 1
    count -= 1
    notifications -= Int(stretch.count)
    // An empty queue starts again at the front: so few notifications touch few pages.
    if count == 0 { head = 0 }
    return stretch
  }

  @inline(never)
  package mutating func removeLast() -> Stretch? {
    guard let stretch = last else { return nil }
    count -= 1
    notifications -= Int(stretch.count)
    if count == 0 { head = 0 }
    return stretch
  }

  /// Removes `wanted` notifications from the front, all of the first stretch.
  @inline(never)
  package mutating func removeFirst(notifications wanted: UInt32) -> Stretch {
    precondition(count > 0 && wanted > 0 && wanted <= ring[head].count)
    guard wanted < ring[head].count else { return removeFirst()! }
    notifications -= Int(wanted)
    return ring[head].removeFirst(wanted)
  }

  /// Adds one notification to the last stretch.
  package mutating func extendLast() {
    precondition(count > 0)
    ring[index(count - 1)].count += 1
    notifications += 1
  }

  /// Records that the notifications of all stretches were written.
  package func recordSent() {
    for offset in 0..<count { ring[index(offset)].wasSent = true }
  }

  private func index(_ offset: Int) -> Int {
    let index = head + offset
    return index < ring.capacity ? index : index - ring.capacity
  }
}
