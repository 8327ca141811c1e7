import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

private func unescaped(_ string: Span<UInt8>) -> String {
  TinyPushSandboxTests.text { $0.append(unescapingStrings: string) }
}

/// Returns the entries of a file as `KEY→VALUE`, or its error.
private func entries(_ file: String) -> [String] {
  let text = file.bytes
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

@Test(
  arguments: [
    ("", []), (" \n\t", []), (#""a" = "b";"#, ["a→b"]), (#""a"="b";"c"="d";"#, ["a→b", "c→d"]),
    ("/* one\n * two */ \"a\" /* three */ = // four\r\n \"b\" ; // five", ["a→b"]),
    (#""/* no */" = "// comment";"#, ["/* no */→// comment"]), ("/***/\"a\"=\"b\";", ["a→b"]),
    ("/**/\"a\"=\"b\";//", ["a→b"]),
    (#""" = "";"#, ["→"]),
    (#""a" = "1\n2\t3\"4\\5\'6\r7";"#, ["a→1\n2\t3\"4\\5'6\r7"]),
    (#""a\"b" = "\q\/\%";"#, ["a\"b→q/%"]),
    ("\"a\" = \"two\nlines\\\nthree\";", ["a→two\nlines\nthree"]),
    ("\"日本\" = \"é😀\";", ["日本→é😀"]), ("\"a\" = \"\\é\";", ["a→é"]),
  ] as [(String, [String])])
func `a strings file yields its keys and values`(file: String, expected: [String]) {
  #expect(entries(file) == expected)
}

@Test(arguments: [
  (#""a" "b";"#, "1:5: expected '=' after the key"), (#""a""#, "1:4: expected '='"),
  ("\"a\" = \"b\"\n\"c\" = \"d\";", "2:1: expected ';' after the text"),
  ("\"a\" = \"b\";\n\n  \"c\" = ;", "3:9: expected a text in double quotes"),
  ("\"é\" = ", "1:7: expected a text"), ("= \"b\";", "1:1: expected a key"),
  ("{ \"a\" = \"b\"; }", "1:1: expected a key"), ("\"a\" = \"b\";;", "1:11: expected a key"),
  (
    "\"a\" = \"say \"b\" to\";",
    "1:13: expected ';' after the text: is it missing, or does the text have a quote"
  ),
  ("\"a\" = \"b\";\n \"c\" = \"d", "2:8: nothing closes the quote"),
  (#""a\"#, "1:1: nothing closes the quote"),
  ("\"a\" = \"b\"; /* c", "1:12: nothing closes the comment"),
  ("/*/", "1:1: nothing closes the comment"), ("/", "1:1: expected a key"),
  ("a = \"b\";", "1:1: expected a key, in double quotes"),
  ("\u{FEFF}\"a\" = \"b\";", "1:1: expected a key, in double quotes; the file must be UTF-8"),
  ("bplist00\u{1}", "1:1: expected a key"),
])
func `an error in a strings file is described with line and column`(
  file: String, expected: String
) {
  let found = entries(file)
  #expect(found.count == 1 && found[0].hasPrefix(expected), "\(found)")
}

@Test(
  arguments: [
    ("a", "1"), ("é", "2"), ("with \"quotes\"", "3"), ("twice", "new"), ("", "empty"), ("b", nil),
    ("A", nil), ("aa", nil), ("with", nil),
  ] as [(String, String?)])
func `a key is found by its exact spelling, and its last entry counts`(key: String, value: String?)
  throws
{
  let file = #"""
    "a" = "1"; "é" = "2"; "with \"quotes\"" = "3";
    "twice" = "old"; "twice" = "new"; "" = "empty";
    """#.bytes
  let name = key.bytes
  let found = try StringsReader.value(of: name.span, in: file.span)
  #expect(found.map { unescaped(file.span.extracting($0)) } == value)
}

@Test func `a strings file with an error at its end gives no value`() {
  let file = #""a" = "1"; "b""#.bytes
  let name = "a".bytes
  #expect(throws: StringsProblem.self) { try StringsReader.value(of: name.span, in: file.span) }
}
