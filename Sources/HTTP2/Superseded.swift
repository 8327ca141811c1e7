import TinyPush

/// The returned notifications with a `collapse-id`, and whether each was superseded meanwhile.
///
/// A returned notification must not be sent again once a newer one with the same `collapse-id` was
/// accepted for its device. Only the newest 512 are remembered: a forgotten one may be sent again,
/// and then replaces the newer one on the device.
struct Superseded: ~Copyable {
  struct Entry: BitwiseCopyable {
    var collapse: UInt64
    var order: UInt64
    var isSuperseded: Bool
  }

  static let capacity = 512
  private let entries: FixedBuffer<Entry>
  private var count = 0
  private var next = 0

  init(capacity: Int = capacity) { entries = FixedBuffer(capacity: capacity) }

  mutating func add(_ collapse: UInt64, _ order: UInt64) {
    let index = count < Self.capacity ? count : next
    if count < Self.capacity { count += 1 } else { next = (next + 1) % Self.capacity }
    entries[index] = Entry(collapse: collapse, order: order, isSuperseded: false)
  }

  /// Marks the older notifications, since a newer one was accepted.
  func accepted(_ collapse: UInt64, _ order: UInt64) {
    for index in 0..<count
    where entries[index].collapse == collapse && entries[index].order < order {
      entries[index].isSuperseded = true
    }
  }

  /// Removes a notification that is offered again.
  ///
  /// Returns whether it is superseded.
  mutating func remove(_ collapse: UInt64, _ order: UInt64) -> Bool {
    for index in 0..<count
    where entries[index].collapse == collapse && entries[index].order == order {
      let isSuperseded = entries[index].isSuperseded
      count -= 1
      entries[index] = entries[count]
      next = 0
      return isSuperseded
    }
    return false
  }
}
