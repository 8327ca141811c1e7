import Foundation
import Testing

/// `tinypush check` of notification files and recipients files.
@Suite(.sideBySide) struct CheckTests {
  private static let one = token(1)
  private static let good = line(1)
  private static let wide = String(line(1, "Füll☀").dropLast())

  // MARK: - Positions

  struct Checking: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var text: String
    var line: Int
    var column: Int
    var words: String
    init(_ text: String, _ line: Int, _ column: Int, _ words: String) {
      (self.text, self.line, self.column, self.words) = (text, line, column, words)
      testDescription = words
    }
  }

  @Test(arguments: [
    Checking(
      #"{"token":"123","payload":{"aps":{"alert":"x"}}}"#, 1, 11,
      "an even number of hex digits, from 2 to 200; this one has 3"
    ),
    Checking(good + good + #"  {"payload":{"x":tru}}"#, 3, 22, "expected a value"),
    Checking(#"{"tokens":[],"payload":{"aps":{"alert":"x"}}}"#, 1, 11, "tokens is empty"),
    Checking(#"{"token":"\#(one)"}"#, 1, 1, "no payload"),
    Checking(#"{"message":"x"}"#, 1, 2, "there is no key message here: write {"),
    Checking(#"{"token":"\#(one)","payload":{"alert":"x"}}"#, 1, 87, "no aps"),
    Checking(
      "{\n  \"token\": \"\(one)\",\n  \"payload\": {\"aps\":{\"alert\":\"Füll☀\"},}\n}", 3, 39,
      "remove the comma"),
    Checking(
      "{\n  \"tokn\": \"\(one)\",\n  \"to\": \"family\", \"payload\": {\"aps\":{\"alert\":\"x\"}}\n}",
      2,
      3, "unknown key"),
    Checking("Tank low\n", 1, 1, "expected '{'"), Checking("", 1, 1, "there is no notification"),
    Checking(" \n \n ", 3, 2, "there is no notification"),
    Checking(#"{"token":"\#(one)","payload":{"aps":{"alert":"x"}"#, 1, 107, "ends in the middle"),
    Checking(
      #"{"token":"\#(one)","token":"\#(one)","payload":{"aps":{"alert":"x"}}}"#, 1, 77,
      "duplicate key: remove one"),
    Checking(
      #"{"token":"\#(one)","payload":{"aps":{"content-available":1}},"priority":10}"#, 1, 130,
      "priority must be 5"),
    Checking(String(repeating: good, count: 3000) + "{]", 3001, 2, "expected a key"),
    // One line, longer than what the command reads at a time.
    Checking(
      String(repeating: wide, count: 3000) + "{]", 1, 3000 * wide.count + 2, "expected a key"),
  ])
  func `check names the line and column of an error and marks it in the source line`(row: Checking)
    throws
  {
    let path = try box.write(row.text, to: "notes.json")
    let said = try box.tinypush("check", path)
    #expect(said.status == 65)
    let lines = said.output.split(separator: "\n", omittingEmptySubsequences: false)
    try #require(lines.count >= 4, "\(said.output)")
    let first = try lines.at(0)
    #expect(first.hasPrefix("\(path):\(row.line):\(row.column): error: "), "\(said.output)")
    #expect(first.contains(row.words))
    // The caret stands under the character of that column.
    let source = Array(
      row.text.split(separator: "\n", omittingEmptySubsequences: false)[row.line - 1])
    let caret = try lines.at(2).prefix { $0 == " " }.count
    #expect(try lines.at(2).wholeMatch(of: #/[ ]*\^~*/#) != nil)
    if row.column <= source.count {
      #expect(try lines.at(1).at(caret) == source[row.column - 1])
    }
    // One notification is refused. Those behind it are valid, or the command does not reach them.
    #expect(
      try lines.count == 4 || lines.at(3).hasSuffix(" notifications, 1 refused"), "\(said.output)")
    let json = try objects(box.tinypush("check", "--json", path).output)
    #expect(json.count == 1)
    #expect(json.first?["file"] as? String == path)
    #expect(json.first?["line"] as? Int == row.line)
    #expect(json.first?["column"] as? Int == row.column)
    #expect(json.first?["severity"] as? String == "error")
    #expect((json.first?["message"] as? String)?.contains(row.words) == true)
    let offset = try #require(json.first).member("offset", as: Int.self)
    try #require(offset >= 0)
    let head = row.text.utf8.prefix(offset)
    #expect(head.count { $0 == 0x0A } == row.line - 1)
    // Standard input gives the same result.
    let piped = try box.tinypush("check", "-", input: row.text)
    #expect(piped.status == 65)
    #expect(piped.output.hasPrefix("-:\(row.line):\(row.column): error: "))
  }

  @Test func `check accepts valid files and exits with 66 if one cannot be read`() throws {
    let one = try box.write(Self.good, to: "one.json")
    let many = try box.write(String(repeating: Self.good, count: 5000), to: "many.json")
    let said = try box.tinypush("check", one, many)
    #expect(said.status == 0)
    #expect(
      said.output
        == "\(one): 1 notification, no problems\n\(many): 5000 notifications, no problems\n")
    let json = try box.tinypush("check", "--json", one, many)
    #expect(json.status == 0)
    #expect(json.output == "")
    let mixed = try box.tinypush("check", one, box.path + "/none.json", many)
    #expect(mixed.status == 66)
    #expect(mixed.errors.contains("/none.json: No such file or directory"))
    #expect(mixed.output.contains("5000 notifications"))
    let directory = try box.tinypush("check", box.spool)
    #expect(directory.status == 66)
    #expect(directory.errors == "tinypush check: \(box.spool): Is a directory\n")
    #expect(directory.output == "")
  }

  // MARK: - The whole output, in all builds

  /// Four notifications with many problems, and one without.
  private static let notes = """
    {
      "token": "12345",
      "payload": {"aps":{
        "alert": {"body": "Tank low"},
        "badge": "3"}}
    }
    {"tokens":["\(one)","x"],"payload":{"aps":{"alert":"Füllstand \\u00fcber 9","bagde":1,"sound":1}},"ttl":"1h"}
    {"to":["family","nobody"],"payload":{"aps":{"alert":"日本 👩‍👩‍👧"}}} {"aps":{"alert":"x",}}
    {"to":"family","payload":{"aps":{"alert":"x"}}}

    """

  private static let family = """
    # the family
    \(token(1)) lang=fr

      123
    \(token(2)) Ann
    """

  @Test(arguments: Build.all)
  func `every build of check reports all problems in the order of their positions`(build: String)
    throws
  {
    try box.write(Self.notes, to: "notes.json")
    try box.write(Self.family, to: "recipients/family")
    let directory = box.path + "/recipients"
    let command =
      try Build.command(build) + ["check", "-o", "recipients=" + directory, "notes.json"]
    let said = try box.run(command)
    #expect(said.status == 65)
    #expect(said.errors == "")
    let list = "\(directory)/family"
    #expect(
      said.output == """
        notes.json:2:13: error: a device token has an even number of hex digits, from 2 to 200; this one has 5 characters
            "token": "12345",
                      ^~~~~
        notes.json:3:14: warning: 13 bytes of white space in the payload, not sent
            "payload": {"aps":{
                       ^
        notes.json:4:14: warning: an alert with only a body can be a plain string, which saves 9 bytes
              "alert": {"body": "Tank low"},
                       ^
        notes.json:5:14: error: badge must be a number without quotes; 0 removes it
              "badge": "3"}}
                       ^~~
        notes.json:7:80: error: a device token has an even number of hex digits, from 2 to 200; this one has 1 character
          …000000000000000000000000000000000000000000000001","x"],"payload":{"aps":{"al…
                                                              ^
        notes.json:7:121: warning: unnecessary escapes: the characters themselves, in UTF-8, save 4 bytes
          …0000001","x"],"payload":{"aps":{"alert":"Füllstand \\u00fcber 9","bagde":1,"s…
                                                              ^
        notes.json:7:134: warning: the service does not know this key; did you mean badge?
          …,"payload":{"aps":{"alert":"Füllstand \\u00fcber 9","bagde":1,"sound":1}},"tt…
                                                              ^~~~~~~
        notes.json:7:152: error: sound must be a string, "default" or the name of a file in the app, or for a critical alert {"critical": 1, "name": "default", "volume": 1}
          …d":{"aps":{"alert":"Füllstand \\u00fcber 9","bagde":1,"sound":1}},"ttl":"1h"}
                                                                        ^
        notes.json:7:162: error: ttl must be whole seconds, 0 to 4294967295 (0: do not store)
          …d":{"aps":{"alert":"Füllstand \\u00fcber 9","bagde":1,"sound":1}},"ttl":"1h"}
                                                                                  ^~~~
        \(list):4:3: error: a device token has an even number of hex digits, from 2 to 200; this one has a different number
            123
            ^~~
        \(list):5:66: error: only lang=LANGUAGE, registered=SECONDS or a # comment may follow the token
          \(token(2)) Ann
                                                                           ^~~
        \(list): 3 recipients, 2 refused
        notes.json:8:17: error: no recipients file has this name: tinypush recipient add NAME RECIPIENT creates it (recipients = \(directory))
          {"to":["family","nobody"],"payload":{"aps":{"alert":"日本 👩‍👩‍👧"}}} {"aps":…
                          ^~~~~~~~
        notes.json:8:87: error: nothing follows the comma before this: remove the comma
          …,"nobody"],"payload":{"aps":{"alert":"日本 👩‍👩‍👧"}}} {"aps":{"alert":"x",}}
                                                                                     ^
        notes.json: 5 notifications, 4 refused, 4 warnings

        """)
    let json = try box.run(command + ["--json", list])
    #expect(json.status == 65)
    let objects = try objects(json.output)
    let heads = objects.map {
      "\($0["line"] ?? 0):\($0["column"] ?? 0)-\($0["end_column"] ?? 0) \($0["severity"] ?? "-") \($0["code"] ?? "-") \($0["notification_line"] ?? 0)"
    }
    let ofList = ["4:3-6 error token-size 0", "5:66-69 error recipient-word 0"]
    #expect(
      heads == [
        "2:13-18 error token-size 1", "3:14-15 warning white-space 1",
        "4:14-15 warning only-body 1", "5:14-17 error badge 1", "7:80-81 error token-size 7",
        "7:121-122 warning long-escapes 7", "7:134-141 warning strange-key 7",
        "7:152-153 error sound 7", "7:162-166 error ttl 7",
      ] + ofList + ["8:17-25 error list-missing 8", "8:87-88 error trailing-comma 8"] + ofList)
    // Line and column name the same position as the byte offset.
    for object in objects {
      let text = object["file"] as? String == list ? Self.family : Self.notes
      let offset: Int = try object.member("offset")
      try #require(offset >= 0)
      let head = String(decoding: text.utf8.prefix(offset), as: UTF8.self)
      let lines = head.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count == object["line"] as? Int)
      #expect(try #require(lines.last).unicodeScalars.count + 1 == object["column"] as? Int)
    }
    #expect(Set(objects.map { $0["file"] as? String }) == ["notes.json", list])
  }

  // MARK: - Warnings, many problems, hostile files

  @Test func `check exits with 0 if there are only warnings`() throws {
    let text = #"{"token":"\#(Self.one)","payload":{ "aps":{"alert":{"body":"x"}}}}"#
    let said = try box.tinypush("check", "-", input: text + "\n" + Self.good)
    #expect(said.status == 0)
    #expect(said.output.contains("-:1:87: warning: 1 byte of white space in the payload"))
    #expect(said.output.hasSuffix("-: 2 notifications, 2 warnings\n"))
    let json = try box.tinypush("check", "--json", "-", input: text)
    #expect(json.status == 0)
    #expect(try objects(json.output).map { $0["severity"] as? String } == ["warning", "warning"])
  }

  @Test func `check reports the first 1000 problems of a notification and counts the rest`()
    throws
  {
    let tokens = (0..<3000).map { _ in #""1""# }.joined(separator: ",")
    let text = #"{"tokens":[\#(tokens)],"payload":{"aps":{"alert":"x"}}}"#
    let said = try box.tinypush("check", "-", input: text)
    #expect(said.status == 65)
    let lines = said.output.split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("-:1:") } == 1000)
    #expect(lines.suffix(1) == ["-: and 2000 more in this notification"])
    #expect(try objects(box.tinypush("check", "--json", "-", input: text).output).count == 1000)
  }

  /// A file and a name full of bytes that would control a terminal or break a line of JSON.
  private static let hostile =
    #"cd "$1" && name=$(printf 'a\033[31m"\\\377\342\200\256\nb.json') && "#
    + #"printf '{"\033]0;x\007\302\2331m\377\342\200\256":1,"token":"\001\n\r\t\\x"}\n{"token":"\300\200"}' > "$name" && "#
    + #"shift && exec "$@" "$name""#

  @Test
  func `check escapes control characters of a hostile file and name, and prints valid JSON`()
    throws
  {
    let command = try ["sh", "-c", Self.hostile, "sh", box.path] + Build.command(Build.host)
    let said = try box.run(command + ["check"])
    #expect(said.status == 65)
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: said.outputPath)))
    let text = try #require(String(validating: bytes, as: UTF8.self))
    for scalar in text.unicodeScalars {
      let isShown =
        scalar == "\n"
        || scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value)
          && scalar != "\u{202E}"
      #expect(isShown, "U+\(String(scalar.value, radix: 16))")
    }
    #expect(text.hasPrefix(#"a\x1b[31m"\\xff\xe2\x80\xae\x0ab.json:1:"#), "\(text)")
    let json = try box.run(command + ["check", "--json"])
    #expect(json.status == 65)
    let objects = try objects(json.output)
    #expect(objects.count == 2)
    #expect(objects.first?["file"] as? String == "a\u{1B}[31m\"\\\u{FFFD}\u{202E}\nb.json")
    #expect(objects.map { $0["code"] as? String } == ["control-character", "invalid-utf-8"])
  }

  /// The start of a command that runs the rest on a new terminal.
  private static let onTerminal = [
    "python3", "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)",
  ]

  @Test func `check prints colours to a terminal unless NO_COLOR or TERM=dumb is set`() throws {
    let path = try box.write(#"{"token":"123","payload":{"aps":{"alert":"x"}}}"#, to: "n")
    let command = try Self.onTerminal + Build.command(Build.host) + ["check", path]
    let shown = try box.run(command, environment: ["TERM": "xterm", "NO_COLOR": ""])
    #expect(shown.status == 65)
    #expect(shown.output.contains("\u{1B}[1m\(path):1:11: \u{1B}[31merror:\u{1B}[0m a device"))
    #expect(shown.output.contains("\u{1B}[32m^~~\u{1B}[0m"))
    for environment in [["TERM": "xterm", "NO_COLOR": "1"], ["TERM": "dumb", "NO_COLOR": ""]] {
      let plain = try box.run(command, environment: environment)
      #expect(plain.status == 65)
      #expect(!plain.output.contains("\u{1B}"), "\(plain.output)")
    }
    // A pipe gets no colours.
    let piped = try box.run(
      Build.command(Build.host) + ["check", path], environment: ["TERM": "xterm", "NO_COLOR": ""])
    #expect(!piped.output.contains("\u{1B}"))
  }

  // MARK: - Recipients files

  @Test func `check takes a file for a recipients file by its directory or by --recipients`() throws
  {
    let inside = try box.write(Self.family, to: "recipients/family")
    let outside = try box.write(Self.family, to: "family")
    let setting = "recipients=\(box.path)/recipients"
    let known = try box.tinypush("check", "-o", setting, inside)
    #expect(known.status == 65)
    #expect(
      known.output.hasPrefix(
        "\(inside):4:3: error: a device token has an even number of hex digits"))
    #expect(known.output.hasSuffix("\(inside): 3 recipients, 2 refused\n"))
    let called = try box.tinypush("check", "--recipients", outside)
    #expect(called.output == known.output.replacing(inside, with: outside))
    let relative = try box.run(
      ["env", "--chdir=\(box.path)/recipients"] + Build.command(Build.host)
        + ["check", "-o", "recipients=.", "family"])
    #expect(relative.output == known.output.replacing(inside, with: "family"))
    let taken = try box.tinypush("check", "-o", setting, outside)
    #expect(taken.output.contains("expected '{'"))
    let good = try box.write("# none\n\(token(1)) lang=fr\r\n\(token(2))", to: "recipients/good")
    let well = try box.tinypush("check", "-o", setting, good)
    #expect(well.status == 0)
    #expect(well.output == "\(good): 2 recipients, no problems\n")
    let empty = try box.tinypush("check", "--recipients", "-", input: "# nobody\n")
    #expect(empty.status == 65)
    #expect(empty.output.hasPrefix("-:2:1: error: this recipients file has no recipient"))
    let long = token(1) + " # " + String(repeating: "x", count: 300_000) + "\n123\n"
    let cut = try box.tinypush("check", "--recipients", "-", input: long)
    #expect(cut.output.hasPrefix("-:1:1: error: longer than 2048 bytes"))
    #expect(cut.output.contains("-:2:1: error: a device token has an even number of hex digits"))
    #expect(try box.tinypush("check", "--recipients").status == 64)
  }

  @Test func `check reads each named recipients file once`() throws {
    try box.write(token(1), to: "recipients/default")
    try box.write("# none yet", to: "recipients/empty")
    try box.write("123\n\(token(1))\n", to: "recipients/wrong")
    try box.write(token(1), to: "recipients/locked")
    try FileManager.default.createDirectory(
      atPath: box.path + "/recipients/directory", withIntermediateDirectories: true)
    let payload = #""payload":{"aps":{"alert":"x"}}"#
    func check(_ text: String, directory: String? = nil) throws -> Child {
      try box.tinypush(
        "check", "-o", "recipients=\(directory ?? box.path + "/recipients")", "-", input: text)
    }
    #expect(try check(#"{"aps":{"alert":"x"}}"#).output == "-: 1 notification, no problems\n")
    let empty = try check(#"{"to":"empty",\#(payload)}"#)
    #expect(empty.status == 65)
    #expect(empty.output.hasPrefix("-:1:7: error: this recipients file has no recipient"))
    #expect(try check(#"{"to":"directory",\#(payload)}"#).status == 65)
    // The problems of a recipients file are reported once, however often it is named.
    let line = #"{"to":["wrong","wrong"],\#(payload)}"# + "\n"
    let wrong = try check(line + line)
    #expect(wrong.status == 65)
    #expect(wrong.output.components(separatedBy: "error:").count == 2)
    #expect(wrong.output.hasSuffix("-: 2 notifications, no problems\n"))
    // Without a directory of recipients files, check cannot tell: it only warns.
    let elsewhere = try check(#"{"aps":{"alert":"x"}}"#, directory: box.path + "/none")
    #expect(elsewhere.status == 0)
    #expect(
      elsewhere.output.hasPrefix("-:1:1: warning: there is no directory of recipients files here"))
    try FileManager.default.removeItem(atPath: box.path + "/recipients/default")
    let missing = try check(#"{"aps":{"alert":"x"}}"#)
    #expect(missing.status == 65)
    #expect(
      missing.output.hasPrefix(
        "-:1:1: error: a payload without recipients goes to the recipients file default, which does not exist"
      ))
    // Root may read every file, so another user runs the check.
    chmod(box.path + "/recipients/locked", 0)
    let asNobody =
      geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
    let locked = try box.run(
      asNobody + Build.command(Build.host)
        + ["check", "-o", "recipients=\(box.path)/recipients", "-"],
      input: #"{"to":"locked",\#(payload)}"#)
    #expect(locked.status == 0)
    #expect(
      locked.output.hasPrefix(
        "-:1:7: warning: this user may not read the recipients file of this name"))
  }
}
