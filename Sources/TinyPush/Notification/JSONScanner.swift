/// What is wrong with a JSON text; the scanner's `index` says where.
public enum JSONProblem: UInt8, Error, BitwiseCopyable {
  /// The text ends inside a value: more may come, or it was cut.
  case unexpectedEnd
  case expectedValue
  case expectedKey
  case expectedColon
  case expectedCommaOrBrace
  case expectedCommaOrBracket
  case trailingComma
  case invalidNumber
  case invalidEscape
  case loneSurrogate
  case invalidUTF8
  case controlCharacter
  case tooDeep
  case byteOrderMark

  /// In words: what was expected, and how to mend it.
  public var text: StaticString {
    switch self {
    case .unexpectedEnd:
      "the text ends in the middle of an object: is a brace, a bracket or a quote missing?"
    case .expectedValue:
      "expected a value: a string in double quotes, a number, an object, an array, true, false or null"
    case .expectedKey: "expected a key in double quotes"
    case .expectedColon: "expected ':' after the key"
    case .expectedCommaOrBrace: "expected ',' or '}': is a comma missing before this?"
    case .expectedCommaOrBracket: "expected ',' or ']': is a comma missing before this?"
    case .trailingComma: "nothing follows the comma before this: remove the comma"
    case .invalidNumber:
      "not a number as JSON writes it (no leading zeros or plus, digits on both sides of the point)"
    case .invalidEscape: "no such escape: JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX"
    case .loneSurrogate:
      "half of a surrogate pair: \\uD800 to \\uDBFF must be followed by \\uDC00 to \\uDFFF"
    case .invalidUTF8: "not UTF-8: save the file as UTF-8"
    case .controlCharacter: "a control character inside a string: write it as \\n, \\t or \\u00XX"
    case .tooDeep: "nested deeper than 32 levels"
    case .byteOrderMark:
      "a byte order mark stands before the text: save the file as UTF-8 without it (\"without BOM\")"
    }
  }
}

/// Goes over JSON text (RFC 8259), strictly, in one pass over the bytes; without allocation or recursion, to a bounded
/// depth. It keeps no reference to the bytes: each call is given them. With `@_noAllocation` each build proves that there is
/// no allocation in it, nor in what it calls.
///
/// The first byte that no JSON text has there is at fault; of an escape or of a character of several bytes that is wrong,
/// the first one. So a text that is cut somewhere has the whole text's problem, at the same place, or
/// ``JSONProblem/unexpectedEnd`` at its end.
public struct JSONScanner {
  public typealias Bytes = Span<UInt8>

  /// Levels of arrays and objects. The service's documents name none; inferred: far above any payload of 4096 bytes
  /// that a person writes, and a bound nonetheless.
  public static let depthMax = 32

  /// The byte to look at next; after an error, the byte at fault. After ``JSONProblem/unexpectedEnd`` it is behind the last.
  public var index: Int
  /// Arrays and objects that have been opened and not closed.
  public private(set) var depth = 0
  /// Which of them are objects: a bit each, the innermost lowest.
  private var objects: UInt32 = 0
  /// White space passed over so far, in bytes.
  public private(set) var spaceBytes = 0
  /// Line ends passed over so far, and where the present line starts.
  public private(set) var lineEnds = 0
  public private(set) var lineStart: Int

  public init(at index: Int = 0) {
    self.index = index
    lineStart = index
  }

  /// Passes over white space.
  @_noAllocation
  @inline(never)
  public mutating func skipSpace(_ bytes: Bytes) {
    var next = index
    while next < bytes.count {
      switch bytes[next] {
      case 0x20, 0x09, 0x0D: next += 1
      case 0x0A:
        next += 1
        lineEnds += 1
        lineStart = next
      default:
        spaceBytes += next - index
        index = next
        return
      }
    }
    spaceBytes += next - index
    index = next
  }

  /// The next byte that is not white space, which stays the next.
  @_noAllocation
  @inline(__always)
  public mutating func peek(_ bytes: Bytes) throws(JSONProblem) -> UInt8 {
    if index < bytes.count, bytes[index] > 0x20 { return bytes[index] }
    skipSpace(bytes)
    guard index < bytes.count else { throw .unexpectedEnd }
    return bytes[index]
  }

  /// Takes `byte` if it comes next.
  @_noAllocation
  @inline(__always)
  public mutating func take(_ byte: UInt8, _ bytes: Bytes) throws(JSONProblem) -> Bool {
    guard try peek(bytes) == byte else { return false }
    index += 1
    return true
  }

  /// Where a text, or one of several values in it, begins: nothing is open any more, whatever was when the value before
  /// was given up. A byte order mark, UTF-8's or UTF-16's, is refused in words of its own.
  @_noAllocation
  public mutating func begin(_ bytes: Bytes) throws(JSONProblem) {
    depth = 0
    guard try peek(bytes) >= 0xEF else { return }
    if bytes[index] >= 0xFE { throw .byteOrderMark }
    let mark: StaticString = "\u{FEFF}"
    for position in 0..<mark.utf8CodeUnitCount {
      guard index + position < bytes.count else { throw end(bytes) }
      guard bytes[index + position] == mark.utf8Start[position] else { return }
    }
    throw .byteOrderMark
  }

  /// The start of an object's members, the next byte being its brace; `false` when there are none.
  @_noAllocation
  @inline(never)
  public mutating func openObject(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try open(isObject: true, bytes)
  }

  /// The start of an array's elements, the next byte being its bracket; `false` when there are none.
  @_noAllocation
  public mutating func openArray(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try open(isObject: false, bytes)
  }

  /// After a member: whether another one follows.
  @_noAllocation
  @inline(never)
  public mutating func nextMember(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try next(0x7D, or: .expectedCommaOrBrace, bytes)
  }

  /// After an element: whether another one follows.
  @_noAllocation
  public mutating func nextElement(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try next(0x5D, or: .expectedCommaOrBracket, bytes)
  }

  /// A key and its colon. The range is what stands between the quotes.
  @_noAllocation
  @inline(never)
  public mutating func key(_ bytes: Bytes) throws(JSONProblem) -> Range<Int> {
    guard try peek(bytes) == 0x22 else { throw .expectedKey }
    let range = try string(bytes)
    guard try take(0x3A, bytes) else { throw .expectedColon }
    return range
  }

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
      case 0x22:
        index += 1
        return start..<index - 1
      case 0x5C: try skipEscape(bytes)
      case 0x80...: try skipSequences(bytes)
      default: throw .controlCharacter
      }
    }
  }

  /// Any value, whole.
  @_noAllocation
  @inline(never)
  public mutating func skipValue(_ bytes: Bytes) throws(JSONProblem) {
    let outside = depth
    while true {
      switch try peek(bytes) {
      case 0x7B:
        if try openObject(bytes) {
          _ = try key(bytes)
          continue
        }
      case 0x5B: if try openArray(bytes) { continue }
      case 0x22: _ = try string(bytes)
      case 0x2D, 0x30...0x39: try skipNumber(bytes)
      case 0x74: try skipWord("true", bytes)
      case 0x66: try skipWord("false", bytes)
      case 0x6E: try skipWord("null", bytes)
      default: throw .expectedValue
      }
      // A value has ended: so may the arrays and objects around it.
      while true {
        if depth == outside { return }
        if objects & 1 == 0 {
          if try nextElement(bytes) { break }
        } else if try nextMember(bytes) {
          _ = try key(bytes)
          break
        }
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
      guard bytes[position] >= 0x30, bytes[position] <= 0x39 else { return nil }
      value = value * 10 + UInt64(bytes[position] - 0x30)
    }
    return value
  }

  // MARK: - Parts of values

  private mutating func open(isObject: Bool, _ bytes: Bytes) throws(JSONProblem) -> Bool {
    guard depth < Self.depthMax else { throw .tooDeep }
    depth += 1
    objects = objects << 1 | (isObject ? 1 : 0)
    index += 1
    guard try take(isObject ? 0x7D : 0x5D, bytes) else { return true }
    close()
    return false
  }

  private mutating func next(
    _ closing: UInt8, or problem: JSONProblem, _ bytes: Bytes
  ) throws(JSONProblem) -> Bool {
    let byte = try peek(bytes)
    guard byte == 0x2C || byte == closing else { throw problem }
    index += 1
    if byte == closing {
      close()
      return false
    }
    guard try peek(bytes) != closing else { throw .trailingComma }
    return true
  }

  private mutating func close() {
    depth -= 1
    objects >>= 1
  }

  /// The text ends, within what stands at `index`.
  private mutating func end(_ bytes: Bytes) -> JSONProblem {
    index = bytes.count
    return .unexpectedEnd
  }

  private mutating func skipDigits(_ bytes: Bytes) throws(JSONProblem) {
    var next = index
    while next < bytes.count, bytes[next] &- 0x30 < 10 { next += 1 }
    guard next > index else { throw next < bytes.count ? .invalidNumber : .unexpectedEnd }
    index = next
  }

  private mutating func skipNumber(_ bytes: Bytes) throws(JSONProblem) {
    if bytes[index] == 0x2D { index += 1 }
    guard index < bytes.count else { throw .unexpectedEnd }
    if bytes[index] == 0x30 {
      index += 1
      if index < bytes.count, bytes[index] >= 0x30, bytes[index] <= 0x39 { throw .invalidNumber }
    } else {
      try skipDigits(bytes)
    }
    if index < bytes.count, bytes[index] == 0x2E {
      index += 1
      try skipDigits(bytes)
    }
    if index < bytes.count, bytes[index] | 0x20 == 0x65 {
      index += 1
      if index < bytes.count {
        switch bytes[index] {
        case 0x2B, 0x2D: index += 1
        default: break
        }
      }
      try skipDigits(bytes)
    }
  }

  private mutating func skipWord(_ word: StaticString, _ bytes: Bytes) throws(JSONProblem) {
    for position in 0..<word.utf8CodeUnitCount {
      guard index < bytes.count else { throw .unexpectedEnd }
      guard bytes[index] == word.utf8Start[position] else { throw .expectedValue }
      index += 1
    }
  }

  private mutating func skipEscape(_ bytes: Bytes) throws(JSONProblem) {
    let start = index
    guard start + 1 < bytes.count else { throw end(bytes) }
    switch bytes[start + 1] {
    case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74: index = start + 2
    case 0x75:
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
    guard bytes[index] == 0x5C else { return false }
    guard index + 1 < bytes.count else { throw end(bytes) }
    return bytes[index + 1] == 0x75
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
      } else if word & 0xFF == 0x20 {
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

  /// The bytes from `index` on as a number, the first one lowest; nil when there are too few.
  @inline(__always)
  private static func load<Word: FixedWidthInteger & BitwiseCopyable>(_ bytes: Bytes, at index: Int)
    -> Word?
  {
    guard index >= 0, bytes.count - index >= MemoryLayout<Word>.size else { return nil }
    return bytes.withUnsafeBytes {
      Word(littleEndian: $0.loadUnaligned(fromByteOffset: index, as: Word.self))
    }
  }

  /// Finds where to go on after text that is not JSON: at the next line that begins with a brace, which is how both
  /// NDJSON and indented JSON begin an object. A machine word at a time.
  @_noAllocation
  mutating func skipToObject(_ bytes: Bytes) {
    if index > 0, index < bytes.count, bytes[index] == 0x7B, bytes[index - 1] == 0x0A { return }
    let ones = UInt.max / 0xFF
    var next = index
    while next < bytes.count {
      if let word: UInt = Self.load(bytes, at: next) {
        // The high bit of each byte that is a line end, as above.
        let ends = word ^ ones &* 0x0A
        if (ends &- ones) & ~ends & ones << 7 == 0 {
          next += MemoryLayout<UInt>.size
          continue
        }
      }
      let isLineEnd = bytes[next] == 0x0A
      next += 1
      guard isLineEnd else { continue }
      lineEnds += 1
      lineStart = next
      if next < bytes.count, bytes[next] == 0x7B { break }
    }
    index = next
  }

  /// Passes over what stands for itself in a string, a machine word of it at a time.
  private mutating func skipPlain(_ bytes: Bytes) {
    let ones = UInt.max / 0xFF
    let high = ones << 7
    var next = index
    while let word: UInt = Self.load(bytes, at: next) {
      // The high bit of each byte that is a quote, a backslash, below a space or not ASCII. A borrow reaches only bytes
      // behind one of these, and the first counts.
      let quote = (word ^ ones &* 0x22) &- ones
      let backslash = (word ^ ones &* 0x5C) &- ones
      let control = word &- ones &* 0x20
      let found = (word | quote | backslash | control) & high
      guard found == 0 else {
        index = next + found.trailingZeroBitCount >> 3
        return
      }
      next += MemoryLayout<UInt>.size
    }
    while next < bytes.count, bytes[next] >= 0x20, bytes[next] < 0x80, bytes[next] != 0x22,
      bytes[next] != 0x5C
    { next += 1 }
    index = next
  }
}
