/// The files that the courier holds.
///
/// Each file leaves when everything in it is read and settled, regardless of the other files.
///
/// The slot that was freed last is reused first, so that few files touch little memory. One buffer
/// holds all names. When the buffer is full, the names of files that have left are removed from it.
struct Claims: ~Copyable {
  /// No slot.
  static let none = UInt16.max
  /// The number of bytes before each name, which hold the slot.
  private static let headBytes = 2
  /// The average number of bytes of a name if all slots are in use.
  private static let nameBytesMean = 50
  private static let nameBytesMax = 256

  private let capacity: Int
  private let slots: FixedBuffer<Claim>
  private let names: FixedBuffer<UInt8>
  private var inodes: InodeSet
  private var nameEnd = 0
  /// The bytes of the names in use, with their heads and NULs.
  private var nameBytes = 0
  private(set) var count = 0
  /// The number of slots that were ever used.
  private var usedSlots = 0
  /// The first of the used slots that are free.
  private var firstFree = Claims.none
  private var nextAge: UInt32 = 0
  private var oldest = Claims.none
  private var newest = Claims.none
  private var firstSettled = Claims.none
  private var lastSettled = Claims.none
  private(set) var settledCount = 0

  /// - Parameter capacity: the most files to hold; less than 65,535.
  init(capacity: Int) {
    precondition(capacity < Int(Self.none))
    self.capacity = capacity
    slots = FixedBuffer(capacity: capacity)
    // A third more than `hasRoom` allows to use, so that `squeeze` runs rarely.
    names = FixedBuffer(capacity: (capacity * Self.nameBytesMean + 2 * Self.nameBytesMax) / 3 * 4)
    inodes = InodeSet(capacity: capacity)
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

  func contains(inode: UInt64) -> Bool { inodes.contains(inode) }

  // MARK: - Adding a file

  /// Adds the first of the waiting files; `hasRoom` must be true.
  mutating func append(smallestOf backlog: borrowing Backlog, seenAt: UInt64) -> ClaimNumber {
    let name = backlog.smallest()
    let cameWhole = backlog.smallestCameWhole || SpoolName.isFromSend(name)
    return append(name, seenAt: seenAt, cameWhole: cameWhole)
  }

  /// Adds a file; `hasRoom` must be true.
  @inline(never)
  mutating func append(_ name: Span<UInt8>, seenAt: UInt64, cameWhole: Bool = false) -> ClaimNumber
  {
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
    var claim = Claim(
      identity: FileIdentity(inode: 0, changeTimeNs: 0), cameAt: Int64(seenAt), age: nextAge,
      cameWhole: cameWhole, isAwaited: SpoolName.isAwaited(name), nameAt: UInt32(at),
      nameBytes: UInt8(name.count))
    nextAge &+= 1
    claim.older = newest
    slots[Int(slot)] = claim
    if newest == Self.none { oldest = slot } else { slots[Int(newest)].newer = slot }
    newest = slot
    count += 1
    return number(of: slot)
  }

  private mutating func takeSlot() -> UInt16 {
    if firstFree != Self.none {
      let slot = firstFree
      firstFree = slots[Int(slot)].nextSettled
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

  /// Records the identity of the file, now that it is open.
  @inline(never)
  mutating func identify(_ number: ClaimNumber, as identity: FileIdentity) {
    slots[index(number)].identity = identity
    guard inodes.isCrowded else {
      inodes.insert(identity.inode)
      return
    }
    inodes.widen()
    var slot = oldest
    while slot != Self.none {
      inodes.insert(slots[Int(slot)].identity.inode)
      slot = slots[Int(slot)].newer
    }
  }

  // MARK: - State of a file

  /// Records the content of a file that was read to its end.
  func recordContent(_ number: ClaimNumber, _ content: FileContent, endsWithinText: Bool) {
    slots[index(number)].content = content
    slots[index(number)].endsWithinText = endsWithinText
  }

  /// Records when the file was created, and when it arrived in the spool; nil: unknown.
  func recordOrigin(_ number: ClaimNumber, birth: Int64, cameAt: Int64?) {
    slots[index(number)].birth = birth
    if let cameAt { slots[index(number)].cameAt = cameAt }
  }

  /// Sets what happens to the file, unless a fate that overrides this one is set.
  @inline(never)
  func decide(_ number: ClaimNumber, _ fate: Claim.Fate) {
    if fate.rawValue > slots[index(number)].fate.rawValue { slots[index(number)].fate = fate }
  }

  /// Records the use of a recipients file, whose content has not changed since the epoch `since`.
  ///
  /// - Parameter bit: identifies the recipients file; a few files may share a bit.
  func recordRoster(_ number: ClaimNumber, _ bit: UInt32, since: UInt32, epoch: UInt32) {
    var claim = self[number]
    if claim.rosterEpoch == 0 { claim.rosterEpoch = epoch }
    // A change just before the first use of the recipients file does not count.
    let isFirst = claim.rosters & bit == 0
    if isFirst, since == claim.rosterEpoch &+ 1 { claim.rosterEpoch = since }
    claim.rosters |= bit
    slots[index(number)] = claim
  }

  /// Counts a notification that failed the check; returns how many have failed.
  func recordRefusal(_ number: ClaimNumber) -> UInt32 {
    let refusals = min(self[number].refusals, .max - 1) + 1
    slots[index(number)].refusals = refusals
    return refusals
  }

  /// Records that a line about the file in `failed/` is not synced.
  func recordUnsyncedRecord(_ number: ClaimNumber) {
    slots[index(number)].hasUnsyncedRecord = true
  }

  /// Notes whether the lines in `failed/` are synced; if they may be lost, their files stay.
  @inline(never)
  func synced(_ areSafe: Bool) {
    var slot = oldest
    while slot != Self.none {
      if slots[Int(slot)].hasUnsyncedRecord {
        slots[Int(slot)].hasUnsyncedRecord = false
        if !areSafe { decide(number(of: slot), .unrecorded) }
      }
      slot = slots[Int(slot)].newer
    }
  }

  /// Counts a notification that was offered to the link.
  @inline(never)
  func opened(_ number: ClaimNumber) { slots[index(number)].open += 1 }

  /// Subtracts settled notifications.
  @inline(never)
  mutating func settled(_ number: ClaimNumber, _ notifications: UInt32) {
    slots[index(number)].open -= notifications
    queueIfSettled(number)
  }

  /// Notes that nothing more of the file will be offered to the link.
  @inline(never)
  mutating func finish(_ number: ClaimNumber) {
    slots[index(number)].isRead = true
    queueIfSettled(number)
  }

  private mutating func queueIfSettled(_ number: ClaimNumber) {
    let claim = self[number]
    guard claim.isRead, claim.open == 0 else { return }
    let slot = self.slot(number)
    if lastSettled == Self.none {
      firstSettled = slot
    } else {
      slots[Int(lastSettled)].nextSettled = slot
    }
    lastSettled = slot
    settledCount += 1
  }

  /// The file that was settled first and has not left.
  var nextSettled: ClaimNumber? {
    firstSettled == Self.none ? nil : number(of: firstSettled)
  }

  // MARK: - Removing a file

  /// Removes the file that was settled first.
  @inline(never)
  mutating func removeSettled() {
    let slot = firstSettled
    firstSettled = slots[Int(slot)].nextSettled
    if firstSettled == Self.none { lastSettled = Self.none }
    settledCount -= 1
    free(slot)
  }

  /// Removes a file of which nothing was offered to the link.
  @inline(never)
  mutating func remove(_ number: ClaimNumber) {
    precondition(self[number].open == 0 && !self[number].isRead)
    free(slot(number))
  }

  private mutating func free(_ slot: UInt16) {
    let claim = slots[Int(slot)]
    if claim.identity.inode != 0 { inodes.remove(claim.identity.inode) }
    if claim.older == Self.none {
      oldest = claim.newer
    } else {
      slots[Int(claim.older)].newer = claim.newer
    }
    if claim.newer == Self.none {
      newest = claim.older
    } else {
      slots[Int(claim.newer)].older = claim.older
    }
    let needed = Self.headBytes + Int(claim.nameBytes) + 1
    nameBytes -= needed
    // If the name is the last one, its room is free at once.
    if Int(claim.nameAt) - Self.headBytes + needed == nameEnd { nameEnd -= needed }
    slots[Int(slot)].nameBytes = 0
    slots[Int(slot)].nextSettled = firstFree
    firstFree = slot
    count -= 1
    if isEmpty { forgetSlots() }
  }

  /// Resets the slots when no file is left, so that the buffers' memory can go back to the system.
  private mutating func forgetSlots() {
    inodes.empty()
    usedSlots = 0
    firstFree = Self.none
  }

  // MARK: - Lookup

  subscript(number: ClaimNumber) -> Claim { slots[index(number)] }

  /// Returns whether the file's sender waits for the outcome.
  func isAwaited(_ number: ClaimNumber) -> Bool { slots[index(number)].isAwaited }

  /// Returns the name, followed by a NUL.
  @_lifetime(borrow self)
  func name(_ number: ClaimNumber) -> Span<UInt8> {
    let claim = self[number]
    return names.span(Int(claim.nameAt)..<Int(claim.nameAt) + Int(claim.nameBytes))
  }

  @inline(never)
  func appendName(_ number: ClaimNumber, to text: inout Text) { text.append(bytes: name(number)) }

  /// Returns whether a file that was claimed no later than `age` is still held.
  func isUnderWay(since age: UInt32) -> Bool {
    guard oldest != Self.none else { return false }
    return Int32(bitPattern: slots[Int(oldest)].age &- age) <= 0
  }

  /// Returns the file that was claimed first among those that satisfy the condition.
  @inline(never)
  func oldest(where isOne: (Claim) -> Bool) -> ClaimNumber? {
    var slot = oldest
    while slot != Self.none {
      if isOne(slots[Int(slot)]) { return number(of: slot) }
      slot = slots[Int(slot)].newer
    }
    return nil
  }

  private func number(of slot: UInt16) -> ClaimNumber {
    ClaimNumber(slots[Int(slot)].age << 16 | UInt32(slot))
  }

  private func slot(_ number: ClaimNumber) -> UInt16 {
    UInt16(truncatingIfNeeded: number.rawValue)
  }

  /// Returns the index of a claim, whose file must not have left.
  private func index(_ number: ClaimNumber) -> Int {
    let index = Int(slot(number))
    precondition(
      slots[index].age & 0xFFFF == number.rawValue >> 16 && slots[index].nameBytes > 0)
    return index
  }
}
