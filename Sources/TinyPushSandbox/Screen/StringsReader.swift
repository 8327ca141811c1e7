import TinyPush

/// Goes over the text of a `Localizable.strings` file in UTF-8, entry by entry:
///
/// ```
/// /* The door of the cellar */
/// "DOOR_OPEN" = "%@ is open";  // a comment
/// ```
///
/// Escapes: `\n`, `\r`, `\t`, and any other character for itself.
struct StringsReader {
  /// The byte to look at next.
  private var index = 0

  /// A key and its value, as places in the text: what stands between the quotes, escapes and all.
  struct Entry {
    var key: Range<Int>
    var value: Range<Int>
  }

  /// The next entry; nil at the end of the text.
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
        "expected ';' behind the text: is it missing, or is there a quote inside it, without its \\?"
    )
    return Entry(key: key, value: value)
  }

  /// The value of a key, which has no escapes. Of a key that stands there twice the last one counts. The whole text is
  /// read, since a device takes all of a file or nothing.
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

  /// Passes over white space and comments.
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
  /// What a string of a `Localizable.strings` file spells.
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

/// What is wrong with a `Localizable.strings` file, and where.
struct StringsProblem: Error {
  let words: StaticString
  /// The byte at fault, or with which begins what is.
  let place: Int

  init(_ words: StaticString, at place: Int) {
    (self.words, self.place) = (words, place)
  }

  /// `LINE:COLUMN: what was expected`, the column in characters.
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
