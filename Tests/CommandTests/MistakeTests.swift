import Foundation
import Testing

/// Error messages name the place and the remedy; exit statuses are those of sysexits.h.
@Suite(.sideBySide) struct MistakeTests {
  private static let command = ["run", "--once"]

  struct Row: Sendable, CustomTestStringConvertible {
    var arguments: [String]
    var status: Int32
    var words: [String]
    var testDescription: String { arguments.joined(separator: " ") }
    init(_ arguments: String, _ status: Int32, _ words: String...) {
      self.arguments = arguments.split(separator: " ").map(String.init)
      (self.status, self.words) = (status, words)
    }
  }

  @Test(arguments: [
    Row("", 64, "Usage: tinypush COMMAND"),
    Row("rum", 64, "unknown command rum; did you mean run?", "Try `tinypush --help`"),
    Row("statsu", 64, "did you mean status?"),
    Row("help statsu", 64, "did you mean status?"),
    Row("versoin", 64, "did you mean version?"),
    Row("--confg x send hi", 64, "unknown option --confg; did you mean --config?"),
    Row("--wait send hi", 64, "unknown option --wait: only --config FILE and -o KEY=VALUE may"),
    Row("-o", 64, "-o needs a value"),
    Row("-o settle=5s", 64, "Usage: tinypush COMMAND"),
    Row("-o settel=5s run", 64, "-o: unknown setting settel; did you mean settle?"),
    Row(
      "run --onse", 64, "unknown option --onse; did you mean --once?", "tinypush run --help"),
    Row("run --once=yes", 64, "--once=yes: this option takes no value"),
    Row("run --confg x", 64, "did you mean --config?"),
    Row("run --config", 64, "--config needs a value"),
    Row("run spool", 64, "unexpected argument spool"),
    Row("run -o settel=5s", 64, "-o: unknown setting settel; did you mean settle?"),
    Row("run -o gatway=x", 64, "did you mean gateway?"),
    Row("run -o xyzzy=1", 64, "unknown setting xyzzy"),
    Row("run -o settle", 64, "-o takes KEY=VALUE, not settle"),
    Row("run -o settle=5", 64, "settle must be a time with its unit, such as 20ms, 10s"),
    Row("run -o settle=99999d", 64, "settle must be", "not too long"),
    Row("run -o format=3", 64, "format must be 2, 1 or 0"),
    Row("run -o window=3", 64, "window must be a number from 16 to 65000"),
    Row("run -o payload-limit=1M", 64, "payload-limit must be a size from 16 to 4096 bytes"),
    Row("run -o environment=prod", 64, "environment must be production, development or local"),
    Row("run -o confirm=never", 64, "confirm must be drain, barrier or settle"),
    Row("run -o spool=", 64, "spool must be a path"),
    Row("send --tokn x", 64, "unknown option --tokn; did you mean --token?"),
    Row("send --p x", 64, "ambiguous option --p: --payload --priority --push-type"),
    Row("send --ttl 5w x", 64, "--ttl takes a time such as 90s, 10m, 2h or 1d, not 5w"),
    Row("send one two", 64, "unexpected argument `two`: put the message in quotes"),
    Row("send x --payload -", 64, "give either --payload or a text"),
    Row("check --jsn", 64, "did you mean --json?"),
    Row("status --jason", 64, "did you mean --json?"),
    Row("sandbox --prt 1", 64, "did you mean --port?"),
    Row("sandbox --port 70000", 64, "--port", "0 to 65535"),
    Row("sandbox --invalid 123", 64, "--invalid", "hex digits"),
    Row(
      "run --config nowhere.conf", 66, "nowhere.conf: No such file or directory", "--config FILE"),
    Row("run --config /", 78, "/: Is a directory: ", "--config FILE"),
    Row("run -o certificate=", 64, "certificate must be a path"),
    Row("run", 78, "neither a signing key nor a certificate is set"),
    Row("check nowhere.json", 66, "nowhere.json: No such file or directory"),
    Row("send x --payload nowhere.json --token 1", 64, "give either --payload"),
    Row("send --payload nowhere.json", 66, "nowhere.json: No such file or directory"),
    Row("status -o status=nowhere", 69, "nowhere: No such file or directory"),
  ])
  func `a mistake on the command line gets a message with the likely meaning`(row: Row) throws {
    let ended = try box.run(Build.command(Build.host) + row.arguments)
    #expect(ended.status == row.status)
    for words in row.words { #expect(ended.errors.contains(words), "\(ended.errors)") }
    #expect(ended.output == "")
  }

  @Test(arguments: [
    ("# fine\nspool = x\nsettel = 5s\n", 3, "unknown setting settel; did you mean settle?"),
    ("settle = 5\n", 1, "settle must be a time with its unit"),
    ("\n\nsettle 5s\n", 3, "expected KEY = VALUE"),
    ("format = 2\n[gateway]\nformat = 1\n", 2, "there are no [sections] here"),
    ("settle = 5s\nformat = two\n", 2, "format must be 2, 1 or 0"),
    ("\u{1}\u{2}\u{3}\n", 1, "expected KEY = VALUE"), ("= 5s\n", 1, "expected KEY = VALUE"),
    (
      "settle = 5s\nspool = /spool # on the card\n", 2,
      #"spool is "/spool # on the card": put the comment on a line of its own, beginning with #"#
    ),
    (
      "ttl = 1h\t#too long\n", 1, #"ttl is "1h\x09#too long": put the comment on a line of its own"#
    ),
    ("on-trouble = x\n  y && z\n", 2, "expected KEY = VALUE"),
    ("log = changes\nspool = /a\u{1}b\n", 2, "a control character is in this line"),
    ("settle = 5s ; fine\nlimit-summary = \(long) ;-)\n", 2, "limit-summary must be at most"),
    ("key-password = \(String(repeating: "x", count: 1024))\n", 1, "key-password must be a text"),
    ("topic = \(long)\n", 1, "topic must be the bundle ID"),
    (
      "# \(String(repeating: "long comment ", count: 100))\nsettel = 5s\n", 2,
      "unknown setting settel; did you mean settle?"
    ),
  ])
  func `an error in the configuration is reported with its line`(
    text: String, number: Int, words: String
  ) throws {
    let path = try box.write(text, to: "tinypush.conf")
    for command in [["run"], ["check"], ["check", "--settings"]] {
      let ended = try box.run(Build.command(Build.host) + command + ["--config", path])
      #expect(ended.status == 78)
      #expect(ended.errors.contains("\(path):\(number): \(words)"), "\(ended.errors)")
    }
  }

  private static let long = String(repeating: "x", count: 1000)

  @Test func `a file of more than a megabyte is refused`() throws {
    let path = try box.write(String(repeating: "#\n", count: 600_000), to: "tinypush.conf")
    let ended = try box.run(Build.command(Build.host) + ["check", "--config", path])
    #expect(ended.status == 78)
    #expect(
      ended.errors.contains("\(path): the file has more than 1048576 bytes: is it the right file?"),
      "\(ended.errors)")
  }

  private static let token = String(repeating: "0", count: 64)

  @Test(arguments: [
    "ttll = 5h", "ttl = 5x", "certficate = x", "ttl = 1h # hour",
    "on-trouble = a\u{1}b",
    "[gateway]\nttl = 1h", "protocol = http2\nsettle = 5s", "signing-key = missing.p8",
  ])
  func `a mistake in a setting that a command does not need is a warning`(line: String) throws {
    let path = try box.write(
      "spool = \(box.spool)\nrecipients = \(box.path)/recipients\nstate = \(box.path)\n\(line)\n",
      to: "tinypush.conf")
    for command in [
      ["send", "--token", Self.token, "x"], ["queue"], ["recipient", "list"], ["token", "list"],
    ] {
      let ended = try box.run(Build.command(Build.host) + command + ["--config", path])
      #expect(ended.status != 78, "\(command)")
      let warning = "tinypush \(command[0]): warning: \(path):"
      #expect(ended.errors.hasPrefix(warning), "\(ended.errors)")
      let advice =
        ": the agent does not start, or keeps its old settings, until this is corrected\n"
      #expect(ended.errors.contains(advice), "\(ended.errors)")
    }
    #expect(box.queued.count == 1)
  }

  @Test(arguments: [
    "spol = /tmp", "spool = /spool # on the card", "spool /spool", "settle 5s", "protocol = http",
    "[spool]\nspool = /spool", "recipents = x", "status = /a\u{1}b", "-o:spool", "-o:=x",
    "-o:ttl=5",
  ])
  func `a mistake in a setting that send needs is an error`(line: String) throws {
    let isOption = line.hasPrefix("-o:")
    let path = try box.write(
      "spool = \(box.spool)\n" + (isOption ? "ttll = 5h\n" : line + "\n"), to: "tinypush.conf")
    let ended = try box.run(
      Build.command(Build.host) + ["send", "x", "--token", Self.token, "--config", path]
        + (isOption ? ["-o", String(line.dropFirst(3))] : []))
    #expect(ended.status == (isOption ? 64 : 78))
    #expect(ended.errors.hasPrefix("tinypush send: \(isOption ? "-o" : path)"), "\(ended.errors)")
    #expect(ended.errors.count { $0 == "\n" } == 1, "\(ended.errors)")
    // A section is named by its own line, which is the second, not by that of a setting in it.
    if line.hasPrefix("[") { #expect(ended.errors.contains(":2: there are no [sections]")) }
    #expect(box.queued == [])
  }

  /// Invalid values for each key, and the expected value that the message names.
  private static let settings: [(key: String, values: [String], expected: String)] = [
    (
      "environment", ["Production", "dev", ""], "production, development or local"
    ),
    (
      "gateway", ["", "host:", "host:0", "host:65536", "host:x", "::1", ":2195"],
      "HOST or HOST:PORT, the port from 1 to 65535, an IPv6 address in brackets"
    ),
    (
      "feedback", ["", "host:apns", "[::1]:", "a:b:1"],
      "HOST or HOST:PORT, the port from 1 to 65535, an IPv6 address in brackets"
    ),
    ("protocol", ["http", "HTTP2", ""], "http2 or binary"),
    ("signing-key", [""], "a path"),
    (
      "key-id", ["", "ABC123", "ABC-123456"],
      "the 10 letters and digits that Apple assigned"
    ),
    ("team-id", [""], "the 10 letters and digits that Apple assigned"),
    ("topic", ["", "two words"], "the bundle ID of an app, such as com.example.app"),
    ("repeats", ["drop", ""], "replace or show"),
    ("app", ["Bark", "ntfy", ""], "own or bark"),
    (
      "encryption-key", ["", "short", "0123456789abcdé", "0123456789abcdef0"],
      "a text of 16, 24 or 32 ASCII characters, the same as in the app"
    ),
    ("encryption-mode", ["CBC", "ecb", ""], "cbc or gcm"),
    ("vapid-key", [""], "a path"),
    (
      "contact", ["", "me@box.example.org", "mailto:me@localhost", "https://box.local"],
      "mailto:ADDRESS or https://PAGE of a real domain, since Apple refuses others"
    ),
    ("private-endpoints", ["maybe", ""], "no or yes"),
    (
      "web-page", ["", "http://box.example.net/", "https://box.example.net/web"],
      "the address of the page, which begins with https:// and ends with a slash"
    ),
    ("streams", ["0", "1001", "many", ""], "a number from 1 to 1000"),
    ("ping", ["60", "25h"], time), ("ping", ["999ms"], "at least 1s"),
    ("answer-timeout", ["30", "11m"], time), ("answer-timeout", ["99ms"], "at least 100ms"),
    (
      "proxy",
      [
        "proxy:3128", "http://proxy", "https://proxy:3128", "http://me:50%@proxy:3128",
        "http://proxy:99999", "http://a b:1",
      ], "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, with %25 for a % in these"
    ),
    ("certificate", [""], "a path"), ("key", [""], "a path"), ("ca", [""], "a path"),
    ("spool", [""], "a path"), ("state", [""], "a path"), ("status", [""], "a path"),
    ("recipients", [""], "a path"),
    ("default-language", ["", "french language", "-"], "a language, such as en or fr-CA"),
    ("format", ["3", "-1", "two", "02x", ""], "2, 1 or 0"),
    (
      "payload-limit",
      ["15", "4097", "5K", "1M", "999999999999999M", "999999999999999K", "2048 bytes", ""],
      "a size from 16 to 4096 bytes (256, 2048 or 4096 by the age of the gateway)"
    ),
    ("settle", ["10", "61m", "1d", "soon"], time), ("settle", ["0ms", "99ms"], "at least 100ms"),
    ("ttl", ["3600", "1w", "999999d", ""], time),
    ("confirm", ["never", "yes", ""], "drain, barrier or settle"),
    ("uncertain", ["repeat", ""], "resend or drop"),
    ("window", ["15", "65001", "8K", "-1", "many", ""], "a number from 16 to 65000"),
    ("rescan", ["15", "25h"], time), ("rescan", ["0s", "999ms"], "at least 1s"),
    ("connect-timeout", ["10", "11m"], time), ("connect-timeout", ["0s"], "at least 1s"),
    ("feedback-timeout", ["60", "61m"], time), ("feedback-timeout", ["99ms"], "at least 100ms"),
    ("trouble-after", ["60", "8d"], time), ("trouble-after", ["999ms"], "at least 1s"),
    (
      "failed-size", ["0", "63K", "1048577M", "999999999999999M", "-5", "all", ""],
      "a size of 64K or more, such as 16M"
    ),
    ("log", ["all", ""], "changes or deliveries"),
    ("limit", ["20", "0/10m", "20/", "10001/10m", "20/500ms", "20/2d", ""], limit),
    ("limit-all", ["/10m", "20/10", "none"], limit),
    (
      "limit-summary", [String(repeating: "x", count: 121)],
      "at most 120 bytes of text, in which {count} stands for the number of alerts and {time} for the period"
    ),
  ]
  private static let limit =
    "a number of alerts from 1 to 10000 and a time from 1s to 1d, such as 20/10m, or off"
  private static let time =
    "a time with its unit, such as 20ms, 10s, 5m, 2h or 1d, and not too long"
  /// The keys that accept any value.
  private static let free: Set = ["key-password", "on-trouble"]

  @Test func `the message about a wrong value names line, key, type and range`() throws {
    #expect(try Set(Self.settings.map(\.key)).union(Self.free) == ManualTests.settings())
    for (key, values, expected) in Self.settings {
      for value in values {
        let path = try box.write("# one\n\n\(key) = \(value)\n", to: "tinypush.conf")
        let ended = try box.tinypush("check", "--config", path)
        #expect(ended.status == 78)
        #expect(
          ended.errors == "tinypush check: \(path):3: \(key) must be \(expected)\n", "\(value)")
        #expect(ended.output == "")
      }
    }
  }

  @Test func `a misspelt key gets the right key as a suggestion`() throws {
    for key in try ManualTests.settings().sorted() {
      let slips = [
        key + "s", key.capitalized, key.replacingOccurrences(of: "-", with: "_"),
        String(key.dropFirst().prefix(1)) + key.prefix(1) + key.dropFirst(2),
      ]
      for slip in slips where slip != key {
        // A misspelt short key resembles others too much.
        if key.count < 4, slip != key + "s" { continue }
        let path = try box.write("\(slip) = 1\n", to: "tinypush.conf")
        let ended = try box.tinypush("check", "--config", path)
        #expect(ended.status == 78)
        #expect(
          ended.errors
            == "tinypush check: \(path):1: unknown setting \(slip); did you mean \(key)?\n")
      }
    }
  }

  @Test func `options override the configuration`() throws {
    let gateway = try Gateway(in: box)
    let path = try box.write(
      """
      # as people write them
      protocol = binary
      gateway = localhost:1
      ca = \(Certificates.path("ca.pem"))
      certificate=\(Certificates.path("client.pem"))
      key:\(Certificates.path("client.key"))
      spool = \(box.spool)   ; where it is
        state = \(box.state)\t; beside it
      settle = 2s

      """, to: "tinypush.conf")
    try box.drop(line(1, "hello"), as: "one")
    let agent = try box.tinypush(
      "run", "--once", "--config", path, "-o", "gateway = localhost:\(gateway.port)")
    #expect(agent.status == 0, "\(agent.errors)")
    try #expect(gateway.alerts(in: box) == ["hello"])
  }

  @Test func `a password may contain a space and a number sign`() throws {
    let path = try box.write(
      "key-password = one #2 ;3\nspool = \(box.spool)#1\n", to: "tinypush.conf")
    mkdir(box.spool + "#1", 0o777)
    let listed = try box.tinypush("queue", "list", "--waiting", "--config", path)
    #expect(listed.errors.contains("the spool's new/: No such file"), "\(listed.errors)")
  }

  // MARK: - Files

  /// What is wrong with a file.
  enum Harm: String, Sendable { case missing, locked, empty, directory, text, der, damaged }

  struct FileRow: Sendable, CustomTestStringConvertible {
    var key: String
    var harm: Harm
    var status: Int32
    var words: [String]
    var testDescription: String { "\(key) \(harm.rawValue)" }
    init(_ key: String, _ harm: Harm, _ status: Int32, _ words: String...) {
      (self.key, self.harm, self.status, self.words) = (key, harm, status, words)
    }
  }

  @Test(arguments: [
    FileRow("certificate", .missing, 66, "does not exist. Put it there, or correct the path"),
    FileRow("certificate", .locked, 77, "may not be read by this user (uid ", "Change its owner"),
    FileRow("certificate", .empty, 78, "is empty"),
    FileRow("certificate", .directory, 78, "is a directory. Give the path of a PEM file"),
    FileRow("certificate", .text, 78, "is not PEM"),
    FileRow("certificate", .der, 78, "is not PEM: it looks like DER or PKCS#12", "openssl"),
    FileRow("certificate", .damaged, 78, "is damaged"),
    FileRow("key", .missing, 66, "does not exist"),
    FileRow("key", .locked, 77, "may not be read by this user"),
    FileRow("key", .text, 78, "is not PEM"),
    FileRow("key", .damaged, 78, "cannot be read"),
    FileRow("ca", .missing, 66, "does not exist"),
    FileRow("ca", .locked, 77, "may not be read by this user"),
    FileRow("ca", .text, 78, "is not PEM"),
    FileRow("ca", .damaged, 78, "is damaged"),
    FileRow("spool", .missing, 74, "No such file or directory", "create it with new/, failed/"),
    FileRow("spool", .text, 74, "Not a directory"),
    FileRow("spool", .empty, 74, "/new: No such file or directory"),
    FileRow("spool", .locked, 74, "Permission denied"),
  ])
  func `a file that cannot be used gets a message with the remedy`(row: FileRow) throws {
    let path = box.path + "/harmed"
    let pem = row.key == "key" ? "PRIVATE KEY" : "CERTIFICATE"
    switch row.harm {
    case .missing: break
    case .locked:
      try box.write("", to: "harmed/new/x")
      chmod(path, 0)
    case .empty where row.key == "spool", .directory: mkdir(path, 0o777)
    case .empty: try box.write("", to: "harmed")
    case .text: try box.write("Hello\n", to: "harmed")
    case .der: try box.write("0\u{2}\u{1}", to: "harmed")
    case .damaged:
      try box.write("-----BEGIN \(pem)-----\nAAAA\n-----END \(pem)-----\n", to: "harmed")
    }
    if row.harm == .locked, row.key != "spool" {
      try FileManager.default.removeItem(atPath: path)
      try box.write("secret", to: "harmed")
      chmod(path, 0)
    }
    // All other files are right and readable for all users.
    for name in ["new", "failed", "tmp"] { chmod("\(box.spool)/\(name)", 0o777) }
    chmod(box.spool, 0o777)
    let key = box.path + "/client.key"
    try FileManager.default.copyItem(atPath: Certificates.path("client.key"), toPath: key)
    chmod(key, 0o644)
    var command = try Build.command(Build.host) + ["run", "--once"] + box.settings(1)
    command += ["-o", "key=" + key, "-o", "\(row.key)=\(path)"]
    // Root may read every file, so another user runs the agent.
    let asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    let ended = try box.run((row.harm == .locked && geteuid() == 0 ? asNobody : []) + command)
    #expect(ended.status == row.status)
    for words in row.words + [path] {
      #expect(ended.errors.contains(words), "\(ended.errors)")
    }
    #expect(ended.errors.split(separator: "\n").count == 1)
    guard row.harm == .locked, row.key != "spool" else { return }
    // A service may not read the directory from which systemd takes its credentials at the start.
    let service = try box.run(
      (geteuid() == 0 ? asNobody : []) + command, environment: ["CREDENTIALS_DIRECTORY": "/run"])
    #expect(service.status == 77)
    #expect(
      service.errors.hasSuffix(
        "\(path) may not be read by the service. Put it into the service's directory of credentials, "
          + "and restart the service.\n"),
      "\(service.errors)")
  }

  @Test func `the agent moves an unreadable file to failed/ and delivers the others`() throws {
    let gateway = try Gateway(in: box)
    try box.drop(line(1, "one"), as: "1-good")
    try box.drop(line(2, "two"), as: "2-locked")
    try box.drop(line(3, "three"), as: "3-good")
    chmod(box.spool + "/new/2-locked", 0)
    for name in ["", "new", "failed", "tmp"] { chmod("\(box.spool)/\(name)", 0o777) }
    let key = box.path + "/client.key"
    try FileManager.default.copyItem(atPath: Certificates.path("client.key"), toPath: key)
    chmod(key, 0o644)
    let asNobody =
      geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
    let agent = try box.run(
      asNobody + Build.command(Build.host) + ["run", "--once"]
        + box.settings(gateway.port, ["key=" + key]))
    #expect(agent.status == 65, "\(agent.errors)")
    try #expect(gateway.alerts(in: box) == ["one", "three"])
    #expect(box.queued == [])
    #expect(box.names(in: "failed") == ["2-locked", "2-locked.unread"])
    let reason = try box.failures("2-locked").first?["reason"] as? String
    #expect(reason?.contains("make it readable") == true)
  }
}
