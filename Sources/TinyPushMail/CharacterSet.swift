import TinyPush

/// Converts text to UTF-8.
public protocol CharacterSetConverter {
  /// Appends a text in UTF-8.
  ///
  /// - Parameter name: the character set of the text, by a name that mails use.
  /// - Returns: false: the character set is unknown, and nothing was appended.
  func convert(_ bytes: Span<UInt8>, from name: Span<UInt8>, to text: inout Text) -> Bool
}

/// The character set of a part of a mail.
enum CharacterSet {
  /// Appends a text in UTF-8.
  ///
  /// Programs often state a wrong character set for UTF-8, as cron does, and put bytes of other sets
  /// between. So for the sets of western Europe and for unknown sets, what is UTF-8 is taken as such,
  /// and all other bytes as Windows-1252, which has the characters of Latin-1 and some more.
  static func decode(
    _ bytes: Span<UInt8>, from name: Span<UInt8>, to text: inout Text,
    _ converter: borrowing some CharacterSetConverter
  ) {
    if !isWestern(name), converter.convert(bytes, from: name, to: &text) { return }
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      let length = byte < 0x80 ? 1 : UTF8Sequence.length(in: bytes, at: index)
      if length > 0 {
        text.append(bytes: bytes.extracting(index..<index + length))
      } else {
        text.append(scalar: Windows1252.scalar(of: byte))
      }
      index += max(length, 1)
    }
  }

  private static func isWestern(_ name: Span<UInt8>) -> Bool {
    name.isEmpty || name.begins(ignoringCase: "utf-8") || name.begins(ignoringCase: "us-ascii")
      || name.begins(ignoringCase: "ascii") || name.begins(ignoringCase: "ansi_x3.4")
      || name.equals(ignoringCase: "iso-8859-1") || name.equals(ignoringCase: "latin1")
      || name.equals(ignoringCase: "windows-1252")
  }
}
