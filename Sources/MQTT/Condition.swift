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

  /// A decimal number, such as `-21.5`; nil: the text is none.
  ///
  /// An exponent makes a text that is no number here.
  private static func number(_ text: Span<UInt8>) -> Double? {
    var index = text.count > 0 && text[0] == .hyphen ? 1 : 0
    guard index < text.count, text[index].isDigit, text.count < 18 else { return nil }
    var digits: UInt64 = 0
    var divisor = 1.0
    var isFraction = false
    while index < text.count {
      if text[index] == .dot {
        guard !isFraction, index + 1 < text.count else { return nil }
        isFraction = true
      } else {
        guard text[index].isDigit else { return nil }
        digits = digits * 10 + UInt64(text[index].digitValue)
        if isFraction { divisor *= 10 }
      }
      index += 1
    }
    let value = Double(digits) / divisor
    return text[0] == .hyphen ? -value : value
  }
}
