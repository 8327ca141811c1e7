import Foundation
import Testing

/// The files that `tinypush send` makes of its arguments or standard input, and its messages.
@Suite(.sideBySide) struct SendTests {
  struct Sending: Sendable, CustomTestStringConvertible {
    var arguments: [String]
    /// The queued notification, or the expected message.
    var result: String
    var input: String?
    var status: Int32
    var testDescription: String { arguments.joined(separator: " ") }
    init(
      _ arguments: String..., input: String? = nil, status: Int32 = 0, gives result: String
    ) {
      (self.arguments, self.input, self.status, self.result) = (arguments, input, status, result)
    }
  }

  private static let one = token(1)
  private static let two = token(2)

  // MARK: - Options

  @Test(arguments: [
    Sending(
      "Tank low", "--token", one,
      gives: #"{"tokens":["\#(one)"],"payload":{"aps":{"alert":"Tank low"}}}"#),
    Sending(
      "--token", one, "--token=\(two)", "--title", "Cellar", "--", "--12 %",
      gives:
        #"{"tokens":["\#(one)","\#(two)"],"payload":{"aps":{"alert":{"title":"Cellar","body":"--12 %"}}}}"#
    ),
    Sending(
      "x", "--to", "family", "--token", one, "--to=guests", "--token", two,
      gives:
        #"{"to":["family","guests"],"tokens":["\#(one)","\#(two)"],"payload":{"aps":{"alert":"x"}}}"#
    ),
    Sending("x", gives: #"{"to":["default"],"payload":{"aps":{"alert":"x"}}}"#),
    Sending(
      "a \"b\" \\ \n ü ☀", "--token", one, "--badge", "0", "--sound", "bell \"1\".caf",
      "--category", "c",
      gives:
        #"{"tokens":["\#(one)"],"payload":{"aps":{"alert":"a \"b\" \\ \n ü ☀","badge":0,"sound":"bell \"1\".caf","category":"c"}}}"#
    ),
    Sending(
      "--token", one, "--content-available", "--priority", "5", "--ttl", "90m",
      gives:
        #"{"tokens":["\#(one)"],"priority":5,"ttl":5400,"payload":{"aps":{"content-available":1}}}"#
    ),
    Sending(
      "x", "--token", one, "--push-type", "voip", "--topic", "org.example",
      "--id=0F0E0D0C-0b0a-4908-8706-050403020100",
      gives:
        #"{"tokens":["\#(one)"],"push-type":"voip","topic":"org.example","id":"0F0E0D0C-0b0a-4908-8706-050403020100","payload":{"aps":{"alert":"x"}}}"#
    ),
    Sending(
      "--token", one, "--ttl=0", "--no-sync", "--badge", "03",
      gives: #"{"tokens":["\#(one)"],"ttl":0,"payload":{"aps":{"badge":3}}}"#),
    Sending(
      "x", "--token", one, "--ttl=1ms", "--collapse-id", "tank \"1\"", "--trim",
      gives:
        #"{"tokens":["\#(one)"],"ttl":1,"collapse-id":"tank \"1\"","trim":true,"payload":{"aps":{"alert":"x"}}}"#
    ),
    Sending(
      "x", "--token", one, "--collapse-id",
      #"systemd-fsck@dev-disk-by\x2duuid-0a1b2c3d\x2d1111\x2d2222\x2d3333\x2d444455556666.service"#,
      gives:
        #"{"tokens":["\#(one)"],"collapse-id":"955b0623fb2a2716","payload":{"aps":{"alert":"x"}}}"#),
    Sending(
      "x", "--token", one, "--expiration", "0", "--registered", "1795236045",
      gives:
        #"{"tokens":["\#(one)"],"expiration":0,"registered":1795236045,"payload":{"aps":{"alert":"x"}}}"#
    ),
    Sending(
      "x", "--token", one, "--not-before", "2028-02-29T23:59:58Z", "--expiration",
      "2100-03-01T00:00Z", "--registered=2025-12-31T12:00:00Z",
      gives:
        #"{"tokens":["\#(one)"],"not-before":1835481598,"expiration":4107542400,"registered":1767182400,"payload":{"aps":{"alert":"x"}}}"#
    ),
    Sending(
      "Tank low", "--to", "family", "--lang", "fr=Cuve vide", "--lang", "de=a=b", "--title", "T",
      gives:
        #"{"to":["family"],"localized":{"fr":{"title":"T","body":"Cuve vide"},"de":{"title":"T","body":"a=b"}},"payload":{"aps":{"alert":{"title":"T","body":"Tank low"}}}}"#
    ),
    Sending(
      "--lang", "fr=Cuve vide", "--lang", "en=Tank low", "--badge", "1",
      gives:
        #"{"to":["default"],"localized":{"fr":"Cuve vide","en":"Tank low"},"payload":{"aps":{"badge":1}}}"#
    ),
    Sending(
      "x", "--token", one, "--subtitle", "S", "--thread", "t \"1\"", "--level", "time-sensitive",
      gives:
        #"{"tokens":["\#(one)"],"payload":{"aps":{"thread-id":"t \"1\"","interruption-level":"time-sensitive","alert":{"subtitle":"S","body":"x"}}}}"#
    ),
    Sending(
      "--token", one, "--title", "T", "--subtitle", "S", "--lang", "en=y", "--level=critical",
      gives:
        #"{"tokens":["\#(one)"],"localized":{"en":{"title":"T","subtitle":"S","body":"y"}},"payload":{"aps":{"interruption-level":"critical"}}}"#
    ),
    Sending(
      "x", "--token", one, "--data", "a=b=c", "--data=\"k\"=", "--data", "n:=-4.2e1", "--data",
      "o:= {\"x\": [1, null]}\n", "--data", "t:= true", "--data", "u:v=1",
      gives:
        #"{"tokens":["\#(one)"],"payload":{"aps":{"alert":"x"},"a":"b=c","\"k\"":"","n":-42,"o":{"x":[1,null]},"t":true,"u:v":"1"}}"#
    ),
    Sending(
      "--payload", "-", "--token", one, "--lang=fr=y",
      input: "{ \"aps\": {\"alert\": \"x\"},\n \"app\": [1] }\n",
      gives:
        #"{"tokens":["\#(one)"],"localized":{"fr":"y"},"payload":{"aps":{"alert":"x"},"app":[1]}}"#),
  ])
  func `send queues the notification of its options and prints the file's name`(row: Sending) throws
  {
    for name in ["default", "family", "guests"] {
      try box.write(token(9), to: "recipients/\(name)")
    }
    // Sending needs neither a running agent nor its keys.
    let sent = try box.send(row.arguments, input: row.input)
    #expect(sent.status == 0, "\(sent.errors)")
    #expect(sent.errors == "")
    let names = box.queued
    try #require(names.count == 1)
    let name = try names.at(0)
    #expect(sent.output == name + "\n")
    #expect(name.wholeMatch(of: /\d{10}\.\d{9}\.\d+/) != nil)
    #expect(box.names(in: "tmp") == [])
    let text = box.text("spool/new/\(name)")
    let queued = try #require(objects(text.replacing("\n", with: " ")).first) as NSDictionary
    #expect(try queued == objects(row.result).at(0) as NSDictionary, "\(text)")
    let checked = try box.tinypush("check", box.spool + "/new/" + name)
    #expect(checked.status == 0, "\(checked.output)")
  }

  @Test func `send --quiet prints no name`() throws {
    let sent = try box.send(["x", "--token", Self.one, "--quiet"])
    #expect(sent.status == 0)
    #expect(sent.output + sent.errors == "")
    #expect(box.queued.count == 1)
  }

  @Test func `send --dry-run prints the notification and queues nothing`() throws {
    let words = ["Tank low", "--token", Self.one, "--title", "Cellar", "--data", "level:=42"]
    let sent = try box.send(words + ["--dry-run", "--wait=60s"])
    #expect(sent.status == 0, "\(sent.errors)")
    #expect(box.queued + box.names(in: "tmp") == [])
    _ = try box.send(words)
    #expect(try sent.output == box.text("spool/new/" + box.queued.at(0)))
    let refused = try box.send(["x", "--token", "1", "--dry-run"])
    #expect(refused.status == 65)
    // --dry-run needs no spool.
    let elsewhere = try box.tinypush(
      "send", "x", "--token", Self.one, "--dry-run", "-o", "spool=/nowhere")
    #expect(elsewhere.status == 0, "\(elsewhere.errors)")
  }

  @Test func `TINYPUSH_CONFIG names the configuration, and --config overrides it`() throws {
    let config = try box.write("spool = \(box.spool)\n", to: "tinypush.conf")
    func send(_ options: String..., environment path: String) throws -> Child {
      try box.run(
        Build.command(Build.host) + ["send", "x", "--token", Self.one] + options,
        environment: ["TINYPUSH_CONFIG": path])
    }
    #expect(try send(environment: config).status == 0)
    #expect(try send("--config", config, environment: "/nowhere").status == 0)
    #expect(box.queued.count == 2)
    let missing = try send("-o", "spool=\(box.spool)", environment: "/nowhere")
    #expect(missing.status == 66)
    #expect(missing.errors.hasPrefix("tinypush send: /nowhere: No such file or directory"))
    // An empty variable counts as unset.
    #expect(try send("-o", "spool=\(box.spool)", environment: "").status == 0)
  }

  @Test func `send writes a time from now as UNIX seconds`() throws {
    let before = Int(Date().timeIntervalSince1970)
    let sent = try box.send([
      "x", "--token", Self.one, "--not-before", "2h", "--expiration", "1d",
    ])
    let after = Int(Date().timeIntervalSince1970)
    #expect(sent.status == 0, "\(sent.errors)")
    let queued = try objects(box.text("spool/new/" + box.queued.at(0))).at(0)
    for (key, seconds) in [("not-before", 7200), ("expiration", 86_400)] {
      let date = try #require(queued[key] as? Int)
      #expect((before + seconds...after + seconds).contains(date), "\(key)")
    }
  }

  @Test(
    arguments: [
      ("2030-06-01T12:30:15Z", 1_906_547_415), ("2030-06-01T12:30+05:30", 1_906_527_600),
      ("2030-06-01 12:30-0100", 1_906_551_000), ("2030-06-01T12:30", 1_906_540_200),
      ("2030-12-01 12:30:15", 1_922_355_015), ("2030-06-01", 1_906_495_200),
      // The local time skips this hour: the date is as long after midnight as on other days.
      ("2030-03-31 02:30", 1_901_151_000),
      ("2030-02-30", nil), ("2030-06-01T24:00", nil), ("2030-06-01T12:30+24:00", nil),
      ("2030-06-01T12:30Zulu", nil), ("2030-06-01T", nil), ("2030-6-1", nil), ("12:30", nil),
      ("2030-06-01T12:30+0", nil), ("1969-12-31T23:59Z", nil),
    ] as [(String, Int?)])
  func `a date is in local time, or has its offset`(date: String, seconds: Int?) throws {
    let sent = try box.run(
      Build.command(Build.host) + [
        "send", "x", "--token", token(1), "--not-before", date, "--dry-run", "-o",
        "spool=\(box.spool)",
      ], environment: ["TZ": "CET-1CEST,M3.5.0,M10.5.0/3"])
    if let seconds {
      #expect(sent.output.contains("\"not-before\":\(seconds),"), "\(sent.output)\(sent.errors)")
    } else {
      #expect(sent.status == 64)
      #expect(sent.errors.contains(Self.when + date))
    }
  }

  @Test func `notifications arrive in the order of sending`() throws {
    for number in 1...20 {
      let sent = try box.send([
        "alert \(number)", "--token", token(number), "--token", token(number + 100), "--no-sync",
      ])
      #expect(sent.status == 0)
    }
    let gateway = try Gateway(in: box)
    let agent = try box.deliver(gateway)
    #expect(agent.status == 0, "\(agent.errors)")
    try #expect(
      gateway.alerts(in: box) == (1...20).flatMap { ["alert \($0)", "alert \($0)"] })
  }

  private static let when =
    "takes UNIX seconds, a time from now such as 10m, or a date such as 2026-12-24T18:00, not "

  @Test(arguments: [
    Sending(
      "x", status: 64,
      gives:
        "tinypush send: no recipients: give --to NAME or --token HEX, or add a recipient to BOX/recipients/default with tinypush recipient add default RECIPIENT"
    ),
    Sending(
      "x", "--to", "nobody", "--token", one, status: 65,
      gives:
        "tinypush send: no recipients file nobody in BOX/recipients: add one with tinypush recipient add nobody RECIPIENT\n"
    ),
    Sending(
      "x", "--to", "../x", status: 65,
      gives: """
        tinypush send: not the name of a recipients file: use letters, digits and . _ - + @, no dot at the start, at most 64 characters
          {"to":["../x"],"payload":{"aps":{"alert":"x"}}}
                 ^~~~~~

        """),
    Sending(
      "x", "--to", one, status: 65, gives: "this is a device token: give it as token, or in tokens"
    ),
    Sending(
      "x", "--token", "abc", "--token", one, status: 65,
      gives: """
        tinypush send: a device token has an even number of hex digits, from 2 to 200; this one has 3 characters
          {"tokens":["abc","0000000000000000000000000000000000000000000000000000000000…
                      ^~~

        """),
    Sending(
      "x", "--token", String(repeating: "z", count: 62), status: 65,
      gives: "in hex digits (0-9, a-f) or in base64"),
    Sending(
      "--token", one, status: 64,
      gives:
        "tinypush send: nothing to send: give a text, --title, --badge, --sound, --content-available or --payload\n"
    ),
    Sending("--title", "", "--token", one, status: 64, gives: "nothing to send: give a text"),
    Sending("", "--title", "", "--token", one, status: 64, gives: "nothing to send: give a text"),
    Sending(" \n", "--token", one, status: 64, gives: "nothing to send: give a text"),
    Sending(
      "x", "--token", one, "--priority", "7", status: 65, gives: "priority must be 10 (at once)"),
    Sending(
      "--token", one, "--content-available", "--priority", "10", status: 65,
      gives: "priority must be 5"),
    Sending(
      String(repeating: "x", count: 4148), "--token", one, "--no-trim", status: 65,
      gives: "the payload has 4168 bytes without white space; the limit is 4096"),
    Sending(
      "x", "--token", one, "-o", "payload-limit=16", status: 65, gives: "the limit is 16"),
    Sending(
      "x", "--token", one, "--title", String(repeating: "x", count: 70_000), status: 65,
      gives: "the notification is larger than 65536 bytes"),
    Sending(
      "--payload", "-", "--token", one, input: #"{"alert":"x"}"#, status: 65, gives: "-:1:1: "),
    Sending(
      "--payload", "-", "--token", one, input: "{\"aps\":\n {\"alert\":\"ü\",\"badge\":\"3\"}}\n",
      status: 65,
      gives: """
        -:2:23: error: badge must be a number without quotes; 0 removes it
           {"alert":"ü","badge":"3"}}
                                ^~~

        """),
    Sending(
      "--payload", "-", "--token", one, input: #"{"aps":{"alert":"x"}"#, status: 65,
      gives: "-:1:21: error: the text ends in the middle of an object"),
    Sending(
      "--payload", "-", "--token", one, input: "Tank low", status: 65, gives: "expected a value"),
    Sending(
      "--payload", "-", "--token", one, input: "", status: 65,
      gives: "-:1:1: error: expected a value"),
    Sending(
      "--payload", "-", "--token", one,
      input: #"{"aps":{"alert":"a"}}} {"token":"1","payload":{"aps":{"alert":"b"}}"#, status: 65,
      gives: "--payload must hold a single JSON object, but more follows it in -"),
    Sending(
      "--payload", "-", "--token", one, input: #"{"aps":{"alert":"a"}},"ttl":0"#, status: 65,
      gives: "--payload must hold a single JSON object, but more follows it in -"),
    Sending(
      "--payload", "none.json", "--token", one, status: 66,
      gives: "tinypush send: none.json: No such file or directory\n"),
    Sending(
      "x", "--payload", "-", "--token", one, input: #"{"aps":{"alert":"a"}}"#, status: 64,
      gives:
        "tinypush send: give either --payload or a text with its options, not both: --payload -\n"),
    Sending(
      "x", "--token", one, "--badge", "x", status: 64,
      gives: "tinypush send: --badge must be a whole number, not x\n"),
    Sending("x", "--token", one, "--badge", "1.5", status: 64, gives: "--badge must be"),
    Sending("x", "--token", one, "--badge", "", status: 64, gives: "not an empty text"),
    Sending(
      "x", "--token", one, "--registered", "2999-01-01", status: 64,
      gives: "--registered takes a time in the past"),
    Sending(
      "x", "--token", one, "--registered", "1h", status: 64,
      gives: "--registered takes a time in the past"),
    Sending(
      "x", "--token", one, "--level", "criticle", status: 64,
      gives:
        "tinypush send: --level takes passive, active, time-sensitive or critical, not criticle; did you mean critical?\n"
    ),
    Sending(
      "x", "--token", one, "--data", "x", status: 64,
      gives: "tinypush send: --data takes KEY=VALUE, or KEY:=JSON with a JSON value, not x\n"),
    Sending("x", "--token", one, "--data", "=x", status: 64, gives: "--data takes KEY=VALUE"),
    Sending("x", "--token", one, "--data", ":=1", status: 64, gives: "--data takes KEY=VALUE"),
    Sending("x", "--token", one, "--data", "n:=", status: 64, gives: "--data takes KEY=VALUE"),
    Sending("x", "--token", one, "--data", "n:=x", status: 64, gives: "--data takes KEY=VALUE"),
    Sending(
      "x", "--token", one, "--data", #"n:=1},"y":{"z":2"#, status: 64,
      gives: "--data takes KEY=VALUE"),
    Sending(
      "x", "--token", one, "--data", "aps=1", status: 65, gives: "duplicate key: remove one"),
    Sending(
      "--payload", "-", "--token", one, "--data", "a=b", input: "{}", status: 64,
      gives: "give either --payload or a text with its options"),
    Sending(
      "-", "--dry-run", status: 64,
      gives:
        "tinypush send: --dry-run is for a text: check notifications with tinypush check -\n"
    ),
    Sending(
      "x", "--token", one, "--badge", #"1},"x":{"y":2"#, status: 64, gives: "--badge must be"),
    Sending("x", "--token", one, "--priority", "high", status: 64, gives: "--priority must be"),
    Sending(
      "x", "--token", one, "--ttl", "1w", status: 64,
      gives: "tinypush send: --ttl takes a time such as 90s, 10m, 2h or 1d, not 1w\n"),
    Sending(
      "x", "--token", one, "--expiration", "2020-01-01", status: 64,
      gives:
        "tinypush send: --expiration is in the past, so that nobody would get the alert: 2020-01-01\n"
    ),
    Sending(
      "x", "--token", one, "--not-before", "1h", "--expiration", "30m", status: 64,
      gives:
        "tinypush send: --expiration is not after --not-before, so that nobody would get the alert\n"
    ),
    Sending(
      "--token", one, "--", "-5 degrees", "--json", status: 64,
      gives: "tinypush send: unexpected argument `--json`: options stand before --\n"),
    Sending(
      "x", "--token", one, "--ttl", "1d", "--expiration", "1d", status: 65,
      gives: "give either expiration or ttl, not both"),
    Sending(
      "x", "--token", one, "--not-before", "soon", status: 64,
      gives: "tinypush send: --not-before \(when)soon\n"),
    Sending(
      "x", "--token", one, "--not-before", "2027-02-29T00:00Z", status: 64,
      gives: "--not-before \(when)2027"),
    Sending(
      "x", "--token", one, "--not-before", "2027-01-01T24:00Z", status: 64,
      gives: "--not-before \(when)2027"),
    Sending(
      "x", "--token", one, "--not-before", "600", status: 65, gives: "add the present time"),
    Sending(
      "x", "--token", one, "--collapse-id", "", status: 65,
      gives: "collapse-id must have 1 to 64 bytes"),
    Sending(
      "x", "--token", one, "--lang", "Bonjour", status: 64,
      gives: "tinypush send: --lang takes LANGUAGE=TEXT, not Bonjour\n"),
    Sending(
      "x", "--token", one, "--lang", "fr=", status: 64,
      gives: "tinypush send: --lang takes LANGUAGE=TEXT, not fr=\n"),
    Sending("x", "--token", one, "--lang", "fr_=x", status: 65, gives: "not a language"),
    Sending(
      "x", "--token", one, "--lang", "fr=x", "--lang", "fr=y", status: 65, gives: "duplicate key"),
    Sending("--token", one, "--lang", "fr=x", status: 65, gives: "in the default language"),
    Sending(
      "x", "--token", one, "--title", "a", "--title", "b", status: 64,
      gives: "tinypush send: --title may be given only once\n"),
    Sending(
      "Tank", "low", "--token", one, status: 64,
      gives: "tinypush send: unexpected argument `low`: put the message in quotes\n"),
    Sending(
      "x", "--tokn", one, status: 64,
      gives: """
        tinypush send: unknown option --tokn; did you mean --token?
        Try `tinypush send --help`.

        """),
    Sending(
      "x", "-qc", one, status: 64,
      gives: "tinypush send: unknown option -q\n"
        + "Try `tinypush send --help`.\n"),
    Sending("x", "--token", status: 64, gives: "tinypush send: --token needs a value"),
    Sending("x", "-c", status: 64, gives: "tinypush send: -c needs a value"),
    Sending("x", "--token", one, "--wait=long", status: 64, gives: "--wait takes a time such as"),
    Sending(
      "-", "--title", "T", input: "{}", status: 64,
      gives:
        "tinypush send: --title cannot be given with notifications on standard input: write it into them\n"
    ),
    Sending(
      "-", "--title", "T", input: " \n", status: 65,
      gives: "tinypush send: nothing was queued: standard input holds no text\n"),
    Sending(
      "-", input: " \n\n", status: 65,
      gives: "tinypush send: standard input holds no notification\n"),
  ])
  func `send refuses what the agent or the gateway would refuse`(row: Sending) throws {
    let sent = try box.send(row.arguments, input: row.input)
    #expect(sent.status == row.status, "\(sent.output)")
    let errors = sent.errors.replacing(box.path, with: "BOX")
    if row.result.hasSuffix("\n") {
      #expect(errors == row.result)
    } else {
      #expect(errors.contains(row.result), "\(errors)")
    }
    #expect(sent.output == "")
    #expect(box.queued + box.names(in: "tmp") == [])
  }

  @Test(arguments: [nil, "", "# nobody\n", "abc\n"])
  func `an alert to a recipients file that is missing or has no recipient is refused`(
    content: String?
  ) throws {
    if let content { try box.write(content, to: "recipients/family") }
    let said =
      content == nil ? "no recipients file family in" : "no recipient in the file family in"
    let sent = try box.send(["Fire", "--to", "family"])
    #expect(sent.status == 65)
    #expect(sent.errors.hasPrefix("tinypush send: \(said)"), "\(sent.errors)")
    let stream = try box.send(
      ["-"], input: line(1) + #"{"to":"family","payload":{"aps":{"alert":"Fire"}}}"#)
    #expect(stream.status == 65)
    #expect(stream.errors.contains("-:2:7: error: "), "\(stream.errors)")
    #expect(box.queued + box.names(in: "tmp") == [])
  }

  // MARK: - Standard input

  @Test func `send - queues standard input unchanged as one file`() throws {
    let bare = "{\"aps\": {\n  \"alert\": \"for default\" }\n}"
    try box.write(token(4) + "\n", to: "recipients/default")
    let input = line(1, "first") + " \n" + bare + line(2, "second") + line(3, "third").dropLast()
    let sent = try box.send(["-"], input: input)
    #expect(sent.status == 0, "\(sent.errors)")
    let name = try box.queued.at(0)
    #expect(sent.output == name + "\n")
    #expect(box.text("spool/new/\(name)") == input)
    #expect(box.queued.count == 1)
    #expect(box.names(in: "tmp") == [])
    let gateway = try Gateway(in: box)
    let agent = try box.deliver(gateway, ["recipients=\(box.path)/recipients"])
    #expect(agent.status == 0, "\(agent.errors)")
    try #expect(gateway.alerts(in: box) == ["first", "for default", "second", "third"])
  }

  @Test func `send - queues nothing if one notification is wrong, and shows it`() throws {
    try box.write(token(4), to: "recipients/default")
    let good = (1...3000).map { line($0) }.joined()
    let sent = try box.send(
      ["-"], input: good + #"{"aps":{"alert":"ü"},"a":1} {"aps":{"badge":"3"}}"# + "\n" + good)
    #expect(sent.status == 65)
    #expect(
      sent.errors == """
        -:3001:45: error: badge must be a number without quotes; 0 removes it
          {"aps":{"alert":"ü"},"a":1} {"aps":{"badge":"3"}}
                                                      ^~~
        tinypush send: nothing was queued: 1 of 6002 notifications would be refused

        """)
    #expect(sent.output == "")
    #expect(box.queued + box.names(in: "tmp") == [])
  }

  @Test(arguments: [
    (#"Größe "wichtig""# + String(repeating: "ö", count: 3000), nil),
    (String(repeating: "€", count: 40_000), nil), ("-", String(repeating: "\u{1}😀", count: 50_000)),
    ("-", " \n\tLine 1\nLine 2\n\n"), ("-", "[1]\0[2]"), ("-", "x"),
  ])
  func `send shortens a text that is too long, also from standard input`(
    text: String, input: String?
  ) throws {
    let sent = try box.send([text, "--token", Self.one, "--title", "T"], input: input ?? "")
    #expect(sent.status == 0, "\(sent.errors)")
    let whole = (input ?? text).trimmingCharacters(in: .newlines).replacing("\0", with: " ")
    let isLong = whole.utf8.count > 4096
    #expect(
      sent.errors
        == (isLong
          ? "tinypush send: the text was shortened to what a notification can hold\n" : ""))
    let file = try box.text("spool/new/" + #require(box.queued.first))
    let payload = try #require(objects(file).first)["payload"] as? [String: Any]
    let alert = (payload?["aps"] as? [String: Any])?["alert"] as? [String: String]
    let body = try #require(alert?["body"])
    #expect(
      isLong
        ? whole.hasPrefix(body) && body.utf8.count >= min(8000, whole.utf8.count) : body == whole)
    #expect(file.contains(#""trim":true"#) == isLong)
    let checked = try box.tinypush("check", box.spool + "/new/" + box.queued[0])
    #expect(checked.status == 0, "\(checked.output)")
    // The text may also be refused.
    let refused = try box.send(
      [text, "--token", Self.one, "--title", "T", "--no-trim"], input: input ?? "")
    #expect(refused.status == (isLong ? 65 : 0))
  }

  @Test func `send - shows 20 of many wrong notifications and counts them all`() throws {
    let sent = try box.send(["-"], input: String(repeating: "{}\nrubbish\n", count: 1000))
    #expect(sent.status == 65)
    #expect(sent.errors.count(of: "expected '{'") == 10)
    #expect(sent.errors.count(of: "no payload") == 10)
    #expect(
      sent.errors.hasSuffix(
        "tinypush send: nothing was queued: 2000 of 2000 notifications would be refused\n"))
    #expect(box.queued + box.names(in: "tmp") == [])
  }

  @Test func `send - queues nothing if standard input cannot be read`() throws {
    let sent = try box.run(
      ["sh", "-c", "exec \"$@\" <\(box.path)", "sh"] + Build.command(Build.host) + [
        "send", "-", "-o", "spool=" + box.spool,
      ])
    #expect(sent.status == 66)
    #expect(
      sent.errors
        == "tinypush send: nothing was queued: cannot read standard input: Is a directory\n")
    #expect(box.queued + box.names(in: "tmp") == [])
  }

  @Test func `send - uses the same memory for any number of notifications`() throws {
    let pipe = try NamedPipe(in: box)
    let sender = try box.start(pipe.feeding(box.sending(["-", "--no-sync"])))
    let writer = try pipe.open()
    let first = Data((1...500).map { line($0) }.joined().utf8)
    try writer.write(contentsOf: first)
    try wait(for: "the sender to have read all") {
      var unread: Int32 = 0
      guard ioctl(writer.fileDescriptor, UInt(FIONREAD), &unread) == 0 else {
        throw Failure("FIONREAD: errno \(errno)")
      }
      return unread == 0 && sender.isAsleep
    }
    let peak = try peakKB(sender)
    for _ in 2...100 { try writer.write(contentsOf: first) }
    #expect(try peakKB(sender) - peak <= 64, "for 7 MB of input")
    #expect(box.queued == [])
    try writer.close()
    #expect(try sender.wait() == 0, "\(sender.errors)")
    let name = sender.output.trimmingCharacters(in: .newlines)
    let path = "\(box.spool)/new/\(name)"
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    #expect(size == 100 * first.count)
  }

  private func peakKB(_ child: Child) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(child.id)/status", encoding: .utf8)
    let peak = try #require(status.firstMatch(of: /VmHWM:\s+(\d+) kB/))
    return try number(peak.1)
  }

  // MARK: - Interruptions

  /// Where `send` keeps the bytes of a file until it is complete.
  enum Keeping: CaseIterable, Sendable {
    /// In an unnamed file (O_TMPFILE).
    case unnamed
    /// In tmp/, if unnamed files are not possible.
    case named
  }

  @Test(arguments: Keeping.allCases, [SIGINT, SIGTERM, SIGHUP])
  func `an interrupted send leaves no file`(keeping: Keeping, signal: Int32) throws {
    let pipe = try NamedPipe(in: box)
    var command = try pipe.feeding(box.sending(["-"]))
    if keeping == .named { command = try Self.withoutProc(command) }
    let sender = try box.start(command)
    let writer = try pipe.open()
    // More than a pipe holds, so `send` has read some of it.
    try writer.write(contentsOf: Data(String(repeating: line(1), count: 2000).utf8))
    #expect(box.queued == [])
    #expect(box.names(in: "tmp").count == (keeping == .named ? 1 : 0))
    sender.signal(signal)
    #expect(try sender.wait() == 128 + signal)
    #expect(box.queued + box.names(in: "tmp") == [])
    #expect(sender.output + sender.errors == "")
    try writer.close()
  }

  @Test func `a killed send leaves no file`() throws {
    let pipe = try NamedPipe(in: box)
    let sender = try box.start(pipe.feeding(box.sending(["-"])))
    let writer = try pipe.open()
    try writer.write(contentsOf: Data(String(repeating: line(1), count: 2000).utf8))
    sender.kill()
    #expect(box.queued + box.names(in: "tmp") == [])
    try writer.close()
  }

  @Test func `send also works where unnamed files are not possible`() throws {
    let sent = try box.run(Self.withoutProc(box.sending(["x", "--token", Self.one])))
    #expect(sent.status == 0, "\(sent.errors)")
    #expect(try sent.output == box.queued.at(0) + "\n")
    #expect(box.names(in: "tmp") == [])
  }

  /// Returns a command that runs without /proc, through which unnamed files get their names.
  private static func withoutProc(_ command: [String]) throws -> [String] {
    try #require(geteuid() == 0, "needs root")
    return ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"]
      + command
  }

  @Test(arguments: Disk.Resource.allCases, [["x", "--token", one], ["-"]])
  func `send reports a full disk and leaves no file`(resource: Disk.Resource, arguments: [String])
    throws
  {
    let disk = try Disk(under: box, "size=1m,nr_inodes=200")
    try disk.fill(resource)
    let before = box.names(in: "tmp")
    let sent = try box.send(arguments, input: line(1))
    #expect(sent.status == 74)
    #expect(
      sent.errors == """
        tinypush send: spool \(box.spool): cannot write to tmp/ and new/, and nothing was queued: \
        No space left on device

        """)
    #expect(sent.output == "")
    #expect(box.queued == [])
    #expect(box.names(in: "tmp") == before)
    disk.makeRoom()
    #expect(try box.send(arguments, input: line(1)).status == 0)
  }

  @Test func `send reports a missing or incomplete spool`() throws {
    let none = try box.tinypush("send", "x", "--token", Self.one, "-o", "spool=/nowhere")
    #expect(none.status == 66)
    #expect(
      none.errors == """
        tinypush send: spool /nowhere: No such file or directory: name the right spool with \
        --config FILE or -o spool=DIR

        """)
    rmdir(box.spool + "/tmp")
    let half = try box.send(["x", "--token", Self.one])
    #expect(half.status == 66)
    #expect(half.errors.contains("cannot write to tmp/ and new/, and nothing was queued: No such"))
  }
}

extension Box {
  /// Returns `tinypush send` with the box's spool, state and recipients.
  func sending(_ arguments: [String]) throws -> [String] {
    try Build.command(Build.host) + [
      "send", "-o", "spool=" + spool, "-o", "state=" + state, "-o",
      "recipients=\(path)/recipients",
    ] + arguments
  }

  func send(_ arguments: [String], input: String? = nil) throws -> Child {
    try run(sending(arguments), input: input)
  }
}

/// A named pipe for the standard input of a process.
struct NamedPipe {
  let path: String

  init(in box: Box) throws {
    path = box.path + "/pipe"
    guard mkfifo(path, 0o666) == 0 else { throw Failure("mkfifo: errno \(errno)") }
  }

  func feeding(_ command: [String]) -> [String] {
    ["sh", "-c", "exec \"$@\" <\(path)", "sh"] + command
  }

  /// Opens the pipe for writing, once the process has opened it for reading.
  func open() throws -> FileHandle {
    // A write to a process that has ended is to fail, not to end the tests.
    signal(SIGPIPE, SIG_IGN)
    let pipe = try openPipe(path)
    // A write waits for room.
    guard fcntl(pipe, F_SETFL, 0) == 0 else { throw Failure("\(path): errno \(errno)") }
    return FileHandle(fileDescriptor: pipe, closeOnDealloc: true)
  }
}
