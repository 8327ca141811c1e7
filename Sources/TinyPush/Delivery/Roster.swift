/// The recipients file that is being read: a part of its text, and the next line.
struct Roster: ~Copyable {
  /// The notification, by its file and place, and the index of its recipients file.
  struct Owner: Equatable {
    var claim: ClaimNumber
    var offset: Int64
    var list: Int
  }

  /// The next entry of the file.
  enum Entry {
    case recipient(DeviceToken, LanguageTag?)
    case wrong(Problem)
    /// The entry is not complete: read more of the file.
    case more
    case end
  }

  /// A problem that keeps the notification from a recipient.
  enum Problem {
    case line(RecipientsFile.Problem)
    case empty
    case unreadable(OpenFailure)
  }

  private static let bytesMax = 32_768
  private let buffer = FixedBuffer<UInt8>(capacity: bytesMax)
  private let nameBuffer = FixedBuffer<UInt8>(capacity: Envelope.listNameBytesMax + 1)
  private var nameBytes = 0
  private(set) var owner: Owner?
  /// Where the buffer begins in the file, how much it holds, and whether it ends the file.
  private var offset: Int64 = 0
  private var bytes = 0
  private var isWhole = false
  /// The start of the next line, and of the line after it.
  private var place = 0
  private var nextPlace = 0
  /// The number of the next line, from 1 on.
  private(set) var line: Int64 = 1
  /// Whether the rest of a line that was too long is being skipped.
  private var isSkipping = false
  /// The number of the notification's recipients, and of problems, before the next entry.
  private(set) var recipient: UInt32 = 0
  private(set) var problems: UInt32 = 0
  /// Whether this file had no entry so far.
  private var isEmpty = true
  /// Whether recipients of this file were offered before.
  private(set) var isRepeated = false
  /// Whether the file changed while it was being read.
  private(set) var isTorn = false
  /// The epoch (see ``RosterVersions``) since which the file has this text.
  private(set) var epoch: UInt32 = 0
  private var failure: OpenFailure?

  init() {}

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(buffer.bytes) }

  /// Returns the name of the file, which a NUL follows in the buffer.
  @_lifetime(borrow self)
  func name() -> Span<UInt8> { nameBuffer.span(0..<nameBytes) }

  /// One of 32 bits, chosen by the name, which most other files do not share.
  var bit: UInt32 {
    var hash = Hash()
    hash.add(name())
    return 1 << UInt32(truncatingIfNeeded: hash.value >> 32 & 31)
  }

  /// Where in the file to read on, and into what.
  var readOffset: Int64 { offset + Int64(bytes) }
  var room: UnsafeMutableBufferPointer<UInt8> { buffer.room(from: bytes) }

  /// Begins with a recipients file.
  ///
  /// A file that is in the buffer from its start is not read again for a notification of the same
  /// spool file.
  ///
  /// - Parameters:
  ///   - isRepeated: whether some of its recipients were offered before.
  ///   - problems: the problems of the recipients files before it.
  mutating func begin(
    _ notification: Notification, of now: Reading, in input: borrowing FixedBuffer<UInt8>,
    for owner: Owner, recipient: UInt32, isRepeated: Bool, problems: UInt32 = 0
  ) {
    let name = Self.listName(notification, owner.list, now.text(in: input))
    self.isRepeated = isRepeated
    isTorn = false
    let isKnown =
      isWhole && offset == 0 && self.owner?.claim == owner.claim
      && name.equals(nameBuffer.span(0..<nameBytes))
    self.owner = owner
    self.recipient = recipient
    self.problems = problems
    place = 0
    line = 1
    isEmpty = true
    isSkipping = false
    failure = nil
    guard !isKnown else { return }
    nameBytes = name.count
    nameBuffer.store(name, at: 0)
    nameBuffer[nameBytes] = 0
    offset = 0
    bytes = 0
    isWhole = false
  }

  @_lifetime(copy text)
  private static func listName(_ notification: Notification, _ number: Int, _ text: Span<UInt8>)
    -> Span<UInt8>
  {
    if notification.isBare { return Notification.defaultList.span }
    var name = notification.firstList
    for _ in 0..<number { name = notification.nextString(after: name.upperBound, in: text) }
    return text.extracting(name)
  }

  /// Forgets the file.
  mutating func forget() { owner = nil }

  /// Ends the notification.
  mutating func end() { owner?.offset = -1 }

  /// Takes more bytes of the file, which has this text since `epoch`.
  mutating func filled(since epoch: UInt32, bytes count: Int, isWhole: Bool) {
    if readOffset > 0, self.epoch != epoch { isTorn = true }
    self.epoch = epoch
    bytes += count
    self.isWhole = isWhole
  }

  /// Takes a failure to read the file, or to read on.
  mutating func failed(since epoch: UInt32, _ failure: OpenFailure) {
    self.epoch = epoch
    self.failure = failure
    bytes = place
    isWhole = true
    // So the buffer is not used for another notification.
    offset = max(offset, 1)
  }

  /// Returns the next entry; ``pass(isRecipient:)`` goes on after it.
  mutating func next(for service: PushProtocol) -> Entry {
    if let failure { return .wrong(.unreadable(failure)) }
    while true {
      guard place < bytes || !isWhole else { return isEmpty ? .wrong(.empty) : .end }
      var end = place
      while end < bytes, buffer[end] != .lineFeed { end += 1 }
      if end == bytes, !isWhole {
        if place == 0, bytes == buffer.capacity {
          // A line that fills the buffer is too long.
          nextPlace = bytes
          if isSkipping { passLine() } else { return .wrong(.line(.tooLong)) }
        }
        makeRoom()
        return .more
      }
      nextPlace = min(end + 1, bytes)
      if isSkipping {
        isSkipping = false
        skipLine()
        continue
      }
      guard end - place <= RecipientsFile.lineBytesMax else { return .wrong(.line(.tooLong)) }
      let entry = RecipientsFile.read(buffer.span(place..<end), for: service)
      switch entry {
      case .nothing: skipLine()
      case .recipient(let token, let language): return .recipient(token, language)
      case .wrong(let problem, _): return .wrong(.line(problem))
      }
    }
  }

  /// Goes on after the entry that ``next(for:)`` returned.
  mutating func pass(isRecipient: Bool = false) {
    let isOfAll = isEmpty && place == bytes && isWhole || failure != nil
    isEmpty = false
    failure = nil
    if isRecipient { recipient += 1 } else { problems = min(problems, .max - 1) + 1 }
    if !isOfAll { passLine() }
  }

  private mutating func passLine() {
    if nextPlace == bytes, !isWhole, bytes > 0, buffer[bytes - 1] != .lineFeed { isSkipping = true }
    if isSkipping { place = nextPlace } else { skipLine() }
  }

  private mutating func skipLine() {
    place = nextPlace
    line += 1
  }

  private mutating func makeRoom() {
    offset += Int64(place)
    bytes -= place
    buffer.move(from: place, to: 0, count: bytes)
    place = 0
  }
}

/// The versions of the recipients files that were read.
///
/// A place in a file under way counts recipients. So the courier must notice if a recipients file
/// has changed since they were counted.
struct RosterVersions: ~Copyable {
  private struct Version: BitwiseCopyable {
    var name: UInt64
    var identity: FileIdentity
    /// The epoch since which the file has this identity.
    var since: UInt32
    /// The age of the newest claim for which the file was read.
    var age: UInt32
  }

  private static let capacity = 64
  private var versions: InlineArray<64, Version> = .init(
    repeating: Version(
      name: 0, identity: FileIdentity(inode: 0, changeTimeNs: 0), since: 0, age: 0))
  private var count = 0
  private var oldest = 0
  /// The number of noticed changes; never 0.
  private(set) var epoch: UInt32 = 1

  init() {}

  /// Records that a recipients file was read for a claim, or is gone.
  ///
  /// Returns the epoch since which the file is unchanged, for the claims under way.
  mutating func record(
    _ roster: borrowing Roster, _ identity: FileIdentity?, for age: UInt32,
    in claims: borrowing Claims
  ) -> UInt32 {
    let identity = identity ?? FileIdentity(inode: 0, changeTimeNs: 0)
    var hash = Hash()
    hash.add(roster.name())
    var place = oldest
    for index in 0..<count where versions[index].name == hash.value {
      // If no claim under way used the old version, the change does not matter. The newest claim
      // that used it may have been given up, while older ones are still under way.
      let isUsed = claims.isUnderWay(since: versions[index].age)
      let isSame = versions[index].identity == identity
      if !isUsed || Int32(bitPattern: age &- versions[index].age) > 0 {
        versions[index].age = age
      }
      if isSame || !isUsed {
        versions[index].identity = identity
        return versions[index].since
      }
      place = index
    }
    var version = Version(name: hash.value, identity: identity, since: 1, age: age)
    if count < Self.capacity, place == oldest, versions[place].name != hash.value {
      place = count
      count += 1
    } else {
      // The file changed. Or the oldest entry is overwritten: then the history of both files is
      // unknown.
      epoch &+= 1
      version.since = epoch
      if versions[place].name != hash.value { oldest = (oldest + 1) % Self.capacity }
    }
    versions[place] = version
    return version.since
  }
}
