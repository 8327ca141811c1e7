import Foundation
import Testing

/// What is wrong is told with its place and what to do, and by the exit status of sysexits.h.
@Suite struct MistakeTests {
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
    Row("rum", 64, "there is no command rum: did you mean run?", "Try `tinypush --help`"),
    Row("statsu", 64, "did you mean status?"),
    Row(
      "run --onse", 64, "there is no option --onse", "did you mean --once?", "tinypush run --help"),
    Row("run --once=yes", 64, "--once=yes", "takes no value"),
    Row("run --confg x", 64, "did you mean --config?"),
    Row("run --config", 64, "--config needs a value"),
    Row("run spool", 64, "takes no operands, but was given spool"),
    Row("run -o settel=5s", 64, "-o: no such key: settel; did you mean settle?"),
    Row("run -o gatway=x", 64, "did you mean gateway?"),
    Row("run -o xyzzy=1", 64, "no such key: xyzzy"),
    Row("run -o settle", 64, "-o takes KEY=VALUE, not settle"),
    Row("run -o settle=5", 64, "settle must be a time with its unit, such as 20ms, 10s"),
    Row("run -o settle=99999d", 64, "settle must be", "not too long"),
    Row("run -o format=3", 64, "format must be 2, 1 or 0"),
    Row("run -o window=3", 64, "window must be a number from 16 to 65536"),
    Row("run -o payload-limit=1M", 64, "payload-limit must be a size from 16 to 4096 bytes"),
    Row("run -o environment=prod", 64, "environment must be production, sandbox or local"),
    Row("run -o confirm=never", 64, "confirm must be drain, barrier or settle"),
    Row("run -o spool=", 64, "spool must be a path"),
    Row("send --tokn x", 64, "there is no option --tokn", "did you mean --token?"),
    Row("send --ttl 5w x", 64, "--ttl takes a time such as 90s, 10m, 2h or 1d, not 5w"),
    Row("send one two", 64, "takes one text: put it in quotes. The second was two"),
    Row("send x --payload -", 64, "give either --payload or a text"),
    Row("check --jsn", 64, "did you mean --json?"),
    Row("status --jason", 64, "did you mean --json?"),
    Row("sandbox --prt 1", 64, "did you mean --port?"),
    Row("sandbox --port 70000", 64, "--port", "0 to 65535"),
    Row("sandbox --invalid 12", 64, "--invalid", "64 hex digits"),
    Row(
      "run --config nowhere.conf", 66, "nowhere.conf: No such file or directory", "--config FILE"),
    Row("run -o certificate=", 64, "certificate must be a path"),
    Row("run", 78, "no certificate is set"),
    Row("check nowhere.json", 66, "nowhere.json: No such file or directory"),
    Row("send x --payload nowhere.json --token 1", 64, "give either --payload"),
    Row("send --payload nowhere.json", 66, "nowhere.json: No such file or directory"),
    Row("status -o status=nowhere", 69, "nowhere: No such file or directory"),
  ])
  func `a slip on the command line is told, with what was meant`(row: Row) throws {
    let box = try Box()
    defer { box.end() }
    let ended = try box.run(Build.command(Build.host) + row.arguments)
    #expect(ended.status == row.status)
    for words in row.words { #expect(ended.errors.contains(words), "\(ended.errors)") }
    #expect(ended.output == "")
  }

  @Test(arguments: [
    ("# fine\nspool = x\nsettel = 5s\n", 3, "no such key: settel; did you mean settle?"),
    ("settle = 5\n", 1, "settle must be a time with its unit"),
    ("\n\nsettle 5s\n", 3, "expected KEY = VALUE"),
    ("format = 2\n[gateway]\nformat = 1\n", 3, "there are no [sections] here"),
    ("settle = 5s\nformat = two\n", 2, "format must be 2, 1 or 0"),
    ("\u{1}\u{2}\u{3}\n", 1, "expected KEY = VALUE"),
  ])
  func `a broken config file is told with its line`(text: String, number: Int, words: String) throws
  {
    let box = try Box()
    defer { box.end() }
    let path = try box.write(text, to: "tinypush.conf")
    for command in ["run", "send", "check", "status"] {
      let ended = try box.tinypush(command, "--config", path)
      #expect(ended.status == 78)
      #expect(ended.errors.contains("\(path):\(number): \(words)"), "\(ended.errors)")
    }
  }

  @Test func `the command line goes over the config file`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box)
    let path = try box.write(
      """
      # as people write them
      gateway = localhost:1
      ca = \(Certificates.path("ca.pem"))
      certificate=\(Certificates.path("client.pem"))
      key:\(Certificates.path("client.key"))
      spool = \(box.spool)   ; where it is
      settle = 2s

      """, to: "tinypush.conf")
    try box.drop(line(1, "hello"), as: "one")
    let agent = try box.tinypush(
      "run", "--once", "--config", path, "-o", "gateway = localhost:\(gateway.port)")
    #expect(agent.status == 0, "\(agent.errors)")
    try #expect(gateway.alerts(in: box) == ["hello"])
  }

  // MARK: - Files

  /// What is done to a file, or what is given in its place.
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
    FileRow("spool", .missing, 66, "No such file or directory", "make it with new/, failed/"),
    FileRow("spool", .text, 66, "Not a directory"),
    FileRow("spool", .empty, 66, "/new: No such file or directory"),
    FileRow("spool", .locked, 77, "Permission denied"),
  ])
  func `a file that cannot be used is told, with what to do`(row: FileRow) throws {
    let box = try Box()
    defer { box.end() }
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
    // Everything else is as it should be, and may be used by anybody.
    for name in ["new", "failed", "tmp"] { chmod("\(box.spool)/\(name)", 0o777) }
    chmod(box.spool, 0o777)
    let key = box.path + "/client.key"
    try FileManager.default.copyItem(atPath: Certificates.path("client.key"), toPath: key)
    chmod(key, 0o644)
    var command = try Build.command(Build.host) + ["run", "--once"] + box.settings(1)
    command += ["-o", "key=" + key, "-o", "\(row.key)=\(path)"]
    // Nothing is locked for the superuser.
    let asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    let ended = try box.run((row.harm == .locked && geteuid() == 0 ? asNobody : []) + command)
    #expect(ended.status == row.status)
    for words in row.words + [path] {
      #expect(ended.errors.contains(words), "\(ended.errors)")
    }
    #expect(ended.errors.split(separator: "\n").count == 1)
  }

  @Test func `a file that may not be read is moved out of the way`() throws {
    let box = try Box()
    defer { box.end() }
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
    #expect(box.names(in: "new") == [])
    #expect(box.names(in: "failed") == ["2-locked", "2-locked.unread"])
    let reason = try box.failures("2-locked").first?["reason"] as? String
    #expect(reason?.contains("make it readable") == true)
  }
}
