import TinyPush

/// Lines of the screen, which a terminal must have room for.
extension StatusScreen {
  /// Ends the line, and puts what it has no room for on others.
  @inline(never)
  mutating func wrap(indent: Int, _ text: inout Text) {
    let indent = columns.map { min(indent, $0 / 4) } ?? indent
    while let columns, indent < columns, Self.width(of: line.bytes) > columns {
      let place = Self.lineBreak(in: line.bytes, columns: columns, from: indent)
      var rest = Text(capacity: 2048)
      for _ in 0..<indent { rest.append(" ") }
      rest.append(bytes: line.bytes.extracting(place..<line.count))
      write(line.looseBytes.extracting(0..<place), to: &text)
      swap(&line, &rest)
    }
    write(line.looseBytes, to: &text)
    line.clear()
  }

  /// Ends the line.
  @inline(never)
  mutating func end(_ text: inout Text) { wrap(indent: 4, &text) }

  /// Behind the last space within so many columns; or where they end.
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

  /// The columns that a line takes, less its colours.
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

  /// As much of a line as there is room for, and its end. Colours take none, and the last of them must be heard.
  @inline(never)
  private func write(_ line: Span<UInt8>, to text: inout Text) {
    var room = columns ?? Int.max
    var isColour = false
    var isCut = false
    for index in line.indices {
      let byte = line[index]
      if byte == .escape { isColour = true }
      if !isColour, byte & 0xC0 != 0x80 {
        isCut = room == 0
        if !isCut { room -= 1 }
      }
      if isColour || !isCut { text.append(byte: byte) }
      if byte == UInt8(ascii: "m") { isColour = false }
    }
    // What stood there before is wiped out at the end of each line, and not all of it at once: nothing flickers. A cursor that has
    // come to the last column would wipe out what was just written.
    if isWatched, room > 0 { text.append("\u{1B}[K") }
    text.append(isWatched ? "\r\n" : "\n")
  }
}
