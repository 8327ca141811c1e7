import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

/// Returns the wrapped lines of a text.
private func lines(_ text: String, _ width: Int) -> [String] {
  let bytes = text.bytes
  var wrapper = LineWrapper(columns: width)
  var lines: [String] = []
  while let (range, taken) = wrapper.next(bytes.span) {
    let line = String(decoding: bytes[range], as: UTF8.self)
    #expect(taken <= width, "\(line)")
    #expect(taken == columns(Substring(line)), "\(line)")
    lines.append(line)
  }
  return lines
}

@Test(
  arguments: [
    ("", 10, []), ("a", 10, ["a"]), ("one two", 7, ["one two"]), ("one two", 6, ["one", "two"]),
    ("one two three", 7, ["one two", "three"]), ("one  two", 4, ["one", "two"]),
    ("a\nb", 10, ["a", "b"]), ("a\n\nb\n", 10, ["a", "", "b"]), ("\n", 10, [""]),
    ("one   ", 4, ["one"]), ("one   \ntwo", 3, ["one", "two"]), ("   one", 4, ["one"]),
    ("  a   b", 3, ["a", "b"]), ("          one", 5, ["one"]), ("a\tb", 1 + 1, ["a", "b"]),
    ("abcdefgh", 3, ["abc", "def", "gh"]), ("a bcdefgh", 4, ["a", "bcde", "fgh"]),
    ("abc def", 3, ["abc", "def"]), ("abc d", 4, ["abc", "d"]), ("ab cd", 5, ["ab cd"]),
    // Wide characters, without spaces between them.
    ("日本語", 4, ["日本", "語"]), ("日本語", 5, ["日本", "語"]), ("a日本", 4, ["a日", "本"]),
    ("日abc", 4, ["日ab", "c"]), ("ab日本cd", 5, ["ab日", "本cd"]), ("日本 語", 4, ["日本", "語"]),
    // The parts of one visible character stay together.
    ("e\u{301}e\u{301}e\u{301}", 2, ["e\u{301}e\u{301}", "e\u{301}"]),
    ("👍🏽👍🏽", 2, ["👍🏽", "👍🏽"]), ("a 👩\u{200D}🔧", 5, ["a", "👩\u{200D}🔧"]),
    // A control character takes one column, since another character stands for it.
    ("\u{1B}[1m", 2, ["\u{1B}[", "1m"]),
  ] as [(String, Int, [String])])
func `a text is wrapped between words, and a word longer than a line is split`(
  text: String, width: Int, expected: [String]
) {
  #expect(lines(text, width) == expected)
}

@Test func `wrapping drops nothing but spaces and line ends`() {
  var random = Seeded(7)
  let pieces = ["a", "bc", " ", "  ", "\n", "日", "é", "e\u{301}", "😀", "👩\u{200D}🔧", "\u{7F}", "🇫🇷"]
  for _ in 0..<300 {
    let text = (0..<Int.random(in: 0...30, using: &random)).map { _ in
      pieces.randomElement(using: &random)!
    }.joined()
    let wrapped = lines(text, Int.random(in: 2...12, using: &random)).joined()
    #expect(wrapped.utf8.filter { $0 > 0x20 } == text.utf8.filter { $0 > 0x20 }, "\(text)")
  }
}

@Test func `bytes that are not UTF-8 are wrapped, too`() {
  let bytes: [UInt8] = [0x61, 0xFF, 0xC3, 0x20, 0x80, 0xE2, 0x82]
  var wrapper = LineWrapper(columns: 2)
  var count = 0
  while let (range, taken) = wrapper.next(bytes.span) {
    #expect(taken <= 2)
    count += range.count
  }
  #expect(count == 6)
}
