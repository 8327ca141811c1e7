import TinyPush

/// The notifications without an outcome, in the order of sending.
struct Window: ~Copyable {
  struct Entry: BitwiseCopyable {
    var message: MessageNumber
    /// Whether the notification was written before, so that it is now repeated.
    var wasSent: Bool
  }

  private let ring: FixedBuffer<Entry>
  private var head = 0
  private(set) var count = 0

  init(capacity: Int) { ring = FixedBuffer(capacity: capacity) }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(ring.bytes) }

  var isEmpty: Bool { count == 0 }
  var capacity: Int { ring.capacity }

  /// The entry at an index.
  subscript(offset: Int) -> Entry {
    precondition(offset >= 0 && offset < count)
    return ring[index(offset)]
  }

  mutating func append(_ entry: Entry) {
    precondition(count < ring.capacity)
    ring[index(count)] = entry
    count += 1
  }

  mutating func removeFirst() -> Entry {
    precondition(count > 0)
    let entry = ring[head]
    head = head + 1 == ring.capacity ? 0 : head + 1
    count -= 1
    // An empty window starts again at the front: so few notifications touch few pages.
    if count == 0 { head = 0 }
    return entry
  }

  mutating func removeLast() -> Entry? {
    guard count > 0 else { return nil }
    let entry = ring[index(count - 1)]
    count -= 1
    if count == 0 { head = 0 }
    return entry
  }

  /// Records that all notifications were written.
  func recordSent() {
    for offset in 0..<count { ring[index(offset)].wasSent = true }
  }

  private func index(_ offset: Int) -> Int {
    let index = head + offset
    return index < ring.capacity ? index : index - ring.capacity
  }
}
