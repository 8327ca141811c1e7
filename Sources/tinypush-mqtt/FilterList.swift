import TinyPush

/// A list of topic filters.
struct FilterList: ~Copyable {
  static let countMax = 32
  private static let bytesMax = 8192

  private let bytes = FixedBuffer<UInt8>(capacity: FilterList.bytesMax)
  private var ends = InlineArray<32, Int>(repeating: 0)
  private(set) var count = 0

  init() {}

  /// A filter by its number.
  @_lifetime(immortal)
  func filter(_ index: Int) -> Span<UInt8> {
    bytes.looseSpan((index == 0 ? 0 : ends[index - 1])..<ends[index])
  }

  /// Appends a filter, and returns whether there was room.
  mutating func append(_ filter: Span<UInt8>) -> Bool {
    let start = count == 0 ? 0 : ends[count - 1]
    guard count < Self.countMax, start + filter.count <= Self.bytesMax else { return false }
    bytes.store(filter, at: start)
    ends[count] = start + filter.count
    count += 1
    return true
  }

  /// Whether the list has a filter.
  func contains(_ filter: Span<UInt8>) -> Bool {
    for index in 0..<count where self.filter(index).equals(filter) { return true }
    return false
  }

  mutating func clear() { count = 0 }
}
