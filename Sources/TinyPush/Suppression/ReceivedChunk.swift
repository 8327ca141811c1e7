/// The bytes of one read from the feedback service, kept on disk until they are merged.
///
/// `sum:8 | magic:4 | count:4 | bytes`, big-endian. The sum shows whether the bytes are complete.
package struct ReceivedChunk {
  package static let headByteCount = 16
  /// The size of a TLS record (RFC 8446 section 5.1).
  package static let bytesMax = 16_384
  /// "TPR1": changes with the layout.
  private static let magic: UInt32 = 0x5450_5231

  package let count: Int
  private let sum: UInt64

  /// Reads the head of a chunk; nil if the bytes are not a head.
  @inline(never)
  package init?(head: Span<UInt8>) {
    guard head.count == Self.headByteCount, head.bigEndian32(at: 8) == Self.magic else {
      return nil
    }
    count = Int(clamping: head.bigEndian32(at: 12))
    sum = head.bigEndian64(at: 0)
    guard count > 0, count <= Self.bytesMax else { return nil }
  }

  /// Returns whether the bytes are those of this chunk.
  package func holds(_ bytes: Span<UInt8>) -> Bool {
    bytes.count == count && Self.sum(bytes) == sum
  }

  /// Writes the head of a chunk whose `count` bytes stand in `buffer` after the room for the head.
  @inline(never)
  package static func seal(_ buffer: borrowing FixedBuffer<UInt8>, count: Int) {
    buffer.store(bigEndian64: sum(buffer.span(headByteCount..<headByteCount + count)), at: 0)
    buffer.store(bigEndian: magic, at: 8)
    buffer.store(bigEndian: UInt32(count), at: 12)
  }

  @inline(never)
  private static func sum(_ bytes: Span<UInt8>) -> UInt64 {
    var hash = Hash()
    hash.add(bytes)
    return hash.value
  }
}
