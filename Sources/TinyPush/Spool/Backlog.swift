/// The names of files that wait, smallest first, in memory of a fixed size however many there are.
///
/// Names come in any order, from a scan of the directory and from inotify. When there is no more room the larger half is
/// forgotten and ``isComplete`` turns false: once what is left is taken, a new scan finds the next smallest. So a million
/// files cost some two hundred scans and no memory.
package struct Backlog: ~Copyable {
  /// What is kept where nothing else is said: names, and the bytes of them, each with two bytes before it.
  static let namesMax = 8192
  static let nameBytesMax = 262_144
  /// What the first byte of a name becomes when nobody wants it any more: no file's name has it.
  private static let tombstone = UInt8.slash
  private static let headBytes = 2

  private let names: FixedBuffer<UInt8>
  private var nameBytes = 0
  /// Where each name's head stands: its length, and whether the file came whole; sorted by name from `first` on when `isSorted`.
  private let places: FixedBuffer<UInt32>
  private var first = 0
  private var end = 0
  private var isSorted = true
  /// Names from this one on were forgotten.
  private let ceiling = FixedBuffer<UInt8>(capacity: 255)
  private var ceilingBytes = 0
  /// Of a scan that goes on where the last one ended: names before this one were taken then.
  private let floor = FixedBuffer<UInt8>(capacity: 255)
  private var floorBytes = 0
  private var random: UInt32 = 2_463_534_242

  /// Whether it holds every name it was offered since the last ``startScan()``.
  package private(set) var isComplete = false

  /// - Parameters:
  ///   - namesMax: how many are kept at most.
  ///   - nameBytesMax: and how many bytes of them.
  package init(namesMax: Int = namesMax, nameBytesMax: Int = nameBytesMax) {
    names = FixedBuffer(capacity: nameBytesMax)
    places = FixedBuffer(capacity: namesMax)
  }

  package var isEmpty: Bool { first == end }
  /// Names in it, of which some may be there twice.
  var count: Int { end - first }

  /// Lets all names go; a scan finds them again.
  mutating func forget() {
    startScan()
    isComplete = false
  }

  /// Makes ready for a scan that offers all there is: of everything, or when the last one held more than fitted, of what is
  /// beyond. So even files that stay where they are cannot keep those behind them from their turn.
  package mutating func startScan(isFromStart: Bool = true) {
    floorBytes = isFromStart || isComplete ? 0 : ceilingBytes
    floor.store(ceiling.span(0..<floorBytes), at: 0)
    first = 0
    end = 0
    nameBytes = 0
    isSorted = true
    isComplete = true
  }

  /// Puts a name among the others, unless it lies beyond what is kept. Offering a name twice is harmless.
  ///
  /// - Parameter cameWhole: whether the file was seen to be renamed here.
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

  /// The same, of a name that is written in a text.
  mutating func offer(_ name: borrowing Text, isFromScan: Bool) {
    offer(name.bytes, isFromScan: isFromScan)
  }

  /// Makes ready for ``smallest()``.
  package mutating func putInOrder() {
    guard !isSorted else { return }
    sort(first, end)
    isSorted = true
  }

  /// The smallest name; there must be one, and the names be in order. Good until the next offer.
  @_lifetime(borrow self)
  package func smallest() -> Span<UInt8> { name(at: first) }

  /// Whether the file of the smallest name was seen to be renamed here, each time that its name was offered.
  var smallestCameWhole: Bool {
    var index = first
    while index < end, index == first || name(at: index).equals(name(at: first)) {
      if names[Int(places[index]) + 1] == 0 { return false }
      index += 1
    }
    return true
  }

  /// The smallest name that comes behind `name`; nil: there is none. The names must be in order.
  @_lifetime(borrow self)
  func next(after name: Span<UInt8>) -> Span<UInt8>? {
    var (low, high) = (first, end)
    while low < high {
      let middle = low + (high - low) / 2
      if name.sorts(before: self.name(at: middle)) { high = middle } else { low = middle + 1 }
    }
    return low < end ? self.name(at: low) : nil
  }

  /// Whether there is a name of which this holds.
  func contains(where isOne: (Span<UInt8>) -> Bool) -> Bool {
    for index in first..<end where isOne(name(at: index)) { return true }
    return false
  }

  /// Takes the smallest name away, and its repetitions.
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

  /// Drops what was taken, and if that is less than half, the larger half of the rest; then closes the gaps.
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

  /// The names move together in the order in which they came.
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

  /// Quicksort, the pivots drawn at random so that no set of names is a bad one.
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

  /// Quickselect: puts the name that belongs at `target` there, smaller ones before it and larger ones behind.
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
