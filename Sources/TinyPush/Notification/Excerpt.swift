/// A line of an untrusted text, made safe to show on a terminal, with a caret under a place in it.
///
/// ```
///   {"token": "1234", "payload": {"aps": {"badge": "3"}}}
///              ^~~~
/// ```
public struct Excerpt {
  /// The shown part of the line.
  private var shown: Range<Int>
  private var isCutBefore = false
  private var isCutBehind = false
  /// The text shown where the line is cut off.
  private let ellipsis: StaticString
  /// The columns before the place.
  private var columnsBefore = 0
  /// The columns of the place.
  private var columnsAt = 0

  /// Chooses the part of the line to show.
  ///
  /// - Parameters:
  ///   - line: the index where the line begins.
  ///   - place: the range to mark with the caret.
  ///   - width: the most columns to show.
  ///   - ellipsis: one character, or ASCII text.
  @inline(never)
  public init(
    _ text: Span<UInt8>, line: Int, place: Range<Int>, width: Int, ellipsis: StaticString = "…"
  ) {
    self.ellipsis = ellipsis
    // Keep columns free for an ellipsis at either side.
    let room = max(width, 16) - 2 * Self.columns(of: ellipsis)
    let behind = Self.columns(text, from: place.lowerBound, to: text.count, room)
    // Show as much as fits of the text before the place, but keep a third for the text from there.
    let roomBefore = room - min(behind.columns, room / 3)
    var start = place.lowerBound
    while start > line, place.lowerBound - start < 4 * room {
      let previous = TerminalCharacter(in: text, before: start)
      guard columnsBefore + previous.columns <= roomBefore else { break }
      columnsBefore += previous.columns
      start -= previous.length
    }
    let rest = room - columnsBefore
    let end = Self.columns(text, from: place.lowerBound, to: text.count, rest).end
    columnsAt = Self.columns(text, from: place.lowerBound, to: place.upperBound, rest).columns
    isCutBefore = start > line
    isCutBehind = end < text.count && text[end] != .lineFeed
    shown = start..<end
  }

  private static func columns(of ellipsis: StaticString) -> Int {
    ellipsis.utf8Start[0] < 0x80 ? ellipsis.utf8CodeUnitCount : 1
  }

  /// Returns where the line ends within `room` columns, and the number of columns to there.
  @inline(never)
  private static func columns(
    _ text: Span<UInt8>, from start: Int, to limit: Int, _ room: Int
  ) -> (end: Int, columns: Int) {
    var end = start
    var columns = 0
    while end < limit, text[end] != .lineFeed, end - start < 4 * room {
      let next = TerminalCharacter(in: text, at: end)
      guard columns + next.columns <= room else { break }
      columns += next.columns
      end += next.length
    }
    return (end, columns)
  }

  /// Appends the shown part of the line.
  public func appendLine(of text: Span<UInt8>, to output: inout Text) {
    if isCutBefore { output.append(ellipsis) }
    var index = shown.lowerBound
    while index < shown.upperBound {
      let character = TerminalCharacter(in: text, at: index)
      character.append(from: text, at: index, to: &output)
      index += character.length
    }
    if isCutBehind { output.append(ellipsis) }
  }

  /// Appends the spaces before the caret.
  public func appendIndent(to output: inout Text) {
    let columns = columnsBefore + (isCutBefore ? Self.columns(of: ellipsis) : 0)
    for _ in 0..<columns { output.append(" ") }
  }

  /// Appends the caret and the tildes after it.
  public func appendCaret(to output: inout Text) {
    output.append("^")
    for _ in 1..<max(columnsAt, 1) { output.append("~") }
  }
}

extension Excerpt {
  /// Returns the end of the string, word, number or character that begins at a place.
  public static func end(of place: Int, in text: Span<UInt8>) -> Int {
    guard place < text.count, text[place] != .lineFeed else { return place }
    guard text[place] != .quote else {
      var end = place + 1
      while end < text.count, text[end] != .quote, text[end] != .lineFeed {
        end += text[end] == .backslash && end + 1 < text.count && text[end + 1] != .lineFeed ? 2 : 1
      }
      return end < text.count && text[end] == .quote ? end + 1 : end
    }
    var end = place
    while end < text.count, isOfWord(text[end]) { end += 1 }
    return end > place ? end : place + TerminalCharacter(in: text, at: place).length
  }

  private static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8.digits, UInt8.capitals, UInt8.smallLetters, .plus, .hyphen, .dot, .underscore: true
    default: false
    }
  }
}
