/// The lines of a configuration file: settings `KEY = VALUE`, and headers `[SECTION]`.
///
/// Empty lines are skipped, and so are lines that begin with `#` or `;`.
public struct ConfigLines {
  /// A line, by the places of its parts in the text.
  public enum Line: Equatable {
    case setting(name: Range<Int>, value: Range<Int>)
    case section(Range<Int>)
    /// A setting with a control character, such as a NUL.
    case unprintable(name: Range<Int>)
    /// Neither a setting nor a header.
    case unknown(Range<Int>)
  }

  /// The number of the last line, from 1.
  public private(set) var number: Int32 = 0
  private var place = 0

  /// Starts before the first line.
  public init() {}

  /// Returns the next line of the text; nil at the end.
  public mutating func next(in text: Span<UInt8>) -> Line? {
    if place == 0, text.begins(with: ("\u{FEFF}" as StaticString).span) { place = 3 }
    while place < text.count {
      var end = place
      while end < text.count, text[end] != .lineFeed { end += 1 }
      let line = text.unpadded(place..<end)
      place = end + 1
      number += 1
      guard !line.isEmpty, !text.isCommentMark(line.lowerBound) else { continue }
      return text[line.lowerBound] == .openBracket
        ? Self.section(line, in: text) : Self.setting(line, in: text)
    }
    return nil
  }

  private static func section(_ line: Range<Int>, in text: Span<UInt8>) -> Line {
    var end = line.lowerBound
    while end < line.upperBound, text[end] != .closeBracket { end += 1 }
    guard end < line.upperBound else { return .unknown(line) }
    let rest = text.unpadded(end + 1..<line.upperBound)
    guard rest.isEmpty || text.isCommentMark(rest.lowerBound) else { return .unknown(line) }
    return .section(line.lowerBound + 1..<end)
  }

  private static func setting(_ line: Range<Int>, in text: Span<UInt8>) -> Line {
    var sign = line.lowerBound
    while sign < line.upperBound, text[sign] != .equals, text[sign] != .colon { sign += 1 }
    let name = text.unpadded(line.lowerBound..<sign)
    guard sign < line.upperBound, !name.isEmpty else { return .unknown(line) }
    for index in line where text[index] < .space && text[index] != .tab {
      return .unprintable(name: name)
    }
    return .setting(name: name, value: text.unpadded(sign + 1..<line.upperBound))
  }

  /// Returns a value without the comment behind it: a blank and `;` begin a comment.
  public static func withoutComment(_ value: Range<Int>, in text: Span<UInt8>) -> Range<Int> {
    for index in value where index > 0 && text.isBlank(index - 1) && text[index] == .semicolon {
      return text.unpadded(value.lowerBound..<index)
    }
    return value
  }

  /// Whether a value contains a blank and `#`, where somebody may have meant a comment.
  public static func mayHaveComment(_ value: Range<Int>, in text: Span<UInt8>) -> Bool {
    for index in value
    where index > value.lowerBound && text.isBlank(index - 1) && text[index] == .hash {
      return true
    }
    return false
  }
}

extension Span<UInt8> {
  fileprivate func isCommentMark(_ index: Int) -> Bool {
    self[index] == .hash || self[index] == .semicolon
  }

  fileprivate func isBlank(_ index: Int) -> Bool {
    self[index] == .space || UInt8.tab...UInt8.carriageReturn ~= self[index]
  }

  /// Returns a range without the blanks at its start and end; other control characters stay.
  fileprivate func unpadded(_ range: Range<Int>) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, isBlank(start) { start += 1 }
    while end > start, isBlank(end - 1) { end -= 1 }
    return start..<end
  }
}
