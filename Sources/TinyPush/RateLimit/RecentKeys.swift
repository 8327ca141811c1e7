/// What is known of keys of 64 bits that were seen of late: of 1,024 at most. The memory is made with the first of them.
///
/// A key has eight places where it may stand. Where all are taken, the entry of the smallest value is forgotten: the one of
/// the longest time ago.
struct RecentKeys: ~Copyable {
  struct Entry: BitwiseCopyable {
    /// 0: the place is free.
    var key: UInt64
    /// A time.
    var value: UInt64
    /// Which notification it was.
    var source: UInt64 = 0
  }

  private static let places = 8
  private static let capacity = 1024
  private var entries = FixedBuffer<Entry>(capacity: 0)

  init() {}

  func find(_ key: UInt64) -> Entry? {
    place(of: key).map { entries[$0] }
  }

  @inline(never)
  mutating func put(_ entry: Entry) {
    if entries.capacity == 0 {
      entries = FixedBuffer(capacity: Self.capacity)
      for index in 0..<Self.capacity { entries[index] = Entry(key: 0, value: 0) }
    }
    var place = self.place(of: entry.key) ?? first(of: entry.key)
    if entries[place].key != entry.key {
      let start = place
      for other in start + 1..<start + Self.places where entries[other].value < entries[place].value
      {
        place = other
      }
    }
    entries[place] = entry
  }

  mutating func remove(_ key: UInt64) {
    if let place = place(of: key) { entries[place] = Entry(key: 0, value: 0) }
  }

  private func first(of key: UInt64) -> Int {
    // The low bits of a product say less than the high ones.
    let sets = UInt64(Self.capacity / Self.places)
    return Int((key ^ key >> 32) % sets) * Self.places
  }

  @inline(never)
  private func place(of key: UInt64) -> Int? {
    guard entries.capacity > 0 else { return nil }
    let start = first(of: key)
    for place in start..<start + Self.places where entries[place].key == key { return place }
    return nil
  }
}
