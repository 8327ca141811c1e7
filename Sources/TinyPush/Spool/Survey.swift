/// An index of the `collapse-id`s in the spool: for each key, the file found last that holds it.
///
/// The index is built only when a notification with a `collapse-id` is about to be sent.
///
/// Files are searched in the order of their names, each once in a pass over all waiting files. The
/// search for one notification costs at most ``budget``, so that none is delayed for long. The next
/// search continues from there, even if files have arrived meanwhile.
package struct Survey: ~Copyable {
  struct Entry: BitwiseCopyable {
    var key: UInt64
    var file: FileIdentity
    /// Where the last notification with the key begins in the file.
    var offset: Int64
    var nameBytes: UInt8
  }

  /// Why a file is searched.
  enum Target {
    /// The file holds the notification that is about to be sent.
    case own
    /// The file is the next of the waiting ones.
    case waiting
    /// The file arrived after the pass had moved beyond its name.
    case late
  }

  /// The most keys; if there are more, some are dropped, and the replaced notifications are sent.
  static let capacity = 512
  /// The most bytes that are read for one notification.
  static let budget = 4 << 20
  /// The cost of opening a file, in bytes.
  private static let fileCost = 4096
  private static let slotBytes = 256
  /// The memory for names and text, in bytes.
  package static let bytesMax = capacity * slotBytes + 2 * NotificationReader.objectBytesMax
  private let entries: FixedBuffer<Entry>
  private let names: FixedBuffer<UInt8>
  private var count = 0
  private var nextForgotten = 0

  // The file that is being searched.
  private let name = FixedBuffer<UInt8>(capacity: slotBytes)
  private var nameBytes = 0
  private let input: FixedBuffer<UInt8>
  private(set) var offset: Int64 = 0
  private var bytes = 0
  private var reader = NotificationReader()
  private(set) var isReading = false
  private(set) var target: Target?
  private var file: FileIdentity?
  /// The rest of the budget.
  private(set) var budget = 0
  /// Whether the budget ran out inside the file.
  private(set) var isCut = false

  // The pass.
  /// The last name that was searched in this pass.
  private let last = FixedBuffer<UInt8>(capacity: slotBytes)
  private var lastBytes = 0
  /// The name of the file in which the budget ran out.
  private let cut = FixedBuffer<UInt8>(capacity: slotBytes)
  private var cutBytes = 0
  /// Where to continue in that file.
  private var cutOffset: Int64 = 0
  /// Names that arrived after the pass had moved beyond them.
  private var late: Backlog
  private static let lateMax = 32
  /// Whether another pass follows this one, which may have missed files.
  private var isAnotherWanted = false

  /// Whether memory is allocated, which only notifications with a `collapse-id` need.
  let isUsed: Bool

  init(isUsed: Bool = true) {
    self.isUsed = isUsed
    entries = FixedBuffer(capacity: isUsed ? Self.capacity : 0)
    names = FixedBuffer(capacity: isUsed ? Self.capacity * Self.slotBytes : 0)
    input = FixedBuffer(capacity: isUsed ? 2 * NotificationReader.objectBytesMax : 0)
    let lateMax = isUsed ? Self.lateMax : 0
    late = Backlog(namesMax: lateMax, nameBytesMax: lateMax * Self.slotBytes)
    late.startScan()
  }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(names.bytes)
    body(input.bytes)
  }

  /// Drops all entries and begins another pass.
  mutating func forget() {
    count = 0
    nextForgotten = 0
    isAnotherWanted = true
    passEnded()
  }

  // MARK: - The pass

  /// Returns the last name that was searched in this pass.
  @_lifetime(borrow self)
  func through() -> Span<UInt8> { last.span(0..<lastBytes) }

  /// Notes a new file, which is searched separately if the pass has moved beyond its name.
  mutating func appeared(_ name: Span<UInt8>) {
    guard isUsed else { return }
    let isToCome = through().sorts(before: name)
    let isPassed = isReading && target == .waiting && name.sorts(before: fileName())
    guard !isToCome || isPassed else { return }
    late.offer(name)
    // If there are too many late files, a new pass finds them.
    if !late.isComplete { isAnotherWanted = true }
  }

  /// Requests another pass after this one, since the waiting files may have changed.
  mutating func requestPass() { isAnotherWanted = true }

  /// Notes that no file is left to search.
  mutating func passEnded() {
    guard isAnotherWanted else { return }
    isAnotherWanted = false
    lastBytes = 0
    cutBytes = 0
    late.startScan()
  }

  /// Begins the search for one notification.
  mutating func start() {
    isReading = false
    target = nil
    budget = Self.budget
  }

  /// Begins to search the next late file; returns whether there is one.
  mutating func beginLate() -> Bool {
    guard !late.isEmpty else { return false }
    late.putInOrder()
    nameBytes = Self.put(late.smallest(), into: name)
    begin(at: 0, .late)
    late.removeSmallest()
    return true
  }

  /// Begins or continues to search the next waiting file; returns whether there is one.
  mutating func beginNext(of backlog: borrowing Backlog) -> Bool {
    guard let name = backlog.next(after: through()) else { return false }
    let isCutOne = cutBytes > 0 && name.equals(cut.span(0..<cutBytes))
    begin(name, at: isCutOne ? cutOffset : 0, .waiting)
    return true
  }

  // MARK: - Searching a file

  mutating func begin(_ name: Span<UInt8>, at offset: Int64 = 0, _ target: Target) {
    nameBytes = Self.put(name, into: self.name)
    begin(at: offset, target)
  }

  /// Writes a name, followed by a NUL, to a buffer; returns the length of the name.
  private static func put(_ name: Span<UInt8>, into buffer: borrowing FixedBuffer<UInt8>) -> Int {
    buffer.store(name, at: 0)
    buffer[name.count] = 0
    return name.count
  }

  /// Begins to search the file that `name` holds the name of.
  private mutating func begin(at offset: Int64, _ target: Target) {
    self.offset = offset
    self.target = target
    bytes = 0
    reader = NotificationReader()
    file = nil
    isReading = true
    isCut = false
    budget -= Self.fileCost
  }

  /// Returns the name of the file, followed by a NUL.
  @_lifetime(borrow self)
  func fileName() -> Span<UInt8> { name.span(0..<nameBytes) }
  /// Where to read next in the file.
  var readOffset: Int64 { offset + Int64(bytes) }
  /// The memory to read into.
  var room: UnsafeMutableBufferPointer<UInt8> { input.room(from: bytes) }

  /// Searches the bytes that were read.
  mutating func filled(
    _ identity: FileIdentity, bytes count: Int, isWhole: Bool, _ rules: Rules,
    _ findings: inout Findings
  ) {
    guard file == nil || file == identity else { return end() }
    file = identity
    bytes += count
    budget -= count
    while true {
      switch reader.next(in: input, count: bytes, isWhole: isWhole, rules, &findings) {
      case .notification(let notification):
        guard notification.collapseKey != 0 else { continue }
        record(notification.collapseKey, identity, offset + Int64(notification.object.lowerBound))
      case .refused: continue
      case .more(let from):
        bytes -= from
        input.move(from: from, to: 0, count: bytes)
        offset += Int64(from)
        reader.resume(at: 0)
        guard budget <= 0 else { return }
        isCut = true
        return end()
      case .end: return end()
      }
    }
  }

  /// Ends the search of a file that cannot be read.
  mutating func abandon() { if isReading { end() } }

  private mutating func end() {
    isReading = false
    guard target == .waiting else { return }
    if isCut {
      cut.store(fileName(), at: 0)
      cutBytes = nameBytes
      cutOffset = offset
    } else {
      last.store(fileName(), at: 0)
      lastBytes = nameBytes
    }
  }

  // MARK: - Entries

  private mutating func record(_ key: UInt64, _ file: FileIdentity, _ offset: Int64) {
    var index = index(of: key) ?? count
    // Keep an entry from a later file.
    if index < count, fileName().sorts(before: name(at: index)) { return }
    if index == Self.capacity {
      index = nextForgotten
      nextForgotten = (nextForgotten + 1) % Self.capacity
    } else if index == count {
      count += 1
    }
    entries[index] = Entry(key: key, file: file, offset: offset, nameBytes: UInt8(nameBytes))
    names.store(fileName(), at: index * Self.slotBytes)
    names[index * Self.slotBytes + nameBytes] = 0
  }

  func entry(_ key: UInt64) -> Entry? { index(of: key).map { entries[$0] } }

  /// Returns the name of the file that holds a key, followed by a NUL.
  @_lifetime(borrow self)
  func name(of key: UInt64) -> Span<UInt8> {
    name(at: index(of: key)!)
  }

  @_lifetime(borrow self)
  private func name(at index: Int) -> Span<UInt8> {
    let start = index * Self.slotBytes
    return names.span(start..<start + Int(entries[index].nameBytes))
  }

  mutating func remove(_ key: UInt64) {
    guard let index = index(of: key) else { return }
    count -= 1
    guard index < count else { return }
    entries[index] = entries[count]
    names.move(
      from: count * Self.slotBytes, to: index * Self.slotBytes, count: Self.slotBytes)
  }

  private func index(of key: UInt64) -> Int? {
    for index in 0..<count where entries[index].key == key { return index }
    return nil
  }
}
