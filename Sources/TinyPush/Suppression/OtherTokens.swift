/// The tokens of other sizes than 32 bytes that the feedback service has reported.
///
/// `time:4 | length:2 | token`, big-endian. Nothing can be sent to such tokens today. They are kept
/// unchanged.
public struct OtherTokens: ~Copyable {
  /// The most bytes that are kept, far more than expected; further tokens are left out.
  static let bytesMax = 1 << 20
  private static let tokensMax = 1024
  private static let headByteCount = 6

  let bytes = FixedBuffer<UInt8>(capacity: bytesMax)
  private(set) var byteCount = 0
  package private(set) var count = 0

  package init() {}

  deinit {}

  /// Adds a token, or updates the time of a known token if the new one is later.
  ///
  /// Returns whether the token is new; nil if there is no room.
  @inline(never)
  package mutating func insert(_ token: Span<UInt8>, time: UInt32) -> Bool? {
    var place = 0
    while let known = next(at: &place) {
      guard bytes.span(known).equals(token) else { continue }
      let head = known.lowerBound - Self.headByteCount
      if time > bytes.span(head..<place).bigEndian32(at: 0) {
        bytes.store(bigEndian: time, at: head)
      }
      return false
    }
    guard !isFull, token.count <= Int(UInt16.max) else { return nil }
    bytes.store(bigEndian: time, at: byteCount)
    bytes[byteCount + 4] = UInt8(token.count >> 8)
    bytes[byteCount + 5] = UInt8(token.count & 0xFF)
    bytes.store(token, at: byteCount + Self.headByteCount)
    byteCount += Self.headByteCount + token.count
    count += 1
    return true
  }

  /// Whether no more tokens are kept.
  ///
  /// Once full, the list stays full even for a short token, so that a caller can report it once.
  package var isFull: Bool {
    count >= Self.tokensMax
      || byteCount + Self.headByteCount + Int(UInt16.max) > Self.bytesMax
  }

  package mutating func removeAll() {
    byteCount = 0
    count = 0
  }

  package func forEachToken(_ body: (Span<UInt8>, UInt32) -> Void) {
    var place = 0
    while let token = next(at: &place) {
      let head = token.lowerBound - Self.headByteCount
      body(bytes.span(token), bytes.span(head..<place).bigEndian32(at: 0))
    }
  }

  /// Replaces all tokens by those in `bytesWanted` bytes of a list; returns whether it read them.
  mutating func replace(_ bytesWanted: Int, at place: Int64, _ read: SuppressionList.Read) -> Bool {
    let room = UnsafeMutableBufferPointer(rebasing: bytes.room()[..<bytesWanted])
    let isRead = bytesWanted == 0 || read(room, place) == bytesWanted
    byteCount = isRead ? bytesWanted : 0
    count = 0
    var place = 0
    while next(at: &place) != nil { count += 1 }
    return isRead
  }

  /// Returns the range of the token that begins at `place`, which moves past it; nil at the end.
  private func next(at place: inout Int) -> Range<Int>? {
    let start = place + Self.headByteCount
    guard start <= byteCount else { return nil }
    let length = Int(bytes[place + 4]) << 8 | Int(bytes[place + 5])
    guard start + length <= byteCount else { return nil }
    place = start + length
    return start..<place
  }
}
