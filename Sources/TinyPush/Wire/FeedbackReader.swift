/// Finds tuples in what the feedback service sends, however it is cut up. Tokens of every size are taken as they come.
public struct FeedbackReader: ~Copyable {
  private var head: InlineArray<6, UInt8> = .init(repeating: 0)
  private var headCount = 0
  private let room = FixedBuffer<UInt8>(capacity: Int(UInt16.max))
  private var tokenCount = 0
  private var isWhole = false

  public init() {}

  /// Takes bytes from `place` on, which is moved behind what was taken. Whether a tuple is whole: ``timestamp`` and ``token``
  /// are its own until the next call. `false`: all was taken.
  @inline(never)
  public mutating func next(in bytes: Span<UInt8>, at place: inout Int) -> Bool {
    if isWhole {
      isWhole = false
      headCount = 0
      tokenCount = 0
    }
    while headCount < 6 {
      guard place < bytes.count else { return false }
      head[headCount] = bytes[place]
      headCount += 1
      place += 1
    }
    let taken = min(tokenLength - tokenCount, bytes.count - place)
    room.store(bytes.extracting(place..<place + taken), at: tokenCount)
    tokenCount += taken
    place += taken
    isWhole = tokenCount == tokenLength
    return isWhole
  }

  /// When the app was found gone: UNIX seconds, UTC.
  public var timestamp: UInt32 { head.span.bigEndian32(at: 0) }

  public var token: Span<UInt8> {
    @_lifetime(borrow self) get { room.span(0..<tokenCount) }
  }

  /// Whether a tuple has begun that is not whole.
  public var isCut: Bool { !isWhole && headCount > 0 }

  private var tokenLength: Int { Int(head[4]) << 8 | Int(head[5]) }
}
