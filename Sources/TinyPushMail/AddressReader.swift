import TinyPush

/// Reads the addresses of a list: `family, "The office" <office@box>` (RFC 5322, section 3.4).
public struct AddressReader {
  private var index: Int
  private let end: Int

  /// Creates a reader of a part of a text.
  public init(_ part: Range<Int>) {
    index = part.lowerBound
    end = part.upperBound
  }

  /// Returns the place of the next address' local part, which is what stands before the `@`.
  ///
  /// Returns nil at the end.
  public mutating func next(in text: Span<UInt8>) -> Range<Int>? {
    while index < end {
      let address = address(in: text)
      let place = text.unquoted(text.trimmed(address))
      if !place.isEmpty { return place }
    }
    return nil
  }

  /// Returns the place of the local part in front of the next comma, and goes behind the comma.
  private mutating func address(in text: Span<UInt8>) -> Range<Int> {
    var start = index
    // The end of the local part, once it is known.
    var localEnd: Int?
    var isInBrackets = false
    // Whether all since the start is white space.
    var isBlank = true
    while index < end {
      let byte = text[index]
      index += 1
      let wasBlank = isBlank
      if byte > .space { isBlank = false }
      switch byte {
      case .quote: passQuoted(text)
      case UInt8(ascii: "("):
        if !wasBlank, localEnd == nil { localEnd = index - 1 }
        passComment(text)
        if wasBlank { (start, isBlank) = (index, true) }
      case UInt8(ascii: "<"):
        (start, isBlank) = (index, true)
        localEnd = nil
        isInBrackets = true
      case UInt8(ascii: ">"):
        if localEnd == nil { localEnd = index - 1 }
        isInBrackets = false
      case .at: if localEnd == nil { localEnd = index - 1 }
      case .colon:
        // A group begins, or a route in brackets ends.
        if isInBrackets || localEnd == nil {
          (start, isBlank) = (index, true)
          localEnd = nil
        }
      case .comma, .semicolon:
        if isInBrackets { continue }
        return start..<(localEnd ?? index - 1)
      default: break
      }
    }
    return start..<(localEnd ?? end)
  }

  private mutating func passQuoted(_ text: Span<UInt8>) {
    while index < end, text[index] != .quote { index += text[index] == .backslash ? 2 : 1 }
    index = min(index + 1, end)
  }

  private mutating func passComment(_ text: Span<UInt8>) {
    var depth = 1
    while index < end, depth > 0 {
      switch text[index] {
      case UInt8(ascii: "("): depth += 1
      case UInt8(ascii: ")"): depth -= 1
      case .backslash: index += 1
      default: break
      }
      index += 1
    }
    index = min(index, end)
  }
}
