import CLinux
import TinyPush

extension Finding {
  /// Says it on standard error: where it is, as people count, what it is, and the line with a caret under the place.
  ///
  /// - Parameters:
  ///   - text: what it was found in, from the middle of a line on.
  ///   - name: of the file, or whatever is to stand before the words.
  ///   - before: how many lines stand before the text, and how many characters of its first line; nil: nobody could find
  ///     the place by numbers.
  func say(
    in text: Span<UInt8>, of name: Span<UInt8>, before: (lines: Int, characters: Int)?
  ) {
    let at = min(offset, text.count)
    var start = at
    while start > 0, text[start - 1] != 0x0A { start -= 1 }
    var words = Text(capacity: 4096)
    words.append(printable: name)
    words.append(":")
    if let before {
      var line = before.lines + 1
      for index in 0..<start where text[index] == 0x0A { line += 1 }
      var column = (start == 0 ? before.characters : 0) + 1
      for index in start..<at where text[index] & 0xC0 != 0x80 { column += 1 }
      words.append(line)
      words.append(":")
      words.append(column)
      words.append(":")
    }
    words.append(" ")
    describe(in: &words)
    let columns = Int(clinux_terminal_columns(STDERR_FILENO))
    let excerpt = Excerpt(
      text, line: start, place: at..<Excerpt.end(of: at, in: text),
      width: min(columns > 0 ? columns : 80, 400) - 2)
    words.append("\n  ")
    excerpt.appendLine(of: text, to: &words)
    words.append("\n  ")
    excerpt.appendIndent(to: &words)
    excerpt.appendCaret(to: &words)
    words.append("\n")
    words.write(to: STDERR_FILENO)
  }
}
