/// What tells a file from another one that later bears its name: its inode, its size, and when it last changed (which many
/// file systems know to some milliseconds only). A file that was replaced, or written on, is not the file that was sent.
public struct FileIdentity: Equatable, BitwiseCopyable {
  public var inode: UInt64
  public var changeTimeNs: Int64
  public var size: Int64

  public init(inode: UInt64, changeTimeNs: Int64, size: Int64 = 0) {
    self.inode = inode
    self.changeTimeNs = changeTimeNs
    self.size = size
  }
}

/// A file that is being delivered.
struct Claim: BitwiseCopyable {
  var identity: FileIdentity
  /// When the agent first saw it: what `ttl` counts from.
  var seenAt: UInt64
  var nameAt: UInt32
  var nameBytes: UInt8
  /// What was read of it, once that was all.
  var content = FileContent(bytes: 0, hash: 0)
  /// It ended with text that is no object: what is written on belongs to that, perhaps.
  var endsWithinText = false
  /// It was renamed into `new/`, so that nobody writes to it there.
  var cameWhole: Bool
  /// It must stay in `new/`.
  var isKept = false
  /// A failure of it could not be recorded.
  var isUnrecorded = false
  /// It is another file by now.
  var isChanged = false
  /// Something of it is in `failed/` that a power cut might take.
  var hasFailure = false
  /// Notifications in it that failed the check, and whether `failed/` does not show all of them whole, so that the file goes
  /// there itself.
  var refusals: UInt32 = 0
  var isSetAside = false
  /// Which recipients files held when they were used for it; 0: none was. And which those are, roughly: a bit for each.
  var rosterEpoch: UInt32 = 0
  var rosters: UInt32 = 0
}

/// The files that are being delivered, in the order in which they were taken; they leave in the same order, since
/// notifications settle in the order in which they were sent.
struct Claims: ~Copyable {
  private let capacity: Int
  private let ring: FixedBuffer<Claim>
  private let names: FixedBuffer<UInt8>
  private var inodes: InodeSet
  /// Running numbers: of the oldest claim, and of the next one.
  private(set) var first: UInt32 = 0
  private(set) var end: UInt32 = 0
  private var nameEnd = 0

  /// Bytes of names a claim is given on average, when all are taken.
  private static let nameBytesMean = 48

  /// - Parameter capacity: how many files may be under way.
  init(capacity: Int) {
    var size = 1
    while size < capacity { size *= 2 }
    self.capacity = capacity
    ring = FixedBuffer(capacity: size)
    names = FixedBuffer(capacity: capacity * Self.nameBytesMean + 512)
    inodes = InodeSet(capacity: capacity)
  }

  var isEmpty: Bool { first == end }
  var count: Int { Int(end &- first) }

  /// Whether one more fits, whatever its name.
  var hasRoom: Bool {
    guard count < capacity else { return false }
    guard !isEmpty else { return true }
    let start = Int(self[first].nameAt)
    // The end never catches up with the start: equal would mean empty.
    return nameEnd < start ? nameEnd + 256 < start : nameEnd + 256 <= names.capacity || start > 256
  }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(ring.bytes)
    body(names.bytes)
  }

  func contains(inode: UInt64) -> Bool { inodes.contains(inode) }

  /// Takes a file on; `hasRoom` must hold. Returns its number.
  mutating func append(_ name: Span<UInt8>, seenAt: UInt64, cameWhole: Bool = false) -> UInt32 {
    if isEmpty { nameEnd = 0 }
    if nameEnd + name.count + 1 > names.capacity { nameEnd = 0 }
    let number = end
    ring[index(number)] = Claim(
      identity: FileIdentity(inode: 0, changeTimeNs: 0), seenAt: seenAt, nameAt: UInt32(nameEnd),
      nameBytes: UInt8(name.count), cameWhole: cameWhole)
    names.store(name, at: nameEnd)
    names[nameEnd + name.count] = 0
    nameEnd += name.count + 1
    end &+= 1
    return number
  }

  /// Notes which file it is, now that it is open.
  mutating func identify(_ number: UInt32, as identity: FileIdentity) {
    var claim = self[number]
    claim.identity = identity
    ring[index(number)] = claim
    guard inodes.isCrowded else {
      inodes.insert(identity.inode)
      return
    }
    inodes.widen()
    var known = first
    while known != end {
      inodes.insert(self[known].identity.inode)
      known &+= 1
    }
  }

  /// It was read to its end.
  func noteContent(_ number: UInt32, _ content: FileContent, endsWithinText: Bool) {
    var claim = self[number]
    claim.content = content
    claim.endsWithinText = endsWithinText
    ring[index(number)] = claim
  }

  /// It stays in `new/`. When it is another file by now, that one is looked for once this claim is gone.
  func keep(_ number: UInt32, isChanged: Bool = false) {
    var claim = self[number]
    claim.isKept = true
    if isChanged { claim.isChanged = true }
    ring[index(number)] = claim
  }

  /// A recipients file is used for it, which is what it is since the epoch `since`.
  ///
  /// - Parameter bit: tells it from most others.
  func noteRoster(_ number: UInt32, _ bit: UInt32, since: UInt32, epoch: UInt32) {
    var claim = self[number]
    if claim.rosterEpoch == 0 { claim.rosterEpoch = epoch }
    // A change that was noticed just now, before anything went to it, is none.
    let isFirst = claim.rosters & bit == 0
    if isFirst, since == claim.rosterEpoch &+ 1 { claim.rosterEpoch = since }
    claim.rosters |= bit
    ring[index(number)] = claim
  }

  /// One more failed the check. Returns how many have.
  func noteRefusal(_ number: UInt32) -> UInt32 {
    var claim = self[number]
    claim.refusals = min(claim.refusals, .max - 1) + 1
    ring[index(number)] = claim
    return claim.refusals
  }

  /// The file goes to `failed/` when everything in it is settled.
  func setAside(_ number: UInt32) {
    var claim = self[number]
    claim.isSetAside = true
    ring[index(number)] = claim
  }

  func noteFailure(_ number: UInt32) {
    var claim = self[number]
    claim.hasFailure = true
    ring[index(number)] = claim
  }

  /// It stays in `new/`, since a failure of it is not on record.
  func miss(_ number: UInt32) {
    var claim = self[number]
    claim.isKept = true
    claim.isUnrecorded = true
    ring[index(number)] = claim
  }

  /// What is in `failed/` is safe there by now, or may not stay: then its files do.
  func synced(_ areSafe: Bool) {
    var number = first
    while number != end {
      var claim = self[number]
      if claim.hasFailure {
        claim.hasFailure = false
        ring[index(number)] = claim
        if !areSafe { miss(number) }
      }
      number &+= 1
    }
  }

  subscript(number: UInt32) -> Claim { ring[index(number)] }

  /// Its name, of which a NUL follows; good until the claim is removed.
  @_lifetime(immortal)
  func name(_ number: UInt32) -> Span<UInt8> {
    let claim = self[number]
    return names.looseSpan(Int(claim.nameAt)..<Int(claim.nameAt) + Int(claim.nameBytes))
  }

  /// Lets the oldest one go.
  mutating func removeFirst() {
    forget(first)
    first &+= 1
    if isEmpty { inodes.empty() }
  }

  /// Takes back the newest one.
  mutating func removeLast() {
    forget(end &- 1)
    nameEnd = Int(self[end &- 1].nameAt)
    end &-= 1
  }

  private mutating func forget(_ number: UInt32) {
    let inode = self[number].identity.inode
    if inode != 0 { inodes.remove(inode) }
  }

  /// The ring's size is a power of two, so that running numbers may wrap around.
  private func index(_ number: UInt32) -> Int {
    Int(truncatingIfNeeded: number) & (ring.capacity - 1)
  }
}

/// The inodes of the files under way, so that a scan passes over them: open addressing, linear probing. A directory's
/// inodes are neighbours: they are spread, since one long run would be gone over at each removal. It begins small and
/// doubles, so that what few files need touches little memory.
private struct InodeSet: ~Copyable {
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

  /// Whether one more would make it too full to be quick.
  var isCrowded: Bool { (count + 1) * 2 > mask + 1 && mask + 1 < slots.capacity }

  /// Doubles it, empty.
  mutating func widen() { clear((mask + 1) * 2) }

  mutating func empty() {
    if mask + 1 > Self.slotsMin || count > 0 { clear(Self.slotsMin) }
  }

  private mutating func clear(_ size: Int) {
    for index in 0..<size { slots[index] = 0 }
    mask = size - 1
    count = 0
  }

  /// Where it belongs: Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).
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
    // Close the gap: whatever was pushed on past the hole moves back into it.
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
