/// Strings, numbers and words: the values that contain no others.
extension JSONScanner {
  /// Reads a string, which begins at the next byte; returns the range between its quotes.
  @_noAllocation
  @inline(never)
  @_optimize(speed)
  public mutating func string(_ bytes: Bytes) throws(JSONProblem) -> Range<Int> {
    let start = index + 1
    index = start
    skipPlain(bytes)
    if index < bytes.count, bytes[index] == .quote {
      index += 1
      return start..<index - 1
    }
    return try restOfString(bytes, from: start)
  }

  /// Reads on in a string with escapes or characters of several bytes.
  @_noAllocation
  @inline(never)
  @_optimize(speed)
  private mutating func restOfString(
    _ bytes: Bytes, from start: Int
  ) throws(JSONProblem) -> Range<Int> {
    while true {
      guard index < bytes.count else { throw .unexpectedEnd }
      switch bytes[index] {
      case .quote:
        index += 1
        return start..<index - 1
      case .backslash: try skipEscape(bytes)
      case 0x80...: try skipSequences(bytes)
      default: throw .controlCharacter
      }
      skipPlain(bytes)
    }
  }

  /// Reads a number; returns it if it has at most ten digits and no sign, fraction or exponent.
  @_noAllocation
  public mutating func wholeNumber(_ bytes: Bytes) throws(JSONProblem) -> UInt64? {
    let start = index
    var (value, end) = (UInt64(0), start)
    while end < bytes.count, bytes[end].isDigit {
      value = value &* 10 &+ UInt64(bytes[end].digitValue)
      end += 1
    }
    // Most numbers end here.
    if end > start, bytes[start] > UInt8(ascii: "0"), end < bytes.count, bytes[end] < .hyphen {
      index = end
    } else {
      try skipNumber(bytes)
    }
    return index == end && end - start <= 10 ? value : nil
  }

  // MARK: - Numbers and words

  private mutating func skipDigits(_ bytes: Bytes) throws(JSONProblem) {
    var next = index
    while next < bytes.count, bytes[next].isDigit { next += 1 }
    guard next > index else { throw next < bytes.count ? .invalidNumber : .unexpectedEnd }
    index = next
  }

  @_noAllocation
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

  @_noAllocation
  mutating func skipWord(_ word: StaticString, _ bytes: Bytes) throws(JSONProblem) {
    for position in 0..<word.utf8CodeUnitCount {
      guard index < bytes.count else { throw .unexpectedEnd }
      guard bytes[index] == word.utf8Start[position] else { throw .expectedValue }
      index += 1
    }
  }

  // MARK: - Parts of strings

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

  /// Reads a `\uXXXX`, which comes next, and returns its UTF-16 unit.
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

  /// Moves to the end of the text, which lies inside the item at `index`; returns the problem.
  @_noAllocation
  mutating func end(_ bytes: Bytes) -> JSONProblem {
    index = bytes.count
    return .unexpectedEnd
  }
}
