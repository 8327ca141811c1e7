/// A table of the 1,024 keys of 64 bits that were used last, with a time and a number for each.
///
/// A key has eight possible places. When all of them are taken, the entry with the earliest time is
/// overwritten. The memory is allocated for the first key, and the places of a key are cleared at
/// their first use, so that few keys touch little memory.
package struct RecentKeys: ~Copyable {
  package struct Entry: BitwiseCopyable {
    /// The key; 0: the place is free, and a key of 0 counts as 1.
    package var key: UInt64
    /// The time by which the oldest entry is found.
    package var value: UInt64
    /// What the table's owner keeps with the key.
    package var number: UInt64 = 0

    package init(key: UInt64, value: UInt64, number: UInt64 = 0) {
      self.key = max(key, 1)
      self.value = value
      self.number = number
    }

    /// A free place.
    fileprivate init() {
      key = 0
      value = 0
    }
  }

  private static let places = 8
  private static let capacity = 1024
  private var entries = FixedBuffer<Entry>(capacity: 0)
  /// A bit for each eight places: whether they were cleared.
  private var cleared: InlineArray<2, UInt64> = .init(repeating: 0)

  package init() {}

  /// Whether there may be a key.
  package var isUsed: Bool { entries.capacity > 0 }

  package func find(_ key: UInt64) -> Entry? {
    place(of: key).map { entries[$0] }
  }

  @inline(never)
  package mutating func put(_ entry: Entry) {
    if entries.capacity == 0 { entries = FixedBuffer(capacity: Self.capacity) }
    let first = first(of: entry.key)
    if !isCleared(first) {
      for place in first..<first + Self.places { entries[place] = Entry() }
      cleared[first / Self.places / 64] |= 1 << UInt64(first / Self.places % 64)
    }
    var place = self.place(of: entry.key) ?? first
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
    if let place = place(of: key) { entries[place] = Entry() }
  }

  private func first(of key: UInt64) -> Int {
    // The high bits of the product depend on all bits of the key: those of a device token may differ
    // from others in a few only.
    Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 57) * Self.places
  }

  private func isCleared(_ first: Int) -> Bool {
    cleared[first / Self.places / 64] >> UInt64(first / Self.places % 64) & 1 == 1
  }

  @inline(never)
  private func place(of key: UInt64) -> Int? {
    let key = max(key, 1)
    let start = first(of: key)
    guard isCleared(start) else { return nil }
    for place in start..<start + Self.places where entries[place].key == key { return place }
    return nil
  }
}
