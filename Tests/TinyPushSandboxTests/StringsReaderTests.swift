import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

private func unescaped(_ string: Span<UInt8>) -> String {
  var unescaper = StringsUnescaper()
  var bytes: [UInt8] = []
  while let byte = unescaper.next(in: string) { bytes.append(byte) }
  return String(decoding: bytes, as: UTF8.self)
}

/// The entries of a file, or what is wrong with it.
private func entries(_ file: [UInt8]) -> [String] {
  let decoded = StringsEncoding.decode(file.span)
  let text = [UInt8](decoded.bytes)
  var reader = StringsReader()
  var entries: [String] = []
  do throws(StringsProblem) {
    while let entry = try reader.next(text.span) {
      entries.append(
        unescaped(text.span.extracting(entry.key)) + "→"
          + unescaped(text.span.extracting(entry.value)))
    }
  } catch {
    return [TinyPushSandboxTests.text { error.describe(in: text.span, to: &$0) }]
  }
  return entries
}

private func entries(_ file: String) -> [String] { entries(file.bytes) }

@Test(
  arguments: [
    ("", []), (" \n\t", []), (#""a" = "b";"#, ["a→b"]), (#""a"="b";"c"="d";"#, ["a→b", "c→d"]),
    ("/* one\n * two */ \"a\" /* three */ = // four\r\n \"b\" ; // five", ["a→b"]),
    (#""/* no */" = "// comment";"#, ["/* no */→// comment"]), ("/***/\"a\"=\"b\";", ["a→b"]),
    ("/**/\"a\"=\"b\";//", ["a→b"]),
    (#"DOOR_OPEN = "%@";"#, ["DOOR_OPEN→%@"]), ("a.b/c:d-e$1 = word;", ["a.b/c:d-e$1→word"]),
    ("'a\"b' = 'c';", ["a\"b→c"]), (#""" = "";"#, ["→"]),
    (#""a" = "1\n2\t3\"4\\5\'6\r7";"#, ["a→1\n2\t3\"4\\5'6\r7"]),
    (#""a\"b" = "\q\/\%";"#, ["a\"b→q/%"]),
    ("\"a\" = \"two\nlines\\\nthree\";", ["a→two\nlines\nthree"]),
    (#""a" = "\U00e9\U20AC\Ud83d\Ude00x";"#, ["a→é€😀x"]), ("\"日本\" = \"é😀\";", ["日本→é😀"]),
    ("\"a\" = \"\\é\";", ["a→é"]), ("\u{FEFF}\"a\" = \"b\";", ["a→b"]),
  ] as [(String, [String])])
func `the entries of a strings file`(file: String, expected: [String]) {
  #expect(entries(file) == expected)
}

@Test(arguments: [
  (#""a" "b";"#, "1:5: expected '=' after the key"), (#""a""#, "1:4: expected '='"),
  ("\"a\" = \"b\"\n\"c\" = \"d\";", "2:1: expected ';' behind the text"),
  ("\"a\" = \"b\";\n\n  \"c\" = ;", "3:9: expected a text in double quotes"),
  ("\"é\" = ", "1:7: expected a text"), ("= \"b\";", "1:1: expected a key"),
  ("{ \"a\" = \"b\"; }", "1:1: expected a key"), ("\"a\" = \"b\";;", "1:11: expected a key"),
  (
    "\"a\" = \"say \"b\" to\";",
    "1:13: expected ';' behind the text: is it missing, or is there a quote"
  ),
  ("\"a\" = \"b\";\n \"c\" = \"d", "2:8: nothing closes the quote"),
  (#""a\"#, "1:1: nothing closes the quote"),
  ("\"a\" = \"b\"; /* c", "1:12: nothing closes the comment"),
  ("/*/", "1:1: nothing closes the comment"), ("/", "1:2: expected '='"),
  (#""a" = "é\U12";"#, "1:9: \\U takes four"), (#""a" = "\U12g4";"#, "1:8: \\U takes four"),
  (#""a" = "\U123"#, "1:8: \\U takes four"), (#""a" = "\Udc00";"#, "1:8: half of a surrogate"),
  // A small u is a letter like any other.
  (#""a" = "\U00e9\Ud83d\ude00x";"#, "1:14: half of a surrogate pair"),
  (#""a" = "\Ud800";"#, "1:8: half of a surrogate"), (#""a" = "\Ud800\U0041";"#, "1:8: half of a"),
  ("bplist00\u{1}", "1:9: expected '=' after the key"),
])
func `what is wrong with a strings file is said, with line and column`(
  file: String, expected: String
) {
  let found = entries(file)
  #expect(found.count == 1 && found[0].hasPrefix(expected), "\(found)")
}

@Test func `a slash alone is a word`() {
  #expect(entries("/ = /;") == ["/→/"])
}

@Test func `bytes that are no text are said to be none`() {
  for bytes: [UInt8] in [
    [0xC3], [0xFF], [0xED, 0xA0, 0x80], [0xC0, 0x80], [0xF4, 0x90, 0x80, 0x80],
  ] {
    #expect(
      entries("\"a\" = \"b".bytes + bytes + "\";".bytes)
        == ["1:9: neither UTF-8 nor UTF-16 with a byte order mark"])
  }
  #expect(entries("\"".bytes + [0, 0x61, 0, 0x22, 0]).count == 1)
}

@Test func `a file may be UTF-16 of either order, behind a byte order mark`() {
  let file = "\u{FEFF}/* é */\n\"日本\" = \"😀\";\n"
  let units = Array(file.utf16)
  let expected = ["日本→😀"]
  #expect(entries(units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }) == expected)
  #expect(entries(units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }) == expected)
  // The line and column are those of the text.
  let wrong = Array("\u{FEFF}\"é\" = \"😀\"\n\"".utf16).flatMap {
    [UInt8($0 & 0xFF), UInt8($0 >> 8)]
  }
  #expect(entries(wrong)[0].hasPrefix("2:1: expected ';'"))
  // Half of a pair, and half of a unit.
  let halves: [UInt16] = [0xFEFF, 0x61, 0x3D, 0x22, 0xD800, 0x62, 0xDC00, 0x22, 0x3B]
  #expect(
    entries(halves.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } + [0x20]) == [
      "a→\u{FFFD}b\u{FFFD}"
    ])
  #expect(entries([0xFE, 0xFF]) == [])
}

@Test(
  arguments: [
    ("a", "1"), ("é", "2"), ("with \"quotes\"", "3"), ("twice", "new"), ("", "empty"), ("b", nil),
    ("A", nil), ("aa", nil), ("with", nil),
  ] as [(String, String?)])
func `a key is found as it is spelled, and the last one of its name`(key: String, value: String?)
  throws
{
  let file = #"""
    "a" = "1"; "\U00e9" = "2"; "with \"quotes\"" = "3";
    twice = "old"; "twice" = "new"; "" = "empty";
    """#.bytes
  let name = key.bytes
  let found = try StringsReader.value(of: name.span, in: file.span)
  #expect(found.map { unescaped(file.span.extracting($0)) } == value)
}

@Test func `of a file that is broken at its end nothing is taken`() {
  let file = #""a" = "1"; "b""#.bytes
  let name = "a".bytes
  #expect(throws: StringsProblem.self) { try StringsReader.value(of: name.span, in: file.span) }
}
