import Foundation
import Testing

/// The commands of tinypush-operation(7), run as printed, and the lines of the log that it explains.
@Suite(.sideBySide) struct OperationTests {
  /// The settings of the sandbox's signing key in the place of a certificate.
  private func settings(key: String, team: String = "TEAM123456") -> String {
    """
    signing-key = credentials/AuthKey_\(key).p8
    key-id = \(key)
    team-id = \(team)
    topic = com.example.tinypush

    """
  }

  /// Returns a board with a signing key of this ID, which the sandbox knows as `SANDBOXKEY`.
  private func board(in box: Box, key: String = "SANDBOXKEY", _ secret: String? = nil) throws
    -> Board
  {
    let board = try Board(in: box, certificate: false)
    try board.write(
      secret ?? box.text("sandbox/AuthKey_SANDBOXKEY.p8"),
      to: "etc/tinypush/credentials/AuthKey_\(key).p8")
    let config = "etc/tinypush/tinypush.conf"
    try board.write(board.text(config) + settings(key: key), to: config)
    return board
  }

  /// Runs a recipe in the box's directory, as root.
  @discardableResult
  private func run(
    _ recipe: String, on board: Board, in box: Box, environment: [String: String] = [:]
  ) throws -> String {
    let script = try box.write(recipe, to: "recipe")
    let done = try board.run(
      ["sh", "-euc", "cd \"$1\" && . \"$2\"", "sh", box.path, script], environment: environment)
    #expect(done.status == 0, "\(done.output)\(done.errors)\(board.log)")
    return done.output
  }

  private func exists(_ path: String, on board: Board) -> Bool {
    FileManager.default.fileExists(atPath: board.root + "/" + path)
  }

  // MARK: - Keys

  @Test func `a new signing key takes the place of one that was revoked, and nothing is lost`()
    throws
  {
    let old = try String(contentsOfFile: Certificates.path("signing-other.p8"), encoding: .utf8)
    let board = try board(in: box, key: "ABC123DEFG", old)
    try board.start("tinypush")
    try board.run(["tinypush", "send", "while the key is revoked"], as: "pi")
    try wait(for: "the refusal") { board.log.contains("invalid provider token") }
    // The sandbox knows the new key by this name.
    try box.write(
      box.text("sandbox/AuthKey_SANDBOXKEY.p8"), to: "AuthKey_SANDBOXKEY.p8")
    try run(
      Recipe.text("rotate").replacing("DEF456HIJK", with: "SANDBOXKEY"), on: board, in: box)
    try board.shows("while the key is revoked")
    #expect(board.text("etc/tinypush/tinypush.conf").hasSuffix(settings(key: "SANDBOXKEY")))
    let keys = try FileManager.default.contentsOfDirectory(
      atPath: board.root + "/etc/tinypush/credentials")
    #expect(keys == ["AuthKey_SANDBOXKEY.p8"])
  }

  @Test func `a renewed certificate is used after a restart`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    try box.makeCertificate("renewed", topic: "com.example.tinypush", in: board.sandbox)
    try box.write(board.credential("renewed"), to: "push.pem")
    try run(Recipe.text("renew"), on: board, in: box)
    #expect(board.text("etc/tinypush/credentials/push.pem") == board.credential("renewed"))
    try board.run(["tinypush", "send", "by the renewed one"], as: "pi")
    try board.shows("by the renewed one")
  }

  // MARK: - Phones and apps

  @Test func `several phones get an alert, each in its language, and one is sold`() throws {
    let board = try board(in: box)
    let marie = try board.sandbox.token(box, "add", "marie")
    let paul = try board.sandbox.token(box, "add", "paul")
    try board.write("", to: "etc/tinypush/recipients/family")
    try board.start("tinypush")
    let tokens = ["MARIE": marie, "PAUL": paul]
    let listed = try run(Recipe.text("phones"), on: board, in: box, environment: tokens)
    #expect(listed.contains("\(marie) ") && listed.contains("# Paul\n"), "\(listed)")
    #expect(try board.shows("Le repas")["device"] as? String == "marie")
    #expect(try board.shows("Dinner")["device"] as? String == "paul")
    try run(Recipe.text("phone-away"), on: board, in: box, environment: tokens)
    try board.run(["tinypush", "send", "Breakfast", "--to", "family", "--wait"], as: "pi")
    #expect(try board.shows("Breakfast")["device"] as? String == "marie")
    #expect(try board.sandbox.events("delivered").count == 3)
  }

  @Test func `a second app has an agent and recipients of its own`() throws {
    let board = try board(in: box)
    try board.start("tinypush")
    let token = try board.sandbox.token(
      box, "add", "phone", "--topic", "com.example.doors")
    let recipe = try Recipe.text("second-app").replacing("DEF456HIJK", with: "SANDBOXKEY")
      .replacing("GHI789JKLM", with: "TEAM123456")
      .replacing(
        "\nEND\n", with: "\ngateway = localhost:\(board.sandbox.gateway)\nca = ca.pem\nEND\n")
    try run(recipe, on: board, in: box, environment: ["TOKEN": token])
    #expect(try board.shows("Door open")["topic"] as? String == "com.example.doors")
    #expect(timeless(board.text("etc/tinypush/doors/default")) == token + "\n")
    try board.run(["tinypush", "send", "Tank low"], as: "pi")
    #expect(try board.shows("Tank low")["topic"] as? String == "com.example.tinypush")
    // An app of the same team needs no agent of its own.
    let other = try board.sandbox.token(box, "add", "phone", "--topic", "com.example.pumps")
    try board.run(
      ["tinypush", "send", "Pump on", "--topic", "com.example.pumps", "--token", other], as: "pi")
    #expect(try board.shows("Pump on")["topic"] as? String == "com.example.pumps")
  }

  @Test func `after a change of the topic the new app gets the alerts`() throws {
    let board = try board(in: box)
    try board.start("tinypush")
    try board.run(["tinypush", "send", "to the old app", "--wait"], as: "pi")
    let token = try board.sandbox.token(box, "add", "phone", "--topic", "com.example.new")
    try run(Recipe.text("topic"), on: board, in: box, environment: ["TOKEN": token])
    #expect(try board.shows("From the new app")["topic"] as? String == "com.example.new")
    #expect(timeless(board.text("etc/tinypush/recipients/default")) == token + "\n")
  }

  // MARK: - Boards

  /// Suppresses the token of a device whose app is gone, and returns the token.
  private func suppress(on board: Board, in box: Box) throws -> String {
    let token = try board.sandbox.token(box, "add", "gone")
    try board.sandbox.device(box, "uninstall", "gone")
    let sent = try board.run(["tinypush", "send", "lost", "--token", token, "--wait"], as: "pi")
    #expect(sent.status == 65)
    return token
  }

  /// Returns another board, on which only the package is installed.
  private func freshBoard(in box: Box) throws -> Board {
    try Board(in: box, certificate: false)
  }

  @Test func `a backup restores the key, the recipients and the suppression list`() throws {
    let board = try board(in: box)
    try board.start("tinypush")
    let gone = try suppress(on: board, in: box)
    try run(Recipe.text("backup"), on: board, in: box)
    let archive = box.path + "/tinypush.tar.gz"
    let mode = try FileManager.default.attributesOfItem(atPath: archive)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    let names = try box.run(["tar", "-tzf", archive]).output
    #expect(!names.contains("spool"), "\(names)")

    let other = try Box()
    defer { other.end() }
    let fresh = try freshBoard(in: other)
    try box.run(["cp", archive, other.path])
    try run(Recipe.text("restore"), on: fresh, in: other)
    let refused = try fresh.run(["tinypush", "send", "lost", "--token", gone, "--wait"], as: "pi")
    #expect(refused.status == 1 && refused.errors.contains("suppressed"), "\(refused.errors)")
    let sent = try fresh.run(["tinypush", "send", "restored", "--wait"], as: "pi")
    #expect(sent.status == 0, "\(sent.errors)\(fresh.log)")
    try board.shows("restored")
  }

  @Test func `what waits in the spool moves to another board, and is sent once`() throws {
    let board = try board(in: box)
    try board.start("tinypush")
    let gone = try suppress(on: board, in: box)
    // What comes after the agent has stopped waits.
    let (stop, rest) = try #require(
      Recipe.text("move").wholeMatch(of: #/(?s)(systemctl disable --now tinypush\n)(.*)/#)
        .map { (String($0.1), String($0.2)) })
    try run(stop, on: board, in: box)
    try board.run(["tinypush", "send", "waits"], as: "pi")
    let other = try Box()
    defer { other.end() }
    #expect(rest.hasSuffix("\nscp tinypush.tar.gz root@new:\n"))
    try run(
      rest.replacing("scp tinypush.tar.gz root@new:", with: "cp tinypush.tar.gz \(other.path)"),
      on: board, in: box)
    let fresh = try freshBoard(in: other)
    try run(Recipe.text("moved"), on: fresh, in: other)
    try board.shows("waits")
    #expect(try board.sandbox.events("delivered").count == 1)
    let refused = try fresh.run(["tinypush", "send", "lost", "--token", gone], as: "pi")
    #expect(refused.errors.contains("suppressed"), "\(refused.errors)")
    #expect(!FileManager.default.fileExists(atPath: other.path + "/tinypush.tar.gz"))
  }

  @Test func `an upgrade keeps the configuration, the recipients and what waits`() throws {
    let board = try board(in: box)
    try board.start("tinypush")
    try board.run(["tinypush", "send", "later", "--not-before", "1h"], as: "pi")
    let kept = ["etc/tinypush/tinypush.conf", "etc/tinypush/recipients/default"]
    let before = kept.map(board.text)
    // The package's files are replaced, and its script restarts the agent: `make debtest` tries apt.
    try box.run(["dpkg-deb", "--extract", Packages.file("tinypush"), board.root])
    let systemctl = try String(contentsOfFile: Build.tools + "/systemctl", encoding: .utf8)
    try board.write(systemctl, to: "usr/bin/systemctl")
    chmod(board.root + "/usr/bin/systemctl", 0o755)
    let made = try board.run(["systemd-tmpfiles", "--create", "tinypush.conf"])
    #expect(made.status == 0, "\(made.errors)")
    try run(
      Recipe.text("upgrade").replacing(
        #/apt install \S+\n/#, with: "systemctl restart tinypush\n"), on: board, in: box)
    #expect(kept.map(board.text) == before)
    let later = try board.run(["tinypush", "queue"]).output
    #expect(later.contains("1 for later"), "\(later)")
    try board.run(["tinypush", "send", "after the upgrade"], as: "pi")
    try board.shows("after the upgrade")
  }

  // MARK: - The log

  /// Returns a pattern for a line of the page: uppercase words stand for texts.
  private func pattern(_ line: String) throws -> Regex<AnyRegexOutput> {
    let words = line.split(separator: " ").map { word in
      switch word {
      case "NUMBER": #"\d+"#
      case "NAME", "TOKEN", "HOST", "HOST:", "SPOOL": #"\S+"#
      case "REASON", "TIME", "TEXT": ".+"
      default: NSRegularExpression.escapedPattern(for: String(word))
      }
    }
    // The level stands before the text.
    return try Regex(": " + words.joined(separator: " "))
  }

  @Test func `the log has each line that the page explains`() throws {
    let page = try ManPage("tinypush-operation.7").section("WHAT THE LOG SHOWS")
    let lines = page.matches(of: #/(?m)^\.It Ql (.+)$/#).map { String($0.1) }
    #expect(lines.count >= 13)
    let board = try board(in: box)
    let config = "etc/tinypush/tinypush.conf"
    let working = board.text(config) + "log = deliveries\n"
    try board.write(working.replacing("TEAM123456", with: "TEAM654321"), to: config)
    try board.start("tinypush")
    try board.run(["tinypush", "send", "held"], as: "pi")
    try wait(for: "the refusal") { board.log.contains("refuses the configuration") }
    try board.write(working, to: config)
    try board.run(["systemctl", "restart", "tinypush"])
    try board.shows("held")
    let gone = try suppress(on: board, in: box)
    for (token, status) in [(gone, Int32(1)), (token(7), 65)] {
      let sent = try board.run(["tinypush", "send", "x", "--token", token, "--wait"], as: "pi")
      #expect(sent.status == status)
    }
    let late = #"{"to": "default", "expiration": 1000000000, "payload": {"aps": {"alert": "x"}}}"#
    for (text, said) in [(late, "it expired"), (#"{"tokn": 1}"#, "unknown key")] {
      let script = "cd /var/spool/tinypush && printf %s \"$1\" >tmp/x && mv tmp/x new/"
      let dropped = try board.run(["sh", "-c", script, "sh", text], as: "pi")
      #expect(dropped.status == 0, "\(dropped.errors)")
      try wait(for: "\(said); \(board.log)") { board.log.contains(said) }
    }
    // The sandbox ends, and another one takes its place.
    let port = board.sandbox.gateway
    board.sandbox.child.kill()
    try wait(for: "the outage") { board.log.contains("cannot connect") }
    let again = try Sandbox(in: box, ["--port", "\(port)"], hasDevices: true)
    try wait(for: "the end of the outage; \(board.log)") { board.log.contains(" offline, ") }
    try board.run(["systemctl", "stop", "tinypush"])
    for line in lines {
      let pattern = try pattern(line)
      #expect(board.log.firstMatch(of: pattern) != nil, "\(line) is not in:\n\(board.log)")
    }
    withExtendedLifetime(again) {}
  }
}
