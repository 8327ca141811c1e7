import TinyPush

/// Reads the pairs of a query or of a form: `name=value&name=value` (URL standard, section 5.1).
public struct FormReader {
  private var index = 0

  /// Creates a reader at the start of a text.
  public init() {}

  /// A name and its value, both with their escapes.
  public struct Pair: Equatable {
    /// The place of the name.
    public var name: Range<Int>
    /// The place of the value; empty if there is no `=`.
    public var value: Range<Int>
  }

  /// Returns the next pair; nil at the end.
  public mutating func next(in text: Span<UInt8>) -> Pair? {
    while index < text.count, text[index] == Self.separator { index += 1 }
    guard index < text.count else { return nil }
    let start = index
    while index < text.count, text[index] != Self.separator { index += 1 }
    var equals = start
    while equals < index, text[equals] != .equals { equals += 1 }
    return Pair(name: start..<equals, value: min(equals + 1, index)..<index)
  }

  /// Appends a text without its escapes: `%20`, and `+` for a space in a query or a form.
  ///
  /// - Returns: whether each percent sign begins an escape.
  public static func decode(
    _ text: Span<UInt8>, isPath: Bool = false, to output: inout Text
  ) -> Bool {
    var index = 0
    while index < text.count {
      let byte = text[index]
      index += 1
      if byte == .plus, !isPath {
        output.append(byte: .space)
      } else if byte == .percent {
        guard index + 1 < text.count, let high = DeviceToken.hexValue(text[index]),
          let low = DeviceToken.hexValue(text[index + 1])
        else { return false }
        output.append(byte: high << 4 | low)
        index += 2
      } else {
        output.append(byte: byte)
      }
    }
    return true
  }

  private static var separator: UInt8 { UInt8(ascii: "&") }
}
