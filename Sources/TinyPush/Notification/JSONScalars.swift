/// Strings, numbers and words: values that hold no others.
extension JSONScanner {
  /// A string; the next byte is its opening quote. The range is what stands between the quotes.
  @_noAllocation
  @inline(never)
  public mutating func string(_ bytes: Bytes) throws(JSONProblem) -> Range<Int> {
    let start = index + 1
    index = start
    while true {
      skipPlain(bytes)
      guard index < bytes.count else { throw .unexpectedEnd }
      switch bytes[index] {
      case .quote:
        index += 1
        return start..<index - 1
      case .backslash: try skipEscape(bytes)
      case 0x80...: try skipSequences(bytes)
      default: throw .controlCharacter
      }
    }
  }

  /// A whole number of at most ten digits without sign, fraction or exponent; nil for any other number.
  @_noAllocation
  public mutating func wholeNumber(_ bytes: Bytes) throws(JSONProblem) -> UInt64? {
    let start = index
    try skipNumber(bytes)
    guard index - start <= 10 else { return nil }
    var value: UInt64 = 0
    for position in start..<index {
      guard bytes[position].isDigit else { return nil }
      value = value * 10 + UInt64(bytes[position].digitValue)
    }
    return value
  }

  // MARK: - Numbers and words

  private mutating func skipDigits(_ bytes: Bytes) throws(JSONProblem) {
    var next = index
    while next < bytes.count, bytes[next].isDigit { next += 1 }
    guard next > index else { throw next < bytes.count ? .invalidNumber : .unexpectedEnd }
    index = next
  }

  mutating func skipNumber(_ bytes: Bytes) throws(JSONProblem) {
    if bytes[index] == .hyphen { index += 1 }
    guard index < bytes.count else { throw .unexpectedEnd }
    if bytes[index] == UInt8(ascii: "0") {
      index += 1
      if index < bytes.count, bytes[index].isDigit { throw .invalidNumber }
    } else {
      try skipDigits(bytes)
    }
    if index < bytes.count, bytes[index] == .dot {
      index += 1
      try skipDigits(bytes)
    }
    if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
      index += 1
      if index < bytes.count {
        switch bytes[index] {
        case .plus, .hyphen: index += 1
        default: break
        }
      }
      try skipDigits(bytes)
    }
  }

  mutating func skipWord(_ word: StaticString, _ bytes: Bytes) throws(JSONProblem) {
    for position in 0..<word.utf8CodeUnitCount {
      guard index < bytes.count else { throw .unexpectedEnd }
      guard bytes[index] == word.utf8Start[position] else { throw .expectedValue }
      index += 1
    }
  }

  // MARK: - Parts of strings

  /// Passes over what stands for itself in a string, a machine word of it at a time.
  private mutating func skipPlain(_ bytes: Bytes) {
    let ones = UInt.max / 0xFF
    let high = ones << 7
    var next = index
    while let word: UInt = Self.load(bytes, at: next) {
      // The high bit of each byte that is a quote, a backslash, below a space or not ASCII. A borrow reaches only bytes
      // behind one of these, and the first counts.
      let quote = (word ^ ones &* UInt(UInt8.quote)) &- ones
      let backslash = (word ^ ones &* UInt(UInt8.backslash)) &- ones
      let control = word &- ones &* UInt(UInt8.space)
      let found = (word | quote | backslash | control) & high
      guard found == 0 else {
        index = next + found.trailingZeroBitCount >> 3
        return
      }
      next += MemoryLayout<UInt>.size
    }
    while next < bytes.count, bytes[next] >= .space, bytes[next] < 0x80, bytes[next] != .quote,
      bytes[next] != .backslash
    { next += 1 }
    index = next
  }

  private mutating func skipEscape(_ bytes: Bytes) throws(JSONProblem) {
    let start = index
    guard start + 1 < bytes.count else { throw end(bytes) }
    switch bytes[start + 1] {
    case .quote, .backslash, .slash, UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
      UInt8(ascii: "r"), UInt8(ascii: "t"):
      index = start + 2
    case UInt8(ascii: "u"):
      let unit = try skipHexEscape(bytes)
      guard unit & 0xF800 == 0xD800 else { return }
      guard unit < 0xDC00, try nextIsHexEscape(bytes), try skipHexEscape(bytes) & 0xFC00 == 0xDC00
      else {
        index = start
        throw .loneSurrogate
      }
    default: throw .invalidEscape
    }
  }

  /// The unit of the `\uXXXX` that comes next.
  private mutating func skipHexEscape(_ bytes: Bytes) throws(JSONProblem) -> UInt32 {
    var unit: UInt32 = 0
    for position in index + 2..<index + 6 {
      guard position < bytes.count else { throw end(bytes) }
      guard let digit = DeviceToken.hexValue(bytes[position]) else { throw .invalidEscape }
      unit = unit << 4 | UInt32(digit)
    }
    index += 6
    return unit
  }

  private mutating func nextIsHexEscape(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    guard index < bytes.count else { throw end(bytes) }
    guard bytes[index] == .backslash else { return false }
    guard index + 1 < bytes.count else { throw end(bytes) }
    return bytes[index + 1] == UInt8(ascii: "u")
  }

  /// Passes over characters of several bytes, of which one comes next, and the spaces between them.
  private mutating func skipSequences(_ bytes: Bytes) throws(JSONProblem) {
    var next = index
    while let word: UInt32 = Self.load(bytes, at: next) {
      // The marks of two bytes or of three, and of what they stand for enough to know that fewer would not do (and that
      // it is no surrogate). Those of four bytes are rare, and left to `examine` like those that are wrong.
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

  // MARK: - Bytes

  /// The text ends, within what stands at `index`.
  mutating func end(_ bytes: Bytes) -> JSONProblem {
    index = bytes.count
    return .unexpectedEnd
  }

  /// The bytes from `index` on as a number, the first one lowest; nil when there are too few.
  @inline(__always)
  static func load<Word: FixedWidthInteger & BitwiseCopyable>(_ bytes: Bytes, at index: Int)
    -> Word?
  {
    guard index >= 0, bytes.count - index >= MemoryLayout<Word>.size else { return nil }
    return bytes.withUnsafeBytes {
      Word(littleEndian: $0.loadUnaligned(fromByteOffset: index, as: Word.self))
    }
  }
}
