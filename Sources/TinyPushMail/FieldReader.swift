import TinyPush

/// Reads the fields of a header (RFC 5322, section 2.2).
struct FieldReader {
  /// A field, whose value may continue on lines that begin with white space.
  struct Field {
    let name: Range<Int>
    let value: Range<Int>
  }

  /// Where the next field begins; after the last field: where the body begins.
  private(set) var index: Int
  private let end: Int

  /// Creates a reader at the start of a header.
  ///
  /// A line `From NAME DATE`, with which programs for mailboxes begin a mail, is passed over.
  init(_ part: Range<Int>, in mail: Span<UInt8>) {
    index = part.lowerBound
    end = part.upperBound
    let first = mail.extracting(part)
    if first.begins(with: ("From " as StaticString).span)
      || first.begins(with: (">From " as StaticString).span)
    {
      index = mail.line(from: index, to: end).next
    }
  }

  /// Returns the next field; nil: the header has ended.
  mutating func next(in mail: Span<UInt8>) -> Field? {
    guard index < end else { return nil }
    let line = mail.line(from: index, to: end)
    guard mail.trimmed(line.content).count > 0 else {
      index = line.next
      return nil
    }
    guard let colon = Self.colon(mail, line.content) else { return nil }
    var valueEnd = line.content.upperBound
    index = line.next
    while index < end, mail[index] == .space || mail[index] == .tab {
      let continuation = mail.line(from: index, to: end)
      guard mail.trimmed(continuation.content).count > 0 else { break }
      valueEnd = continuation.content.upperBound
      index = continuation.next
    }
    return Field(
      name: mail.trimmed(line.content.lowerBound..<colon),
      value: mail.trimmed(colon + 1..<valueEnd))
  }

  /// Returns the place of the colon after a field's name; nil: the line is no field.
  private static func colon(_ mail: Span<UInt8>, _ line: Range<Int>) -> Int? {
    var place = line.lowerBound
    while place < line.upperBound, mail[place] > .space, mail[place] < .delete,
      mail[place] != .colon
    {
      place += 1
    }
    let nameEnd = place
    while place < line.upperBound, mail[place] == .space || mail[place] == .tab { place += 1 }
    guard nameEnd > line.lowerBound, place < line.upperBound, mail[place] == .colon else {
      return nil
    }
    return place
  }
}

extension Span<UInt8> {
  /// Returns a line without its end, and where the next line begins.
  func line(from start: Int, to end: Int) -> (content: Range<Int>, next: Int) {
    var place = start
    while place < end, self[place] != .lineFeed { place += 1 }
    let next = Swift.min(place + 1, end)
    if place > start, self[place - 1] == .carriageReturn { place -= 1 }
    return (start..<place, next)
  }

  /// Returns a place without the quotes around it.
  func unquoted(_ place: Range<Int>) -> Range<Int> {
    guard place.count >= 2, self[place.lowerBound] == .quote, self[place.upperBound - 1] == .quote
    else { return place }
    return place.lowerBound + 1..<place.upperBound - 1
  }
}
