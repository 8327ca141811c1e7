/// The files that the agent has taken and works on.
///
/// Each file leaves when everything in it is read and settled, regardless of the other files.
///
/// The slot that was freed last is reused first, so that few files touch little memory. One buffer
/// holds all names. When the buffer is full, the names of files that have left are removed from it.
struct TakenFiles: ~Copyable {
  /// No slot.
  static let none = UInt16.max
  /// The number of bytes before each name, which hold the slot.
  private static let headBytes = 2
  /// The average number of bytes of a name if all slots are in use.
  private static let nameBytesMean = 50
  private static let nameBytesMax = 256

  /// Files in a row: to be read on, or to be removed.
  struct Queue: BitwiseCopyable {
    fileprivate(set) var first = TakenFiles.none
    fileprivate var last = TakenFiles.none
    fileprivate(set) var count = 0

    fileprivate mutating func append(_ slot: UInt16, _ slots: borrowing FixedBuffer<TakenFile>) {
      slots[Int(slot)].next = TakenFiles.none
      if last == TakenFiles.none { first = slot } else { slots[Int(last)].next = slot }
      last = slot
      count += 1
    }

    fileprivate mutating func removeFirst(_ slots: borrowing FixedBuffer<TakenFile>) -> UInt16 {
      let slot = first
      first = slots[Int(slot)].next
      if first == TakenFiles.none { last = TakenFiles.none }
      count -= 1
      return slot
    }
  }

  private let capacity: Int
  private let slots: FixedBuffer<TakenFile>
  private let names: FixedBuffer<UInt8>
  private var nameEnd = 0
  /// The bytes of the names in use, with their heads and NULs.
  private var nameBytes = 0
  private(set) var count = 0
  /// The number of slots that were ever used.
  private var usedSlots = 0
  /// The first of the used slots that are free.
  private var firstFree = TakenFiles.none
  private var nextAge: UInt32 = 1
  /// The files that were read in part, which take turns.
  private var unread = Queue()
  /// The files whose notifications are all settled.
  private var settled = Queue()

  /// - Parameter capacity: the most files to hold; less than 65,535.
  init(capacity: Int) {
    precondition(capacity < Int(Self.none))
    self.capacity = capacity
    slots = FixedBuffer(capacity: capacity)
    // A third more than `hasRoom` allows to use, so that `squeeze` runs rarely.
    names = FixedBuffer(capacity: (capacity * Self.nameBytesMean + 2 * Self.nameBytesMax) / 3 * 4)
  }

  var isEmpty: Bool { count == 0 }

  /// Whether one more file fits, with a name of any length.
  var hasRoom: Bool {
    count < capacity
      && nameBytes + Self.nameBytesMax + Self.headBytes <= names.capacity / 4 * 3
  }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(slots.bytes)
    body(names.bytes)
  }

  // MARK: - Adding a file

  /// Adds a file; ``hasRoom`` must be true.
  ///
  /// - Parameters:
  ///   - path: the name that the file had in `new/`.
  ///   - origin: when its notifications came there.
  ///   - cameAt: when it came, in milliseconds of the monotonic clock.
  @inline(never)
  mutating func append(
    _ path: borrowing PathName, arrivalNs: Int64, _ origin: Origin, cameAt: Int64,
    offset: Int64 = 0, mayGrow: Bool = false, movesToFailed: Bool = false
  ) -> FileNumber {
    // A longer name has no room in `taken/`.
    let name = TakenName.cut(path.bytes())
    let needed = Self.headBytes + name.count + 1
    if isEmpty { nameEnd = 0 }
    if nameEnd + needed > names.capacity { squeeze() }
    let slot = takeSlot()
    let at = nameEnd + Self.headBytes
    names[nameEnd] = UInt8(truncatingIfNeeded: slot)
    names[nameEnd + 1] = UInt8(truncatingIfNeeded: slot >> 8)
    names.store(name, at: at)
    names[at + name.count] = 0
    nameEnd += needed
    nameBytes += needed
    var hash = Hash()
    hash.add(name)
    hash.add(UInt64(bitPattern: arrivalNs))
    let file = TakenFile(
      arrivalNs: arrivalNs, origin: origin, cameAt: cameAt, settledTo: offset, age: nextAge,
      isAwaited: SpoolName.isAwaited(name), mayGrow: mayGrow,
      movesToFailed: movesToFailed, isMarked: movesToFailed, cursor: Cursor(at: offset), hash: hash,
      nameAt: UInt32(at), nameBytes: UInt8(name.count))
    nextAge &+= 1
    slots[Int(slot)] = file
    count += 1
    return number(of: slot)
  }

  private mutating func takeSlot() -> UInt16 {
    if firstFree != Self.none {
      let slot = firstFree
      firstFree = slots[Int(slot)].next
      return slot
    }
    let slot = UInt16(usedSlots)
    usedSlots += 1
    return slot
  }

  /// Moves the names in use together, in their order.
  private mutating func squeeze() {
    var (from, to) = (0, 0)
    while from < nameEnd {
      let slot = Int(names[from]) | Int(names[from + 1]) << 8
      var end = from + Self.headBytes
      while names[end] != 0 { end += 1 }
      let bytes = end + 1 - from
      // A slot that is free or was reused points elsewhere: its old name is dropped.
      if slots[slot].nameBytes > 0, Int(slots[slot].nameAt) == from + Self.headBytes {
        names.move(from: from, to: to, count: bytes)
        slots[slot].nameAt = UInt32(to + Self.headBytes)
        to += bytes
      }
      from += bytes
    }
    nameEnd = to
  }

  // MARK: - State of a file

  subscript(number: FileNumber) -> TakenFile {
    @inline(__always) get { slots[index(number)] }
    @inline(__always) nonmutating _modify { yield &slots[index(number)] }
  }

  /// Sets what happens to the file, unless a fate that overrides this one is set.
  @inline(never)
  func decide(_ number: FileNumber, _ fate: TakenFile.Fate) {
    if fate.rawValue > slots[index(number)].fate.rawValue { slots[index(number)].fate = fate }
  }

  /// Counts a notification that failed the check; returns how many have failed.
  func recordRefusal(_ number: FileNumber) -> UInt32 {
    let refusals = min(self[number].refusals, .max - 1) + 1
    slots[index(number)].refusals = refusals
    return refusals
  }

  /// Notes that a notification at `offset` could not be recorded: it is read again later.
  func couldNotRecord(_ number: FileNumber, at offset: Int64) {
    decide(number, .unrecorded)
    slots[index(number)].unrecordedFrom = min(self[number].unrecordedFrom, offset)
  }

  /// Notes that a record does not show all of a notification: the file must be kept.
  func moveToFailed(_ number: FileNumber) { slots[index(number)].movesToFailed = true }

  /// Notes whether the lines in `failed/` are synced; if they may be lost, their files stay.
  @inline(never)
  func synced(_ areSafe: Bool) {
    forEach { number in
      guard slots[index(number)].hasUnsyncedRecord else { return }
      slots[index(number)].hasUnsyncedRecord = false
      if !areSafe { couldNotRecord(number, at: slots[index(number)].settledTo) }
    }
  }

  /// Subtracts a settled message.
  mutating func settled(_ number: FileNumber) {
    slots[index(number)].open -= 1
    queueIfSettled(number)
  }

  /// Notes that everything in the file was read.
  mutating func finish(_ number: FileNumber) {
    slots[index(number)].isRead = true
    if slots[index(number)].hasChanged { changed(number) }
    queueIfSettled(number)
  }

  /// Lets a file be read on that a program has written to or closed.
  ///
  /// If all of it is settled, that happens when it would leave.
  mutating func changed(_ number: FileNumber) {
    let file = self[number]
    slots[index(number)].hasChanged = true
    if file.isRead, file.open > 0, file.fate == .leaves { reopen(slot(number)) }
  }

  private mutating func reopen(_ slot: UInt16) {
    slots[Int(slot)].isRead = false
    slots[Int(slot)].mayGrow = true
    slots[Int(slot)].cursor = Cursor(after: slots[Int(slot)].cursor)
    unread.append(slot, slots)
  }

  private mutating func queueIfSettled(_ number: FileNumber) {
    let file = self[number]
    if file.isRead, file.open == 0 { settled.append(slot(number), slots) }
  }

  // MARK: - Turns

  /// The number of files that were read in part.
  var unreadCount: Int { unread.count }

  /// Puts a file that was read in part behind the others.
  mutating func putUnread(_ number: FileNumber) { unread.append(slot(number), slots) }

  /// Removes and returns the file whose turn comes.
  mutating func takeUnread() -> FileNumber? {
    unread.count > 0 ? number(of: unread.removeFirst(slots)) : nil
  }

  /// Whether files that wait hold about half of the slots or of the room for names.
  var doManyWait: Bool {
    var (waiting, bytes) = (0, 0)
    for slot in 0..<usedSlots where slots[slot].nameBytes > 0 && slots[slot].isWaiting {
      waiting += 1
      bytes += Int(slots[slot].nameBytes)
    }
    return waiting > capacity / 2 || bytes > names.capacity / 3
  }

  /// Ends the waits of all files, whose turns come again.
  mutating func endWaits() {
    for slot in 0..<usedSlots where slots[slot].nameBytes > 0 && slots[slot].isWaiting {
      slots[slot].isWaiting = false
      unread.append(UInt16(slot), slots)
    }
  }

  // MARK: - Removing a file

  var settledCount: Int { settled.count }

  /// The file that was settled first and has not left.
  var nextSettled: FileNumber? { settled.count > 0 ? number(of: settled.first) : nil }

  /// Removes the file that was settled first.
  @inline(never)
  mutating func removeSettled() { free(settled.removeFirst(slots)) }

  /// Lets the file that was settled first be read on, since a program has appended to it.
  mutating func reopenSettled() { reopen(settled.removeFirst(slots)) }

  /// Sets the file that was settled first aside, since the disk refuses to remove it.
  mutating func setSettledAside() { slots[Int(settled.removeFirst(slots))].isStuck = true }

  /// Tries again to remove the files that the disk refused to remove.
  mutating func retryStuck() {
    for slot in 0..<usedSlots where slots[slot].nameBytes > 0 && slots[slot].isStuck {
      slots[slot].isStuck = false
      settled.append(UInt16(slot), slots)
    }
  }

  private mutating func free(_ slot: UInt16) {
    let file = slots[Int(slot)]
    let needed = Self.headBytes + Int(file.nameBytes) + 1
    nameBytes -= needed
    // If the name is the last one, its room is free at once.
    if Int(file.nameAt) - Self.headBytes + needed == nameEnd { nameEnd -= needed }
    slots[Int(slot)].nameBytes = 0
    slots[Int(slot)].next = firstFree
    firstFree = slot
    count -= 1
    if isEmpty {
      // The buffers are unused now: the system may take their memory back.
      usedSlots = 0
      firstFree = Self.none
    }
  }

  // MARK: - Lookup

  /// Returns the name that the file had in `new/`, followed by a NUL.
  @_lifetime(borrow self)
  func name(_ number: FileNumber) -> Span<UInt8> {
    let file = self[number]
    return names.span(Int(file.nameAt)..<Int(file.nameAt) + Int(file.nameBytes))
  }

  /// Appends the name that the file had in `new/`.
  func appendName(_ number: FileNumber, to text: inout Text) { text.append(bytes: name(number)) }

  /// Appends the name that the file has in `taken/`, or gets there if an offset is given.
  @inline(never)
  func appendTakenName(_ number: FileNumber, offset: Int64? = nil, to text: inout Text) {
    let file = self[number]
    TakenName.append(
      name(number), arrivalNs: file.arrivalNs, offset: offset ?? file.settledTo,
      isReleased: file.isReleased,
      movesToFailed: offset == nil ? file.isMarked : file.movesToFailed, to: &text)
  }

  /// Returns the file with this name in `taken/`; nil: it is not worked on.
  func find(_ name: Span<UInt8>) -> FileNumber? {
    guard let known = TakenName(name) else { return nil }
    for slot in 0..<usedSlots where slots[slot].arrivalNs == known.arrivalNs {
      let number = number(of: UInt16(slot))
      if slots[slot].nameBytes > 0,
        self.name(number).equals(name.extracting(0..<known.nameBytes))
      {
        return number
      }
    }
    return nil
  }

  /// Calls `body` with each file.
  func forEach(_ body: (FileNumber) -> Void) {
    for slot in 0..<usedSlots where slots[slot].nameBytes > 0 { body(number(of: UInt16(slot))) }
  }

  private func number(of slot: UInt16) -> FileNumber {
    FileNumber(slots[Int(slot)].age << 16 | UInt32(slot))
  }

  private func slot(_ number: FileNumber) -> UInt16 {
    UInt16(truncatingIfNeeded: number.rawValue)
  }

  /// Returns the index of a file, which must not have left.
  @inline(__always)
  private func index(_ number: FileNumber) -> Int {
    let index = Int(slot(number))
    precondition(
      slots[index].age & 0xFFFF == number.rawValue >> 16 && slots[index].nameBytes > 0)
    return index
  }
}
