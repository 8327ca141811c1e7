import TinyPush

/// Notifications with a `collapse-id` that were given back, and go again: whether a newer one that replaces them on the device
/// was accepted meanwhile. The newest are remembered; of one that is forgotten, the device may show the older one in the end.
struct Overtaken: ~Copyable {
  struct Entry: BitwiseCopyable {
    var collapse: UInt64
    var order: UInt64
    var isOvertaken: Bool
  }

  static let capacity = 512
  private let entries: FixedBuffer<Entry>
  private var count = 0
  private var next = 0

  init(capacity: Int = capacity) { entries = FixedBuffer(capacity: capacity) }

  mutating func givenBack(_ collapse: UInt64, _ order: UInt64) {
    let index = count < Self.capacity ? count : next
    if count < Self.capacity { count += 1 } else { next = (next + 1) % Self.capacity }
    entries[index] = Entry(collapse: collapse, order: order, isOvertaken: false)
  }

  /// A notification was accepted.
  func accepted(_ collapse: UInt64, _ order: UInt64) {
    for index in 0..<count
    where entries[index].collapse == collapse && entries[index].order < order {
      entries[index].isOvertaken = true
    }
  }

  /// A notification goes again. Returns whether it must not.
  mutating func takes(_ collapse: UInt64, _ order: UInt64) -> Bool {
    for index in 0..<count
    where entries[index].collapse == collapse && entries[index].order == order {
      let isOvertaken = entries[index].isOvertaken
      count -= 1
      entries[index] = entries[count]
      next = 0
      return isOvertaken
    }
    return false
  }
}
