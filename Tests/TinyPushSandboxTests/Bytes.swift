@testable import Simulation
@testable import TinyPush

extension [UInt8] {
  var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

/// Returns what `body` writes into a text of `capacity` bytes.
func text(capacity: Int = 65_536, _ body: (inout Text) -> Void) -> String {
  var text = Text(capacity: capacity)
  body(&text)
  return String(text.bytes)
}

/// Returns the number of columns that a line takes on a terminal.
func columns(_ line: Substring) -> Int {
  let bytes = Array(line.utf8)
  var columns = 0
  var index = 0
  while index < bytes.count {
    let character = TerminalCharacter(in: bytes.span, at: index)
    columns += character.columns
    index += character.length
  }
  return columns
}
