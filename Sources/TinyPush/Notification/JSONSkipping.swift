/// Skips several bytes at a time.
extension JSONScanner {
  /// Skips the plain ASCII characters of a string, which need no escape.
  @_noAllocation
  @inline(__always)
  mutating func skipPlain(_ bytes: Bytes) {
    typealias Words = SIMD2<UInt64>
    let ones = Words(repeating: UInt64.max / 0xFF)
    var next = index
    let isFound = bytes.withUnsafeBytes { text in
      guard let base = text.baseAddress, next >= 0 else { return false }
      while next <= text.count &- 16 {
        // Two numbers, each with the first character in its lowest byte.
        let words = base.loadUnaligned(fromByteOffset: next, as: Words.self)
        // The high bit of each byte that is a quote, a backslash, below a space or not ASCII. The
        // first exclusive-or exchanges quotes and spaces, so that one comparison finds both quotes
        // and control characters. A borrow reaches only bytes after such a byte, and only the first
        // match counts.
        let below = (words ^ (ones &* UInt64(UInt8.quote ^ .space))) &- (ones &* 0x21)
        let backslash = (words ^ (ones &* UInt64(UInt8.backslash))) &- ones
        let found = (words | below | backslash) & (ones &<< 7)
        if found[0] != 0 {
          next &+= found[0].trailingZeroBitCount &>> 3
          return true
        }
        if found[1] != 0 {
          next &+= 8 &+ found[1].trailingZeroBitCount &>> 3
          return true
        }
        next &+= 16
      }
      return false
    }
    guard !isFound else {
      index = next
      return
    }
    while next < bytes.count, bytes[next] >= .space, bytes[next] < 0x80, bytes[next] != .quote,
      bytes[next] != .backslash
    { next += 1 }
    index = next
  }

  /// Skips characters of several bytes, the first of which comes next, and the spaces between them.
  @_noAllocation
  mutating func skipSequences(_ bytes: Bytes) throws(JSONProblem) {
    var next = index
    while let word: UInt32 = Self.load(bytes, at: next) {
      // Check the marker bits of a sequence of two or three bytes, and those bits of its value
      // that exclude an overlong form or a surrogate. `examine` checks sequences of four bytes,
      // which are rare, and malformed ones.
      if word & 0xC0E0 == 0x80C0, word & 0x1E != 0 {
        next += 2
      } else if word & 0xC0C0F0 == 0x8080E0, word & 0x200F != 0, word & 0x200F != 0x200D {
        next += 3
      } else if word & 0xFF == UInt32(UInt8.space) {
        next += 1
      } else {
        break
      }
    }
    index = next
    guard index < bytes.count, bytes[index] >= 0x80 else { return }
    guard let length = UTF8Sequence.examine(bytes, at: index) else { throw end(bytes) }
    guard length > 0 else { throw .invalidUTF8 }
    index += length
  }

  /// Skips text that is not JSON, up to the next line that begins with a brace.
  ///
  /// Both NDJSON and indented JSON begin an object in this way.
  @_noAllocation
  mutating func skipToObject(_ bytes: Bytes) {
    if index > 0, index < bytes.count, bytes[index] == .openBrace, bytes[index - 1] == .lineFeed {
      return
    }
    let ones = UInt.max / 0xFF
    var next = index
    while next < bytes.count {
      if let word: UInt = Self.load(bytes, at: next) {
        // The high bit of each byte that is a line end, as in `skipPlain`.
        let ends = word ^ ones &* UInt(UInt8.lineFeed)
        if (ends &- ones) & ~ends & ones << 7 == 0 {
          next += MemoryLayout<UInt>.size
          continue
        }
      }
      let isLineEnd = bytes[next] == .lineFeed
      next += 1
      guard isLineEnd else { continue }
      lineEnds += 1
      if next < bytes.count, bytes[next] == .openBrace { break }
    }
    index = next
  }

  /// Returns the bytes from `index` on as a number, the first one lowest; nil if there are too few.
  @inline(__always)
  private static func load<Word: FixedWidthInteger & BitwiseCopyable>(_ bytes: Bytes, at index: Int)
    -> Word?
  {
    guard index >= 0, bytes.count - index >= MemoryLayout<Word>.size else { return nil }
    return bytes.withUnsafeBytes {
      Word(littleEndian: $0.loadUnaligned(fromByteOffset: index, as: Word.self))
    }
  }
}
