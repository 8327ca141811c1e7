import TinyPush

/// A mail as an alert shows it: the subject and the text, both in UTF-8 (RFC 5322, RFC 2045).
public struct Mail: ~Copyable {
  /// The most bytes of a subject, of which a device shows fewer.
  private static var subjectBytesMax: Int { 256 }
  /// The most bytes of this mail's subject: the text also needs room in the payload.
  private let subjectMax: Int
  /// The most bytes of a subject before its decoding.
  private static var fieldBytesMax: Int { 4096 }
  /// The most bytes of a text before its decoding.
  ///
  /// No payload holds as many, but a page in HTML may begin with styles.
  private static var textBytesMax: Int { 65_536 }
  /// The most parts that are in one another.
  private static var depthMax: Int { 8 }

  /// The subject in one line; empty: there is none.
  public private(set) var subject = Text(capacity: subjectBytesMax + 4)
  /// The lines of the text, without empty lines at its start and end; empty: there is none.
  public private(set) var text = Text(capacity: 3 * textBytesMax)

  // The text of a part, step by step.
  private var bytes = Text(capacity: textBytesMax)
  private var decoded = Text(capacity: 3 * textBytesMax)
  private var shown = Text(capacity: 3 * textBytesMax)

  /// Which parts are wanted.
  private enum Wanted { case plain, inline, attached }

  /// Reads a mail.
  ///
  /// - Parameter payloadMax: the most bytes of a payload.
  @inline(never)
  public init(
    _ mail: Span<UInt8>, payloadMax: Int, _ converter: borrowing some CharacterSetConverter
  ) {
    subjectMax = min(Self.subjectBytesMax, payloadMax / 3)
    guard readHeader(mail, converter) else {
      _ = take(Entity(text: 0..<mail.count), mail, converter)
      return
    }
    let whole = Entity(mail, 0..<mail.count)
    // An attached text is better than nothing.
    if !read(whole, .inline, mail, converter, depth: 0),
      !read(whole, .attached, mail, converter, depth: 0), whole.kind == .multipart
    {
      var parts = PartReader(whole, in: mail)
      // Without a boundary that is found, the text is shown as it is.
      if parts.next(in: mail) == nil { _ = take(Entity(text: whole.body), mail, converter) }
    }
    guard isEmpty else { return }
    // The lines of a text may all look like fields.
    if mail.extracting(whole.body).trimmed().isEmpty {
      _ = take(Entity(text: 0..<mail.count), mail, converter)
    } else {
      subject.append("(no subject)")
    }
  }

  deinit {}

  /// Whether there is nothing to show: the mail has only white space.
  public var isEmpty: Bool { subject.count + text.count == 0 }

  // MARK: - The header

  /// Reads the subject; returns whether the mail begins with a header.
  ///
  /// A text without a header may begin with lines that look like fields.
  private mutating func readHeader(
    _ mail: Span<UInt8>, _ converter: borrowing some CharacterSetConverter
  ) -> Bool {
    let known: WordList =
      "subject from to cc bcc date mime-version message-id content-type content-transfer-encoding"
    var isHeader = false
    var fields = FieldReader(0..<mail.count, in: mail)
    while let field = fields.next(in: mail) {
      var name = Text(capacity: 32)
      for index in field.name { name.append(byte: mail[index].lowerCase) }
      if !name.isCut, known.index(of: name.bytes) != nil { isHeader = true }
      guard subject.count == 0, name.bytes.equals("subject") else { continue }
      let value = field.value.prefix(Self.fieldBytesMax)
      readSubject(mail.extracting(value), converter)
    }
    return isHeader
  }

  private mutating func readSubject(
    _ field: Span<UInt8>, _ converter: borrowing some CharacterSetConverter
  ) {
    decoded.clear()
    EncodedWords.decode(field, to: &decoded, converter)
    let line = decoded.unsafeBytes
    var index = 0
    while index < line.count {
      let length = Self.lengthOfControl(line, at: index)
      if length == 0 {
        subject.append(byte: line[index])
      } else if subject.count > 0, subject.bytes[subject.count - 1] != .space {
        subject.append(byte: .space)
      }
      index += max(length, 1)
    }
    while subject.count > 0, subject.bytes[subject.count - 1] == .space {
      subject.truncate(to: subject.count - 1)
    }
    guard subject.count > subjectMax else { return }
    subject.truncate(to: subjectMax - 2)
    Self.removeLastCharacter(&subject)
    subject.append("…")
  }

  /// Calls `body` with the local part of each address to which the mail says that it goes.
  public static func forEachRecipient(of mail: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
    var fields = FieldReader(0..<mail.count, in: mail)
    while let field = fields.next(in: mail) {
      let name = mail.extracting(field.name)
      guard
        name.equals(ignoringCase: "to") || name.equals(ignoringCase: "cc")
          || name.equals(ignoringCase: "bcc")
      else { continue }
      var addresses = AddressReader(field.value)
      while let place = addresses.next(in: mail) { body(mail.extracting(place)) }
    }
  }

  // MARK: - The text

  /// Takes the first wanted part that shows something; returns whether there is one.
  private mutating func read(
    _ entity: Entity, _ wanted: Wanted, _ mail: Span<UInt8>,
    _ converter: borrowing some CharacterSetConverter, depth: Int
  ) -> Bool {
    if entity.kind == .multipart {
      guard depth < Self.depthMax else { return false }
      // The plain form of a text is the better one.
      if entity.isAlternative, wanted == .inline,
        readParts(of: entity, .plain, mail, converter, depth: depth + 1)
      {
        return true
      }
      return readParts(of: entity, wanted, mail, converter, depth: depth + 1)
    }
    switch wanted {
    case .plain: guard entity.kind == .plain, !entity.isAttachment else { return false }
    case .inline: guard entity.kind != .other, !entity.isAttachment else { return false }
    // Programs send a log as an attachment, or as bytes of no type.
    case .attached: guard entity.kind != .other || depth == 0 else { return false }
    }
    return take(entity, mail, converter)
  }

  private mutating func readParts(
    of entity: Entity, _ wanted: Wanted, _ mail: Span<UInt8>,
    _ converter: borrowing some CharacterSetConverter, depth: Int
  ) -> Bool {
    var parts = PartReader(entity, in: mail)
    while let part = parts.next(in: mail) {
      if read(Entity(mail, part), wanted, mail, converter, depth: depth) { return true }
    }
    return false
  }

  /// Takes the text of a part; returns whether it shows something.
  private mutating func take(
    _ part: Entity, _ mail: Span<UInt8>, _ converter: borrowing some CharacterSetConverter
  ) -> Bool {
    bytes.clear()
    part.encoding.decode(mail.extracting(part.body), to: &bytes)
    if bytes.isCut { Self.removeLastCharacter(&bytes) }
    if part.kind == .other, Self.isBinary(bytes) { return false }
    decoded.clear()
    CharacterSet.decode(
      bytes.unsafeBytes, from: mail.extracting(part.characterSet), to: &decoded, converter)
    text.clear()
    if part.kind == .html {
      shown.clear()
      HTMLText.append(decoded.unsafeBytes, to: &shown)
      appendLines(of: shown.unsafeBytes)
    } else {
      appendLines(of: decoded.unsafeBytes)
    }
    return text.count > 0
  }

  private static func isBinary(_ bytes: borrowing Text) -> Bool {
    for index in bytes.bytes.indices where bytes.bytes[index] == 0 { return true }
    return false
  }

  /// Appends lines without white space at their ends, and at most one empty line at a place.
  private mutating func appendLines(of lines: Span<UInt8>) {
    var index = 0
    var isAfterEmptyLine = false
    while index < lines.count {
      let line = lines.line(from: index, to: lines.count)
      index = line.next
      let start = text.count
      if start > 0 { text.append(isAfterEmptyLine ? "\n\n" : "\n") }
      let lineStart = text.count
      // The end of the line without white space.
      var end = lineStart
      var place = line.content.lowerBound
      while place < line.content.upperBound {
        let length = Self.lengthOfControl(lines, at: place)
        if length == 0 {
          text.append(byte: lines[place])
          end = text.count
        } else if lines[place] == .space || lines[place] == .tab {
          text.append(byte: lines[place])
        }
        place += max(length, 1)
      }
      isAfterEmptyLine = end == lineStart
      text.truncate(to: isAfterEmptyLine ? start : end)
    }
  }

  /// Returns the bytes of the control character or the white space at a place; 0: there is none.
  ///
  /// No device shows a control character.
  private static func lengthOfControl(_ text: Span<UInt8>, at place: Int) -> Int {
    if text[place] <= .space || text[place] == .delete { return 1 }
    let isOfC1 =
      text[place] == 0xC2 && place + 1 < text.count && 0x80...0x9F ~= text[place + 1]
    return isOfC1 ? 2 : 0
  }

  /// Removes the last character, which may be cut off inside.
  private static func removeLastCharacter(_ bytes: inout Text) {
    var end = bytes.count - 1
    while end > 0, bytes.bytes[end] & 0xC0 == 0x80 { end -= 1 }
    bytes.truncate(to: end)
  }
}
