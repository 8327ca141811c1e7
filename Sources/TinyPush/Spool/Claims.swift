/// The files under way. Each leaves when everything in it is read and settled, whatever the others wait for.
///
/// Slots are used again, the last one that became free first, so that few files touch little memory. Names lie one behind
/// the other in one buffer; when that is full, the names of files that have left are squeezed out.
struct Claims: ~Copyable {
  /// No slot.
  static let none = UInt16.max
  /// Bytes before each name: the slot.
  private static let headBytes = 2
  /// Bytes of names that a claim is given on average, when all are taken.
  private static let nameBytesMean = 50
  private static let nameBytesMax = 256

  private let capacity: Int
  private let slots: FixedBuffer<Claim>
  private let names: FixedBuffer<UInt8>
  private var inodes: InodeSet
  private var nameEnd = 0
  /// Bytes of names, heads and NULs of the files under way.
  private var nameBytes = 0
  private(set) var count = 0
  /// Slots that were ever used, and those of them that are free.
  private var usedSlots = 0
  private var firstFree = Claims.none
  private var nextAge: UInt32 = 0
  private var oldest = Claims.none
  private var newest = Claims.none
  private var firstSettled = Claims.none
  private var lastSettled = Claims.none
  private(set) var settledCount = 0

  /// - Parameter capacity: how many files may be under way; fewer than 65,535.
  init(capacity: Int) {
    precondition(capacity < Int(Self.none))
    self.capacity = capacity
    slots = FixedBuffer(capacity: capacity)
    // A quarter more than is used at a time, so that squeezing is rare.
    names = FixedBuffer(capacity: (capacity * Self.nameBytesMean + 2 * Self.nameBytesMax) / 3 * 4)
    inodes = InodeSet(capacity: capacity)
  }

  var isEmpty: Bool { count == 0 }

  /// Whether one more fits, whatever its name.
  var hasRoom: Bool {
    count < capacity
      && nameBytes + Self.nameBytesMax + Self.headBytes <= names.capacity / 4 * 3
  }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(slots.bytes)
    body(names.bytes)
  }

  func contains(inode: UInt64) -> Bool { inodes.contains(inode) }

  // MARK: - Taking a file on

  /// Takes on the first of the files that wait; `hasRoom` must hold.
  mutating func append(smallestOf backlog: borrowing Backlog, seenAt: UInt64) -> ClaimNumber {
    let name = backlog.smallest()
    let cameWhole = backlog.smallestCameWhole || SpoolName.isFromSend(name)
    return append(name, seenAt: seenAt, cameWhole: cameWhole)
  }

  /// Takes a file on; `hasRoom` must hold.
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

  /// The names of the files under way move together, in their order.
  private mutating func squeeze() {
    var (from, to) = (0, 0)
    while from < nameEnd {
      let slot = Int(names[from]) | Int(names[from + 1]) << 8
      var end = from + Self.headBytes
      while names[end] != 0 { end += 1 }
      let bytes = end + 1 - from
      // A free slot, and one that was given to another file, point elsewhere.
      if slots[slot].nameBytes > 0, Int(slots[slot].nameAt) == from + Self.headBytes {
        names.move(from: from, to: to, count: bytes)
        slots[slot].nameAt = UInt32(to + Self.headBytes)
        to += bytes
      }
      from += bytes
    }
    nameEnd = to
  }

  /// Notes which file it is, now that the file is open.
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

  // MARK: - What becomes of it

  /// The file was read to its end.
  func recordContent(_ number: ClaimNumber, _ content: FileContent, endsWithinText: Bool) {
    slots[index(number)].content = content
    slots[index(number)].endsWithinText = endsWithinText
  }

  /// When the file was made, and when it came into the spool, if that is known.
  func recordOrigin(_ number: ClaimNumber, birth: Int64, cameAt: Int64?) {
    slots[index(number)].birth = birth
    if let cameAt { slots[index(number)].cameAt = cameAt }
  }

  /// What becomes of the file, unless something that outweighs this is known.
  @inline(never)
  func decide(_ number: ClaimNumber, _ fate: Claim.Fate) {
    if fate.rawValue > slots[index(number)].fate.rawValue { slots[index(number)].fate = fate }
  }

  /// A recipients file is used for it, whose content is the same since the epoch `since`.
  ///
  /// - Parameter bit: tells the recipients file from most others.
  func recordRoster(_ number: ClaimNumber, _ bit: UInt32, since: UInt32, epoch: UInt32) {
    var claim = self[number]
    if claim.rosterEpoch == 0 { claim.rosterEpoch = epoch }
    // A change that was noticed just now, before anything went to it, is none.
    let isFirst = claim.rosters & bit == 0
    if isFirst, since == claim.rosterEpoch &+ 1 { claim.rosterEpoch = since }
    claim.rosters |= bit
    slots[index(number)] = claim
  }

  /// One more notification failed the check. Returns how many have.
  func recordRefusal(_ number: ClaimNumber) -> UInt32 {
    let refusals = min(self[number].refusals, .max - 1) + 1
    slots[index(number)].refusals = refusals
    return refusals
  }

  /// A record of the file is in `failed/`, and would not outlive a power cut.
  func recordUnsyncedRecord(_ number: ClaimNumber) {
    slots[index(number)].hasUnsyncedRecord = true
  }

  /// The records in `failed/` are safe by now; or they may not stay, and then their files do.
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

  /// A notification of the file was offered to the link.
  @inline(never)
  func opened(_ number: ClaimNumber) { slots[index(number)].open += 1 }

  /// So many of its notifications are settled.
  @inline(never)
  mutating func settled(_ number: ClaimNumber, _ notifications: UInt32) {
    slots[index(number)].open -= notifications
    queueIfSettled(number)
  }

  /// Nothing more of the file is to be offered to the link.
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

  /// The file that was settled first, of those that are still here.
  var nextSettled: ClaimNumber? {
    firstSettled == Self.none ? nil : number(of: firstSettled)
  }

  // MARK: - Letting it go

  /// Lets the file that was settled first go.
  @inline(never)
  mutating func removeSettled() {
    let slot = firstSettled
    firstSettled = slots[Int(slot)].nextSettled
    if firstSettled == Self.none { lastSettled = Self.none }
    settledCount -= 1
    free(slot)
  }

  /// Takes back a file of which nothing was offered to the link.
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
    // The last name makes room at once.
    if Int(claim.nameAt) - Self.headBytes + needed == nameEnd { nameEnd -= needed }
    slots[Int(slot)].nameBytes = 0
    slots[Int(slot)].nextSettled = firstFree
    firstFree = slot
    count -= 1
    if isEmpty { forgetSlots() }
  }

  /// Without files, nothing in the buffers is needed: the system may have their memory back.
  private mutating func forgetSlots() {
    inodes.empty()
    usedSlots = 0
    firstFree = Self.none
  }

  // MARK: - Looking

  subscript(number: ClaimNumber) -> Claim { slots[index(number)] }

  /// Whether the file's sender waits to know what becomes of it.
  func isAwaited(_ number: ClaimNumber) -> Bool { slots[index(number)].isAwaited }

  /// The name, of which a NUL follows.
  @_lifetime(borrow self)
  func name(_ number: ClaimNumber) -> Span<UInt8> {
    let claim = self[number]
    return names.span(Int(claim.nameAt)..<Int(claim.nameAt) + Int(claim.nameBytes))
  }

  @inline(never)
  func appendName(_ number: ClaimNumber, to text: inout Text) { text.append(bytes: name(number)) }

  /// Whether a file that was taken no later than `age` is still under way.
  func isUnderWay(since age: UInt32) -> Bool {
    guard oldest != Self.none else { return false }
    return Int32(bitPattern: slots[Int(oldest)].age &- age) <= 0
  }

  /// The file that was taken first of those of which this holds.
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

  /// Where the claim stands; a number whose file has left is a mistake of the caller.
  private func index(_ number: ClaimNumber) -> Int {
    let index = Int(slot(number))
    precondition(
      slots[index].age & 0xFFFF == number.rawValue >> 16 && slots[index].nameBytes > 0)
    return index
  }
}
