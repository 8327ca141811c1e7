/// The names of waiting files, smallest first, in memory of a fixed size.
///
/// Names come in any order, from a scan of the directory and from inotify. When the memory is full,
/// the larger half of the names is dropped and ``isComplete`` becomes false. A new scan finds these
/// names after the smaller ones have been taken. So a million files cost some two hundred scans,
/// and no memory.
package struct Backlog: ~Copyable {
  /// The default number of names to keep.
  static let namesMax = 8192
  /// The default number of bytes for names, with two bytes before each.
  static let nameBytesMax = 262_144
  /// Replaces the first byte of a removed name; no file name has this byte.
  private static let tombstone = UInt8.slash
  private static let headBytes = 2

  private let names: FixedBuffer<UInt8>
  private var nameBytes = 0
  /// The place of each name's head, which holds its length and whether the file came complete.
  ///
  /// Sorted by name from `first` on if `isSorted` is true.
  private let places: FixedBuffer<UInt32>
  private var first = 0
  private var end = 0
  private var isSorted = true
  /// Names from this one on were dropped.
  private let ceiling = FixedBuffer<UInt8>(capacity: 255)
  private var ceilingBytes = 0
  /// The first name of a scan that continues the one before; smaller names were taken then.
  private let floor = FixedBuffer<UInt8>(capacity: 255)
  private var floorBytes = 0
  private var random: UInt32 = 2_463_534_242

  /// Whether every name offered since the last ``startScan(isFromStart:)`` was kept or taken.
  package private(set) var isComplete = false

  /// Makes room for names.
  ///
  /// - Parameters:
  ///   - namesMax: the most names to keep.
  ///   - nameBytesMax: the most bytes of names to keep.
  package init(namesMax: Int = namesMax, nameBytesMax: Int = nameBytesMax) {
    names = FixedBuffer(capacity: nameBytesMax)
    places = FixedBuffer(capacity: namesMax)
  }

  package var isEmpty: Bool { first == end }
  /// The number of names, in which some may be counted twice.
  var count: Int { end - first }

  /// Drops all names; a scan finds them again.
  mutating func forget() {
    startScan()
    isComplete = false
  }

  /// Prepares for a scan, which offers all names in the directory.
  ///
  /// - Parameter isFromStart: Whether to accept all names. Otherwise, if the names of the last scan
  ///   did not fit, only the names after those that fitted are accepted. So files that stay in place
  ///   cannot block the files after them.
  package mutating func startScan(isFromStart: Bool = true) {
    floorBytes = isFromStart || isComplete ? 0 : ceilingBytes
    floor.store(ceiling.span(0..<floorBytes), at: 0)
    first = 0
    end = 0
    nameBytes = 0
    isSorted = true
    isComplete = true
  }

  /// Adds a name, unless it is beyond the names kept; adding a name twice is harmless.
  ///
  /// - Parameter cameWhole: Whether the file was seen to be renamed into the directory.
  package mutating func offer(_ name: Span<UInt8>, isFromScan: Bool = true, cameWhole: Bool = false)
  {
    guard name.count > 0, name.count <= 255, isWanted(name) else { return }
    if isFromScan, floorBytes > 0, name.sorts(before: floor.span(0..<floorBytes)) { return }
    if end == places.capacity || nameBytes + Self.headBytes + name.count > names.capacity {
      makeRoom()
      guard isWanted(name) else { return }
    }
    if isSorted, end > first { isSorted = self.name(at: end - 1).sorts(before: name) }
    places[end] = UInt32(nameBytes)
    end += 1
    names[nameBytes] = UInt8(name.count)
    names[nameBytes + 1] = cameWhole ? 1 : 0
    names.store(name, at: nameBytes + Self.headBytes)
    nameBytes += Self.headBytes + name.count
  }

  /// Adds the name in a text.
  mutating func offer(_ name: borrowing Text, isFromScan: Bool) {
    offer(name.bytes, isFromScan: isFromScan)
  }

  /// Sorts the names, which ``smallest()`` requires.
  package mutating func putInOrder() {
    guard !isSorted else { return }
    sort(first, end)
    isSorted = true
  }

  /// Returns the smallest name, valid until the next offer.
  ///
  /// The backlog must be sorted and not empty.
  @_lifetime(borrow self)
  package func smallest() -> Span<UInt8> { name(at: first) }

  func appendSmallest(to text: inout Text) { text.append(bytes: smallest()) }

  /// Whether the file with the smallest name was seen to be renamed here at each offer of its name.
  var smallestCameWhole: Bool {
    var index = first
    while index < end, index == first || name(at: index).equals(name(at: first)) {
      if names[Int(places[index]) + 1] == 0 { return false }
      index += 1
    }
    return true
  }

  /// Returns whether a name satisfies the condition.
  func contains(where isOne: (Span<UInt8>) -> Bool) -> Bool {
    for index in first..<end where isOne(name(at: index)) { return true }
    return false
  }

  /// Removes the smallest name and its duplicates.
  package mutating func removeSmallest() {
    var next = first + 1
    while next < end, name(at: next).equals(name(at: first)) {
      bury(next)
      next += 1
    }
    bury(first)
    first = next
    if first == end {
      first = 0
      end = 0
      nameBytes = 0
    }
  }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(names.bytes)
    body(places.bytes)
  }

  // MARK: - Order

  @_lifetime(borrow self)
  private func name(at index: Int) -> Span<UInt8> {
    let place = Int(places[index])
    let start = place + Self.headBytes
    return names.span(start..<start + Int(names[place]))
  }

  private func isWanted(_ name: Span<UInt8>) -> Bool {
    isComplete || name.sorts(before: ceiling.span(0..<ceilingBytes))
  }

  private func bury(_ index: Int) { names[Int(places[index]) + Self.headBytes] = Self.tombstone }

  /// Removes the names that were taken, and the larger half of the rest if most names remain.
  private mutating func makeRoom() {
    if first < end - first {
      let middle = first + (end - first) / 2
      select(middle, first, end)
      ceilingBytes = name(at: middle).count
      ceiling.store(name(at: middle), at: 0)
      for index in middle..<end { bury(index) }
      isComplete = false
    }
    closeGaps()
  }

  /// Moves the names together; they stay in the order in which they came.
  private mutating func closeGaps() {
    var (from, to) = (0, 0)
    first = 0
    end = 0
    while from < nameBytes {
      let count = Self.headBytes + Int(names[from])
      if names[from + Self.headBytes] != Self.tombstone {
        names.move(from: from, to: to, count: count)
        places[end] = UInt32(to)
        end += 1
        to += count
      }
      from += count
    }
    nameBytes = to
    isSorted = false
  }

  /// Sorts by quicksort, with random pivots so that no set of names takes quadratic time.
  private mutating func sort(_ low: Int, _ high: Int) {
    var (low, high) = (low, high)
    while high - low > 1 {
      let middle = partition(low, high)
      if middle - low < high - middle {
        sort(low, middle)
        low = middle + 1
      } else {
        sort(middle + 1, high)
        high = middle
      }
    }
  }

  /// Puts the right name at `target`, smaller ones before it and larger ones after it
  /// (quickselect).
  private mutating func select(_ target: Int, _ low: Int, _ high: Int) {
    var (low, high) = (low, high)
    while high - low > 1 {
      let middle = partition(low, high)
      if middle == target { return }
      if middle < target { low = middle + 1 } else { high = middle }
    }
  }

  private mutating func partition(_ low: Int, _ high: Int) -> Int {
    random ^= random << 13
    random ^= random >> 17
    random ^= random << 5
    exchange(low + Int(random % UInt32(high - low)), high - 1)
    var middle = low
    for index in low..<high - 1 where name(at: index).sorts(before: name(at: high - 1)) {
      exchange(index, middle)
      middle += 1
    }
    exchange(middle, high - 1)
    return middle
  }

  private func exchange(_ left: Int, _ right: Int) {
    let place = places[left]
    places[left] = places[right]
    places[right] = place
  }
}
