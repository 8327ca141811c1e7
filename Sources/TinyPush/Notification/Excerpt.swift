/// A line of a text as a terminal may show it, whatever it holds, and a caret under a place in it.
///
/// ```
///   {"token": "1234", "payload": {"aps": {"badge": "3"}}}
///              ^~~~
/// ```
public struct Excerpt {
  /// The shown part of the line, and whether it is cut at either side.
  private var shown: Range<Int>
  private var isCutBefore = false
  private var isCutBehind = false
  /// What stands where the line is cut.
  private let ellipsis: StaticString
  /// The columns before the place, and those that it takes.
  private var columnsBefore = 0
  private var columnsAt = 0

  /// - Parameters:
  ///   - line: where the line begins.
  ///   - place: what the caret is to stand under, up to the text's end.
  ///   - width: columns to be shown at most.
  ///   - ellipsis: a character, or ASCII.
  @inline(never)
  public init(
    _ text: Span<UInt8>, line: Int, place: Range<Int>, width: Int, ellipsis: StaticString = "…"
  ) {
    self.ellipsis = ellipsis
    // Whatever is cut leaves columns to its ellipsis.
    let room = max(width, 16) - 2 * Self.columns(of: ellipsis)
    let behind = Self.columns(text, from: place.lowerBound, to: text.count, room)
    // As much as can be of what stands before the place, but always some of what follows it.
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

  /// How far the line goes on within so many columns, and how many it takes.
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

  /// The part of the line.
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

  /// What stands before the caret in its line, and the caret.
  public func appendIndent(to output: inout Text) {
    let columns = columnsBefore + (isCutBefore ? Self.columns(of: ellipsis) : 0)
    for _ in 0..<columns { output.append(" ") }
  }

  public func appendCaret(to output: inout Text) {
    output.append("^")
    for _ in 1..<max(columnsAt, 1) { output.append("~") }
  }
}

extension Excerpt {
  /// Where what begins at a place ends, as far as that can be seen: a string, a word or number, a character.
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
