extension Span<UInt8> {
  /// The number in decimal digits; nil if there is no digit, more than 18, or another byte.
  @inline(never)
  package var wholeNumber: UInt64? {
    guard count > 0, count <= 18 else { return nil }
    var number: UInt64 = 0
    for index in indices {
      guard self[index].isDigit else { return nil }
      number = number * 10 + UInt64(self[index].digitValue)
    }
    return number
  }

  /// The number in hex digits; nil if there is another byte.
  package var hexNumber: UInt64? {
    var number: UInt64 = 0
    for index in indices {
      guard let digit = DeviceToken.hexValue(self[index]) else { return nil }
      number = number << 4 | UInt64(digit)
    }
    return number
  }
}

/// Properties of a JSON value, which must be valid.
extension Span<UInt8> {
  /// Whether the value is a number.
  var isNumber: Bool { self[0] == .hyphen || self[0].isDigit }

  /// Whether the number has no sign, fraction or exponent.
  package var isWhole: Bool {
    for index in indices where !self[index].isDigit { return false }
    return true
  }

  /// Whether the number is from 0 to 1.
  var isUpToOne: Bool {
    var digits = 0
    var digitsBeforePoint: Int?
    // The index among the digits and the value of the first digit that is not zero.
    var first: (digit: Int, value: UInt8)?
    var isRound = true
    var index = 0
    while index < count, self[index] | 0x20 != UInt8(ascii: "e") {
      let byte = self[index]
      index += 1
      if byte == .dot { digitsBeforePoint = digits }
      guard byte.isDigit else { continue }
      if first != nil {
        isRound = isRound && byte.digitValue == 0
      } else if byte.digitValue > 0 {
        first = (digits, byte.digitValue)
      }
      digits += 1
    }
    guard let first else { return true }
    guard self[0] != .hyphen else { return false }
    let power = (digitsBeforePoint ?? digits) - 1 - first.digit + exponent(from: index)
    return power < 0 || power == 0 && first.value == 1 && isRound
  }

  /// Returns the exponent after the `e` at `start`, clamped; 0 if absent.
  private func exponent(from start: Int) -> Int {
    var value = 0
    for index in start..<count where self[index].isDigit {
      value = Swift.min(value * 10 + Int(self[index].digitValue), 1_000_000)
    }
    return start + 1 < count && self[start + 1] == .hyphen ? -value : value
  }
}
