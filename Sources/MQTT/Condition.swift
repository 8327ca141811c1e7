import TinyPush

/// A condition of a rule, such as `payload.water_leak = true` or `payload.temperature > 30`.
///
/// An expression, one of `=`, `!=`, `<`, `<=`, `>` and `>=`, and a value, in quotes or not. Two
/// numbers are compared as numbers. Other values are equal or not; they are never less or greater.
/// A missing value meets `!=` only.
enum Condition {
  private enum Comparison {
    case equal, different, less, lessOrEqual, greater, greaterOrEqual
  }

  /// Whether a text is a condition.
  static func isValid(_ text: Span<UInt8>) -> Bool { parse(text) != nil }

  /// Whether a message meets a valid condition.
  ///
  /// - Parameter scratch: room for a value, cleared here.
  static func holds(_ text: Span<UInt8>, for message: MessageText, _ scratch: inout Text) -> Bool {
    guard let (expression, comparison, value) = parse(text) else { return false }
    scratch.clear()
    let isThere = Template.append(
      expression: text.extracting(expression), of: message, to: &scratch)
    guard isThere else { return comparison == .different }
    let (left, right) = (scratch.bytes, text.extracting(value))
    if let left = number(left), let right = number(right) {
      return switch comparison {
      case .equal: left == right
      case .different: left != right
      case .less: left < right
      case .lessOrEqual: left <= right
      case .greater: left > right
      case .greaterOrEqual: left >= right
      }
    }
    return switch comparison {
    case .equal: left.equals(right)
    case .different: !left.equals(right)
    case .less, .lessOrEqual, .greater, .greaterOrEqual: false
    }
  }

  private static func parse(
    _ text: Span<UInt8>
  ) -> (expression: Range<Int>, comparison: Comparison, value: Range<Int>)? {
    for index in text.indices {
      let byte = text[index]
      let isPair = index + 1 < text.count && text[index + 1] == .equals
      let comparison: Comparison
      switch byte {
      case .equals: comparison = .equal
      case UInt8(ascii: "!"):
        guard isPair else { return nil }
        comparison = .different
      case UInt8(ascii: "<"): comparison = isPair ? .lessOrEqual : .less
      case UInt8(ascii: ">"): comparison = isPair ? .greaterOrEqual : .greater
      default: continue
      }
      let end = index + (isPair ? 2 : 1)
      let expression = text.trimmed(0..<index)
      var value = text.trimmed(end..<text.count)
      if value.count >= 2, text[value.lowerBound] == .quote, text[value.upperBound - 1] == .quote {
        value = value.lowerBound + 1..<value.upperBound - 1
      }
      guard Template.isExpression(text.extracting(expression)) else { return nil }
      return (expression, comparison, value)
    }
    return nil
  }

  /// The value of a number, such as `-21.5` or `2e-3`; nil: the text is not a number.
  private static func number(_ text: Span<UInt8>) -> Double? {
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
