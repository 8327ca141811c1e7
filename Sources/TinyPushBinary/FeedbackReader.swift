import TinyPush

/// Finds tuples in the bytes of the feedback service, which arrive in any pieces.
///
/// Tokens of every size are accepted.
public struct FeedbackReader: ~Copyable {
  private var head: InlineArray<6, UInt8> = .init(repeating: 0)
  private var headCount = 0
  private let room = FixedBuffer<UInt8>(capacity: Int(UInt16.max))
  private var tokenCount = 0
  private var isWhole = false

  /// Makes a reader at the start of the stream.
  public init() {}

  /// Takes bytes from `place` on and returns whether a tuple is complete.
  ///
  /// `place` moves past the bytes taken. If a tuple is complete, ``timestamp`` and ``token`` belong
  /// to it until the next call. Otherwise all bytes were taken.
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

  /// The time at which the service found that the app was removed: UNIX seconds, UTC.
  public var timestamp: UInt32 { head.span.bigEndian32(at: 0) }

  /// The token of the tuple.
  public var token: Span<UInt8> {
    @_lifetime(borrow self) get { room.span(0..<tokenCount) }
  }

  /// Whether a tuple has begun and is not complete.
  public var isCut: Bool { !isWhole && headCount > 0 }

  private var tokenLength: Int { Int(head[4]) << 8 | Int(head[5]) }
}
