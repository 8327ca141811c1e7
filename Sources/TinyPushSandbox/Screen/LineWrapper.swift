import TinyPush

/// Breaks a text into lines of so many columns of a terminal: at its own line ends, between words, beside wide
/// characters (whose languages put no spaces), and within a word only if it is longer than a line.
struct LineWrapper {
  /// At least two, so that every character fits.
  private let columnsMax: Int
  /// Where the next line begins.
  private(set) var index = 0

  /// A place where a line may end, and where the next one would then begin.
  private struct Break {
    var end: Int
    var columns: Int
    var next: Int
  }

  init(columns: Int) {
    columnsMax = max(columns, 2)
  }

  /// The next line, and the columns that it takes; nil at the end of the text.
  mutating func next(_ text: Span<UInt8>) -> (line: Range<Int>, columns: Int)? {
    guard index < text.count else { return nil }
    skipSpaces(text)
    let start = index
    var place = start
    var columns = 0
    var latest: Break?
    var isBehindSpace = false
    var isBehindWide = false
    var isBehindJoiner = false
    while place < text.count, text[place] != .lineFeed {
      let character = TerminalCharacter(in: text, at: place)
      if character.isSpace {
        if !isBehindSpace { latest = Break(end: place, columns: columns, next: place) }
        latest?.next = place + character.length
      } else {
        if !isBehindSpace, !isBehindJoiner, character.columns > 0, place > start,
          isBehindWide || character.columns == 2
        {
          latest = Break(end: place, columns: columns, next: place)
        }
        if columns + character.columns > columnsMax {
          return end(start, latest ?? Break(end: place, columns: columns, next: place))
        }
      }
      isBehindSpace = character.isSpace
      if character.columns > 0 { isBehindWide = character.columns == 2 }
      isBehindJoiner = character.isJoiner
      columns += character.columns
      place += character.length
    }
    let next = min(place + 1, text.count)
    if isBehindSpace, var latest {
      latest.next = next
      return end(start, latest)
    }
    return end(start, Break(end: place, columns: columns, next: next))
  }

  /// No line begins with spaces.
  private mutating func skipSpaces(_ text: Span<UInt8>) {
    while index < text.count, text[index] != .lineFeed,
      TerminalCharacter(in: text, at: index).isSpace
    { index += 1 }
  }

  private mutating func end(_ start: Int, _ end: Break) -> (line: Range<Int>, columns: Int) {
    index = end.next
    return (start..<end.end, end.columns)
  }
}
