/// The inodes of the claimed files, so that a scan skips these files.
///
/// Open addressing with linear probing. The hash spreads the inodes, since those of a directory are
/// neighbours: one long run would make each removal slow. The set starts small and doubles, so that
/// few files touch little memory.
struct InodeSet: ~Copyable {
  private static let slotsMin = 64
  private let slots: FixedBuffer<UInt64>
  private var mask = 0
  private var count = 0

  init(capacity: Int) {
    var size = Self.slotsMin
    while size <= capacity * 2 { size *= 2 }
    slots = FixedBuffer(capacity: size)
    clear(Self.slotsMin)
  }

  /// Whether the set must grow before another insertion to stay fast.
  var isCrowded: Bool { (count + 1) * 2 > mask + 1 && mask + 1 < slots.capacity }

  /// Doubles the size and empties the set.
  mutating func widen() { clear((mask + 1) * 2) }

  mutating func empty() {
    if mask + 1 > Self.slotsMin || count > 0 { clear(Self.slotsMin) }
  }

  private mutating func clear(_ size: Int) {
    for index in 0..<size { slots[index] = 0 }
    mask = size - 1
    count = 0
  }

  /// Returns the preferred slot of an inode.
  ///
  /// Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).
  private func home(of inode: UInt64) -> Int {
    Int(truncatingIfNeeded: (inode &* 0x9E37_79B9_7F4A_7C15) >> 40) & mask
  }

  private func find(_ inode: UInt64) -> Int {
    var index = home(of: inode)
    while slots[index] != 0, slots[index] != inode { index = (index + 1) & mask }
    return index
  }

  func contains(_ inode: UInt64) -> Bool { inode != 0 && slots[find(inode)] == inode }

  mutating func insert(_ inode: UInt64) {
    let index = find(inode)
    guard inode != 0, slots[index] == 0 else { return }
    slots[index] = inode
    count += 1
  }

  mutating func remove(_ inode: UInt64) {
    var hole = find(inode)
    guard slots[hole] == inode else { return }
    count -= 1
    // Close the gap: move entries that were displaced past the hole back into it.
    var index = hole
    while true {
      index = (index + 1) & mask
      guard slots[index] != 0 else { break }
      let home = home(of: slots[index])
      if (index &- home) & mask >= (index &- hole) & mask {
        slots[hole] = slots[index]
        hole = index
      }
    }
    slots[hole] = 0
  }
}
