import Foundation
import Testing

/// The output of commands on terminals of all sizes and kinds.
///
/// No line is wider than the terminal, and an ASCII terminal gets only ASCII.
@Suite(.sideBySide) struct TerminalTests {
  private static let modern = ["TERM": "xterm-256color", "LC_ALL": "C.UTF-8"]

  /// Keeps Python from changing the locale, and allows colours.
  private static let fixed = ["PYTHONCOERCECLOCALE": "0", "NO_COLOR": ""]

  /// Returns what a command writes to a terminal of this size, with one key typed at each frame.
  private func terminal(
    _ box: Box, _ columns: Int, rows: Int = 100, keys: [String] = [],
    on environment: [String: String] = modern, _ words: [String], expecting status: Int32 = 0
  ) throws -> String {
    let child = try box.run(
      ["python3", Build.tools + "/onterminal.py", "\(columns)x\(rows)"]
        + keys.flatMap { ["--key", $0] } + ["\(Build.directory)/\(Build.host)/tinypush"] + words,
      environment: environment.merging(Self.fixed) { $1 })
    #expect(child.status == status, "\(child.output)\(child.errors)")
    return withoutReturns(child.output)
  }

  /// Removes the carriage returns that terminals get before line feeds.
  private func withoutReturns(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\r" }))
  }

  private func shown(_ text: String) -> String {
    text.replacing(#/\u{1B}\[[0-9;?]*[A-Za-z]/#, with: "")
  }

  /// Returns the lines of the last frame of `status --watch`.
  private func lastFrame(_ text: String) throws -> String {
    let frames = text.split(separator: "\u{1B}[?2026h\u{1B}[H")
    return shown(
      String(try #require(frames.last).split(separator: "\u{1B}[J", maxSplits: 1).at(0)))
  }

  private func fits(_ text: String, _ columns: Int) {
    for line in text.split(separator: "\n") {
      // Kana, ideographs and their punctuation are two columns wide.
      let width = line.unicodeScalars.reduce(0) {
        $0 + ((0x3000...0x9FFF).contains($1.value) ? 2 : 1)
      }
      // The commands do not break a token; a terminal narrower than 64 digits wraps it.
      let most = line.contains(#/[0-9a-f]{64}/#) ? max(columns, 66) : columns
      #expect(width <= most, "\(columns) columns: \(line)")
    }
  }

  private func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

  // MARK: - Tables

  private let long = "20261123T003515.123456-doorbell-of-the-house-0001.json"

  private func fillQueue(_ box: Box) throws {
    try box.drop(line(1), as: long)
    try box.drop(line(1), as: "short")
    try box.write(line(1), to: "spool/later/4000000000.0000000000000000.0123456789abcdef.tank")
    try box.write(
      #"{"failed":{"reason":"\#(String(repeating: "it was refused ", count: 20))","code":"x","#
        + #""file":"x","offset":0}}"# + "\n",
      to: "spool/failed/readings.ndjson")
  }

  @Test(arguments: [40, 60, 80, 120])
  func `queue list shortens names in the middle and cuts reasons to fit the terminal`(columns: Int)
    throws
  {
    try fillQueue(box)
    let queue = ["queue", "-o", "spool=" + box.spool]
    let said = try terminal(box, columns, queue)
    fits(said, columns)
    let lines = said.split(separator: "\n").map(String.init)
    try #require(lines.count == 6, "\(said)")
    #expect(try lines.at(0).hasPrefix("     AGE   SIZE   COUNT  NAME"))
    let dated = try lines.at(1)
    #expect(dated.contains(#/ 2026[^ ]*….*json  /#) || columns < 60, "\(dated)")
    if columns == 80 {
      #expect(dated.contains(" 20261123T003515.1…ouse-0001.json  "), "\(dated)")
      #expect(
        try lines.at(2).contains("  short                             no agent is running:…"))
    }
    #expect(try lines.at(4).hasSuffix("…"), "\(lines)")
    // Output to a pipe is not cut.
    let whole = try box.tinypush("queue", "-o", "spool=" + box.spool).output
    #expect(whole.contains(long))
    #expect(whole.contains("no agent is running: systemctl start tinypush, or tinypush run"))
    #expect(whole.contains(String(repeating: "it was refused ", count: 20)))
    #expect(isPlain(whole))
  }

  @Test(arguments: [40, 80, 120])
  func `recipient list and token list fit the terminal and cut no token`(columns: Int) throws {
    let settings = ["-o", "state=\(box.path)/state", "-o", "recipients=\(box.path)/recipients"]
    try box.write(
      """
      \(token(1)) lang=fr
      \(token(2)) lang=zh-Hant # the tablet in the kitchen, on the wall beside the door to the garden
      \(token(3)) # 台所のタブレット 台所のタブレット 台所のタブレット 台所のタブレット

      """, to: "recipients/family")
    let suppressed = try box.run(
      Build.command(Build.host) + ["token", "suppress", token(4)] + settings)
    #expect(suppressed.status == 0, "\(suppressed.errors)")
    for words in [["recipient", "list"], ["token", "list"]] {
      let said = try terminal(box, columns, words + settings)
      fits(said, columns)
      for number in words[0] == "token" ? 4...4 : 1...3 {
        #expect(said.contains(token(number)), "\(said)")
      }
      let whole = try box.run(Build.command(Build.host) + words + settings).output
      #expect(whole.split(separator: "\n").count == (words[0] == "token" ? 1 : 3), "\(whole)")
    }
  }

  // MARK: - The status page

  /// Starts an agent and fills each part of its status page.
  private func agent(_ box: Box, _ gateway: Gateway) throws -> Child {
    let agent = try box.agent(gateway, ["status=\(box.path)/page", "settle=1h"])
    for number in 1...40 { try box.drop(line(number), as: "\(number)") }
    let later = #""token":"\#(token(1))","not-before":4000000000}"#
    try box.drop(#"{"payload":{"aps":{"alert":"x"}},"# + later, as: "later")
    try box.drop("{}", as: "wrong")
    try wait(for: "the page with everything sent") {
      let page = try objects(
        box.tinypush("status", "--json", "-o", "status=\(box.path)/page").output
      ).first
      return page?["sent"] as? Int == 40 && page?["later_files"] as? Int == 1
        && (page?["problems"] as? [Any])?.count == 1
    }
    return agent
  }

  /// All texts of the page, except numbers that change.
  private static let texts = [
    "connected for ", ", running for ", "connected to localhost:", "certificate: ", " left",
    "in the spool 40 files and 1 for later", "in flight 40", "sent 40",
    "refused by the service 0", "repeated 0", "delivered, proved 0", "failed the check 1",
    "uncertain 0", "delivered, by time 0", "suppressed 0", "expired 0", "connections 1",
    "superseded 0", "postponed 1", "p50", "p99", "from the spool to the gateway", "last minute",
    "last hour", "since start", "wrong not sent: ",
  ]

  private func showsAll(_ text: String, _ columns: Int) {
    let joined = text.split { $0.isWhitespace }.joined(separator: " ")
    for words in Self.texts {
      #expect(joined.contains(words), "\(columns) columns: \(words) is not in \(text)")
    }
  }

  @Test func `the status page fits each terminal and shows all its content`() throws {
    let gateway = try Gateway(in: box)
    let agent = try agent(box, gateway)
    let status = ["status", "-o", "status=\(box.path)/page"]
    showsAll(try box.run(Build.command(Build.host) + status).output, .max)
    for columns in [40, 60, 80, 120] {
      let once = try shown(terminal(box, columns, status))
      fits(once, columns)
      showsAll(once, columns)
      let watched = try lastFrame(
        terminal(box, columns, keys: ["q"], status + ["--watch"]))
      fits(watched, columns)
      showsAll(watched, columns)
      #expect(watched.contains("q: quit"))
      // The graphs of the last minute (a column a second) and the last hour (about two minutes).
      #expect(watched.count(of: "▁") > 60, "\(watched)")
    }
    agent.kill()
  }

  @Test func `the arrow keys scroll status --watch on a terminal of few rows`() throws {
    let gateway = try Gateway(in: box)
    let agent = try agent(box, gateway)
    let watch = ["status", "--watch", "-o", "status=\(box.path)/page"]
    let top = try lastFrame(terminal(box, 40, rows: 12, keys: ["q"], watch))
    #expect(top.hasPrefix("connected for "))
    #expect(top.split(separator: "\n", omittingEmptySubsequences: false).count == 12)
    #expect(top.hasSuffix("\n  q: quit, arrow keys: show the rest"))
    let down = [String](repeating: #"\x1b[B"#, count: 4)
    let below = try lastFrame(terminal(box, 40, rows: 12, keys: down + ["q"], watch))
    #expect(!below.contains("connected for "))
    #expect(below.contains("in the spool"), "\(below)")
    let far = try lastFrame(
      terminal(
        box, 40, rows: 12,
        keys: [String(repeating: #"\x1b[B"#, count: 10)] + down + down
          + [String(repeating: #"\x1b[B"#, count: 10), "q"], watch))
    #expect(far.contains("last hour"), "\(far)")
    let back = try lastFrame(
      terminal(
        box, 40, rows: 12,
        keys: down + [String(repeating: #"\x1b[A"#, count: 10), "x", "q"], watch))
    #expect(back.hasPrefix("connected for "), "\(back)")
    agent.kill()
  }

  // MARK: - Terminals of all kinds

  private static let plain = [
    ["TERM": "xterm", "LC_ALL": "C"], ["TERM": "xterm", "LC_ALL": "POSIX"],
    ["TERM": "xterm", "LC_ALL": "", "LC_CTYPE": "C", "LANG": "en_US.UTF-8"],
    ["TERM": "xterm", "LC_ALL": "", "LC_CTYPE": "", "LANG": "de_DE.ISO-8859-1"],
    ["TERM": "xterm", "LC_ALL": "", "LC_CTYPE": "", "LANG": ""],
    ["TERM": "vt100", "LC_ALL": "C.UTF-8"], ["TERM": "dumb", "LC_ALL": "C.UTF-8"],
  ]

  @Test(arguments: plain)
  func `an ASCII terminal gets only ASCII`(environment: [String: String]) throws {
    try fillQueue(box)
    let isDumb = environment["TERM"] == "dumb"
    let hasColours = environment["TERM"] == "xterm"
    let queue = try terminal(box, 80, on: environment, ["queue", "-o", "spool=" + box.spool])
    fits(queue, 80)
    #expect(isPlain(queue))
    #expect(queue.contains("  20261123T003515....use-0001.json  "), "\(queue)")
    let recipients = try box.write("\(token(1)) # Küche\n", to: "recipients/kitchen")
    let list = ["recipient", "list", "-o", "recipients=\(box.path)/recipients"]
    #expect(try terminal(box, 120, on: environment, list).hasSuffix(" # K?che\n"))
    #expect(try terminal(box, 120, list).hasSuffix(" # Küche\n"))
    unlink(recipients)
    // A long line, so that both ends of the excerpt are cut.
    let text =
      #"{"token": "\#(token(1))", "payload":{"aps":{"alert":"\#(String(repeating: "ö", count: 60))"#
      + #"","badge":"3","category":"\#(String(repeating: "ü", count: 60))"}}}"# + "\n"
    let wrong = try box.write(text, to: "wrong.json")
    let checked = try terminal(box, 60, on: environment, ["check", wrong], expecting: 65)
    #expect(isPlain(checked))
    #expect(checked.contains("\u{1B}") == hasColours)
    let excerpt = shown(checked).split(separator: "\n").filter { $0.hasPrefix("  ") }
    try #require(excerpt.count == 2, "\(checked)")
    let (cut, marks) = try (excerpt.at(0), excerpt.at(1))
    #expect(cut.hasPrefix("  ...") && cut.hasSuffix("..."), "\(excerpt)")
    // The caret stands under the wrong value.
    let caret = try #require(marks.firstIndex(of: "^")).utf16Offset(in: marks)
    #expect(cut.dropFirst(caret).hasPrefix("\"3\""), "\(excerpt)")
    let setUp = try terminal(
      box, 80, on: environment,
      ["check", "-o", "spool=" + box.spool, "-o", "certificate=/nowhere", "-o", "key=/nowhere"],
      expecting: 66)
    #expect(isPlain(setUp))
    #expect(shown(setUp).contains(#/\n  x [a-z]/#), "\(setUp)")
    #expect(setUp.contains("\u{1B}[3") == hasColours)

    let other = try Box()
    defer { other.end() }
    let gateway = try Gateway(in: other)
    let agent = try agent(other, gateway)
    let status = ["status", "-o", "status=\(other.path)/page"]
    let page = try terminal(box, 80, on: environment, status)
    #expect(isPlain(page))
    #expect(page.contains("\u{1B}") == hasColours)
    showsAll(shown(page), 80)
    let watched = try terminal(
      box, 80, keys: isDumb ? [] : ["q"], on: environment, status + ["--watch"],
      expecting: isDumb ? 64 : 0)
    if isDumb {
      #expect(watched.contains("--watch needs a terminal that can move the cursor"), "\(watched)")
      #expect(!watched.contains("\u{1B}"))
    } else {
      #expect(isPlain(watched))
      #expect(try lastFrame(watched).contains("##############################"))
      #expect(try lastFrame(watched).contains("____________"))
    }
    agent.kill()
  }

  @Test func `the sandbox draws its lock screen in ASCII on an ASCII terminal`()
    throws
  {
    let sandbox = try box.start(
      [
        "python3", Build.tools + "/onterminal.py", "60x100",
        "\(Build.directory)/\(Build.host)/tinypush-sandbox", "--dir", box.path + "/sandbox",
        "--port", "0",
      ], environment: ["TERM": "xterm", "LC_ALL": "C"])
    try wait(for: "the sandbox") { sandbox.output.contains("ready") }
    let text = String(repeating: "Küche ", count: 200)
    try box.write(#"{"aps":{"alert":"\#(text)"}}"#, to: "sandbox/spool/new/1")
    let agent = try box.tinypush("run", "--once", "--config", box.path + "/sandbox/tinypush.conf")
    #expect(agent.status == 0, "\(agent.errors)")
    try wait(for: "the whole card") { sandbox.output.count(of: "-+") == 2 }
    #expect(isPlain(sandbox.output))
    let card = shown(withoutReturns(sandbox.output)).split(separator: "\n")
      .filter { $0.hasPrefix("+") || $0.hasPrefix("|") }
    #expect(card.count > 5)
    #expect(card.allSatisfy { $0.count == 60 }, "\(card)")
    #expect(card.contains { $0.contains("K?che~ ") }, "\(card)")
    sandbox.kill()
  }
}
