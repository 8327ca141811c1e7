import TinyPush

/// A mail, or a part of a mail: a header and a body (RFC 2045, section 2.4).
struct Entity {
  enum Kind { case plain, html, multipart, other }

  private(set) var kind = Kind.plain
  /// Whether the parts are the same text in several forms.
  private(set) var isAlternative = false
  private(set) var isAttachment = false
  private(set) var encoding = TransferEncoding.none
  private(set) var characterSet = 0..<0
  private(set) var body: Range<Int>
  fileprivate private(set) var boundary = 0..<0

  /// Reads the header of a part.
  init(_ mail: Span<UInt8>, _ part: Range<Int>) {
    body = part
    var fields = FieldReader(part, in: mail)
    while let field = fields.next(in: mail) {
      let name = mail.extracting(field.name)
      if name.equals(ignoringCase: "content-type") {
        readType(mail, field.value)
      } else if name.equals(ignoringCase: "content-transfer-encoding") {
        encoding = TransferEncoding(mail.extracting(Self.word(of: field.value, in: mail)))
      } else if name.equals(ignoringCase: "content-disposition") {
        let word = mail.extracting(Self.word(of: field.value, in: mail))
        isAttachment = word.equals(ignoringCase: "attachment")
      }
    }
    body = fields.index..<part.upperBound
  }

  /// A text without a header.
  init(text: Range<Int>) { body = text }

  private mutating func readType(_ mail: Span<UInt8>, _ value: Range<Int>) {
    let name = mail.extracting(Self.word(of: value, in: mail))
    if name.equals(ignoringCase: "text/html") {
      kind = .html
    } else if name.begins(ignoringCase: "multipart/") {
      kind = .multipart
      isAlternative = name.equals(ignoringCase: "multipart/alternative")
    } else if !name.begins(ignoringCase: "text") {
      kind = .other
    }
    var place = Self.element(of: value, from: value.lowerBound, in: mail).next
    while place < value.upperBound {
      let parameter = Self.element(of: value, from: place, in: mail)
      place = parameter.next
      var equals = parameter.content.lowerBound
      while equals < parameter.content.upperBound, mail[equals] != .equals { equals += 1 }
      guard equals < parameter.content.upperBound else { continue }
      let name = mail.extracting(mail.trimmed(parameter.content.lowerBound..<equals))
      let content = mail.unquoted(mail.trimmed(equals + 1..<parameter.content.upperBound))
      if name.equals(ignoringCase: "charset") { characterSet = content }
      if name.equals(ignoringCase: "boundary") { boundary = content }
    }
  }

  /// Returns the first word of a value, in front of a semicolon, a comment or white space.
  private static func word(of value: Range<Int>, in mail: Span<UInt8>) -> Range<Int> {
    var end = value.lowerBound
    while end < value.upperBound, mail[end] > .space, mail[end] != .semicolon,
      mail[end] != UInt8(ascii: "(")
    {
      end += 1
    }
    return mail.unquoted(value.lowerBound..<end)
  }

  /// Returns what stands in front of the next semicolon, and where the next element begins.
  private static func element(
    of value: Range<Int>, from start: Int, in mail: Span<UInt8>
  ) -> (content: Range<Int>, next: Int) {
    var end = start
    var isQuoted = false
    while end < value.upperBound, isQuoted || mail[end] != .semicolon {
      if mail[end] == .quote { isQuoted.toggle() }
      end += 1
    }
    return (mail.trimmed(start..<end), min(end + 1, value.upperBound))
  }
}

/// Reads the parts of a mail in several parts (RFC 2046, section 5.1).
struct PartReader {
  private let boundary: Range<Int>
  private let end: Int
  private var place: Int
  /// Where the next part begins; nil: there is none.
  private var start: Int?

  init(_ entity: Entity, in mail: Span<UInt8>) {
    boundary = entity.boundary
    end = entity.body.upperBound
    place = boundary.isEmpty ? end : entity.body.lowerBound
    _ = next(in: mail)
  }

  /// Returns the place of the next part, whose last boundary may be missing; nil: there is none.
  mutating func next(in mail: Span<UInt8>) -> Range<Int>? {
    while place < end {
      let line = mail.line(from: place, to: end)
      let before = place
      place = line.next
      guard let isLast = isBoundary(line.content, mail) else { continue }
      let part = start.map { $0..<before }
      start = isLast ? nil : line.next
      if isLast { place = end }
      return part
    }
    defer { start = nil }
    return start.map { $0..<end }
  }

  /// Whether a line is the last boundary; nil: the line is no boundary.
  private func isBoundary(_ line: Range<Int>, _ mail: Span<UInt8>) -> Bool? {
    let name = mail.extracting(boundary)
    let text = mail.extracting(line)
    guard text.count >= name.count + 2, text[0] == .hyphen, text[1] == .hyphen,
      text.extracting(2..<text.count).begins(with: name)
    else { return nil }
    let rest = text.extracting(name.count + 2..<text.count).trimmed()
    if rest.count == 0 { return false }
    return rest.equals("--") ? true : nil
  }
}
