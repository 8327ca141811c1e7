import Testing

@testable import Simulation
@testable import TinyPush

/// The lines of a text as `LINE: NAME=VALUE`, with `NAME=VALUE` after a comment is removed.
private func lines(_ text: String) -> [String] {
  let bytes = text.bytes.span
  var lines = ConfigLines()
  var found: [String] = []
  while let line = lines.next(in: bytes) {
    switch line {
    case .setting(let name, let value):
      let short = ConfigLines.withoutComment(value, in: bytes)
      let end = short == value ? "" : "|" + String(bytes.extracting(short))
      found.append(
        "\(lines.number) \(String(bytes.extracting(name)))=\(String(bytes.extracting(value)))\(end)"
      )
    case .section(let name): found.append("\(lines.number) [\(String(bytes.extracting(name)))]")
    case .unprintable(let name):
      found.append("\(lines.number) \(String(bytes.extracting(name))) unprintable")
    case .unknown: found.append("\(lines.number) unknown")
    }
  }
  return found
}

@Test(
  arguments: [
    ("", []), ("\n\n", []), ("# a = b\n ; c = d\n", []),
    ("a = b", ["1 a=b"]), ("a=b\nc=d\n", ["1 a=b", "2 c=d"]),
    ("\u{FEFF}a = b\r\n\r\nc = d\r\n", ["1 a=b", "3 c=d"]),
    ("  a-b \t=  c d \t\n", ["1 a-b=c d"]), ("a:b=c", ["1 a=b=c"]), ("a=b:c", ["1 a=b:c"]),
    ("a =\n", ["1 a="]), ("= b\n", ["1 unknown"]), ("a b\n", ["1 unknown"]),
    ("a = b ; c # d", ["1 a=b ; c # d|b"]), ("a = b\t;c", ["1 a=b\t;c|b"]),
    ("a = b #c", ["1 a=b #c"]),
    ("a = b;c#d", ["1 a=b;c#d"]), ("a = #", ["1 a=#"]), ("a = ; b", ["1 a=; b|"]),
    ("a =;b", ["1 a=;b"]),
    ("[a/#]\nb = c", ["1 [a/#]", "2 b=c"]), (" [a] # b", ["1 [a]"]), ("[a] b", ["1 unknown"]),
    ("[]", ["1 []"]), ("[a", ["1 unknown"]), ("[a=b]", ["1 [a=b]"]),
    ("a = b\u{0}c", ["1 a unprintable"]), ("a\u{1B} = b", ["1 a\u{1B} unprintable"]),
    ("a = b\rc = d", ["1 a unprintable"]), ("a = b\tc", ["1 a=b\tc"]),
    ("\u{0}\u{0}", ["1 unknown"]),
    ("a = é", ["1 a=é"]),
  ] as [(String, [String])])
func `a configuration is read line by line`(text: String, wanted: [String]) {
  #expect(lines(text) == wanted)
}

@Test func `a line may be as long as the file`() {
  let value = String(repeating: "x y", count: 100_000)
  #expect(lines("a = \(value)\nb = c") == ["1 a=\(value)", "2 b=c"])
}
