import Testing

@testable import Simulation
@testable import TinyPush

@Test(arguments: [
  (0, 1, "0"), (7, 1, "7"), (7, 3, "007"), (-7, 2, "-07"), (1_234_567, 2, "1234567"),
  (Int.max, 1, "9223372036854775807"), (Int.min, 1, "-9223372036854775808"), (0, 0, ""),
])
func `numbers are written in decimal`(number: Int, digits: Int, expected: String) {
  #expect(text { $0.append(number, digits: digits) } == expected)
}

@Test func `unsigned numbers cover their whole range`() {
  #expect(text { $0.append(UInt64.max) } == "18446744073709551615")
  #expect(text { $0.append(UInt8.max) } == "255")
}

@Test(arguments: [
  ("", #""""#),
  ("plain / text", #""plain / text""#),
  (#"a"b\c"#, #""a\"b\\c""#),
  ("\n\t\r\u{8}\u{0}\u{1F}", #""\n\t\u000d\u0008\u0000\u001f""#),
  ("\u{7F}", #""\u007f""#),
  ("ä€😀", #""ä€😀""#),
])
func `text is written as a JSON string`(plain: String, json: String) throws {
  let written = text { $0.append(json: plain.bytes.span) }
  #expect(written == json)
  var scanner = JSONScanner()
  let inner = try scanner.string(written.bytes.span)
  #expect(inner == 1..<written.utf8.count - 1)
}

@Test(arguments: [
  ("ff", "\u{FF}"), ("41 c3 42", "A\u{C3}B"), ("c3", "\u{C3}"), ("4b fc 63 68 65", "Küche"),
  ("c3 bc fc", "üü"), ("80 81 9f", "€\u{FFFD}\u{178}"), ("ed a0 80", "\u{ED}\u{A0}€"),
])
func `bytes that are not UTF-8 are taken as Windows-1252 in texts`(hex: String, json: String) {
  let bytes = [UInt8](hex: hex)
  #expect(text { $0.append(escaping: bytes.span) } == json)
  #expect(text { $0.append(json: bytes.span) } == "\"\(String(decoding: bytes, as: UTF8.self))\"")
}

@Test func `commas are written automatically in JSON`() {
  let written = text {
    for number in [-1, 7] {
      $0.beginObject()
      $0.member("number", number: number)
      $0.member("no number", number: nil as Int?)
      $0.key(escaping: "\"{[:".bytes.span)
      $0.beginArray()
      $0.element(string: "{".bytes.span)
      $0.element(string: "".bytes.span)
      $0.beginObject()
      $0.endObject()
      $0.endArray()
      $0.member("flag", bool: true)
      $0.member("time", milliseconds: 12_034)
      $0.member("bytes", hex: [0xAB].span)
      $0.member("word", word: "[")
      $0.member("value", compacting: " [1,\n \"a \\\" b\" ] ".bytes.span)
      $0.member("rest", raw: "{}".bytes.span)
      $0.endLine()
    }
  }
  let rest = #"""
    "no number":null,"\"{[:":["{","",{}],"flag":true,"time":12.034,"bytes":"ab","word":"[",\#
    "value":[1,"a \" b"],"rest":{}}
    """#
  #expect(written == "{\"number\":-1,\(rest)\n{\"number\":7,\(rest)\n")
}

@Test func `printable text cannot control a terminal`() {
  let hostile = "a\u{1B}[2J\nb\u{7F}é~ ".bytes
  #expect(text { $0.append(printable: hostile.span) } == #"a\x1b[2J\x0ab\x7f\xc3\xa9~ "#)
}

@Test(arguments: [
  ("a-b_c.d/e+f,1", "a-b_c.d/e+f,1"), ("$(touch pwned)", "'$(touch pwned)'"), ("", "''"),
  ("a'b`c", #"'a'\''b`c'"#), ("a;b", "'a;b'"), ("é ☀", "'é ☀'"), ("~root", "'~root'"),
  ("a\u{1B}[2J\nb\u{202E}", #"'a\x1b[2J\x0ab\xe2\x80\xae'"#),
])
func `a word of a command is quoted for the shell, and cannot control a terminal`(
  word: String, quoted: String
) {
  let bytes = word.bytes
  #expect(text { $0.append(shell: bytes.span) } == quoted)
}

@Test func `hex has two lower-case digits a byte`() {
  #expect(text { $0.append(hex: [0, 9, 10, 255].span) } == "00090aff")
}

@Test func `text that does not fit is cut, and isCut is set`() {
  var text = Text(capacity: 5)
  text.append("abc")
  #expect(text.isCut == false)
  text.append("def")
  #expect(text.isCut == true)
  #expect(String(text.bytes) == "abcde")
  text.append(byte: 0x66)
  text.append(12)
  text.append(json: "x".bytes.span)
  #expect(String(text.bytes) == "abcde")
  text.clear()
  #expect(text.count == 0 && !text.isCut)
  text.append("12345")
  #expect(text.isCut == false)
}

@Test func `a UTF-8 sequence is valid exactly if the standard library accepts it`() {
  for first in UInt8(0x80)...0xFF {
    for second in stride(from: UInt8(0), through: 0xF0, by: 1)
    where second % 16 == 0 || second % 16 == 15 {
      for tail: [UInt8] in [[], [0x80], [0xBF], [0x80, 0xBF], [0x41], [0x80, 0x41]] {
        let bytes = [first, second] + tail
        let length = UTF8Sequence.length(in: bytes.span, at: 0)
        let expected = (2...4).first {
          $0 <= bytes.count
            && String(validating: bytes[..<$0], as: UTF8.self)?.unicodeScalars.count == 1
        }
        #expect(length == expected ?? 0, "\(bytes.hex)")
      }
    }
  }
}
