/// The recipients file that is being read: a part of its text, and the next line.
struct RecipientsReader: ~Copyable {
  /// Where reading goes on in a recipients file.
  struct Place: BitwiseCopyable {
    /// The offset of the next line, its number from 1 on, and whether a line before it had an entry.
    var offset: Int64 = 0
    var line: Int64 = 1
    var isEmpty = true
    /// The file that was read; nil: nothing was read.
    var identity: FileIdentity?
    /// How often the file was read again from its start, since it had changed meanwhile.
    var restarts: UInt8 = 0
  }

  /// The next entry of the file.
  enum Entry {
    case recipient(RecipientsFile.Recipient)
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
  /// The file that the text in the buffer comes from; nil: nothing was read.
  private var identity: FileIdentity?
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
  /// Whether this file had no entry so far.
  private var isEmpty = true
  private var restarts: UInt8 = 0
  private static let restartsMax: UInt8 = 3
  private var failure: OpenFailure?

  init() {}

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(buffer.bytes) }

  /// Returns the name of the file, which a NUL follows in the buffer.
  @_lifetime(borrow self)
  func name() -> Span<UInt8> { nameBuffer.span(0..<nameBytes) }

  func appendName(to text: inout Text) { text.append(bytes: name()) }

  /// Where in the file to read on, and into what.
  var readOffset: Int64 { offset + Int64(bytes) }
  var room: UnsafeMutableBufferPointer<UInt8> { buffer.room(from: bytes) }

  /// Begins to read a recipients file, or goes on at a place.
  ///
  /// - Parameter isFresh: whether the text in the buffer may be used: it was read for the same spool
  ///   file.
  mutating func begin(_ name: Span<UInt8>, at start: Place, isFresh: Bool) {
    failure = nil
    isSkipping = false
    restarts = start.restarts
    line = start.line
    isEmpty = start.isEmpty
    if isFresh, identity != nil, name.equals(nameBuffer.span(0..<nameBytes)),
      start.offset >= offset, start.offset <= readOffset
    {
      place = Int(start.offset - offset)
      return
    }
    nameBytes = name.count
    nameBuffer.store(name, at: 0)
    nameBuffer[nameBytes] = 0
    identity = start.identity
    offset = start.offset
    bytes = 0
    place = 0
    isWhole = false
  }

  /// Where reading goes on, if other files are read meanwhile.
  var present: Place {
    Place(
      offset: offset + Int64(place), line: line, isEmpty: isEmpty, identity: identity,
      restarts: restarts)
  }

  /// Forgets the text, since the file may change.
  mutating func forget() { identity = nil }

  /// Takes more bytes of the file.
  ///
  /// A file that was replaced meanwhile is read again from its start, and some recipients get the
  /// notification twice. A file that is replaced all the time is read on.
  mutating func filled(_ identity: FileIdentity, bytes count: Int, isWhole: Bool) {
    if let known = self.identity, known != identity, restarts < Self.restartsMax {
      restarts += 1
      self.identity = nil
      offset = 0
      bytes = 0
      place = 0
      line = 1
      isEmpty = true
      isSkipping = false
      self.isWhole = false
      return
    }
    self.identity = identity
    bytes += count
    self.isWhole = isWhole
  }

  /// Takes a failure to read the file, or to read on.
  mutating func failed(_ failure: OpenFailure) {
    self.failure = failure
    bytes = place
    isWhole = true
  }

  /// Returns the next entry; ``pass()`` goes on after it.
  mutating func next(for pushProtocol: PushProtocol) -> Entry {
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
      let entry = RecipientsFile.read(buffer.span(place..<end), for: pushProtocol)
      switch entry {
      case .nothing: skipLine()
      case .recipient(let recipient): return .recipient(recipient)
      case .wrong(let problem, _): return .wrong(.line(problem))
      }
    }
  }

  /// The subscription of the entry that ``next(for:)`` returned, valid until ``pass()``.
  @_lifetime(immortal)
  func subscription(of recipient: RecipientsFile.Recipient) -> Span<UInt8> {
    let range = recipient.subscription
    return buffer.unsafeSpan(place + range.lowerBound..<place + range.upperBound)
  }

  /// Goes on after the entry that ``next(for:)`` returned.
  mutating func pass() {
    let isOfAll = isEmpty && place == bytes && isWhole || failure != nil
    isEmpty = false
    if failure != nil { forget() }
    failure = nil
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
