/// Where a notification to one recipient stands, in a file that is under way.
struct FilePlace: Equatable {
  /// The number of the file's claim.
  var claim: UInt32
  var offset: Int64
  /// Recipients that come before this one.
  var recipient: UInt32
}

/// Notifications that stand one behind the other in a file and were sent one behind the other. What must go again is read
/// again from there: the window holds places, not bytes.
struct Stretch {
  /// Of the first one, on the present connection. The others follow.
  var firstID: UInt32
  /// Notifications in it; 0 for a mark that only says that a file ends here.
  var count: UInt32
  /// The number of the file's claim.
  var claim: UInt32
  /// Recipients of the first notification that come before the first one here.
  var recipient: UInt32
  /// Where in the file the first notification stands.
  var offset: Int64
  /// Nothing of the file comes after it.
  var endsFile: Bool
  /// It was on the wire before: writing it is a repetition.
  var wasSent = false

  var place: FilePlace { FilePlace(claim: claim, offset: offset, recipient: recipient) }
}

/// A queue of stretches, in the order of sending; bounded.
struct Window: ~Copyable {
  private let ring: FixedBuffer<Stretch>
  private var head = 0
  private(set) var count = 0
  /// Notifications in all stretches.
  private(set) var notifications = 0

  init(capacity: Int) {
    ring = FixedBuffer(capacity: capacity)
  }

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

  /// Notifications in so many of the first stretches.
  func firstNotifications(_ stretches: Int) -> Int {
    var notifications = 0
    for offset in 0..<stretches { notifications += Int(self[offset].count) }
    return notifications
  }

  mutating func append(_ stretch: Stretch) {
    precondition(count < ring.capacity)
    ring[index(count)] = stretch
    count += 1
    notifications += Int(stretch.count)
  }

  mutating func prepend(_ stretch: Stretch) {
    precondition(count < ring.capacity)
    head = head == 0 ? ring.capacity - 1 : head - 1
    ring[head] = stretch
    count += 1
    notifications += Int(stretch.count)
  }

  mutating func removeFirst() -> Stretch? {
    guard let stretch = first else { return nil }
    head = head + 1 == ring.capacity ? 0 : head + 1
    count -= 1
    notifications -= Int(stretch.count)
    // Starting again at the front keeps what few notifications need on few pages.
    if count == 0 { head = 0 }
    return stretch
  }

  mutating func removeLast() -> Stretch? {
    guard let stretch = last else { return nil }
    count -= 1
    notifications -= Int(stretch.count)
    return stretch
  }

  /// One more notification at the end of the last stretch.
  mutating func extendLast() {
    var stretch = ring[index(count - 1)]
    stretch.count += 1
    ring[index(count - 1)] = stretch
    notifications += 1
  }

  /// The last stretch is the last of its file.
  func endLast() {
    var stretch = ring[index(count - 1)]
    stretch.endsFile = true
    ring[index(count - 1)] = stretch
  }

  private func index(_ offset: Int) -> Int {
    let index = head + offset
    return index < ring.capacity ? index : index - ring.capacity
  }
}
