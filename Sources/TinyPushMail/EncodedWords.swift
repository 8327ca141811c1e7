import TinyPush

/// The text of a header field, in which words of other characters than ASCII are encoded, as in
/// `=?utf-8?q?Caf=C3=A9?=` (RFC 2047).
enum EncodedWords {
  private struct Word {
    var characterSet: Range<Int>
    var encoding: TransferEncoding
    var text: Range<Int>
    var end: Int
  }

  /// Appends the decoded text, in UTF-8.
  static func decode(
    _ field: Span<UInt8>, to text: inout Text, _ converter: borrowing some CharacterSetConverter
  ) {
    var bytes = Text(capacity: field.count)
    // The character set of the bytes; nil: they are from outside of a word.
    var current: Range<Int>?
    func flush(_ bytes: inout Text, _ text: inout Text) {
      CharacterSet.decode(
        bytes.bytes, from: field.extracting(current ?? 0..<0), to: &text, converter)
      bytes.clear()
    }
    var index = 0
    while index < field.count {
      guard let word = word(in: field, at: index) else {
        if current != nil {
          // White space between two words is no part of the text.
          var next = index
          while next < field.count, field[next] <= .space { next += 1 }
          if next > index, self.word(in: field, at: next) != nil {
            index = next
            continue
          }
          flush(&bytes, &text)
          current = nil
        }
        bytes.append(byte: field[index])
        index += 1
        continue
      }
      // A character may be divided among two words of the same character set.
      let isSame =
        current.map { field.extracting($0).equals(field.extracting(word.characterSet)) } ?? false
      if !isSame { flush(&bytes, &text) }
      current = word.characterSet
      word.encoding.decode(field.extracting(word.text), to: &bytes)
      index = word.end
    }
    flush(&bytes, &text)
  }

  /// Returns the encoded word that begins at a place.
  private static func word(in field: Span<UInt8>, at start: Int) -> Word? {
    guard start + 1 < field.count, field[start] == .equals, field[start + 1] == question else {
      return nil
    }
    // The names are followed by one question mark each, and the text by `?=`.
    guard let nameEnd = part(of: field, from: start + 2),
      let encodingEnd = part(of: field, from: nameEnd + 1), encodingEnd == nameEnd + 2,
      let textEnd = part(of: field, from: encodingEnd + 1), textEnd + 1 < field.count,
      field[textEnd + 1] == .equals
    else { return nil }
    let encoding: TransferEncoding
    switch field[nameEnd + 1].lowerCase {
    case UInt8(ascii: "b"): encoding = .base64
    case UInt8(ascii: "q"): encoding = .words
    default: return nil
    }
    // A language may follow the character set (RFC 2231, section 5).
    var setEnd = start + 2
    while setEnd < nameEnd, field[setEnd] != .asterisk { setEnd += 1 }
    return Word(
      characterSet: start + 2..<setEnd, encoding: encoding, text: encodingEnd + 1..<textEnd,
      end: textEnd + 2)
  }

  /// Returns the place of the next question mark; nil: white space comes before it.
  private static func part(of field: Span<UInt8>, from start: Int) -> Int? {
    var place = start
    while place < field.count, field[place] != question {
      // Some programs leave spaces in the text of a word.
      guard field[place] >= .space else { return nil }
      place += 1
    }
    return place < field.count ? place : nil
  }

  private static var question: UInt8 { UInt8(ascii: "?") }
}
