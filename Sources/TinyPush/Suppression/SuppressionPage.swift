/// A page of a suppression list on disk. A list is nothing but such pages: first those of records, sorted by token, then one or
/// more with the tokens of other sizes, of which the last is marked. Each has a sum of its own, so that what is damaged is found
/// when it is looked at, and the rest is still good.
///
/// `sum:8 | magic:4 | page:4 | kind:4 | recordPages:4 | count:4 | 0:4`, and from byte 32 what it holds; big-endian.
package struct SuppressionPage {
  package static let byteCount = 4096
  package static let headByteCount = 32
  package static let recordsMax = (byteCount - headByteCount) / SuppressionRecord.byteCount
  package static let bytesMax = byteCount - headByteCount
  /// "TPL1": changes with the layout.
  private static let magic: UInt32 = 0x5450_4C31

  package enum Kind: UInt32 {
    case records = 1
    case others = 2
    /// Of others too, perhaps of none.
    case last = 3
  }

  /// Its number in the list, from 0.
  package var page: UInt32
  package var kind: Kind
  /// How many pages of records there are; only pages of others say so, since by then it is known.
  package var recordPages: UInt32 = 0
  /// Records, or bytes of others.
  package var count: UInt32

  package init(page: UInt32, kind: Kind, recordPages: UInt32 = 0, count: UInt32) {
    self.page = page
    self.kind = kind
    self.recordPages = recordPages
    self.count = count
  }

  /// Of a page's bytes; nil when they are damaged.
  @inline(never)
  package init?(_ bytes: Span<UInt8>) {
    guard bytes.count == Self.byteCount, Self.isHead(bytes),
      let kind = Kind(rawValue: bytes.bigEndian32(at: 16))
    else { return nil }
    let sum = Self.sum(bytes)
    guard bytes.bigEndian32(at: 0) == UInt32(truncatingIfNeeded: sum >> 32),
      bytes.bigEndian32(at: 4) == UInt32(truncatingIfNeeded: sum)
    else { return nil }
    self.kind = kind
    page = bytes.bigEndian32(at: 12)
    recordPages = bytes.bigEndian32(at: 20)
    count = bytes.bigEndian32(at: 24)
    guard count <= (kind == .records ? Self.recordsMax : Self.bytesMax), recordPages <= page else {
      return nil
    }
  }

  /// Whether a page's bytes begin like those of one.
  package static func isHead(_ bytes: Span<UInt8>) -> Bool { bytes.bigEndian32(at: 8) == magic }

  /// Writes the head, and zeros behind what the page at the start of `buffer` holds.
  @inline(never)
  package func seal(_ buffer: borrowing FixedBuffer<UInt8>) {
    let used =
      Self.headByteCount + Int(count) * (kind == .records ? SuppressionRecord.byteCount : 1)
    for index in used..<Self.byteCount { buffer[index] = 0 }
    buffer.store(bigEndian: Self.magic, at: 8)
    buffer.store(bigEndian: page, at: 12)
    buffer.store(bigEndian: kind.rawValue, at: 16)
    buffer.store(bigEndian: recordPages, at: 20)
    buffer.store(bigEndian: count, at: 24)
    buffer.store(bigEndian: 0, at: 28)
    let sum = Self.sum(buffer.span(0..<Self.byteCount))
    buffer.store(bigEndian: UInt32(truncatingIfNeeded: sum >> 32), at: 0)
    buffer.store(bigEndian: UInt32(truncatingIfNeeded: sum), at: 4)
  }

  private static func sum(_ bytes: Span<UInt8>) -> UInt64 {
    var hash = Hash()
    hash.add(bytes.extracting(8..<byteCount))
    return hash.value
  }
}
