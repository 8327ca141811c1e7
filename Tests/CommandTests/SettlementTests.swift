import Foundation
import Testing

/// Reports on single notifications: `send --wait`, the log and `tinypush trace`.
@Suite(.sideBySide) struct SettlementTests {
  private static let one = token(1)
  private static let gone = "410:Unregistered:1700000000000"

  private func suppress(_ token: String, in box: Box, _ arguments: String...) throws {
    let child = try box.run(
      Build.command(Build.host) + ["token", "suppress", token, "-o", "state=" + box.state]
        + arguments)
    #expect(child.status == 0, "\(child.errors)")
  }

  // MARK: - The sender

  @Test func `send warns of a suppressed token and does not count it as delivered`() throws {
    try suppress(Self.one, in: box, "--at", "2026-01-02T03:04:05Z")
    let warned = try box.send(["x", "--token", token(2), "--token", Self.one])
    #expect(warned.status == 0)
    #expect(
      warned.errors == """
        tinypush send: token \(Self.one) has been suppressed since 2026-01-02T03:04:05Z (by hand); \
        to send to it again: tinypush token register \(Self.one)

        """)
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    let sent = try box.send(
      ["y", "--token", token(2), "--token", Self.one, "--wait"])
    #expect(sent.status == 1)
    #expect(
      sent.errors.contains(
        "not sent: the token has been suppressed since 2026-01-02T03:04:05Z (by hand)"),
      "\(sent.errors)")
    #expect(sent.errors.hasSuffix("(token \(Self.one))\n"))
    try gateway.accepts("y")
    #expect(try agent.terminate() == 0)
    #expect(
      agent.errors.contains(" to 00000000 not sent: the token has been suppressed since "),
      "\(agent.errors)")
    try #expect(gateway.alerts(in: box) == ["x", "y"])
  }

  @Test func `send warns of suppressed tokens in recipients files and on standard input`() throws {
    try box.write("\(Self.one)\n\(token(2))\n", to: "recipients/family")
    try suppress(Self.one, in: box)
    let listed = try box.send(["x", "--to", "family"])
    #expect(listed.status == 0)
    #expect(
      listed.errors.count(of: "token \(Self.one) has been suppressed") == 1, "\(listed.errors)")
    let stream = try box.send(["-"], input: line(1) + line(2))
    #expect(stream.status == 0)
    #expect(stream.errors.count(of: "has been suppressed since") == 1, "\(stream.errors)")
  }

  @Test func `send --wait reports an expired, superseded or dropped notification`() throws {
    func sender(_ text: String, _ arguments: String...) throws -> (child: Child, name: String) {
      let child = try box.start(
        box.sending([text, "--token", Self.one, "--wait=1h"] + arguments))
      return (child, try child.line("."))
    }
    let expiration = Int(Date().timeIntervalSince1970) + 3600
    let clocks = try Clocks(in: box, [.wall])
    try clocks.set(.wall, to: expiration + 1)
    let expired = try sender("expired", "--expiration", "\(expiration)")
    let old = try sender("old", "--collapse-id", "level")
    let new = try sender("new", "--collapse-id", "level")
    let dropped = try sender("dropped")
    try #expect(
      box.run(
        Build.command(Build.host) + ["queue", "drop", dropped.name, "-o", "spool=\(box.spool)"]
      ).status == 0)
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"], environment: clocks.environment)
    for (sender, words) in [
      (expired, "not sent: it expired before it could be sent"),
      (old, "not sent: a newer notification with the same collapse-id replaces it"),
      (dropped, "probably not delivered: somebody has removed the notification from the queue"),
    ] {
      try #expect(sender.child.wait() == 1)
      #expect(sender.child.errors.hasPrefix("tinypush send: \(words)"), "\(sender.child.errors)")
    }
    try #expect(new.child.wait() == 0, "\(new.child.errors)")
    try gateway.accepts("new")
    try #expect(gateway.alerts(in: box) == ["new"])
    #expect(try agent.terminate() == 0)
    #expect(agent.errors.contains("\(expired.name) to 00000000 not sent: it expired"))
    #expect(box.names(in: "tmp") == [])
  }

  @Test func `send --wait reports an unregistered token as not delivered`() throws {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--answer", "\(Self.one)=" + Self.gone])
    let agent = try box.agent(gateway)
    let sent = try box.send(["x", "--token", Self.one, "--token", token(2), "--wait"])
    #expect(sent.status == 65)
    #expect(
      sent.errors == """
        tinypush send: not delivered: the app is no longer on the device, since \
        2023-11-14T22:13:20Z; nothing more is sent to the token: tinypush recipient remove \
        NAME TOKEN, or register it again \
        (token \(Self.one))

        """)
    #expect(try agent.terminate() == 0)
  }

  @Test func `the agent does not write to a receipt that is a link or a pipe`() throws {
    let gateway = try Gateway(in: box)
    let other = try box.write("", to: "other")
    symlink(other, "\(box.spool)/tmp/a.wait.receipt")
    link(other, "\(box.spool)/tmp/b.wait.receipt")
    mkfifo("\(box.spool)/tmp/c.wait.receipt", 0o660)
    for name in ["a", "b", "c", "d"] { try box.drop(line(1, name), as: name + ".wait") }
    let agent = try box.deliver(gateway)
    #expect(agent.status == 0, "\(agent.errors)")
    try #expect(gateway.alerts(in: box) == ["a", "b", "c", "d"])
    #expect(try String(contentsOfFile: other, encoding: .utf8) == "")
  }

  @Test func `send --json tells the outcome for each recipient`() throws {
    try suppress(token(3), in: box, "--at", "2026-01-02T03:04:05Z")
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--answer", "\(Self.one)=" + Self.gone])
    let agent = try box.agent(gateway)
    func sent(_ arguments: String..., input: String? = nil) throws -> (Child, [String: Any]) {
      let child = try box.send(arguments + ["--json"], input: input)
      #expect(child.output.count(of: "\n") == 1, "\(child.output)")
      return (child, try objects(child.output).at(0))
    }
    let (queued, plain) = try sent("x", "--token", token(2))
    #expect(queued.status == 0)
    #expect(Set(plain.keys) == ["name", "notifications"])
    #expect(try plain.member("name", as: String.self).wholeMatch(of: /\d{10}\.\d{9}\.\d+/) != nil)
    let (good, accepted) = try sent("x", "--token", token(2), "--token", token(4), "--wait")
    #expect(good.status == 0)
    #expect(try accepted.member("outcome", as: String.self) == "accepted")
    #expect(
      try Set(
        accepted.member("recipients", as: [[String: Any]].self).map {
          try $0.member("token", as: String.self)
        })
        == [token(2), token(4)])
    let (partly, suppressed) = try sent("y", "--token", token(2), "--token", token(3), "--wait")
    #expect(partly.status == 1)
    #expect(partly.errors.hasSuffix("(token \(token(3)))\n"), "\(partly.errors)")
    #expect(try suppressed.member("outcome", as: String.self) == "suppressed")
    let outcomes = try suppressed.member("recipients", as: [[String: Any]].self).map {
      try
        "\($0.member("token", as: String.self).suffix(1)) \($0.member("outcome", as: String.self))"
    }
    #expect(Set(outcomes) == ["2 accepted", "3 suppressed"])
    let (bad, refused) = try sent("-", "--wait", input: line(2) + line(1) + line(3))
    #expect(bad.status == 65)
    #expect(try refused.member("notifications", as: Int.self) == 3)
    #expect(try refused.member("outcome", as: String.self) == "refused")
    let lines = try refused.member("recipients", as: [[String: Any]].self).map {
      try "\($0.member("line", as: Int.self)) \($0.member("outcome", as: String.self))"
    }
    #expect(Set(lines) == ["1 accepted", "2 refused", "3 suppressed"])
    let gone = try refused.member("recipients", as: [[String: Any]].self).first {
      ($0["line"] as? Int) == 2
    }
    #expect(
      try (gone ?? [:]).member("reason", as: String.self).hasPrefix(
        "not delivered: the app is no longer on the device, since 2023-11-14T22:13:20Z"))
    let (late, later) = try sent("z", "--token", token(2), "--not-before", "2h", "--wait=5s")
    #expect(late.status == 75)
    #expect(try later.member("outcome", as: String.self) == "later")
    #expect(
      try later.member("reason", as: String.self).hasPrefix("not yet: the notification is due in "))
    #expect(try later.member("due", as: Int.self) > Int(Date().timeIntervalSince1970) + 3600)
    let many = try box.send(
      ["-", "--wait", "--json"], input: (100...1099).map { line($0) }.joined())
    #expect(
      try objects(many.output).at(0).member("recipients", as: [[String: Any]].self).count == 1000)
    #expect(try agent.terminate() == 0)
    let (waits, pending) = try sent("x", "--token", token(2), "--wait=0")
    #expect(waits.status == 75)
    #expect(try pending.member("outcome", as: String.self) == "pending")
    #expect(try pending.member("recipients", as: [[String: Any]].self).isEmpty)
    let wrong = try box.send(["-", "--json"], input: "{\"tokn\": 1}")
    #expect(wrong.status == 65)
    #expect(wrong.output == "")
    let both = try box.send(["x", "--token", token(2), "--json", "--quiet"])
    #expect(both.status == 64)
    #expect(both.errors == "tinypush send: give either --quiet or --json\n")
  }

  @Test func `send --json tells why each notification was not sent`() throws {
    func sender(_ text: String, _ arguments: String...) throws -> Child {
      let before = box.queued.count
      let child = try box.start(
        box.sending([text, "--token", Self.one, "--wait=1h", "--json"] + arguments))
      try wait(for: "the file") { box.queued.count > before }
      return child
    }
    let expiration = Int(Date().timeIntervalSince1970) + 3600
    let clocks = try Clocks(in: box, [.wall])
    try clocks.set(.wall, to: expiration + 1)
    let expired = try sender("expired", "--expiration", "\(expiration)")
    let old = try sender("old", "--collapse-id", "level")
    let new = try sender("new", "--collapse-id", "level")
    let before = Set(box.queued)
    let dropped = try sender("dropped")
    let name = try #require(Set(box.queued).subtracting(before).first)
    unlink("\(box.spool)/new/\(name)")
    let gateway = try HTTP2Gateway(in: box)
    let agent = try box.agent(gateway, environment: clocks.environment)
    for (child, outcome) in [
      (expired, "expired"), (old, "superseded"), (new, "accepted"), (dropped, "removed"),
    ] {
      #expect(try child.wait() == (outcome == "accepted" ? 0 : 1))
      #expect(try objects(child.output).at(0).member("outcome", as: String.self) == outcome)
    }
    #expect(try agent.terminate() == 0)
    let limited = try box.agent(gateway, .certificate, ["limit=1/1h"])
    for (text, arguments, outcome) in [
      ("first", ["--again-after", "1h"], "accepted"),
      ("first", ["--again-after", "1h", "--urgent"], "duplicate"), ("second", [], "limited"),
    ] {
      let sent = try box.send([text, "--token", Self.one, "--wait", "--json"] + arguments)
      #expect(sent.status == (outcome == "accepted" ? 0 : 1))
      #expect(try objects(sent.output).at(0).member("outcome", as: String.self) == outcome)
    }
    #expect(try limited.terminate() == 0)
  }

  // MARK: - The log

  @Test(arguments: [false, true])
  func `the log lists each delivery with log = deliveries`(isWanted: Bool) throws {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--answer", "\(token(3))=" + Self.gone])
    try box.drop(line(1, "a") + line(2, "b") + "{}\n" + line(3, "c"), as: "notes.json")
    let agent = try box.deliver(
      gateway, .certificate, ["log=" + (isWanted ? "deliveries" : "changes")])
    #expect(agent.status == 65, "\(agent.errors)")
    for words in ["notes.json to 00000000 delivered", "notes.json:2 to 00000000 delivered"] {
      #expect(agent.errors.count(of: words) == (isWanted ? 1 : 0), "\(agent.errors)")
    }
    #expect(agent.errors.contains("notes.json:3 not sent: "), "\(agent.errors)")
    #expect(agent.errors.contains(" (tinypush queue show notes.json)"))
    #expect(
      agent.errors.contains(
        "notes.json:4 to 00000000 not delivered: the app is no longer on the device"),
      "\(agent.errors)")
    #expect(box.names(in: "failed") == ["notes.json"])
  }

  @Test func `log = deliveries lists every notification of a large file once`() throws {
    let gateway = try Gateway(in: box, ["--reject", "\(token(700))=8"])
    try box.drop((1...2000).map { line($0) }.joined(), as: "many")
    let agent = try box.deliver(gateway, ["log=deliveries"])
    #expect(agent.status == 65, "\(agent.errors.suffix(1000))")
    let lines = agent.errors.split(separator: "\n").compactMap {
      $0.firstMatch(of: /many(?::(\d+))? to 00000000 (not )?delivered/)
    }
    #expect(try lines.map { try number($0.output.1 ?? "1") }.sorted() == Array(1...2000))
    #expect(lines.filter { $0.output.2 != nil }.map { $0.output.1 } == ["700"])
  }

  // MARK: - Trace

  private func trace(
    _ box: Box, _ word: String, log: String, _ arguments: String...
  ) throws -> Child {
    try box.run(
      Build.command(Build.host) + [
        "trace", word, "--log", "-", "-o", "spool=\(box.spool)", "-o", "state=" + box.state,
      ] + arguments, input: log)
  }

  @Test func `a name of digits is no token, and one of capitals is found`() throws {
    let log = """
      1795419268445725844 not sent: expired
      1795419200000000001 to 0badcafe accepted
      other to 17954192 accepted
      ABCDEF0123 not sent: expired

      """
    func found(_ word: String) throws -> [String] {
      try trace(box, word, log: log).output.split(separator: "\n").map {
        String($0.dropFirst("log       ".count))
      }
    }
    try #expect(
      found("1795419268445725844") == [
        "1795419268445725844 not sent: expired", "other to 17954192 accepted",
      ])
    #expect(try found("ABCDEF0123") == ["ABCDEF0123 not sent: expired"])
    #expect(try found("0badcafe") == ["1795419200000000001 to 0badcafe accepted"])
  }

  @Test func `trace says why a log cannot be read`() throws {
    for (log, why) in [("/", "Is a directory"), ("/nowhere", "No such file or directory")] {
      let traced = try box.run(
        Build.command(Build.host) + ["trace", "x", "--log", log, "-o", "spool=\(box.spool)"])
      #expect(traced.status == 66)
      #expect(traced.errors == "tinypush trace: cannot read the log \(log): \(why)\n")
    }
  }

  @Test func `trace --json has the same facts`() throws {
    func traced(_ word: String, log: String = "") throws -> [[String: Any]] {
      let child = try trace(box, word, log: log, "--json")
      #expect(child.status == 0, "\(child.errors)")
      return try objects(child.output)
    }
    let gateway = try HTTP2Gateway(
      in: box, .certificate, ["--answer", "\(token(8))=413:PayloadTooLarge"])
    try box.drop(line(1) + "{\"tokn\": 1}", as: "bad.json")
    try box.drop(line(8), as: "refused.json")
    let agent = try box.deliver(gateway, .certificate, ["log=deliveries"])
    let bad = try traced("bad.json", log: "a \"line\" about bad.json\t\n" + agent.errors)
    #expect(try bad.at(0).member("text", as: String.self) == "a \"line\" about bad.json")
    #expect(
      try bad.map { try $0.member("place", as: String.self) } == ["log", "log", "log", "failed"])
    let last = try bad.at(bad.count - 1)
    #expect(try last.member("name", as: String.self) == "bad.json")
    #expect(try last.member("reason", as: String.self).hasPrefix("tokn: unknown key"))
    #expect(try last.member("line", as: Int.self) == 2)
    #expect(last["token"] == nil)
    let refused = try traced("refused.json").at(0)
    #expect(try refused.member("token", as: String.self) == token(8))
    #expect(refused["line"] == nil)
    try box.drop(line(1), as: "waits.json")
    let waits = try traced("waits.json").at(0)
    #expect(waits as? [String: String] == ["place": "new", "name": "waits.json"])
    let due = Int(Date().timeIntervalSince1970) + 7200
    let part = "\(due).0000000000000000.0123456789abcdef.later.json"
    try box.write(line(1), to: "spool/later/" + part)
    let later = try traced("later.json").at(0)
    #expect(try later.member("name", as: String.self) == part)
    #expect(try later.member("due", as: Int.self) == due)
    try suppress(token(9), in: box, "--at", "2026-01-02T03:04:05Z")
    let suppressed = try traced(token(9)).at(0)
    #expect(try suppressed.member("place", as: String.self) == "token")
    #expect(try suppressed.member("token", as: String.self) == token(9))
    #expect(try suppressed.member("time", as: Int.self) == 1_767_323_045)
    #expect(try suppressed.member("state", as: String.self) == "by hand")
    let none = try trace(box, "none.json", log: "", "--json")
    #expect(none.status == 1)
    #expect(none.output == "")
  }

  @Test func `the log names a notification that is replaced while it waits in later/`() throws {
    let gateway = try HTTP2Gateway(in: box)
    let agent = try box.agent(gateway, .certificate, ["log=deliveries"])
    let due = ["--token", token(1), "--collapse-id", "tank", "--not-before", "2h"]
    let first = try box.send(["low"] + due).output.trimmingCharacters(in: .newlines)
    try agent.line("\(first) waits in later/", in: .errors)
    _ = try box.send(["full"] + due)
    try agent.line("\(first) not sent: a newer notification with the same collapse-id", in: .errors)
    #expect(try agent.terminate() == 0)
    let traced = try trace(box, first, log: agent.errors)
    #expect(traced.output.contains("not sent: a newer notification"), "\(traced.output)")
  }

  @Test func `trace prints where a notification is and its result`() throws {
    let gateway = try HTTP2Gateway(in: box)
    try box.drop(line(1, "good"), as: "good.json")
    try box.drop("{\"tokn\": 1}", as: "bad.json")
    let agent = try box.deliver(gateway, .certificate, ["log=deliveries"])
    try box.drop(line(1, "waits"), as: "waits.json")
    let later = try box.send(["x", "--token", token(1), "--not-before", "2h"])
    let log = agent.errors
    let good = try trace(box, "good.json", log: log)
    #expect(good.status == 0)
    #expect(
      good.output.contains(/^log       .*good.json to 00000000 delivered\n$/), "\(good.output)")
    let bad = try trace(box, "bad.json", log: log)
    #expect(
      bad.output.contains(/\nfailed    bad.json: refused: tokn: unknown key/), "\(bad.output)")
    let waits = try trace(box, "waits.json", log: log)
    #expect(
      waits.output == "new       waits.json: waits to be sent, or is being sent\n")
    let name = later.output.trimmingCharacters(in: .newlines)
    try #expect(trace(box, name, log: log).output.hasPrefix("new       \(name): "))
    let all = try trace(box, String(token(1).prefix(8)), log: log)
    #expect(all.output.contains("good.json to 00000000 delivered"))
    try suppress(token(9), in: box)
    let suppressed = try trace(box, token(9).uppercased(), log: "")
    #expect(
      suppressed.output.contains("token     \(token(9)): suppressed, by hand since "),
      "\(suppressed.output)")
    // A notification that has waited, or that was sent again, has more behind its name.
    let more = ".18ebcd546e6fc48e.e18b6113c5d7ffea"
    for released in ["old.json" + more, "old.json.e18b6113c5d7ffea"] {
      let again = try trace(
        box, "old.json", log: "info: \(released) to a47603f2 delivered\ninfo: old.jsonx delivered\n"
      )
      #expect(again.output == "log       info: \(released) to a47603f2 delivered\n")
      let same = try trace(box, released, log: "info: old.json waits in later/\n")
      #expect(same.output == "log       info: old.json waits in later/\n")
    }
    let none = try trace(box, "none.json", log: log)
    #expect(none.status == 1)
    #expect(none.errors.hasPrefix("tinypush trace: nothing found: "))
    #expect(none.output == "")
  }
}
