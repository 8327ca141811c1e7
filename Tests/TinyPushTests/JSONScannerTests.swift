import Testing

@testable import Simulation
@testable import TinyPush

/// The scanner's result for a text that should hold one value.
private enum ScanResult: Equatable {
  case value
  case problem(JSONProblem, at: Int)
  /// More text follows the value.
  case trailing(at: Int)
}

private func scan(_ text: [UInt8]) -> ScanResult {
  var scanner = JSONScanner()
  do throws(JSONProblem) {
    try scanner.begin(text.span)
    try scanner.skipValue(text.span)
  } catch {
    return .problem(error, at: scanner.index)
  }
  scanner.skipSpace(text.span)
  return scanner.index == text.count ? .value : .trailing(at: scanner.index)
}

/// A text, valid JSON or not, with ▸ before the wrong byte.
struct Document: Sendable, CustomStringConvertible {
  var name: String
  var problem: JSONProblem?
  var bytes: [UInt8]
  var offset = 0

  var description: String { name }

  init(_ name: String, _ text: String) {
    self.name = name
    bytes = text.bytes
  }

  init(_ name: String, _ problem: JSONProblem, _ marked: String) {
    self.name = name
    self.problem = problem
    bytes = marked.replacing("▸", with: "").bytes
    offset = marked.utf8.count - marked[marked.firstRange(of: "▸")!.lowerBound...].utf8.count
  }

  init(_ name: String, _ problem: JSONProblem?, at offset: Int, hex: String) {
    self.name = name
    self.problem = problem
    bytes = [UInt8](hex: hex)
    self.offset = offset
  }

  fileprivate var outcome: ScanResult { problem.map { .problem($0, at: offset) } ?? .value }
}

/// Texts that the grammar allows.
private let valid = [
  Document("an empty object", "{}"),
  Document("an empty array", "[]"),
  Document("empty ones with white space in them", "[{ },[\t\n]]"),
  Document("one member", #"{"a":1}"#),
  Document("several members", #"{"a":1,"b":"c","d":[],"e":{},"f":null}"#),
  Document("an empty key", #"{"":0}"#),
  Document("the same key twice", #"{"a":1,"a":2}"#),
  Document("a key of escapes", #"{"\u0061\n\"":1}"#),
  Document("arrays in arrays", "[[],[[]],[[[]]]]"),
  Document("objects in arrays in objects", #"{"a":[{"b":[{}]}]}"#),
  Document("values of all kinds", #"["",0,-1.5e+3,{},[],true,false,null]"#),
  Document(
    "white space of all kinds everywhere", " \t\r\n{ \"a\" \n:\r[ \t1 , 2 ] , \"b\" : { } } \n"),
  Document("line ends between values", "[\n1\n,\n\n2\n]"),
  Document("true", "true"),
  Document("false", "false"),
  Document("null", "null"),
  Document("an empty string", #""""#),
  Document("one letter", #""a""#),
  Document("every short escape", #""\"\\\/\b\f\n\r\t""#),
  Document(
    "escapes by number, in small and large digits", #""\u0000\u001f\u007F\uABCD\uabcd\uffff""#),
  Document("a pair of surrogates", #""\uD800\uDC00\udbff\udfff""#),
  Document("what looks like an escape and is none", #""\\u12\\""#),
  Document("brackets, commas and colons in a string", #""{[,:]}""#),
  Document("every printable character of ASCII", #"" !#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}~""#),
  Document("DEL, which is no control character to JSON", "\"\u{7F}\""),
  Document(
    "the edges of UTF-8", "\"\u{80}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}\""),
  Document(
    "characters that are none, and a mark inside a string",
    "\"\u{FFFE}\u{FFFF}\u{1FFFE}\u{FEFF}\u{2028}\""),
  Document("zero", "0"),
  Document("minus zero", "-0"),
  Document("a number of one digit", "7"),
  Document("a negative number", "-12"),
  Document("a fraction", "0.5"),
  Document("a fraction of zeros", "-10.000"),
  Document("an exponent", "1e5"),
  Document("a large E with plus", "1E+05"),
  Document("an exponent with minus, behind a fraction", "-0.0e-0"),
  Document("zero with an exponent", "0e0"),
  Document("a number larger than any machine's", String(repeating: "9", count: 400)),
  Document("an exponent out of all range", "-1e999999999999"),
  Document("numbers that end where their array does", "[0,-0,1.5,2e3]"),
]

/// Texts that the grammar does not allow, by problem.
private let invalid = [
  Document("nothing", .unexpectedEnd, "▸"),
  Document("nothing but white space", .unexpectedEnd, " \n▸"),
  Document("an object without its end", .unexpectedEnd, #"{"a":1▸"#),
  Document("an array without its end", .unexpectedEnd, "[1,[2]▸"),
  Document("a string without its end", .unexpectedEnd, #""abc▸"#),
  Document("a string that ends in a backslash", .unexpectedEnd, #""abc\▸"#),
  Document("an escape without its digits", .unexpectedEnd, #""abc\u00▸"#),
  Document("the first half of a pair and no more", .unexpectedEnd, #""\uD800▸"#),
  Document("the first half of a pair and a backslash", .unexpectedEnd, #""\uD800\▸"#),
  Document("a pair without its last digit", .unexpectedEnd, #""\uD800\uDC0▸"#),
  Document("half a character", .unexpectedEnd, at: 4, hex: "22 F0 9F 98"),
  Document("half a word", .unexpectedEnd, "tru▸"),
  Document("a minus alone", .unexpectedEnd, "-▸"),
  Document("a point alone", .unexpectedEnd, "1.▸"),
  Document("an exponent without digits", .unexpectedEnd, "1e▸"),
  Document("an exponent of a sign alone", .unexpectedEnd, "1e+▸"),
  Document("half a byte order mark", .unexpectedEnd, at: 2, hex: "EF BB"),

  Document("a word without quotes", .expectedValue, "▸abc"),
  Document("a word that goes wrong late", .expectedValue, "fals▸y"),
  Document("a word in capitals", .expectedValue, "▸TRUE"),
  Document("NaN", .expectedValue, "[▸NaN]"),
  Document("Infinity", .expectedValue, "[▸Infinity]"),
  Document("minus Infinity", .invalidNumber, "[-▸Infinity]"),
  Document("undefined", .expectedValue, "[▸undefined]"),
  Document("single quotes", .expectedValue, "[▸'a']"),
  Document("a comment", .expectedValue, "[▸/* 1 */ 1]"),
  Document("a comma first", .expectedValue, "[▸,1]"),
  Document("two commas", .expectedValue, "[1,▸,2]"),
  Document("a colon for a value", .expectedValue, #"{"a":▸:1}"#),
  Document("a member without its value", .expectedValue, #"{"a":▸}"#),
  Document("a member without its value, before another", .expectedValue, #"{"a":▸,"b":1}"#),
  Document("an array closed by a brace", .expectedValue, "[▸}"),
  Document("a bracket alone", .expectedValue, "▸]"),
  Document("a brace alone", .expectedValue, "▸}"),
  Document("a number with a plus", .expectedValue, "[▸+1]"),
  Document("a fraction without its zero", .expectedValue, "[▸.5]"),
  Document("a NUL for a value", .expectedValue, "[▸\0]"),
  Document("a form feed for white space", .expectedValue, "[▸\u{C}1]"),
  Document("a space that is not ASCII", .expectedValue, "[▸\u{A0}1]"),
  Document("a byte order mark within", .expectedValue, "[▸\u{FEFF}1]"),

  Document("a key without quotes", .expectedKey, "{▸a:1}"),
  Document("a key in single quotes", .expectedKey, "{▸'a':1}"),
  Document("a number for a key", .expectedKey, "{▸1:2}"),
  Document("null for a key", .expectedKey, "{▸null:2}"),
  Document("an object for a key", .expectedKey, "{▸{}:2}"),
  Document("a comma before the first key", .expectedKey, #"{▸,"a":1}"#),
  Document("two commas between members", .expectedKey, #"{"a":1,▸,"b":2}"#),
  Document("an object closed by a bracket", .expectedKey, "{▸]"),
  Document("a comment before a key", .expectedKey, "{▸// a\n}"),
  Document("a NUL for a key", .expectedKey, "{▸\0}"),

  Document("a key without a colon", .expectedColon, #"{"a" ▸1}"#),
  Document("a comma for a colon", .expectedColon, #"{"a"▸,1}"#),
  Document("an equals sign for a colon", .expectedColon, #"{"a"▸=1}"#),
  Document("a key alone", .expectedColon, #"{"a"▸}"#),
  Document("two keys", .expectedColon, #"{"a"▸"b":1}"#),

  Document("two members without a comma", .expectedCommaOrBrace, #"{"a":1 ▸"b":2}"#),
  Document("a semicolon between members", .expectedCommaOrBrace, #"{"a":1▸;"b":2}"#),
  Document("a second colon", .expectedCommaOrBrace, #"{"a":"b"▸:1}"#),
  Document("a member closed by a bracket", .expectedCommaOrBrace, #"{"a":1▸]"#),
  Document("a hexadecimal number", .expectedCommaOrBrace, #"{"a":0▸x1F}"#),
  Document("a word that goes on", .expectedCommaOrBrace, #"{"a":null▸s}"#),
  Document("a NUL behind a member", .expectedCommaOrBrace, "{\"a\":1▸\0}"),

  Document("two elements without a comma", .expectedCommaOrBracket, "[1 ▸2]"),
  Document("a colon in an array", .expectedCommaOrBracket, #"["a"▸:1]"#),
  Document("an element closed by a brace", .expectedCommaOrBracket, "[1▸}"),
  Document("a number with two points", .expectedCommaOrBracket, "[1.2▸.3]"),
  Document("a number with two exponents", .expectedCommaOrBracket, "[1e2▸e3]"),
  Document("a number with a separator", .expectedCommaOrBracket, "[1▸_000]"),
  Document("a minus behind a number", .expectedCommaOrBracket, "[1▸-2]"),
  Document("a string behind a string", .expectedCommaOrBracket, #"["a"▸"b"]"#),

  Document("a comma before the brace", .trailingComma, #"{"a":1,▸}"#),
  Document("a comma and white space before the brace", .trailingComma, "{\"a\":1,\n ▸}"),
  Document("a comma before the bracket", .trailingComma, "[1,▸]"),
  Document("a comma and white space before the bracket", .trailingComma, "[[],\t▸]"),

  Document("a zero first", .invalidNumber, "0▸1"),
  Document("a zero behind a minus", .invalidNumber, "[-0▸0]"),
  Document("two minus signs", .invalidNumber, "[-▸-1]"),
  Document("minus plus", .invalidNumber, "[-▸+1]"),
  Document("minus alone", .invalidNumber, "[-▸]"),
  Document("minus without its zero", .invalidNumber, "[-▸.5]"),
  Document("a point without digits behind it", .invalidNumber, "[1.▸]"),
  Document("a point and an exponent", .invalidNumber, "[1.▸e1]"),
  Document("two points", .invalidNumber, "[1.▸.2]"),
  Document("an exponent without a number", .invalidNumber, "[1e▸]"),
  Document("an exponent of two signs", .invalidNumber, "[1e+▸-1]"),
  Document("an exponent of a fraction", .invalidNumber, "[1E▸.5]"),
  Document("an exponent of a letter", .invalidNumber, "[1e▸a]"),

  Document("an escape that JSON does not have", .invalidEscape, #""a▸\x41""#),
  Document("a single quote escaped", .invalidEscape, #""▸\'""#),
  Document("a NUL escaped as in C", .invalidEscape, #""▸\0""#),
  Document("a large U", .invalidEscape, #""▸\U0041""#),
  Document("a line end escaped", .invalidEscape, "\"▸\\\n\""),
  Document("a character escaped", .invalidEscape, "\"▸\\é\""),
  Document("an escape of three digits", .invalidEscape, #""▸\u004""#),
  Document("an escape with a letter", .invalidEscape, #""ab▸\u00g0""#),
  Document("an escape with a sign", .invalidEscape, #""▸\u+041""#),
  Document("an escape with braces", .invalidEscape, #""▸\u{41}""#),
  Document("a pair whose second half is no escape", .invalidEscape, #""\uD83D▸\uDE0x""#),

  Document("the first half of a pair", .loneSurrogate, #""a▸\uD83D""#),
  Document("the second half of a pair", .loneSurrogate, #""a▸\uDE00""#),
  Document("a pair the wrong way round", .loneSurrogate, #""▸\uDE00\uD83D""#),
  Document("two first halves", .loneSurrogate, #""▸\uD83D\uD83D\uDE00""#),
  Document("a first half and a letter", .loneSurrogate, #""▸\uDBFFa""#),
  Document("a first half and another escape", .loneSurrogate, #""▸\uD800\n""#),
  Document("a first half and a letter by number", .loneSurrogate, #""▸\uD800\u0041""#),
  Document("a pair and half of one", .loneSurrogate, #""\uD83D\uDE00▸\uDFFF""#),
  Document("halves in a key", .loneSurrogate, #"{"▸\uD800":1}"#),

  Document("a byte that only continues", .invalidUTF8, at: 1, hex: "22 80 22"),
  Document("a slash in two bytes", .invalidUTF8, at: 1, hex: "22 C0 AF 22"),
  Document("the largest of one byte, in two", .invalidUTF8, at: 1, hex: "22 C1 BF 22"),
  Document("the largest of two bytes, in three", .invalidUTF8, at: 1, hex: "22 E0 9F BF 22"),
  Document("the largest of three bytes, in four", .invalidUTF8, at: 1, hex: "22 F0 8F BF BF 22"),
  Document("a NUL in two bytes", .invalidUTF8, at: 1, hex: "22 C0 80 22"),
  Document("the first surrogate", .invalidUTF8, at: 1, hex: "22 ED A0 80 22"),
  Document(
    "a pair of surrogates, each in three bytes", .invalidUTF8, at: 1, hex: "22 ED A0 BD ED B8 80 22"
  ),
  Document("past the last character", .invalidUTF8, at: 1, hex: "22 F4 90 80 80 22"),
  Document("far past the last character", .invalidUTF8, at: 1, hex: "22 F7 BF BF BF 22"),
  Document("five bytes", .invalidUTF8, at: 1, hex: "22 F8 88 80 80 80 22"),
  Document("FE in a string", .invalidUTF8, at: 1, hex: "22 FE 22"),
  Document("a character cut by the quote", .invalidUTF8, at: 2, hex: "22 61 E2 82 22"),
  Document("Latin-1", .invalidUTF8, at: 2, hex: "22 4D FC 6C 6C 22"),
  Document("a character too few, before another", .invalidUTF8, at: 1, hex: "22 C3 C3 BC 22"),
  Document("wrong as far as it goes, though cut", .invalidUTF8, at: 1, hex: "22 E0 80"),
  Document("wrong at its third byte, though cut", .invalidUTF8, at: 1, hex: "22 F0 9F 41"),

  Document("a tab in a string", .controlCharacter, "\"a▸\tb\""),
  Document("a line end in a string", .controlCharacter, "\"▸\n\""),
  Document("a NUL in a string", .controlCharacter, "\"abcdefgh▸\0\""),
  Document("the last control character, in a key", .controlCharacter, "{\"▸\u{1F}\":1}"),

  Document("33 arrays", .tooDeep, String(repeating: "[", count: 32) + "▸[]"),
  Document("33 objects", .tooDeep, String(repeating: #"{"a":"#, count: 32) + "▸{}"),
  Document("33 of both, and cut", .tooDeep, String(repeating: #"[{"a":"#, count: 16) + "▸["),
  Document(
    "33 behind others that were closed", .tooDeep,
    "[[[]],{}," + String(repeating: "[", count: 31) + "▸["),

  Document("UTF-8's byte order mark", .byteOrderMark, "▸\u{FEFF}{}"),
  Document("UTF-8's byte order mark behind white space", .byteOrderMark, "\n▸\u{FEFF}[]"),
  Document("UTF-8's byte order mark alone", .byteOrderMark, "▸\u{FEFF}"),
  Document("UTF-16's byte order mark", .byteOrderMark, at: 0, hex: "FF FE 7B 00 7D 00"),
  Document(
    "UTF-16's byte order mark, the large end first", .byteOrderMark, at: 0, hex: "FE FF 00 7B 00 7D"
  ),
  Document("UTF-16 without a mark", .expectedKey, at: 1, hex: "7B 00 22 00"),
]

@Test(arguments: valid + invalid)
private func `each document gives its result, and each problem its place`(_ document: Document) {
  #expect(scan(document.bytes) == document.outcome)
}

@Test func `every problem has a document`() {
  let problems = (0...).lazy.map(JSONProblem.init(rawValue:)).prefix { $0 != nil }.map { $0! }
  for problem in problems {
    #expect(invalid.contains { $0.problem == problem }, "\(problem)")
  }
}

@Test(arguments: valid + invalid)
private func `a truncated document gives the same problem at the same place or ends too early`(
  _ document: Document
) {
  // The document is put into an object, so that a number has an end.
  let isMark = document.problem == .byteOrderMark
  let text = isMark ? document.bytes : #"{"a":"#.bytes + document.bytes + "}".bytes
  let whole = scan(text)
  var isFound = false
  for cut in 0..<text.count {
    let outcome = scan(Array(text[..<cut]))
    if outcome != .problem(.unexpectedEnd, at: cut) { isFound = true }
    #expect(outcome == (isFound ? whole : .problem(.unexpectedEnd, at: cut)), "cut at \(cut)")
  }
}

@Test(arguments: valid + invalid)
private func `the scanner counts lines up to its place`(_ document: Document) {
  var scanner = JSONScanner()
  do throws(JSONProblem) {
    try scanner.begin(document.bytes.span)
    try scanner.skipValue(document.bytes.span)
  } catch {}
  let before = document.bytes[..<scanner.index]
  #expect(scanner.lineEnds == before.count { $0 == 0x0A })
}

// MARK: - The grammar, byte by byte

/// The text before a place, the bytes allowed at the place, and the problem of all other bytes.
struct Place: Sendable, CustomStringConvertible {
  var before: String
  var allowed: String
  /// The allowed bytes that complete the text.
  var ends = ""
  var problem: JSONProblem
  /// How many bytes before the byte the problem is reported.
  var back = 0
  /// The problems of particular bytes.
  var except: [(String, JSONProblem)] = []

  var description: String { before }
}

private let spaces = " \t\r\n"
private let digits = "0123456789"
private let values = #""{[-tfn"# + digits + spaces
private let hex = digits + "abcdefABCDEF"
private let places = [
  Place(
    before: "", allowed: "\"{[-tfn\u{EF}" + spaces, ends: digits, problem: .expectedValue,
    except: [("\u{FE}\u{FF}", .byteOrderMark)]),
  Place(before: "[", allowed: values, ends: "]", problem: .expectedValue),
  Place(before: "[1,", allowed: values, problem: .expectedValue, except: [("]", .trailingComma)]),
  Place(before: "[[] ", allowed: spaces + ",", ends: "]", problem: .expectedCommaOrBracket),
  Place(before: "[{}", allowed: spaces + ",", ends: "]", problem: .expectedCommaOrBracket),
  Place(before: #"["a""#, allowed: spaces + ",", ends: "]", problem: .expectedCommaOrBracket),
  Place(before: "[true", allowed: spaces + ",", ends: "]", problem: .expectedCommaOrBracket),
  Place(before: "{", allowed: spaces + "\"", ends: "}", problem: .expectedKey),
  Place(before: #"{"a""#, allowed: spaces + ":", problem: .expectedColon),
  Place(before: #"{"a":"#, allowed: values, problem: .expectedValue),
  Place(before: #"{"a":"b""#, allowed: spaces + ",", ends: "}", problem: .expectedCommaOrBrace),
  Place(before: #"{"a":[]"#, allowed: spaces + ",", ends: "}", problem: .expectedCommaOrBrace),
  Place(before: #"{"a":{}"#, allowed: spaces + ",", ends: "}", problem: .expectedCommaOrBrace),
  Place(
    before: #"{"a":1,"#, allowed: spaces + "\"", problem: .expectedKey,
    except: [("}", .trailingComma)]),
  Place(before: "[-", allowed: digits, problem: .invalidNumber),
  Place(
    before: "[0", allowed: spaces + ".eE,", ends: "]", problem: .expectedCommaOrBracket,
    except: [(digits, .invalidNumber)]),
  Place(
    before: "[-0", allowed: spaces + ".eE,", ends: "]", problem: .expectedCommaOrBracket,
    except: [(digits, .invalidNumber)]),
  Place(
    before: "[10", allowed: spaces + digits + ".eE,", ends: "]", problem: .expectedCommaOrBracket),
  Place(before: "[1.", allowed: digits, problem: .invalidNumber),
  Place(
    before: "[1.0", allowed: spaces + digits + "eE,", ends: "]", problem: .expectedCommaOrBracket),
  Place(before: "[1e", allowed: digits + "+-", problem: .invalidNumber),
  Place(before: "[1e-", allowed: digits, problem: .invalidNumber),
  Place(
    before: "[1E0", allowed: spaces + digits + ",", ends: "]", problem: .expectedCommaOrBracket),
  Place(before: "[t", allowed: "r", problem: .expectedValue),
  Place(before: "[tr", allowed: "u", problem: .expectedValue),
  Place(before: "[tru", allowed: "e", problem: .expectedValue),
  Place(before: "[f", allowed: "a", problem: .expectedValue),
  Place(before: "[fa", allowed: "l", problem: .expectedValue),
  Place(before: "[fal", allowed: "s", problem: .expectedValue),
  Place(before: "[fals", allowed: "e", problem: .expectedValue),
  Place(before: "[n", allowed: "u", problem: .expectedValue),
  Place(before: "[nu", allowed: "l", problem: .expectedValue),
  Place(before: "[nul", allowed: "l", problem: .expectedValue),
  Place(before: #"["\"#, allowed: #""\/bfnrtu"#, problem: .invalidEscape, back: 1),
  Place(before: #"["\u"#, allowed: hex, problem: .invalidEscape, back: 2),
  Place(before: #"["\u0"#, allowed: hex, problem: .invalidEscape, back: 3),
  Place(before: #"["\u00"#, allowed: hex, problem: .invalidEscape, back: 4),
  Place(before: #"["\u000"#, allowed: hex, problem: .invalidEscape, back: 5),
  Place(before: #"["\uD800"#, allowed: #"\"#, problem: .loneSurrogate, back: 6),
  Place(before: #"["\uD800\"#, allowed: "u", problem: .loneSurrogate, back: 7),
  Place(before: #"["\uD800\uDC0"#, allowed: hex, problem: .invalidEscape, back: 5),
]

@Test(arguments: places)
private func `each of the 256 bytes is accepted exactly where the grammar allows it`(
  _ place: Place
) {
  #expect(scan(place.before.bytes) == .problem(.unexpectedEnd, at: place.before.utf8.count))
  for byte in UInt8.min...UInt8.max {
    let scalar = UnicodeScalar(byte)
    let text = place.before.bytes + [byte]
    var expected = ScanResult.problem(.unexpectedEnd, at: text.count)
    if place.ends.unicodeScalars.contains(scalar) {
      expected = .value
    } else if !place.allowed.unicodeScalars.contains(scalar) {
      let special = place.except.first { $0.0.unicodeScalars.contains(scalar) }
      expected = .problem(special?.1 ?? place.problem, at: text.count - 1 - place.back)
    }
    #expect(scan(text) == expected, "\(byte)")
  }
}

@Test func `exactly the numbers of the grammar are accepted`() throws {
  let grammar = /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
  var texts = [""]
  for _ in 0..<5 {
    texts = texts.flatMap { text in ["0", "7", "-", "+", ".", "e"].map { text + $0 } }
    for text in texts {
      let isNumber = text.wholeMatch(of: grammar) != nil
      #expect((scan("[\(text)]".bytes) == .value) == isNumber, "\(text)")
    }
  }
}

@Test(
  arguments: [
    ("0", 0), ("7", 7), ("4294967295", 4_294_967_295), ("9999999999", 9_999_999_999),
    ("10000000000", nil),
    ("00", nil), ("-0", nil), ("1.0", nil), ("1e1", nil), ("-5", nil),
  ] as [(String, UInt64?)])
func `a whole number has no sign, fraction or exponent`(text: String, number: UInt64?) {
  for end in [",", "}", "]", " ", ""] {
    var scanner = JSONScanner()
    let bytes = (text + end).bytes
    #expect((try? scanner.wholeNumber(bytes.span)) ?? nil == number)
    if text != "00" { #expect(scanner.index == text.utf8.count) }
  }
}

@Test(
  arguments: [
    ("", 0), ("{", 1), (#"{"a":1} x"#, 8), ("1 2", 2), ("\u{FEFF}{}", 0),
    (String(repeating: "[", count: 100_000), 32), ("1 ", nil), (" {}\n", nil),
  ] as [(String, Int?)])
func `a text that is meant as JSON is one value`(text: String, offset: Int?) {
  #expect(Finding.inJSON(text.bytes.span)?.offset == offset)
}

// MARK: - Strings

@Test
func `byte sequences are accepted as UTF-8 exactly if the standard library accepts them`() {
  func check(_ bytes: [UInt8]) {
    let isValid = String(validating: bytes, as: UTF8.self) != nil
    // At the end of the text and before more text.
    for behind in ["\"", "\"\n   "] {
      let outcome = scan("\"".bytes + bytes + behind.bytes)
      #expect(outcome == (isValid ? .value : .problem(.invalidUTF8, at: 1)), "\(bytes.hex)")
    }
  }
  for lead in UInt8(0x80)...0xFF {
    check([lead])
    for next in UInt8.min...UInt8.max where next >= 0x20 && next != 0x22 && next != 0x5C {
      // The number of continuation bytes that the lead byte requires.
      let missing = lead < 0xE0 ? 0 : lead < 0xF0 ? 1 : 2
      check([lead, next] + [UInt8](repeating: 0x80, count: missing))
      if missing > 0 { check([lead, next] + [UInt8](repeating: 0xBF, count: missing)) }
    }
  }
  for last in UInt8(0x80)...0xFF {
    for head in ["E0 A0", "E2 82", "ED 9F", "EF BF", "F0 90 80", "F1 BF BF", "F4 8F BF"] {
      check([UInt8](hex: head) + [last])
    }
    check([0xF0, 0x90, last, 0x80])
  }
}

@Test func `surrogates are valid only as a high one followed by a low one`() {
  let parts = [#"\uD83D"#, #"\uDE00"#, #"\u0041"#, "a", #"\n"#, "é"]
  var sequences: [[Int]] = [[]]
  for _ in 0..<4 {
    sequences = sequences + sequences.flatMap { one in parts.indices.map { one + [$0] } }
  }
  for sequence in Set(sequences) {
    var expected = ScanResult.value
    var place = 1
    for (index, part) in sequence.enumerated() {
      let isFirstOfPair = part == 0 && index + 1 < sequence.count && sequence[index + 1] == 1
      let isSecondOfPair = part == 1 && index > 0 && sequence[index - 1] == 0
      if part == 0 && !isFirstOfPair || part == 1 && !isSecondOfPair {
        expected = .problem(.loneSurrogate, at: place)
        break
      }
      place += parts[part].utf8.count
    }
    let text = "\"" + sequence.map { parts[$0] }.joined() + "\""
    #expect(scan(text.bytes) == expected, "\(text)")
  }
}

/// The scanner reads sixteen bytes at a time: tests each place in them and each distance to the end.
@Test(
  arguments: [
    (#"\n"#, nil), ("é", nil), ("€", nil), ("😀", nil), ("\u{7F}", nil),
    ("\u{1F}", .controlCharacter), ("\0", .controlCharacter), (#"\x"#, .invalidEscape),
    (#"\uDC00"#, .loneSurrogate),
  ] as [(String, JSONProblem?)])
func `special characters are found at each place of a string`(
  special: String, problem: JSONProblem?
) {
  for before in 0...33 {
    for behind in 0...33 {
      // Bytes next to the special ones in value, which must not count as special.
      for letter in ["a", " ", "!", "#", "[", "]", "~"] {
        let head = "[\"" + String(repeating: letter, count: before)
        let text = (head + special + String(repeating: letter, count: behind) + "\"]").bytes
        let place = head.utf8.count
        let outcome = scan(text)
        #expect(
          outcome == problem.map { .problem($0, at: place) } ?? .value, "\(before), \(behind)")
      }
    }
  }
}

@Test func `bytes that are not UTF-8 are found at each place of a string`() {
  for before in 0...33 {
    for behind in 0...33 {
      for byte: UInt8 in [0x80, 0xA2, 0xDC, 0x9F, 0xFF] {
        let head = "\"".bytes + [UInt8](repeating: 0x61, count: before)
        let text = head + [byte] + [UInt8](repeating: 0x61, count: behind) + "\"".bytes
        #expect(
          scan(text) == .problem(.invalidUTF8, at: before + 1), "\(byte), \(before), \(behind)")
      }
    }
  }
}

@Test func `the range of a string is the text between its quotes`() throws {
  for count in 0...40 {
    let text = (" \"" + String(repeating: "x", count: count) + "\" :").bytes
    var scanner = JSONScanner(at: 1)
    let string = try scanner.string(text.span)
    #expect(string == 2..<2 + count)
    #expect(scanner.index == count + 3)
    scanner = JSONScanner()
    let key = try scanner.key(text.span)
    #expect(key == 2..<2 + count)
    #expect(scanner.index == text.count)
  }
}

// MARK: - Depth

@Test func `the depth limit counts the levels of the whole text`() {
  for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]"), (#"{"a":["#, "]}")] {
    let levels = open.utf8.count > 5 ? 2 : 1
    let half = String(repeating: open, count: 32 / levels)
    let inner = half.hasSuffix(":") ? "0" : ""
    let ends = String(repeating: close, count: 32 / levels)
    #expect(scan((half + inner + ends).bytes) == .value)
    #expect(scan((half + "[" + ends).bytes) == .problem(.tooDeep, at: half.utf8.count))
    #expect(scan((half + "{" + ends).bytes) == .problem(.tooDeep, at: half.utf8.count))
  }
  let wide = "[" + String(repeating: "[[],{}],", count: 100) + "1]"
  #expect(scan(wide.bytes) == .value, "closed levels do not count")
}

@Test func `the scanner tracks its depth for callers and for skipped values`() throws {
  let text = #"{"a":{},"b":[],"c":[[1,{"d":2}],3]}"#.bytes
  var scanner = JSONScanner()
  #expect(try scanner.openObject(text.span) && scanner.depth == 1)
  _ = try scanner.key(text.span)
  #expect(try !scanner.openObject(text.span) && scanner.depth == 1)
  #expect(try scanner.nextMember(text.span))
  _ = try scanner.key(text.span)
  #expect(try !scanner.openArray(text.span) && scanner.depth == 1)
  #expect(try scanner.nextMember(text.span))
  _ = try scanner.key(text.span)
  #expect(try scanner.openArray(text.span) && scanner.depth == 2)
  try scanner.skipValue(text.span)
  #expect(scanner.depth == 2)
  #expect(try scanner.nextElement(text.span))
  try scanner.skipValue(text.span)
  #expect(try !scanner.nextElement(text.span) && scanner.depth == 1)
  #expect(try !scanner.nextMember(text.span) && scanner.depth == 0)
  #expect(scanner.index == text.count)
}

// MARK: - With the notification reader

private let payloadHead = #"{"aps":{"badge":1},"x":"#
private let token = String(repeating: "0123456789abcdef", count: 4)
private let head = #"{"token":"\#(token)","payload":\#(payloadHead)"#

/// The reader's result for a text in pieces: the first payload or refusal, by place in the text.
private enum ReaderVerdict: Equatable {
  case notification(payload: Range<Int>, payloadBytes: Int)
  case refused(Finding.Reason, at: Int)
  case nothing
}

private func read(_ text: [UInt8], upTo ends: [Int]) -> ReaderVerdict {
  var reader = NotificationReader()
  var findings = Findings()
  var base = 0
  for end in ends {
    let piece = Array(text[base..<end])
    switch reader.next(
      in: piece.span, isWhole: end == text.count, Rules(payloadLimit: 4096), &findings)
    {
    case .notification(let one):
      return .notification(
        payload: base + one.payload.range.lowerBound..<base + one.payload.range.upperBound,
        payloadBytes: one.payload.bytes)
    case .refused(let refusal, _): return .refused(refusal.reason, at: base + refusal.offset)
    case .more(let from):
      base += from
      reader.resume(at: 0)
    case .end: return .nothing
    }
  }
  return .nothing
}

@Test(arguments: valid + invalid)
private func `a document inside a payload gives the same result in pieces of any size`(
  _ document: Document
) {
  // Inside a payload, depth and byte order marks give other problems than alone.
  guard document.problem != .tooDeep, document.problem != .byteOrderMark else { return }
  let text = head.bytes + document.bytes + "}}".bytes
  let whole = read(text, upTo: [text.count])
  switch document.problem {
  case nil:
    let payload = head.utf8.count - payloadHead.utf8.count
    guard case .notification(payload..<text.count - 1, _) = whole else {
      Issue.record("\(whole)")
      return
    }
  case .unexpectedEnd: break
  case let problem?:
    #expect(whole == .refused(.json(problem), at: head.utf8.count + document.offset))
  }
  for cut in 0..<text.count {
    #expect(read(text, upTo: [cut, text.count]) == whole, "cut at \(cut)")
    let outcome = read(Array(text[..<cut]), upTo: [cut])
    if outcome != whole && cut > 0 {
      #expect(outcome == .refused(.json(.unexpectedEnd), at: cut), "ends at \(cut)")
    }
  }
  #expect(read(text, upTo: Array(0...text.count)) == whole, "byte by byte")
}
