import TinyPush

extension Text {
  /// The text that a valid JSON string stands for, safe for a terminal: a line end begins an indented line, and other
  /// control characters and those that turn the direction of writing come as `\xNN` of each byte.
  mutating func append(jsonString string: Span<UInt8>, indent: StaticString) {
    var index = 0
    while index < string.count {
      let byte = string[index]
      if byte == 0x5C {
        append(escape: string, at: &index, indent: indent)
      } else if byte < 0x80 {
        append(byte: byte)
        index += 1
      } else {
        let length = UTF8Sequence.length(in: string, at: index)
        guard length > 0 else { return }
        append(visible: string.extracting(index..<index + length))
        index += length
      }
    }
  }

  private mutating func append(
    escape string: Span<UInt8>, at index: inout Int, indent: StaticString
  ) {
    let kind = string[index + 1]
    index += 2
    switch kind {
    case 0x6E:
      append("\n")
      append(indent)
    case 0x62: append("\\x08")
    case 0x66: append("\\x0c")
    case 0x72: append("\\x0d")
    case 0x74: append(" ")
    case 0x75:
      var scalar = Self.hexUnit(string, at: index)
      index += 4
      if scalar & 0xFC00 == 0xD800 {
        scalar = 0x10000 + (scalar & 0x3FF) << 10 + (Self.hexUnit(string, at: index + 2) & 0x3FF)
        index += 6
      }
      append(scalar: scalar, indent: indent)
    default: append(byte: kind)
    }
  }

  private static func hexUnit(_ string: Span<UInt8>, at start: Int) -> UInt32 {
    var unit: UInt32 = 0
    for index in start..<start + 4 {
      let digit = UInt32(string[index])
      unit = unit << 4 | (digit <= 0x39 ? digit - 0x30 : (digit | 0x20) - 0x57)
    }
    return unit
  }

  private mutating func append(scalar: UInt32, indent: StaticString) {
    if scalar == 0x0A {
      append("\n")
      append(indent)
      return
    }
    var bytes: InlineArray<4, UInt8> = .init(repeating: 0)
    let last = UInt8(scalar & 0x3F) | 0x80
    switch scalar {
    case ..<0x80:
      bytes[0] = UInt8(scalar)
      append(visible: bytes.span.extracting(0..<1))
    case ..<0x800:
      bytes[0] = 0xC0 | UInt8(scalar >> 6)
      bytes[1] = last
      append(visible: bytes.span.extracting(0..<2))
    case ..<0x10000:
      bytes[0] = 0xE0 | UInt8(scalar >> 12)
      bytes[1] = 0x80 | UInt8(scalar >> 6 & 0x3F)
      bytes[2] = last
      append(visible: bytes.span.extracting(0..<3))
    default:
      bytes[0] = 0xF0 | UInt8(scalar >> 18)
      bytes[1] = 0x80 | UInt8(scalar >> 12 & 0x3F)
      bytes[2] = 0x80 | UInt8(scalar >> 6 & 0x3F)
      bytes[3] = last
      append(visible: bytes.span)
    }
  }

  /// One character, as it is or, if it steers the terminal, byte by byte.
  private mutating func append(visible character: Span<UInt8>) {
    let isControl =
      switch character.count {
      case 1: character[0] < 0x20 || character[0] == 0x7F
      case 2: character[0] == 0xC2 && character[1] < 0xA0
      // U+200E and U+200F, U+2028 to U+202E, U+2066 to U+2069.
      case 3:
        character[0] == 0xE2
          && (character[1] == 0x80
            && (character[2] & 0xFE == 0x8E || character[2] >= 0xA8 && character[2] <= 0xAE)
            || character[1] == 0x81 && character[2] >= 0xA6 && character[2] <= 0xA9)
      default: false
      }
    if isControl { append(printable: character) } else { append(bytes: character) }
  }
}
