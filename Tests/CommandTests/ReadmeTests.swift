import Foundation
import Testing

/// The README: its commands run as they stand, and the options, settings and files that it names exist.
@Suite(.sideBySide) struct ReadmeTests {
  /// The code blocks that no test runs, by how they begin, and why.
  static let notRun = [
    " your script": "the drawing",
    "make demo": "needs a build; another test runs board/demo, which the target calls",
    "make deb":
      "needs a board to copy the package to; PackageTests and make debtest try the package",
    "wget -P": "needs a repository; make debtest makes one and installs from there",
  ]

  // MARK: - The page

  @Test func `each code block is run by a test, or listed with a reason`() throws {
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    let run = source.matches(of: #/Readme\.block\("([^"\n]+)"\)/#).map { String($0.1) }
    let known = Set(run).union(Self.notRun.keys)
    for block in try Readme.blocks.get() {
      let count = known.count { block.hasPrefix($0) }
      #expect(
        count == 1,
        "\(count) tests or reasons are for the block that begins with \(block.prefix(60))")
    }
    for beginning in known {
      let isThere = try Readme.blocks.get().contains { $0.hasPrefix(beginning) }
      #expect(isThere, "no block begins with \(beginning)")
    }
  }

  @Test func `the README has at most 200 lines of at most 120 characters`() throws {
    let lines = try Readme.text.get().split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.dropLast().count <= 200)
    for line in lines { #expect(line.count <= 120, "\(line)") }
  }

  @Test func `the pages are of the program's version`() throws {
    let version = try box.tinypush("--version").output.replacing("tinypush ", with: "")
      .trimmingCharacters(in: .newlines)
    let packages = try Readme.text.get().matches(of: #/tinypush[-a-z*]*_([^_*]+)\*?_/#)
    #expect(packages.count > 1)
    for package in packages { #expect(package.1 == version) }
    let changes = try String(contentsOfFile: Build.package + "/CHANGELOG.md", encoding: .utf8)
    let newest = try #require(changes.firstMatch(of: #/(?m)^## ([^,\n]+), \d{4}-\d\d-\d\d$/#))
    #expect(newest.1 == version)
  }

  /// The text between backquotes, and each line of the code blocks.
  private func code() throws -> [String] {
    let parts = try Readme.text.get().split(
      separator: #/(?m)^```.*$/#, omittingEmptySubsequences: false)
    return parts.enumerated().flatMap { index, part in
      index % 2 == 1
        ? part.split(separator: "\n").map(String.init)
        : part.matches(of: #/`([^`]+)`/#).map { String($0.1).replacing("\n", with: " ") }
    }
  }

  @Test func `each command and option that the README names exists`() throws {
    let commands = try ManualTests.commands.get()
    let names = Set(commands.map { $0.words[0] })
    let options = Set(commands.flatMap(\.options)).union(["--config", "--help", "--version"])
    var count = 0
    for line in try code() {
      for call in line.matches(of: #/(?:^|[(/]| +)tinypush ([a-z]+)/#) {
        // The box, the unit and the user have this name, too.
        guard !line.contains(#/─|systemctl|adduser/#) else { continue }
        count += 1
        #expect(names.contains(String(call.1)), "\(line)")
        let known = commands.filter { $0.words[0] == call.1 }
          .reduce(into: Set(["--config", "--help"])) { $0.formUnion($1.options) }
        let rest = line[call.range.upperBound...].prefix { !"$)".contains($0) }
        for option in rest.matches(of: #/ (--[a-z-]+)/#) {
          #expect(known.contains(String(option.1)), "\(option.1) in: \(line)")
        }
      }
      for option in line.matches(of: #/^(--[a-z-]+)/#) {
        #expect(options.contains(String(option.1)), "\(line)")
      }
    }
    #expect(count > 15)
  }

  @Test func `each setting that the README names exists`() throws {
    let settings = try ManualTests.settings()
      .union(ManualTests.settings(of: "tinypush-mqtt")).union(ManualTests.ruleKeys())
    let named = try code().compactMap { line in
      line.wholeMatch(of: #/#?([a-z][a-z-]*)(?: = .*)/#).map { String($0.1) }
    }
    #expect(named.count >= 8)
    for name in named { #expect(settings.contains(name), "\(name)") }
  }

  @Test func `each file that a page links to exists`() throws {
    var count = 0
    for page in try Readme.pages.get() {
      let text = try String(contentsOfFile: "\(Build.package)/\(page)", encoding: .utf8)
      for link in text.matches(of: #/\]\(([^)\s]+)\)/#) where !link.1.hasPrefix("https://") {
        count += 1
        let folder = (page as NSString).deletingLastPathComponent
        let parts = link.1.split(separator: "#", omittingEmptySubsequences: false)
        let path = "\(Build.package)/" + (parts[0].isEmpty ? page : "\(folder)/\(parts[0])")
        #expect(FileManager.default.fileExists(atPath: path), "\(page): \(link.1)")
        guard parts.count > 1 else { continue }
        let headings = try String(contentsOfFile: path, encoding: .utf8)
          .matches(of: #/(?m)^#+ (.+)$/#).map {
            $0.1.lowercased().replacing(" ", with: "-").filter { $0.isLetter || $0 == "-" }
          }
        #expect(headings.contains(String(parts[1])), "\(page): \(link.1)")
      }
    }
    #expect(count > 10)
  }

  @Test func `the table of measured faults has a row for each fault`() throws {
    let page = try String(
      contentsOfFile: Build.package + "/docs/measurements.md", encoding: .utf8)
    let rows =
      FaultTests.rows.map(\.testDescription)
      + HTTP2FaultTests.rows.map { "HTTP/2: " + $0.testDescription }
    for row in rows { #expect(page.contains("\n| \(row) | 0 |"), "\(row)") }
  }

  // MARK: - Trying it

  /// A line as any run prints it: without its times, tokens and ports.
  private func plain(_ line: Substring) -> String {
    line.replacing(#/[0-9a-f]{8}\.\.[0-9a-f]{4}|to [0-9a-f]{8} /#, with: "TOKEN")
      .replacing(#/[0-9]+ (s|min|h)\b/#, with: "TIME").replacing(#/[0-9]+/#, with: "0")
      .replacing(#/─+/#, with: "─").trimmingCharacters(in: .whitespaces)
  }

  /// Expects the lines in this order in the output, perhaps with others between them.
  private func expect(_ lines: String, in output: String) {
    var rest = output.split(separator: "\n").map(plain)[...]
    for line in lines.split(separator: "\n") {
      let place = rest.firstIndex(of: plain(line))
      #expect(place != nil, "\(line) is not in the rest of:\n\(output)")
      rest = rest[(place.map { $0 + 1 } ?? rest.startIndex)...]
    }
  }

  @Test func `the demo prints the lines that are shown`() throws {
    let program = "\(Build.directory)/\(Build.host)/tinypush"
    let demo = try box.run([Build.package + "/board/demo", program, box.path + "/demo"])
    #expect(demo.status == 0, "\(demo.errors)")
    try expect(Readme.block("The phone is offline"), in: demo.output)
  }

  @Test func `the sandbox, an agent and alerts in three terminals`() throws {
    try FileManager.default.createSymbolicLink(
      atPath: box.path + "/build", withDestinationPath: Build.directory)
    // The usual ports may be taken here.
    let lines = try Readme.block("build/amd64/tinypush sandbox").replacing(
      "amd64", with: Build.host
    )
    .replacing("tinypush sandbox  ", with: "tinypush sandbox --port 0 --feedback-port 0 ")
    .split(separator: "\n").map(String.init)
    try #require(lines.count > 3)
    let sandbox = try box.start(["sh", "-c", "exec " + lines.at(0)])
    _ = try sandbox.line("ready")
    _ = try box.start(["sh", "-c", "exec " + lines.at(1)])
    let file = try Readme.block("cd /var/spool/tinypush")
      .replacing("/var/spool/tinypush", with: "tinypush-sandbox/spool")
    let script =
      try lines.dropFirst(2).joined(separator: "\n") + "\n" + Readme.block("tinypush send ") + file
    let done = try box.run(["sh", "-ec", script])
    try #require(done.status == 0, "\(done.errors)")
    for text in ["Tank low", "Cuve vide", "Level 42", "Gate open", "Door open"] {
      _ = try sandbox.line("│ \(text) ")
    }
  }

  // MARK: - On a board

  /// A board with nothing but the package, on which `adduser` and `journalctl` do what the README needs.
  private func board(in box: Box) throws -> Board {
    let board = try Board(in: box, certificate: false)
    for name in ["default", "family"] {
      try FileManager.default.removeItem(atPath: "\(board.root)/etc/tinypush/recipients/\(name)")
    }
    let stubs = [
      "adduser": "[ \"$*\" = 'pi tinypush' ]",
      "journalctl": "sed 's/Z [a-z]*: /+0000 board tinypush[412]: /' /run/tinypush.service.log",
    ]
    for (name, script) in stubs {
      try board.write("#!/bin/sh\n\(script)\n", to: "usr/bin/\(name)")
      chmod("\(board.root)/usr/bin/\(name)", 0o755)
    }
    return board
  }

  /// Runs a block on the board as a newcomer who pastes it, but ends at the first command that fails.
  private func run(_ block: String, on board: Board, as user: String? = nil, in box: Box) throws
    -> Child
  {
    let done = try board.run(
      ["sh", "-ec", "cd \"$1\"\n" + block, "sh", box.path + "/sandbox"], as: user)
    guard done.status == 0 else {
      throw Failure("\(done.status ?? -1): \(block)\(done.output)\(done.errors)\(board.log)")
    }
    return done
  }

  @Test func `from the installation to the last line of status`() throws {
    let board = try board(in: box)
    // Whose key it is, which app and which phone.
    let phone = try board.sandbox.token(box, "token", "phone")
    try box.write(
      """
      app = own
      signing-key = AuthKey_SANDBOXKEY.p8
      team-id = TEAM123456
      topic = com.example.tinypush
      environment = local
      token = \(phone)

      """, to: "sandbox/answers")
    try board.write("", to: "run/systemd/system/.keep")
    let setup = try Readme.block("tinypush setup")
      .replacing("tinypush setup\n", with: "tinypush setup --answers answers\n")
      .replacing(#/TOKEN=[0-9]{63}1/#, with: "TOKEN=" + phone)
    _ = try run(setup, on: board, in: box)
    try board.shows("The alerts of this box arrive")

    _ = try run(Readme.block("tinypush send "), on: board, as: "pi", in: box)
    for text in ["Tank low", "Cuve vide", "Level 42", "Gate open"] { try board.shows(text) }

    _ = try run(Readme.block("cd /var/spool/tinypush"), on: board, as: "pi", in: box)
    try board.shows("Door open")

    let asked = try run(Readme.block("name="), on: board, in: box)
    try expect(Readme.block("accepted"), in: asked.output)
    try board.shows("Pump started")
    let texts = try board.sandbox.events("delivered").compactMap { $0["text"] as? String }
    #expect(
      texts.sorted() == [
        "Cuve vide", "Door open", "Gate open", "Level 42", "Pump started", "Tank low",
        "The alerts of this box arrive",
      ])
  }

  @Test func `a message of a broker, a request by curl and a mail`() throws {
    let broker = try Mosquitto(in: box)
    let rules = try box.rules(broker, "")
    let service = try HTTPService(in: box)
    let block = try Readme.block("apt install ./tinypush-mqtt")
      .replacing("/etc/tinypush/mqtt.conf", with: rules)
    let start = try #require(block.firstRange(of: "systemctl start tinypush-mqtt\n"))
    let installed = try box.run(["sh", "-ec", "apt() { :; }\n" + block[..<start.lowerBound]])
    try #require(installed.status == 0, "\(installed.errors)")
    let bridge = try box.bridge(to: broker)
    defer { bridge.kill() }
    try box.write("", to: "recipients/default")
    let config = try box.write(
      "spool = \(box.spool)\nrecipients = \(box.path)/recipients\n", to: "mail.conf")
    let program = try Build.command(Build.host, "tinypush-sendmail").joined(separator: " ")
    let sent = try box.run([
      "sh", "-ec",
      """
      mosquitto_pub() { command mosquitto_pub -h 127.0.0.1 -p \(broker.port) "$@"; }
      curl() { command curl --silent --show-error --fail --unix-socket \(service.socket) "$@"; }
      sendmail() { TINYPUSH_CONFIG=\(config) \(program) "$@"; }

      """ + block[start.upperBound...],
    ])
    try #require(sent.status == 0, "\(sent.errors)")
    try wait(for: "all alerts") { try box.notifications().count == 3 }
    let texts = box.queued.map { box.text("spool/new/" + $0) }.joined()
    for text in ["Water at cellar", "Tank low", "Cellar", "No space left"] {
      #expect(texts.contains(text))
    }
  }

  @Test func `the settings that are shown are right`() throws {
    let rows = try Readme.text.get().matches(of: #/(?m)^\| `([a-z-]+ = [^`]*)` \|/#)
    #expect(rows.count == 3)
    let settings = rows.map { $0.1 + "\n" }.joined()
    let config = try box.write(settings + "spool = \(box.spool)\n", to: "tinypush.conf")
    let checked = try box.tinypush("check", "--json", "--config", config)
    let lines = try objects(checked.output).filter {
      ($0["name"] as? String ?? "").hasPrefix("config.")
    }
    #expect(lines.count > 1)
    for line in lines { #expect(line["state"] as? String != "error", "\(line)") }
  }
}
