import TinyPush

/// Goes over the text of a `Localizable.strings` file, UTF-8 without byte order mark, entry by entry:
///
/// ```
/// /* The door of the cellar */
/// "DOOR_OPEN" = "%@ is open";  // a comment
/// door.shut = "shut";
/// ```
///
/// A string stands in double or single quotes, or is a word of letters, digits and `_ $ / : . -`. Escapes: `\n` and its
/// like, `\Uxxxx` with four hexadecimal digits (two of them for what is past U+FFFF), and any other character for itself,
/// as devices read them.
struct StringsReader {
  /// The byte to look at next.
  private(set) var index = 0

  /// A key and its value, as places in the text: what stands between the quotes, escapes and all.
  struct Entry {
    var key: Range<Int>
    var value: Range<Int>
  }

  /// The next entry; nil at the end of the text.
  mutating func next(_ text: Span<UInt8>) throws(StringsProblem) -> Entry? {
    try skipSpace(text)
    guard index < text.count else { return nil }
    let key = try string(text, else: .expectedKey)
    try take(.equals, text, else: .expectedEquals)
    try skipSpace(text)
    let value = try string(text, else: .expectedValue)
    try take(.semicolon, text, else: .expectedSemicolon)
    return Entry(key: key, value: value)
  }

  /// The value of a key, which has no escapes. Of a key that stands there twice the last one counts. The whole text is
  /// read, since a device takes all of a file or nothing.
  static func value(of key: Span<UInt8>, in text: Span<UInt8>) throws(StringsProblem) -> Range<Int>?
  {
    var reader = StringsReader()
    var found: Range<Int>?
    while let entry = try reader.next(text) {
      if spells(text.extracting(entry.key), key) { found = entry.value }
    }
    return found
  }

  private static func spells(_ string: Span<UInt8>, _ bytes: Span<UInt8>) -> Bool {
    var unescaper = StringsUnescaper()
    for index in bytes.indices where unescaper.next(in: string) != bytes[index] { return false }
    return unescaper.next(in: string) == nil
  }

  // MARK: - Parts

  /// Passes over white space and comments.
  @inline(never)
  private mutating func skipSpace(_ text: Span<UInt8>) throws(StringsProblem) {
    while index < text.count {
      switch text[index] {
      case UInt8.tab...UInt8.carriageReturn, .space: index += 1
      case .slash where startsComment(.slash, text):
        while index < text.count, text[index] != .lineFeed, text[index] != .carriageReturn {
          index += 1
        }
      case .slash where startsComment(.asterisk, text): try skipComment(text)
      default: return
      }
    }
  }

  private func startsComment(_ second: UInt8, _ text: Span<UInt8>) -> Bool {
    index + 1 < text.count && text[index + 1] == second
  }

  private mutating func skipComment(_ text: Span<UInt8>) throws(StringsProblem) {
    let start = index
    index += 2
    while index + 1 < text.count {
      if text[index] == .asterisk, text[index + 1] == .slash {
        index += 2
        return
      }
      index += 1
    }
    throw StringsProblem(.openComment, at: start)
  }

  @inline(never)
  private mutating func take(
    _ byte: UInt8, _ text: Span<UInt8>, else reason: StringsProblem.Reason
  ) throws(StringsProblem) {
    try skipSpace(text)
    guard index < text.count, text[index] == byte else { throw StringsProblem(reason, at: index) }
    index += 1
  }

  @inline(never)
  private mutating func string(
    _ text: Span<UInt8>, else reason: StringsProblem.Reason
  ) throws(StringsProblem) -> Range<Int> {
    let start = index
    guard index < text.count else { throw StringsProblem(reason, at: index) }
    let quote = text[index]
    guard quote == .quote || quote == .apostrophe else {
      while index < text.count, Self.isOfWord(text[index]) { index += 1 }
      guard index > start else { throw StringsProblem(reason, at: start) }
      return start..<index
    }
    index += 1
    while index < text.count, text[index] != quote {
      if text[index] == .backslash {
        try skipEscape(text, ofStringAt: start)
      } else if text[index] < 0x80 {
        index += 1
      } else {
        let length = UTF8Sequence.length(in: text, at: index)
        guard length > 0 else { throw StringsProblem(.invalidUTF8, at: index) }
        index += length
      }
    }
    guard index < text.count else { throw StringsProblem(.openString, at: start) }
    index += 1
    return start + 1..<index - 1
  }

  private static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8.digits, UInt8.capitals, UInt8.smallLetters, .dollar, UInt8.hyphen...UInt8.slash,
      .colon, .underscore:
      true
    default: false
    }
  }

  private mutating func skipEscape(
    _ text: Span<UInt8>, ofStringAt start: Int
  ) throws(StringsProblem) {
    let place = index
    guard index + 1 < text.count else { throw StringsProblem(.openString, at: start) }
    guard text[index + 1] == UInt8(ascii: "U") else {
      index += text[index + 1] < 0x80 ? 2 : 1
      return
    }
    let unit = try hexUnit(text, at: place)
    guard unit & 0xF800 == 0xD800 else { return }
    guard unit < 0xDC00, index + 1 < text.count, text[index] == .backslash,
      text[index + 1] == UInt8(ascii: "U"),
      try hexUnit(text, at: place) & 0xFC00 == 0xDC00
    else { throw StringsProblem(.loneSurrogate, at: place) }
  }

  /// The unit of the `\Uxxxx` that comes next.
  private mutating func hexUnit(
    _ text: Span<UInt8>, at place: Int
  ) throws(StringsProblem) -> UInt32 {
    guard index + 6 <= text.count else { throw StringsProblem(.invalidEscape, at: place) }
    var unit: UInt32 = 0
    for position in index + 2..<index + 6 {
      guard let digit = DeviceToken.hexValue(text[position]) else {
        throw StringsProblem(.invalidEscape, at: place)
      }
      unit = unit << 4 | UInt32(digit)
    }
    index += 6
    return unit
  }
}

/// Goes over what a string of a `Localizable.strings` file spells: its bytes with the escapes undone. What stands between
/// the quotes must have been found valid.
struct StringsUnescaper {
  private var index = 0
  /// What is left of the character that an escape spells: its bytes, the next one lowest.
  private var rest: UInt32 = 0

  /// The next byte; nil at the end.
  mutating func next(in string: Span<UInt8>) -> UInt8? {
    if rest > 0 {
      defer { rest >>= 8 }
      return UInt8(truncatingIfNeeded: rest)
    }
    guard index < string.count else { return nil }
    let byte = string[index]
    index += 1
    return byte == .backslash ? unescape(string) : byte
  }

  private mutating func unescape(_ string: Span<UInt8>) -> UInt8 {
    let letter = string[index]
    index += 1
    switch letter {
    case UInt8(ascii: "a"): return .bell
    case UInt8(ascii: "b"): return .backspace
    case UInt8(ascii: "f"): return .formFeed
    case UInt8(ascii: "n"): return .lineFeed
    case UInt8(ascii: "r"): return .carriageReturn
    case UInt8(ascii: "t"): return .tab
    case UInt8(ascii: "v"): return .verticalTab
    case UInt8(ascii: "U"): break
    default: return letter
    }
    var scalar = unit(string)
    if scalar >= 0xD800, scalar < 0xDC00 {
      index += 2
      scalar = 0x10000 + (scalar - 0xD800) << 10 + (unit(string) - 0xDC00)
    }
    let (first, rest) = UTF8Sequence.encode(scalar)
    self.rest = rest
    return first
  }

  private mutating func unit(_ string: Span<UInt8>) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      unit = unit << 4 | UInt32(DeviceToken.hexValue(string[index]) ?? 0)
      index += 1
    }
    return unit
  }
}

/// What is wrong with a `Localizable.strings` file, and where.
struct StringsProblem: Error {
  enum Reason {
    case expectedKey, expectedEquals, expectedValue, expectedSemicolon
    case openString, openComment
    case invalidEscape, loneSurrogate, invalidUTF8
  }

  let reason: Reason
  /// The byte at fault, or with which begins what is.
  let place: Int

  init(_ reason: Reason, at place: Int) {
    (self.reason, self.place) = (reason, place)
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
    text.append(":")
    text.append(column)
    text.append(": ")
    text.append(words)
  }

  private var words: StaticString {
    switch reason {
    case .expectedKey: "expected a key, in double quotes"
    case .expectedEquals: "expected '=' after the key"
    case .expectedValue: "expected a text in double quotes after the '='"
    case .expectedSemicolon:
      "expected ';' behind the text: is it missing, or is there a quote inside it, without its \\?"
    case .openString: "nothing closes the quote that begins here"
    case .openComment: "nothing closes the comment that begins here"
    case .invalidEscape: "\\U takes four hexadecimal digits"
    case .loneSurrogate:
      "half of a surrogate pair: \\UD800 to \\UDBFF must be followed by \\UDC00 to \\UDFFF"
    case .invalidUTF8: "neither UTF-8 nor UTF-16 with a byte order mark"
    }
  }
}
