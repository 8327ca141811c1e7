/// Reads the bytes of a JSON string with its escapes decoded.
///
/// The text between the quotes must be valid.
public struct JSONStringReader {
  private var index = 0
  /// The remaining bytes of the character that an escape encodes, the next one lowest.
  private var rest: UInt32 = 0

  /// Makes a reader at the start of the string.
  public init() {}

  /// Returns the next byte; nil at the end.
  @inline(__always)
  public mutating func next(in text: Span<UInt8>) -> UInt8? {
    if rest > 0 {
      defer { rest >>= 8 }
      return UInt8(truncatingIfNeeded: rest)
    }
    guard index < text.count else { return nil }
    let byte = text[index]
    index += 1
    return byte == .backslash ? unescape(text) : byte
  }

  private mutating func unescape(_ text: Span<UInt8>) -> UInt8 {
    let letter = text[index]
    index += 1
    switch letter {
    case UInt8(ascii: "b"): return .backspace
    case UInt8(ascii: "f"): return .formFeed
    case UInt8(ascii: "n"): return .lineFeed
    case UInt8(ascii: "r"): return .carriageReturn
    case UInt8(ascii: "t"): return .tab
    case UInt8(ascii: "u"): break
    default: return letter
    }
    var scalar = unit(text)
    if scalar >= 0xD800, scalar < 0xDC00 {
      index += 2
      scalar = 0x10000 + (scalar - 0xD800) << 10 + (unit(text) - 0xDC00)
    }
    let (first, rest) = UTF8Sequence.encode(scalar)
    self.rest = rest
    return first
  }

  /// Reads the four digits of `\uXXXX`.
  private mutating func unit(_ text: Span<UInt8>) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      unit = unit << 4 | UInt32(DeviceToken.hexValue(text[index]) ?? 0)
      index += 1
    }
    return unit
  }
}

/// A hash of one or more byte strings (FNV-1a, 64 bits).
package struct Hash: BitwiseCopyable {
  package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  @inline(__always)
  package mutating func add(_ byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
  }

  package mutating func add(_ number: UInt64) {
    for shift in 0..<8 { add(UInt8(truncatingIfNeeded: number >> (8 * UInt64(shift)))) }
  }

  package mutating func add(_ bytes: Span<UInt8>) {
    for index in bytes.indices { add(bytes[index]) }
  }

  package init() {}

  /// Hashes the decoded content of a JSON string.
  @inline(never)
  init(spelled text: Span<UInt8>) {
    var reader = JSONStringReader()
    while let byte = reader.next(in: text) { add(byte) }
  }
}

extension Text {
  /// Appends the content of a valid JSON string, and replaces its escapes.
  @inline(never)
  package mutating func append(unescaping string: Span<UInt8>) {
    var reader = JSONStringReader()
    while let byte = reader.next(in: string) { append(byte: byte) }
  }
}
