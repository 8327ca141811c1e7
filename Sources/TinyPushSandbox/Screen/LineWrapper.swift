import TinyPush

/// Breaks a text into lines for a terminal.
///
/// It breaks at line ends and between words, and within a word only if it is longer than a line.
struct LineWrapper {
  /// The width of a line, at least two, so that every character fits.
  private let columnsMax: Int
  /// The index at which the next line begins.
  private(set) var index = 0

  init(columns: Int) {
    columnsMax = max(columns, 2)
  }

  /// Returns the next line and its width; nil at the end of the text.
  mutating func next(_ text: Span<UInt8>) -> (line: Range<Int>, columns: Int)? {
    guard index < text.count else { return nil }
    // Skip spaces at the beginning of a line.
    while index < text.count, text[index] != .lineFeed,
      TerminalCharacter(in: text, at: index).isSpace
    { index += 1 }
    let start = index
    var columns = 0
    var word = (end: start, columns: 0)
    var isBehindSpace = false
    while index < text.count, text[index] != .lineFeed {
      let character = TerminalCharacter(in: text, at: index)
      if character.isSpace {
        if !isBehindSpace { word = (index, columns) }
      } else if columns + character.columns > columnsMax {
        if word.columns == 0 { word = (index, columns) }
        index = word.end
        return (start..<word.end, word.columns)
      }
      isBehindSpace = character.isSpace
      columns += character.columns
      index += character.length
    }
    if !isBehindSpace { word = (index, columns) }
    index = min(index + 1, text.count)
    return (start..<word.end, word.columns)
  }
}
