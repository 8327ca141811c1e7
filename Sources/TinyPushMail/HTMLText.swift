import TinyPush

/// The text of a page in HTML, for a mail that has nothing else.
enum HTMLText {
  /// Appends the text without tags, styles and comments.
  static func append(_ page: Span<UInt8>, to text: inout Text) {
    var index = 0
    // Between the tags of `pre`, white space stays as it is.
    var isPreformatted = false
    while index < page.count {
      let byte = page[index]
      switch byte {
      case UInt8(ascii: "<"): index = passTag(page, at: index, &text, &isPreformatted)
      case UInt8(ascii: "&"): index = appendCharacter(page, at: index, to: &text)
      case 0...UInt8.space where !isPreformatted:
        appendSpace(to: &text)
        index += 1
      default:
        text.append(byte: byte)
        index += 1
      }
    }
  }

  private static func appendSpace(to text: inout Text) {
    guard text.count > 0, text.bytes[text.count - 1] > .space else { return }
    text.append(byte: .space)
  }

  /// Returns the place behind a tag, and behind the content of an element that is not shown.
  private static func passTag(
    _ page: Span<UInt8>, at start: Int, _ text: inout Text, _ isPreformatted: inout Bool
  ) -> Int {
    let comment = "<!--" as StaticString
    if page.extracting(start..<page.count).begins(with: comment.span) {
      return find("-->", in: page, from: start) ?? page.count
    }
    var nameStart = start + 1
    let isEnd = nameStart < page.count && page[nameStart] == .slash
    if isEnd { nameStart += 1 }
    var nameEnd = nameStart
    while nameEnd < page.count, isOfName(page[nameEnd]) { nameEnd += 1 }
    let isTag =
      nameStart < page.count
      && (UInt8.smallLetters.contains(page[nameStart].lowerCase)
        || page[nameStart] == UInt8(ascii: "!"))
    guard isTag else {
      // A sign that begins no tag.
      text.append(byte: page[start])
      return start + 1
    }
    let name = page.extracting(nameStart..<nameEnd)
    let end = endOfTag(in: page, from: nameEnd)
    if name.equals(ignoringCase: "pre") { isPreformatted = !isEnd }
    if !isEnd {
      let hidden: [3 of (name: StaticString, end: StaticString)] = [
        ("style", "</style"), ("script", "</script"), ("title", "</title"),
      ]
      for index in hidden.indices where name.equals(ignoringCase: hidden[index].name) {
        let contentEnd = find(hidden[index].end, in: page, from: end) ?? page.count
        return find(">", in: page, from: contentEnd) ?? page.count
      }
    }
    if isBlock(name) {
      text.append(byte: .lineFeed)
    } else if name.equals(ignoringCase: "td") || name.equals(ignoringCase: "th") {
      appendSpace(to: &text)
    }
    return end
  }

  /// The most bytes of a tag in whose values a sign does not end the tag.
  private static var tagBytesMax: Int { 2048 }

  /// Returns the place behind the sign that ends a tag, which is in no quoted value.
  private static func endOfTag(in page: Span<UInt8>, from start: Int) -> Int {
    var place = start
    var quote: UInt8?
    while place < min(page.count, start + tagBytesMax) {
      let byte = page[place]
      place += 1
      if byte == quote {
        quote = nil
      } else if quote == nil {
        if byte == UInt8(ascii: ">") { return place }
        if byte == .quote || byte == .apostrophe { quote = byte }
      }
    }
    // A quote that has no end is no quote.
    return find(">", in: page, from: start) ?? page.count
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    byte.isDigit || UInt8.smallLetters.contains(byte.lowerCase)
  }

  private static func isBlock(_ name: Span<UInt8>) -> Bool {
    let names: WordList =
      "br p div tr li ul ol table h1 h2 h3 h4 h5 h6 pre hr blockquote section article"
    var lower = Text(capacity: 16)
    for index in name.indices { lower.append(byte: name[index].lowerCase) }
    return !lower.isCut && names.index(of: lower.bytes) != nil
  }

  /// Returns the place behind the next occurrence of a text in lower case; nil: there is none.
  private static func find(_ wanted: StaticString, in page: Span<UInt8>, from start: Int) -> Int? {
    let count = wanted.utf8CodeUnitCount
    var place = start
    while place + count <= page.count {
      if page.extracting(place..<place + count).equals(ignoringCase: wanted) {
        return place + count
      }
      place += 1
    }
    return nil
  }

  /// Appends the character of a reference such as `&amp;` or `&#8364;`; returns the place behind.
  private static func appendCharacter(
    _ page: Span<UInt8>, at start: Int, to text: inout Text
  ) -> Int {
    var end = start + 1
    while end < page.count, end - start < 10, isOfName(page[end]) || page[end] == .hash { end += 1 }
    let name = page.extracting(start + 1..<end)
    if let scalar = scalar(name) {
      text.append(scalar: scalar)
      return end < page.count && page[end] == .semicolon ? end + 1 : end
    }
    text.append(byte: page[start])
    return start + 1
  }

  private static func scalar(_ name: Span<UInt8>) -> UInt32? {
    if name.count > 1, name[0] == .hash {
      let isHex = name[1].lowerCase == UInt8(ascii: "x")
      var number: UInt32 = 0
      guard name.count > (isHex ? 2 : 1), name.count < 9 else { return nil }
      for index in (isHex ? 2 : 1)..<name.count {
        guard let digit = DeviceToken.hexValue(name[index]), isHex || digit < 10 else { return nil }
        number = number * (isHex ? 16 : 10) + UInt32(digit)
      }
      if 0x80...0x9F ~= number { return Windows1252.scalar(of: UInt8(number)) }
      let isSurrogate = 0xD800...0xDFFF ~= number
      return number >= 32 && number < 0x110000 && !isSurrogate ? number : nil
    }
    let names: WordList = """
      amp lt gt quot apos nbsp Auml Ouml Uuml auml ouml uuml szlig eacute egrave agrave ccedil euro \
      ndash mdash hellip lsquo rsquo ldquo rdquo laquo raquo deg middot bull times copy
      """
    let scalars: [32 of UInt16] = [
      0x26, 0x3C, 0x3E, 0x22, 0x27, 0x20, 0xC4, 0xD6, 0xDC, 0xE4, 0xF6, 0xFC, 0xDF, 0xE9, 0xE8,
      0xE0,
      0xE7, 0x20AC, 0x2013, 0x2014, 0x2026, 0x2018, 0x2019, 0x201C, 0x201D, 0xAB, 0xBB, 0xB0, 0xB7,
      0x2022, 0xD7, 0xA9,
    ]
    return names.index(of: name).map { UInt32(scalars[$0]) }
  }
}
