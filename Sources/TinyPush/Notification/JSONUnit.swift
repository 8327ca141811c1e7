/// One character of a JSON string, as bytes or as an escape.
///
/// The text must be valid.
package struct JSONUnit {
  /// The number of bytes in the text.
  package let length: Int
  /// The Unicode scalar value.
  package let scalar: UInt32

  /// Reads the character at an index.
  @inline(never)
  package init(in text: Span<UInt8>, at index: Int) {
    let first = text[index]
    guard first == .backslash else {
      length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
      var scalar = UInt32(length == 1 ? first : first & (0x7F >> UInt8(length)))
      for next in 1..<max(length, 1) { scalar = scalar << 6 | UInt32(text[index + next] & 0x3F) }
      self.scalar = scalar
      return
    }
    var reader = JSONStringReader()
    let isUnicode = text[index + 1] == UInt8(ascii: "u")
    let isPair =
      isUnicode && text[index + 2] | 0x20 == UInt8(ascii: "d")
      && text[index + 3] | 0x20 >= UInt8(ascii: "8")
      && (text[index + 3] <= UInt8(ascii: "9") || text[index + 3] | 0x20 <= UInt8(ascii: "b"))
    length = isPair ? 12 : isUnicode ? 6 : 2
    let escape = text.extracting(index..<index + length)
    var bytes: UInt32 = 0
    var count = 0
    while let byte = reader.next(in: escape) {
      bytes = count == 0 ? UInt32(byte) : bytes << 6 | UInt32(byte & 0x3F)
      count += 1
    }
    // Remove the length bits of the first byte.
    scalar = count == 1 ? bytes : bytes & ((1 << (5 * UInt32(count) + 1)) - 1)
  }

  /// The fewest bytes that encode the character in a JSON string.
  var shortest: Int {
    switch scalar {
    case 0x22, 0x5C, 0x08, 0x09, 0x0A, 0x0C, 0x0D: 2
    case 0..<0x20: 6
    case ..<0x80: 1
    case ..<0x800: 2
    case ..<0x10000: 3
    default: 4
    }
  }

  /// Whether the character attaches to the one before it.
  ///
  /// Such are a combining mark, a variation selector, a skin tone and a joiner. Source: Unicode
  /// Standard Annex 29, section 3.1.1, the common characters of `Extend` and `ZWJ`.
  package var isExtending: Bool {
    switch scalar {
    case 0x0300...0x036F, 0x0483...0x0489, 0x0591...0x05C7, 0x0610...0x061A, 0x064B...0x065F,
      0x0670,
      0x0E31, 0x0E34...0x0E3A, 0x0E47...0x0E4E, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x200D,
      0x20D0...0x20FF, 0x3099, 0x309A, 0xFE00...0xFE0F, 0xFE20...0xFE2F, 0x1F3FB...0x1F3FF,
      0xE0020...0xE007F, 0xE0100...0xE01EF:
      true
    case 0x0900...0x0D7F:
      // The Indic scripts have these at the same places, 128 apart.
      switch scalar & 0x7F {
      case 0x00...0x03, 0x3C, 0x3E...0x4D, 0x51...0x57, 0x62...0x63: true
      default: false
      }
    default: false
    }
  }

  /// Whether the character joins its neighbours: ZERO WIDTH JOINER, or a virama of an Indic script.
  var isJoiner: Bool {
    scalar == 0x200D || scalar & 0x7F == 0x4D && scalar >= 0x0900 && scalar <= 0x0D7F
  }
  /// Whether the character is half of a flag.
  var isRegionalIndicator: Bool { scalar >= 0x1F1E6 && scalar <= 0x1F1FF }

  /// Returns where to cut the content of a string so that at most `room` bytes of it remain.
  ///
  /// The cut is between two characters that a reader sees, and not behind a space. Returns nil if not
  /// one character would remain.
  @inline(never)
  package static func cut(_ whole: Range<Int>, to room: Int, in text: Span<UInt8>) -> Int? {
    var index = whole.lowerBound
    var end: Int?
    var wasJoiner = false
    var indicators = 0
    while index < whole.upperBound, index - whole.lowerBound <= room {
      let unit = JSONUnit(in: text, at: index)
      let belongs =
        unit.isExtending || wasJoiner || unit.isRegionalIndicator && indicators % 2 == 1
      if !belongs, index > whole.lowerBound, text[index - 1] != .space { end = index }
      wasJoiner = unit.isJoiner
      indicators = unit.isRegionalIndicator ? indicators + 1 : 0
      index += unit.length
    }
    return end
  }
}
