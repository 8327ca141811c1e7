import TinyPush

/// Lines of the screen, wrapped to the terminal's width.
extension StatusScreen {
  /// Ends the line, and wraps the text that is too long.
  @inline(never)
  mutating func wrap(indent: Int, _ text: inout Text) {
    let indent = columns.map { min(indent, $0 / 4) } ?? indent
    while let columns, indent < columns, Self.width(of: line.bytes) > columns {
      let place = Self.lineBreak(in: line.bytes, columns: columns, from: indent)
      var rest = Text(capacity: 2048)
      for _ in 0..<indent { rest.append(" ") }
      rest.append(bytes: line.bytes.extracting(place..<line.count))
      write(line.unsafeBytes.extracting(0..<place), to: &text)
      swap(&line, &rest)
    }
    write(line.unsafeBytes, to: &text)
    line.clear()
  }

  /// Ends the line.
  @inline(never)
  mutating func end(_ text: inout Text) { wrap(indent: 4, &text) }

  /// Returns the index behind the last space that fits, or else the index where the columns end.
  private static func lineBreak(in line: Span<UInt8>, columns: Int, from indent: Int) -> Int {
    var width = 0
    var place = 0
    var isColour = false
    for index in line.indices {
      let byte = line[index]
      if byte == .escape { isColour = true }
      if !isColour {
        if byte & 0xC0 != 0x80 {
          if width == columns { return place > 0 ? place : index }
          width += 1
        }
        if byte == .space, width > indent { place = index + 1 }
      } else if byte == UInt8(ascii: "m") {
        isColour = false
      }
    }
    return line.count
  }

  /// Returns the columns that a line takes, without its colour sequences.
  private static func width(of line: Span<UInt8>) -> Int {
    var width = 0
    var isColour = false
    for index in line.indices {
      if line[index] == .escape { isColour = true }
      if !isColour, line[index] & 0xC0 != 0x80 { width += 1 }
      if line[index] == UInt8(ascii: "m") { isColour = false }
    }
    return width
  }

  /// Writes a line, which fits, and a line end.
  private func write(_ line: Span<UInt8>, to text: inout Text) {
    text.append(bytes: line)
    // Erase the old text at the end of each line rather than all at once: so nothing flickers.
    // Behind the last column, this would erase the last character that was written.
    if isWatched, Self.width(of: line) < columns ?? Int.max { text.append("\u{1B}[K") }
    text.append(isWatched ? "\r\n" : "\n")
  }
}
