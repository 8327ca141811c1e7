import TinyPush

/// How the bytes of a `Localizable.strings` file are to be read: as UTF-8, unless a byte order mark says UTF-16, in which
/// Xcode once wrote them.
enum StringsEncoding {
  case utf8, utf16BigEndian, utf16LittleEndian

  init(of bytes: Span<UInt8>) {
    guard bytes.count >= 2 else {
      self = .utf8
      return
    }
    switch (bytes[0], bytes[1]) {
    case (0xFE, 0xFF): self = .utf16BigEndian
    case (0xFF, 0xFE): self = .utf16LittleEndian
    default: self = .utf8
    }
  }

  /// The same text as UTF-8 without a byte order mark. Halves of surrogate pairs come as U+FFFD.
  static func decode(_ bytes: Span<UInt8>) -> Text {
    switch StringsEncoding(of: bytes) {
    case .utf8:
      let mark: StaticString = "\u{FEFF}"
      let hasMark = bytes.count >= 3 && bytes.extracting(0..<3).equals(mark)
      var text = Text(capacity: bytes.count)
      text.append(bytes: bytes.extracting((hasMark ? 3 : 0)...))
      return text
    case .utf16BigEndian: return decode(bytes, high: 0)
    case .utf16LittleEndian: return decode(bytes, high: 1)
    }
  }

  /// - Parameter high: which byte of a unit is its higher one.
  private static func decode(_ bytes: Span<UInt8>, high: Int) -> Text {
    func unit(_ index: Int) -> UInt32 {
      UInt32(bytes[index + high]) << 8 | UInt32(bytes[index + 1 - high])
    }
    // At most three bytes for a unit of two.
    var text = Text(capacity: bytes.count / 2 * 3)
    var index = 2
    while index + 1 < bytes.count {
      var scalar = unit(index)
      index += 2
      if scalar & 0xF800 == 0xD800 {
        if scalar < 0xDC00, index + 1 < bytes.count, unit(index) & 0xFC00 == 0xDC00 {
          scalar = 0x10000 + (scalar & 0x3FF) << 10 + (unit(index) & 0x3FF)
          index += 2
        } else {
          scalar = 0xFFFD
        }
      }
      var (byte, rest) = UTF8Sequence.encode(scalar)
      text.append(byte: byte)
      while rest > 0 {
        byte = UInt8(truncatingIfNeeded: rest)
        text.append(byte: byte)
        rest >>= 8
      }
    }
    return text
  }
}
