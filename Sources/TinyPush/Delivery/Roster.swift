/// The recipients file that is being gone over: a piece of its text, and how far in it everything is done.
struct Roster: ~Copyable {
  /// For which notification, by its file and its place there, and which of the lists that it names.
  struct Owner: Equatable {
    var claim: ClaimNumber
    var offset: Int64
    var list: Int
  }

  /// What stands next.
  enum Entry {
    case recipient(DeviceToken, LanguageTag?)
    case wrong(Problem)
    /// More of the file must be read.
    case more
    case end
  }

  /// What keeps a notification from somebody.
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
  /// Where in the file the buffer begins, what it holds, and whether the file ends with it.
  private var offset: Int64 = 0
  private var bytes = 0
  private var isWhole = false
  /// The next line, and where the one behind it begins.
  private var place = 0
  private var nextPlace = 0
  /// Its number, as people count.
  private(set) var line: Int64 = 1
  /// The rest of a line is passed over that was too long.
  private var isSkipping = false
  /// Recipients of the notification that come before the next one, and what was wrong; and whether any, right or wrong, are
  /// in this file.
  private(set) var recipient: UInt32 = 0
  private(set) var problems: UInt32 = 0
  private var isEmpty = true
  private(set) var isRepeated = false
  /// It was changed while it was being read.
  private(set) var isTorn = false
  /// Since when the file is what was read of it.
  private(set) var epoch: UInt32 = 0
  private var failure: OpenFailure?

  init() {}

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(buffer.bytes) }

  /// Its name, of which a NUL follows.
  @_lifetime(borrow self)
  func name() -> Span<UInt8> { nameBuffer.span(0..<nameBytes) }

  /// Tells it from most others.
  var bit: UInt32 {
    var hash = Hash()
    hash.add(name())
    return 1 << UInt32(truncatingIfNeeded: hash.value >> 32 & 31)
  }

  /// Where to read on, and to where.
  var readOffset: Int64 { offset + Int64(bytes) }
  var room: UnsafeMutableBufferPointer<UInt8> { buffer.room(from: bytes) }

  /// Begins with a file. What is known of it is used once more for another notification of the same spool file.
  ///
  /// - Parameters:
  ///   - isRepeated: whether some of its recipients have been passed before.
  ///   - problems: what was wrong with the files before it.
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

  /// Nothing is known any more.
  mutating func forget() { owner = nil }

  /// With the notification all is done.
  mutating func end() { owner?.offset = -1 }

  /// More of the file is there, which is what it is since that epoch.
  mutating func filled(since epoch: UInt32, bytes count: Int, isWhole: Bool) {
    if readOffset > 0, self.epoch != epoch { isTorn = true }
    self.epoch = epoch
    bytes += count
    self.isWhole = isWhole
  }

  /// It cannot be read, or not on.
  mutating func failed(since epoch: UInt32, _ failure: OpenFailure) {
    self.epoch = epoch
    self.failure = failure
    bytes = place
    isWhole = true
    // It is not used once more.
    offset = max(offset, 1)
  }

  /// What stands next; ``pass()`` goes on behind it.
  mutating func next() -> Entry {
    if let failure { return .wrong(.unreadable(failure)) }
    while true {
      guard place < bytes || !isWhole else { return isEmpty ? .wrong(.empty) : .end }
      var end = place
      while end < bytes, buffer[end] != .lineFeed { end += 1 }
      if end == bytes, !isWhole {
        if place == 0, bytes == buffer.capacity {
          // A line that fills the buffer is none of ours.
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
      let entry = RecipientsFile.read(buffer.span(place..<end))
      switch entry {
      case .nothing: skipLine()
      case .recipient(let token, let language): return .recipient(token, language)
      case .wrong(let problem, _): return .wrong(.line(problem))
      }
    }
  }

  /// What ``next()`` told of is done with.
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

/// Which recipients files were seen, so that it is noticed when one is another by now: the places that are kept of
/// notifications under way count its recipients.
struct RosterVersions: ~Copyable {
  private struct Version: BitwiseCopyable {
    var name: UInt64
    var identity: FileIdentity
    /// The epoch in which it became what it is.
    var since: UInt32
    /// The age of the newest claim for which it was read.
    var age: UInt32
  }

  private static let capacity = 64
  private var versions: InlineArray<64, Version> = .init(
    repeating: Version(
      name: 0, identity: FileIdentity(inode: 0, changeTimeNs: 0), since: 0, age: 0))
  private var count = 0
  private var oldest = 0
  /// Counts the changes that were noticed; never 0.
  private(set) var epoch: UInt32 = 1

  init() {}

  /// A file was read for a claim, or is gone. Returns the epoch since which it is what it is, as far as a claim under way
  /// knows it.
  mutating func record(
    _ roster: borrowing Roster, _ identity: FileIdentity?, for age: UInt32,
    in claims: borrowing Claims
  ) -> UInt32 {
    let identity = identity ?? FileIdentity(inode: 0, changeTimeNs: 0)
    var hash = Hash()
    hash.add(roster.name())
    var place = oldest
    for index in 0..<count where versions[index].name == hash.value {
      // Where no claim under way has used what it was, it is as if it always had been what it is.
      // The one that used it last may have been taken back, and others before it have not.
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
      // It has changed; or another one is forgotten, of which nothing can be told any more, nor of this one before.
      epoch &+= 1
      version.since = epoch
      if versions[place].name != hash.value { oldest = (oldest + 1) % Self.capacity }
    }
    versions[place] = version
    return version.since
  }
}
