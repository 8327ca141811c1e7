extension Text {
  /// Appends text for a terminal that shows only ASCII.
  ///
  /// Lines, bars and marks are replaced by similar ASCII characters, all other characters by
  /// question marks. The result is never longer in bytes.
  ///
  /// - Parameter ellipsis: at most three characters, which replace `…`.
  @inline(never)
  public mutating func append(ascii bytes: Span<UInt8>, ellipsis: StaticString = "...") {
    var index = 0
    while index < bytes.count {
      let first = bytes[index]
      guard first >= 0x80 else {
        append(byte: first)
        index += 1
        continue
      }
      let character = TerminalCharacter(in: bytes, at: index)
      let isWhole = UTF8Sequence.length(in: bytes, at: index) > 0
      switch isWhole ? JSONUnit(in: bytes, at: index).scalar : 0 {
      case 0x2026: append(ellipsis)
      case 0x2192: append(">")
      // Lines, and the corners of a box.
      case 0x2500, 0x254C: append("-")
      case 0x2502: append("|")
      case 0x256D...0x2570: append("+")
      // Bars, one eighth higher each.
      case 0x2581: append("_")
      case 0x2582: append(".")
      case 0x2583: append(":")
      case 0x2584: append("-")
      case 0x2585: append("=")
      case 0x2586: append("+")
      case 0x2587: append("*")
      case 0x2588: append("#")
      case 0x2591: append(".")
      // A tick and a cross.
      case 0x2713: append("+")
      case 0x2717: append("x")
      default: for _ in 0..<character.columns { append("?") }
      }
      index += character.length
    }
  }
}
