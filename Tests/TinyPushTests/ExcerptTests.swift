import Testing

@testable import Simulation
@testable import TinyPush

/// Returns the excerpt's line and the caret's line for a text with ▸ before the place.
private func excerpt(_ marked: String, width: Int = 60) -> [String] {
  let place = marked.utf8.count - marked[marked.firstRange(of: "▸")!.lowerBound...].utf8.count
  return excerpt(marked.replacing("▸", with: "").bytes, place: place, width: width)
}

private func excerpt(_ bytes: [UInt8], place: Int, width: Int) -> [String] {
  let line = bytes[..<place].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
  let end = Excerpt.end(of: place, in: bytes.span)
  let excerpt = Excerpt(bytes.span, line: line, place: place..<end, width: width)
  return [
    text(capacity: 8192) { excerpt.appendLine(of: bytes.span, to: &$0) },
    text(capacity: 8192) {
      excerpt.appendIndent(to: &$0)
      excerpt.appendCaret(to: &$0)
    },
  ]
}

@Test(arguments: [
  (#"{"a": ▸"b c", 1}"#, #"{"a": "b c", 1}"#, "      ^~~~~"),
  (#"{"a": ▸"b\"c"}"#, #"{"a": "b\"c"}"#, "      ^~~~~~"),
  (#"{"a": ▸-12.5e+3,"#, #"{"a": -12.5e+3,"#, "      ^~~~~~~~"),
  (#"▸{"a"}"#, #"{"a"}"#, "^"), ("a\nb ▸c\nd", "b c", "  ^"), ("a▸", "a", " ^"), ("▸", "", "^"),
  ("ab▸\ncd", "ab", "  ^"), (#"x ▸"open"#, #"x "open"#, "  ^~~~~"),
  ("x ▸\"a\n\"", #"x "a"#, "  ^~"), ("x ▸\"a\\\n\"", #"x "a\"#, "  ^~~"),
  ("\ta\r▸b\r\n", " a b ", "   ^"),
  // Wide characters take two columns, combining ones none.
  (#""日本" ▸"語""#, #""日本" "語""#, "       ^~~~"), ("e\u{301}▸x", "e\u{301}x", " ^"),
  ("👩🏽 ▸x", "👩🏽 x", "   ^"), ("ü€ ▸x", "ü€ x", "   ^"),
  // Characters that would control the terminal or are invisible.
  ("\u{1B}[31m▸x", "\u{FFFD}[31mx", "     ^"), ("\u{7F}\0▸x", "\u{FFFD}\u{FFFD}x", "  ^"),
  ("\u{9B}31m\u{202E}\u{200B}▸x", "\u{FFFD}31m\u{FFFD}\u{FFFD}x", "      ^"),
  ("▸\u{FEFF}{}", "\u{FFFD}{}", "^"),
])
func `a line is shown unchanged with a caret under the place`(
  marked: String, line: String, caret: String
) {
  #expect(excerpt(marked) == [line, caret])
}

@Test func `a long line is cut around the place`() {
  let x = String(repeating: "x", count: 100)
  let y = String(repeating: "y", count: 100)
  func spaces(_ count: Int) -> String { String(repeating: " ", count: count) + "^" }
  let rows: [(marked: String, line: String, caret: String)] = [
    ("▸{\(y)", "{\(y.prefix(17))…", "^"),
    ("\(x)▸{", "…\(x.prefix(17)){", spaces(18)),
    ("\(x)▸{\(y)", "…\(x.prefix(12)){\(y.prefix(5))…", spaces(13)),
    ("\(x)▸", "…\(x.prefix(18))", spaces(19)),
  ]
  for row in rows {
    #expect(excerpt(row.marked, width: 20) == [row.line, row.caret])
  }
}

@Test func `a line of the full width is not cut for any place`() {
  let line = (0..<18).map { "\($0 % 10)" }.joined()
  for place in 0...18 {
    let shown = excerpt(line.bytes, place: place, width: 20)
    #expect(shown[0] == line)
    #expect(shown[1].prefix { $0 == " " }.count == place)
  }
}

@Test(arguments: 0..<40)
func `an excerpt of a hostile line contains only printable characters`(seed: UInt64) {
  var random = Seeded(seed)
  let parts: [[UInt8]] = [
    [0x1B], [0x9B], [0xC2, 0x9B], [0xFF], [0xE2, 0x80], [0xE2, 0x80, 0xAE], [0x00], [0x0D], [0x08],
    [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x98, 0x80], [0xCC, 0x81], [0x41], [0x22], [0x5C],
    [0x80, 0x80],
    [0xEF, 0xBB, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0x5D], [0xE6, 0x97, 0xA5],
  ]
  var bytes: [UInt8] = []
  for _ in 0..<200 { bytes += parts[Int.random(in: 0..<parts.count, using: &random)] }
  for place in 0...bytes.count {
    for width in [1, 20, 60] {
      let shown = excerpt(bytes, place: place, width: width)
      for line in shown {
        for scalar in line.unicodeScalars {
          let isShown =
            scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value) && scalar != "\u{202E}"
            && scalar != "\u{FEFF}"
          #expect(isShown, "U+\(String(scalar.value, radix: 16))")
        }
      }
      #expect(shown[1].count <= max(width, 16) + 1)
    }
  }
}
