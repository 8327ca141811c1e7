import TinyPush

/// Reads the entries of a `Localizable.strings` file in UTF-8.
///
/// ```
/// /* The door of the cellar */
/// "DOOR_OPEN" = "%@ is open";  // a comment
/// ```
///
/// The escapes are `\n`, `\r` and `\t`; any other character after a backslash stands for itself.
struct StringsReader {
  /// The index of the next byte.
  private var index = 0

  /// The ranges of a key and its value: the texts between the quotes, with their escapes.
  struct Entry {
    var key: Range<Int>
    var value: Range<Int>
  }

  /// Returns the next entry; nil at the end of the text.
  mutating func next(_ text: Span<UInt8>) throws(StringsProblem) -> Entry? {
    try skipSpace(text)
    guard index < text.count else { return nil }
    let key = try string(
      text,
      else: "expected a key, in double quotes; the file must be UTF-8, without a byte order mark")
    try take(.equals, text, else: "expected '=' after the key")
    let value = try string(text, else: "expected a text in double quotes after the '='")
    try take(
      .semicolon, text,
      else:
        "expected ';' after the text: is it missing, or does the text have a quote without a \\?"
    )
    return Entry(key: key, value: value)
  }

  /// Returns the range of a key's value; nil: there is no such key.
  ///
  /// If the key occurs twice, the last one counts. The whole text is read, since a device refuses a
  /// file with any mistake.
  ///
  /// - Parameter key: the key, without escapes.
  static func value(of key: Span<UInt8>, in text: Span<UInt8>) throws(StringsProblem) -> Range<Int>?
  {
    var reader = StringsReader()
    var found: Range<Int>?
    while let entry = try reader.next(text) {
      var name = Text(capacity: entry.key.count)
      name.append(unescapingStrings: text.extracting(entry.key))
      if name.bytes.equals(key) { found = entry.value }
    }
    return found
  }

  // MARK: - Parts

  /// Skips white space and comments.
  private mutating func skipSpace(_ text: Span<UInt8>) throws(StringsProblem) {
    while index < text.count {
      let rest = text.extracting(index...)
      if text[index] <= .space {
        index += 1
      } else if rest.begins(with: ("//" as StaticString).span) {
        while index < text.count, text[index] != .lineFeed { index += 1 }
      } else if rest.begins(with: ("/*" as StaticString).span) {
        try skipComment(text)
      } else {
        return
      }
    }
  }

  private mutating func skipComment(_ text: Span<UInt8>) throws(StringsProblem) {
    let start = index
    index += 2
    while index + 1 < text.count, text[index] != .asterisk || text[index + 1] != .slash {
      index += 1
    }
    guard index + 1 < text.count else {
      throw StringsProblem("nothing closes the comment that begins here", at: start)
    }
    index += 2
  }

  private mutating func take(
    _ byte: UInt8, _ text: Span<UInt8>, else words: StaticString
  ) throws(StringsProblem) {
    try skipSpace(text)
    guard index < text.count, text[index] == byte else { throw StringsProblem(words, at: index) }
    index += 1
  }

  private mutating func string(
    _ text: Span<UInt8>, else words: StaticString
  ) throws(StringsProblem) -> Range<Int> {
    try take(.quote, text, else: words)
    let start = index
    while index < text.count, text[index] != .quote { index += text[index] == .backslash ? 2 : 1 }
    guard index < text.count else {
      throw StringsProblem("nothing closes the quote that begins here", at: start - 1)
    }
    index += 1
    return start..<index - 1
  }
}

extension Text {
  /// Appends a string of a `Localizable.strings` file, and replaces its escapes.
  mutating func append(unescapingStrings string: Span<UInt8>) {
    var isEscaped = false
    for index in string.indices {
      let byte = string[index]
      guard isEscaped || byte != .backslash else {
        isEscaped = true
        continue
      }
      switch byte {
      case UInt8(ascii: "n") where isEscaped: append("\n")
      case UInt8(ascii: "r") where isEscaped: append("\r")
      case UInt8(ascii: "t") where isEscaped: append("\t")
      default: append(byte: byte)
      }
      isEscaped = false
    }
  }
}

/// A mistake in a `Localizable.strings` file, and its place.
struct StringsProblem: Error {
  let words: StaticString
  /// The index of the byte at which the mistake is or begins.
  let place: Int

  init(_ words: StaticString, at place: Int) {
    (self.words, self.place) = (words, place)
  }

  /// Appends `LINE:COLUMN: MESSAGE`, where the column counts characters.
  func describe(in bytes: Span<UInt8>, to text: inout Text) {
    var line = 1
    var column = 1
    for index in 0..<min(place, bytes.count) {
      if bytes[index] == .lineFeed {
        line += 1
        column = 1
      } else if bytes[index] & 0xC0 != 0x80 {
        column += 1
      }
    }
    text.append(line)
    text.append(":", column)
    text.append(": ", words)
  }
}
