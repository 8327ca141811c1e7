import TinyPush

/// A condition of a rule, such as `payload.water_leak = true` or `payload.temperature > 30`.
///
/// An expression, one of `=`, `!=`, `<`, `<=`, `>`, `>=` and `contains`, and a value: a text, in
/// quotes or not, or an expression that begins with `payload.` or `topic.` (of a request: `path.`).
/// Two numbers are compared as numbers. Other values are equal or not; they are never less or
/// greater. A missing value meets `!=` only. Of several values (`payload.*.battery`), one is enough.
/// `or` stands between conditions of which one is enough.
enum Condition {
  private enum Comparison {
    case equal, different, less, lessOrEqual, greater, greaterOrEqual, contains
  }

  private struct Term {
    var expression: Range<Int>
    var comparison: Comparison
    var value: Range<Int>
    /// Whether the value is an expression, too.
    var isExpression: Bool
  }

  /// Whether a text is a condition.
  static func isValid(_ text: Span<UInt8>, _ source: RuleSource) -> Bool {
    var start = 0
    while let end = nextTerm(text, from: start) {
      guard parse(text, start..<end.term, source) != nil else { return false }
      start = end.next
    }
    return true
  }

  /// Whether a message meets a valid condition.
  ///
  /// - Parameter scratch: room for values, cleared here.
  static func holds(_ text: Span<UInt8>, for message: MessageText, _ scratch: inout Text) -> Bool {
    var start = 0
    while let end = nextTerm(text, from: start) {
      if let term = parse(text, start..<end.term, message.source),
        holds(term, text, message, &scratch)
      {
        return true
      }
      start = end.next
    }
    return false
  }

  private static func holds(
    _ term: Term, _ text: Span<UInt8>, _ message: MessageText, _ scratch: inout Text
  ) -> Bool {
    scratch.clear()
    if term.isExpression {
      let isThere = Template.append(
        expression: text.extracting(term.value), of: message, to: &scratch)
      guard isThere else { return term.comparison == .different }
    } else {
      scratch.append(bytes: text.extracting(term.value))
    }
    let right = scratch.count
    var (isThere, holds) = (false, false)
    Template.forEach(expression: text.extracting(term.expression), of: message, to: &scratch) {
      (values: borrowing Text) in
      isThere = true
      holds = Self.holds(
        term.comparison, values.bytes.extracting(right..<values.count),
        values.bytes.extracting(0..<right))
      return holds
    }
    return isThere ? holds : term.comparison == .different
  }

  private static func holds(
    _ comparison: Comparison, _ left: Span<UInt8>, _ right: Span<UInt8>
  ) -> Bool {
    if comparison == .contains { return left.contains(right) }
    // Different identifiers, such as those of cards, may be the same Double.
    let mustBeSame =
      (comparison == .equal || comparison == .different)
      && (left.isLongerThanDouble || right.isLongerThanDouble)
    if !mustBeSame, let left = number(left), let right = number(right) {
      return switch comparison {
      case .equal: left == right
      case .different: left != right
      case .less: left < right
      case .lessOrEqual: left <= right
      case .greater: left > right
      case .greaterOrEqual: left >= right
      case .contains: false
      }
    }
    return switch comparison {
    case .equal: left.equals(right)
    case .different: !left.equals(right)
    default: false
    }
  }

  /// Returns where the condition that begins at an index ends, and where the next one begins; nil
  /// behind the last one.
  private static func nextTerm(
    _ text: Span<UInt8>, from start: Int
  ) -> (term: Int, next: Int)? {
    guard start <= text.count else { return nil }
    var isQuoted = false
    for index in start..<text.count {
      if text[index] == .quote { isQuoted.toggle() }
      if !isQuoted, text.isWord("or", at: index) { return (index, index + 2) }
    }
    return (text.count, text.count + 1)
  }

  private static func parse(
    _ text: Span<UInt8>, _ range: Range<Int>, _ source: RuleSource
  ) -> Term? {
    for index in range {
      let byte = text[index]
      let isPair = index + 1 < range.upperBound && text[index + 1] == .equals
      let comparison: Comparison
      var length = isPair ? 2 : 1
      switch byte {
      case .equals: (comparison, length) = (.equal, 1)
      case UInt8(ascii: "!"):
        guard isPair else { return nil }
        comparison = .different
      case UInt8(ascii: "<"): comparison = isPair ? .lessOrEqual : .less
      case UInt8(ascii: ">"): comparison = isPair ? .greaterOrEqual : .greater
      default:
        guard text.isWord("contains", at: index) else { continue }
        (comparison, length) = (.contains, 8)
      }
      let expression = text.trimmed(range.lowerBound..<index)
      guard Template.isExpression(text.extracting(expression), source) else { return nil }
      var value = text.trimmed(index + length..<range.upperBound)
      if value.count >= 2, text[value.lowerBound] == .quote, text[value.upperBound - 1] == .quote {
        value = value.lowerBound + 1..<value.upperBound - 1
        return Term(
          expression: expression, comparison: comparison, value: value, isExpression: false)
      }
      let word = text.extracting(value)
      // This is most likely a second condition behind `and`.
      for place in word.indices {
        switch word[place] {
        case .equals, UInt8(ascii: "<"), UInt8(ascii: ">"): return nil
        default: break
        }
      }
      let isExpression = Template.isPart(word, source)
      guard !isExpression || Template.isExpression(word, source) else { return nil }
      return Term(
        expression: expression, comparison: comparison, value: value, isExpression: isExpression)
    }
    return nil
  }

  /// The value of a number, such as `-21.5` or `2e-3`; nil: the text is not a number.
  static func number(_ text: Span<UInt8>) -> Double? {
    var index = text.count > 0 && text[0] == .hyphen ? 1 : 0
    guard let whole = digits(text, &index) else { return nil }
    var (value, power) = (whole.value, whole.dropped)
    if index < text.count, text[index] == .dot {
      index += 1
      let start = index
      guard let fraction = digits(text, &index, behind: whole.value) else { return nil }
      value = fraction.value
      power += fraction.dropped - (index - start)
    }
    if index < text.count, text[index] | 0x20 == UInt8(ascii: "e") {
      index += 1
      let isNegative = index < text.count && text[index] == .hyphen
      if index < text.count, text[index] == .hyphen || text[index] == .plus { index += 1 }
      guard let exponent = digits(text, &index) else { return nil }
      // Beyond 10^400 a Double is infinite, or zero.
      let clamped = exponent.dropped > 0 || exponent.value > 400 ? 400 : Int(exponent.value)
      power += isNegative ? -clamped : clamped
    }
    guard index == text.count else { return nil }
    var factor = 1.0
    for _ in 0..<min(abs(power), 400) { factor *= 10 }
    let result = power < 0 || value == 0 ? Double(value) / factor : Double(value) * factor
    return text[0] == .hyphen ? -result : result
  }

  /// Reads digits; nil: there are none.
  ///
  /// Digits that a Double cannot hold are dropped.
  private static func digits(
    _ text: Span<UInt8>, _ index: inout Int, behind first: UInt64 = 0
  ) -> (value: UInt64, dropped: Int)? {
    let start = index
    var (value, dropped) = (first, 0)
    while index < text.count, text[index].isDigit {
      if dropped == 0, value < 100_000_000_000_000_000 {
        value = value * 10 + UInt64(text[index].digitValue)
      } else {
        dropped += 1
      }
      index += 1
    }
    return index > start ? (value, dropped) : nil
  }
}

extension Span<UInt8> {
  /// Whether a Double does not hold all digits of this, or not its exponent.
  fileprivate var isLongerThanDouble: Bool {
    guard indices.contains(where: { self[$0] | 0x20 == UInt8(ascii: "e") }) else {
      return count > 15 && indices.allSatisfy { self[$0].isDigit }
    }
    var digits = 0
    while digits < count, self[count - 1 - digits].isDigit { digits += 1 }
    return digits > 3 || Condition.number(self)?.isInfinite ?? false
  }

  /// Whether a word with spaces around it is at an index.
  fileprivate func isWord(_ word: StaticString, at index: Int) -> Bool {
    let end = index + word.utf8CodeUnitCount
    return index > 0 && self[index - 1] == .space && end < count && self[end] == .space
      && extracting(index..<end).equals(word)
  }

  /// Whether another text is within this one.
  fileprivate func contains(_ other: Span<UInt8>) -> Bool {
    guard other.count <= count else { return false }
    for start in 0...count - other.count
    where extracting(start..<start + other.count).equals(other) { return true }
    return false
  }
}
