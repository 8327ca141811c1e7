/// What waits in the spool with a `collapse-id`: for each key the file that was found to hold it last. It is looked for only
/// when a notification with a `collapse-id` is about to be sent.
///
/// Files are looked through in the order of their names, each once in a pass over all that wait. For one notification only
/// ``budget`` is spent, so that none is held up for long; the next one goes on where that ended, whatever comes meanwhile.
package struct Survey: ~Copyable {
  struct Entry: BitwiseCopyable {
    var key: UInt64
    var file: FileIdentity
    /// Where the last notification of the key begins in the file.
    var offset: Int64
    var nameBytes: UInt8
  }

  /// What a file is looked through for.
  enum Target {
    /// It holds the notification that is about to be sent.
    case own
    /// It is the next of those that wait.
    case waiting
    /// It came when the pass was already beyond its name.
    case late
  }

  /// Of more keys some are forgotten: what they would replace is sent all the same.
  static let capacity = 512
  /// Bytes that are read for one notification; and what a file counts besides.
  static let budget = 4 << 20
  private static let fileCost = 4096
  private static let slotBytes = 256
  /// Bytes of names and text, where there is room for them.
  package static let bytesMax = capacity * slotBytes + 2 * NotificationReader.objectBytesMax
  private let entries: FixedBuffer<Entry>
  private let names: FixedBuffer<UInt8>
  private var count = 0
  private var nextForgotten = 0

  // The file that is being looked through.
  private let name = FixedBuffer<UInt8>(capacity: slotBytes)
  private var nameBytes = 0
  private let input: FixedBuffer<UInt8>
  private(set) var offset: Int64 = 0
  private var bytes = 0
  private var reader = NotificationReader()
  private(set) var isReading = false
  private(set) var target: Target?
  private var file: FileIdentity?
  /// What may still be spent; and whether it ran out within the file.
  private(set) var budget = 0
  private(set) var isCut = false

  // The pass.
  /// All that waits has been looked through up to this name.
  private let last = FixedBuffer<UInt8>(capacity: slotBytes)
  private var lastBytes = 0
  /// The file in which the budget ran out, and where to go on.
  private let cut = FixedBuffer<UInt8>(capacity: slotBytes)
  private var cutBytes = 0
  private var cutOffset: Int64 = 0
  /// Names that came when the pass was beyond them.
  private var late: Backlog
  private static let lateMax = 32
  /// When it is over, the next one begins: there may be more than it has met.
  private var isAnotherWanted = false

  /// Whether there is room for what is found: without a notification that has a `collapse-id` none is needed.
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

  /// What was found is forgotten, and another pass begins.
  mutating func forget() {
    count = 0
    nextForgotten = 0
    isAnotherWanted = true
    passEnded()
  }

  // MARK: - The pass

  /// Up to which name everything has been looked through.
  @_lifetime(borrow self)
  func through() -> Span<UInt8> { last.span(0..<lastBytes) }

  /// A file has come: when the pass is beyond its name, it is looked through by itself.
  mutating func appeared(_ name: Span<UInt8>) {
    guard isUsed else { return }
    let isToCome = through().sorts(before: name)
    let isPassed = isReading && target == .waiting && name.sorts(before: fileName())
    guard !isToCome || isPassed else { return }
    late.offer(name)
    // Too many: a pass from the start finds them.
    if !late.isComplete { isAnotherWanted = true }
  }

  /// Everything that waits may be other files by now: when this pass is over, another one begins.
  mutating func begunAnew() { isAnotherWanted = true }

  /// Nothing is left to look through.
  mutating func passEnded() {
    guard isAnotherWanted else { return }
    isAnotherWanted = false
    lastBytes = 0
    cutBytes = 0
    late.startScan()
  }

  /// Begins to look for one notification.
  mutating func start() {
    isReading = false
    target = nil
    budget = Self.budget
  }

  /// Looks through the next of those that came late; whether there is one.
  mutating func beginLate() -> Bool {
    guard !late.isEmpty else { return false }
    late.putInOrder()
    nameBytes = Self.put(late.smallest(), into: name)
    begin(at: 0, .late)
    late.removeSmallest()
    return true
  }

  /// Looks through the next of those that wait, from where it was left; whether there is one.
  mutating func beginNext(of backlog: borrowing Backlog) -> Bool {
    guard let name = backlog.next(after: through()) else { return false }
    let isCutOne = cutBytes > 0 && name.equals(cut.span(0..<cutBytes))
    begin(name, at: isCutOne ? cutOffset : 0, .waiting)
    return true
  }

  // MARK: - Looking through a file

  mutating func begin(_ name: Span<UInt8>, at offset: Int64 = 0, _ target: Target) {
    nameBytes = Self.put(name, into: self.name)
    begin(at: offset, target)
  }

  /// Puts a name and a NUL behind it into a buffer. Returns its bytes.
  private static func put(_ name: Span<UInt8>, into buffer: borrowing FixedBuffer<UInt8>) -> Int {
    buffer.store(name, at: 0)
    buffer[name.count] = 0
    return name.count
  }

  /// Begins with the file whose name is there.
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

  /// Its name, of which a NUL follows; where to read on, and to where.
  @_lifetime(borrow self)
  func fileName() -> Span<UInt8> { name.span(0..<nameBytes) }
  var readOffset: Int64 { offset + Int64(bytes) }
  var room: UnsafeMutableBufferPointer<UInt8> { input.room(from: bytes) }

  /// More of it is there.
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

  /// It cannot be looked through.
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

  // MARK: - What was found

  private mutating func record(_ key: UInt64, _ file: FileIdentity, _ offset: Int64) {
    var index = index(of: key) ?? count
    // What was found behind it stays.
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

  /// The name of the file that holds it, of which a NUL follows.
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
