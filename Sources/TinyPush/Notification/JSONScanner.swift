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
    }
  }
}

/// Goes over JSON text (RFC 8259), strictly, in one pass over the bytes; without allocation or recursion, to a bounded
/// depth. It keeps no reference to the bytes: each call is given them.
public struct JSONScanner {
  public typealias Bytes = Span<UInt8>

  /// Levels of arrays and objects. The service's documents name none; inferred: far above any payload of 4096 bytes
  /// that a person writes, and a bound nonetheless.
  static let depthMax = 32

  /// The byte to look at next; after an error, the byte at fault.
  public var index: Int
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
  @inline(__always)
  public mutating func skipSpace(_ bytes: Bytes) {
    while index < bytes.count {
      switch bytes[index] {
      case 0x0A:
        lineEnds += 1
        lineStart = index + 1
      case 0x20, 0x09, 0x0D: break
      default: return
      }
      index += 1
      spaceBytes += 1
    }
  }

  /// The next byte that is not white space, which stays the next.
  @inline(__always)
  public mutating func peek(_ bytes: Bytes) throws(JSONProblem) -> UInt8 {
    skipSpace(bytes)
    guard index < bytes.count else { throw .unexpectedEnd }
    return bytes[index]
  }

  /// Takes `byte` if it comes next.
  @inline(__always)
  public mutating func take(_ byte: UInt8, _ bytes: Bytes) throws(JSONProblem) -> Bool {
    guard try peek(bytes) == byte else { return false }
    index += 1
    return true
  }

  /// The start of an object's members; `false` when there are none.
  @inline(never)
  public mutating func openObject(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    index += 1
    return try !take(0x7D, bytes)
  }

  /// After a member: whether another one follows.
  @inline(never)
  public mutating func nextMember(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    if try take(0x2C, bytes) {
      if try peek(bytes) == 0x7D { throw .trailingComma }
      return true
    }
    guard try take(0x7D, bytes) else { throw .expectedCommaOrBrace }
    return false
  }

  /// After an element: whether another one follows.
  public mutating func nextElement(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    if try take(0x2C, bytes) {
      if try peek(bytes) == 0x5D { throw .trailingComma }
      return true
    }
    guard try take(0x5D, bytes) else { throw .expectedCommaOrBracket }
    return false
  }

  /// A key and its colon. The range is what stands between the quotes.
  @inline(never)
  public mutating func key(_ bytes: Bytes) throws(JSONProblem) -> Range<Int> {
    guard try peek(bytes) == 0x22 else { throw .expectedKey }
    let range = try string(bytes)
    guard try take(0x3A, bytes) else { throw .expectedColon }
    return range
  }

  /// A string; the next byte is its opening quote. The range is what stands between the quotes.
  @inline(never)
  public mutating func string(_ bytes: Bytes) throws(JSONProblem) -> Range<Int> {
    let start = index + 1
    index = start
    while index < bytes.count {
      let byte = bytes[index]
      if byte == 0x22 {
        index += 1
        return start..<index - 1
      } else if byte == 0x5C {
        try skipEscape(bytes)
      } else if byte < 0x20 {
        throw .controlCharacter
      } else if byte < 0x80 {
        index += 1
      } else {
        try skipSequence(bytes)
      }
    }
    throw .unexpectedEnd
  }

  /// Any value, whole.
  @inline(never)
  public mutating func skipValue(_ bytes: Bytes) throws(JSONProblem) {
    var depth = 0
    var objects: UInt64 = 0  // a bit a level, the innermost lowest: is it an object?
    while true {
      var isOpened = false
      switch try peek(bytes) {
      case 0x7B, 0x5B:
        guard depth < Self.depthMax else { throw .tooDeep }
        let isObject = bytes[index] == 0x7B
        depth += 1
        objects = objects << 1 | (isObject ? 1 : 0)
        index += 1
        isOpened = try peek(bytes) != (isObject ? 0x7D : 0x5D)
        if isOpened {
          if isObject { _ = try key(bytes) }
        } else {
          index += 1
          depth -= 1
          objects >>= 1
        }
      case 0x22: _ = try string(bytes)
      case 0x2D, 0x30...0x39: try skipNumber(bytes)
      case 0x74: try skipWord("true", bytes)
      case 0x66: try skipWord("false", bytes)
      case 0x6E: try skipWord("null", bytes)
      default: throw .expectedValue
      }
      if isOpened { continue }
      // A value has ended: so may the arrays and objects around it.
      while true {
        if depth == 0 { return }
        if objects & 1 == 1 {
          if try nextMember(bytes) {
            _ = try key(bytes)
            break
          }
        } else if try nextElement(bytes) {
          break
        }
        depth -= 1
        objects >>= 1
      }
    }
  }

  /// A whole number of at most ten digits without sign, fraction or exponent; nil for any other number.
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

  private mutating func skipDigits(_ bytes: Bytes) throws(JSONProblem) {
    guard index < bytes.count else { throw .unexpectedEnd }
    guard bytes[index] >= 0x30, bytes[index] <= 0x39 else { throw .invalidNumber }
    while index < bytes.count, bytes[index] >= 0x30, bytes[index] <= 0x39 { index += 1 }
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
      if index < bytes.count, bytes[index] == 0x2B || bytes[index] == 0x2D { index += 1 }
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
    guard start + 1 < bytes.count else { throw .unexpectedEnd }
    switch bytes[start + 1] {
    case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74: index = start + 2
    case 0x75:
      let unit = try hexUnit(bytes, at: start + 2)
      index = start + 6
      guard unit >= 0xD800, unit <= 0xDFFF else { return }
      index = start
      guard unit <= 0xDBFF else { throw .loneSurrogate }
      guard start + 7 < bytes.count else {
        if start + 6 < bytes.count, bytes[start + 6] != 0x5C { throw .loneSurrogate }
        throw .unexpectedEnd
      }
      guard bytes[start + 6] == 0x5C, bytes[start + 7] == 0x75 else { throw .loneSurrogate }
      let low = try hexUnit(bytes, at: start + 8)
      guard low >= 0xDC00, low <= 0xDFFF else { throw .loneSurrogate }
      index = start + 12
    default: throw .invalidEscape
    }
  }

  private mutating func hexUnit(_ bytes: Bytes, at start: Int) throws(JSONProblem) -> UInt32 {
    var unit: UInt32 = 0
    for position in start..<start + 4 {
      guard position < bytes.count else { throw .unexpectedEnd }
      guard let digit = DeviceToken.hexValue(bytes[position]) else { throw .invalidEscape }
      unit = unit << 4 | UInt32(digit)
    }
    return unit
  }

  private mutating func skipSequence(_ bytes: Bytes) throws(JSONProblem) {
    let length = UTF8Sequence.length(in: bytes, at: index)
    guard length == 0 else {
      index += length
      return
    }
    // Cut short or wrong? What follows the lead byte tells, as far as it is there.
    let lead = bytes[index]
    let wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2
    guard lead >= 0xC2, lead <= 0xF4, index + wanted > bytes.count else { throw .invalidUTF8 }
    for position in index + 1..<bytes.count where bytes[position] & 0xC0 != 0x80 {
      throw .invalidUTF8
    }
    throw .unexpectedEnd
  }
}
