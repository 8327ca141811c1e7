/// Tokens of other sizes than 32 bytes, which the feedback service may tell: nothing can be sent to them today, and they are
/// kept as they came.
package struct OtherTokens: ~Copyable {
  /// Far more than there are; what is beyond is left out.
  static let bytesMax = 1 << 20
  /// `tokenLength` says no more.
  private static let tokenBytesMax = 65_535
  private static let slots = 65_536
  private static let tokensMax = slots / 2
  /// `time:4 | reason:1 | 0:1 | tokenLength:2`, then the token.
  private static let headByteCount = 8

  let bytes: FixedBuffer<UInt8>
  private(set) var byteCount = 0
  private(set) var count = 0
  /// By the hash of a token: where it stands, and one. Made when the first comes.
  private var table: FixedBuffer<UInt32>

  package init() {
    bytes = FixedBuffer(capacity: Self.bytesMax)
    table = FixedBuffer(capacity: 0)
  }

  /// One of them.
  package struct Entry {
    var time: UInt32
    var reason: SuppressionRecord.Reason
    /// Where its token stands in ``bytes``.
    var token: Range<Int>
  }

  /// Adds a token, or what holds by now of one that is there. Whether there was room, and whether it was not suppressed before.
  @inline(never)
  package mutating func insert(
    _ token: Span<UInt8>, time: UInt32, reason: SuppressionRecord.Reason
  ) -> (isKept: Bool, isNew: Bool) {
    let slot = slot(of: token)
    if table[slot] > 0 {
      let start = Int(table[slot]) - 1
      guard let known = entry(at: start) else { return (false, false) }
      let isLater = reason.outweighs(known.reason, at: time, known.time)
      if isLater { set(time, reason, at: start) }
      return (true, isLater && known.reason == .registered && reason != .registered)
    }
    guard !isFull, token.count <= Self.tokenBytesMax else { return (false, false) }
    let end = byteCount + Self.headByteCount + token.count
    table[slot] = UInt32(byteCount + 1)
    set(time, reason, at: byteCount)
    bytes[byteCount + 5] = 0
    bytes[byteCount + 6] = UInt8(token.count >> 8)
    bytes[byteCount + 7] = UInt8(token.count & 0xFF)
    bytes.store(token, at: byteCount + Self.headByteCount)
    byteCount = end
    count += 1
    return (true, reason != .registered)
  }

  /// No more are kept. Once it is, it stays so, however short the next token is: so that can be said once.
  package var isFull: Bool {
    count >= Self.tokensMax || byteCount + Self.headByteCount + Self.tokenBytesMax > Self.bytesMax
  }

  /// What stands at `place`, which is moved on; nil at the end.
  func next(at place: inout Int) -> Entry? {
    guard let entry = entry(at: place) else { return nil }
    place = entry.token.upperBound
    return entry
  }

  /// How many of them are suppressed.
  package var suppressed: UInt64 {
    var count: UInt64 = 0
    var place = 0
    while let entry = next(at: &place) {
      if entry.reason != .registered { count += 1 }
    }
    return count
  }

  /// What is known of a token; nil: nothing.
  mutating func find(_ token: Span<UInt8>) -> Entry? {
    let slot = slot(of: token)
    return table[slot] > 0 ? entry(at: Int(table[slot]) - 1) : nil
  }

  private func entry(at start: Int) -> Entry? { Self.entry(bytes, byteCount, at: start) }

  fileprivate static func entry(
    _ bytes: borrowing FixedBuffer<UInt8>, _ byteCount: Int, at start: Int
  ) -> Entry? {
    let from = start + headByteCount
    guard from <= byteCount, let reason = SuppressionRecord.Reason(rawValue: bytes[start + 4])
    else { return nil }
    let length = Int(bytes[start + 6]) << 8 | Int(bytes[start + 7])
    guard from + length <= byteCount else { return nil }
    let time = bytes.span(start..<start + 4).bigEndian32(at: 0)
    return Entry(time: time, reason: reason, token: from..<from + length)
  }

  private func set(_ time: UInt32, _ reason: SuppressionRecord.Reason, at start: Int) {
    bytes.store(bigEndian: time, at: start)
    bytes[start + 4] = reason.rawValue
  }

  /// Where in the table it is, or would be.
  private mutating func slot(of token: Span<UInt8>) -> Int {
    if table.capacity == 0 {
      table = FixedBuffer(capacity: Self.slots)
      for index in 0..<Self.slots { table[index] = 0 }
    }
    var hash = Hash()
    hash.add(token)
    var slot = Int(hash.value % UInt64(Self.slots))
    while table[slot] > 0 {
      if let entry = entry(at: Int(table[slot]) - 1), bytes.span(entry.token).equals(token) {
        break
      }
      slot = (slot + 1) % Self.slots
    }
    return slot
  }
}

extension OtherTokens {
  /// They as they stand in the pages of a list.
  package struct Stored: ~Copyable {
    private let bytes = FixedBuffer<UInt8>(capacity: bytesMax)
    private var byteCount = 0

    package init() {}

    /// Adds what a page holds; whether there is room.
    package mutating func append(_ page: borrowing FixedBuffer<UInt8>, _ head: SuppressionPage)
      -> Bool
    {
      let count = Int(head.count)
      guard byteCount + count <= OtherTokens.bytesMax else { return false }
      let start = SuppressionPage.headByteCount
      bytes.store(page.span(start..<start + count), at: byteCount)
      byteCount += count
      return true
    }

    package func forEach(_ body: (Span<UInt8>, SuppressionRecord.Reason, UInt32) -> Void) {
      var place = 0
      while let entry = OtherTokens.entry(bytes, byteCount, at: place) {
        body(bytes.span(entry.token), entry.reason, entry.time)
        place = entry.token.upperBound
      }
    }
  }
}
