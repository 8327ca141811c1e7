import Foundation
import Testing

/// Alert storms: the settings `limit`, `limit-all` and `limit-summary`, and the key `again-after`.
@Suite(.sideBySide) struct LimitTests {
  private func status(_ box: Box, _ counter: String) throws -> Int {
    let page = try box.run(
      Build.command(Build.host) + ["status", "--json", "-o", "status=\(box.path)/page"])
    return try objects(page.output).first?[counter] as? Int ?? -1
  }

  private func settings(_ box: Box, _ more: String...) -> [String] {
    ["status=\(box.path)/page"] + more
  }

  /// Returns the time at which the first notification in `later/` is due: its name begins with it.
  private func due(in box: Box) throws -> Int {
    try number(box.names(in: "later").at(0).prefix { $0 != "." })
  }

  /// Returns a notification to token 1.
  private func text(_ alert: String, _ members: String = "") -> String {
    #"{"token":"\#(token(1))","payload":{"aps":{"alert":"\#(alert)"}}\#(members)}"# + "\n"
  }

  @Test func `a limit of five delivers five of a hundred alerts and one summary`() throws {
    let clocks = try Clocks(in: box, [.awake])
    let gateway = try HTTP2Gateway(in: box)
    for number in 101...200 { try box.drop(text("Alert \(number)"), as: "\(number)") }
    let agent = try box.agent(
      gateway, .certificate, settings(box, "limit=5/10m"), environment: clocks.environment)
    try wait(for: "the others to be recorded") { box.names(in: "failed").count == 95 }
    try wait(for: "the spool to be empty") { box.queued == [] }
    #expect(try gateway.alerts() == (101...105).map { "Alert \($0)" })
    #expect(box.names(in: "failed") == (106...200).map { "\($0)" })
    let failure = try #require(try box.failures("106").first)
    #expect(failure["code"] as? String == "limited")
    #expect(
      failure["reason"] as? String
        == "limit allows 5 alerts in 10 min to one token, and there were more: a summary is sent instead. To send this alert, run: tinypush queue retry 106"
    )
    #expect(failure["token"] as? String == token(1))
    // Urgent alerts and priority 10 pass the limit, and so do alerts to other tokens.
    try box.drop(text("Fire", #","urgent":true"#), as: "201")
    try gateway.accepts("Fire")
    try box.drop(text("Smoke", #","priority":10"#), as: "202")
    try gateway.accepts("Smoke")
    try box.drop(line(2, "Elsewhere"), as: "203")
    try gateway.accepts("Elsewhere")
    #expect(try gateway.alerts().count == 8)
    // After two minutes one more alert may be sent, and the storm is over.
    try clocks.set(.awake, to: 121)
    try box.drop(line(2, "Awake"), as: "204")
    try wait(for: "the summary") {
      try gateway.alerts().contains { $0.hasPrefix("95 more alerts in ") }
    }
    try wait(for: "the page") { try status(box, "summaries") == 1 }
    #expect(try status(box, "limited") == 95)
    #expect(try gateway.alerts().count == 10)
    let summary = try #require(
      try gateway.requests().first {
        try $0.member("payload", as: String.self).contains("more alerts")
      })
    #expect(summary["token"] as? String == token(1))
    // A retried notification counts against the limit, which allows one now.
    let retried = try box.tinypush("queue", "retry", "106", "-o", "spool=\(box.spool)")
    #expect(retried.status == 0, "\(retried.errors)")
    try gateway.accepts("Alert 106")
    #expect(try agent.terminate() == 0)
    let said = agent.errors.split(separator: "\n")
    #expect(said.count { $0.contains("more than 5 alerts in 10 min") } == 1, "\(said)")
    #expect(said.count { $0.contains("one summary stands for 95 alerts") } == 1, "\(said)")
    #expect(said.allSatisfy { !$0.contains("alerts") || $0.contains("00000000...") }, "\(said)")
    #expect(box.queued + box.names(in: "later") == [])
  }

  @Test func `an agent that stops keeps the summary in later/, and the next agent sends it`() throws
  {
    let gateway = try HTTP2Gateway(in: box)
    let limits = ["limit-all=3/1h", #"limit-summary="{count} Meldungen in {time}: \"Haus\"""#]
    let agent = try box.agent(gateway, .certificate, limits)
    try box.drop((1...9).map { line(1, "Alert \($0)") }.joined(), as: "many.ndjson")
    try wait(for: "the others to be recorded") { try box.failures("many.ndjson").count == 6 }
    #expect(try box.failures("many.ndjson").at(0)["code"] as? String == "limited")
    #expect(try agent.terminate() == 0)
    #expect(box.names(in: "later").count == 1)
    let next = try box.deliver(gateway, .certificate, limits)
    #expect(next.status == 0, "\(next.errors)")
    let alerts = try gateway.alerts()
    #expect(alerts.count == 4)
    #expect(alerts.prefix(3) == ["Alert 1", "Alert 2", "Alert 3"])
    #expect(try alerts.at(3).contains(/^6 Meldungen in \d+ (s|min): \\"Haus\\"$/), "\(alerts)")
    #expect(box.names(in: "later") == [])
  }

  @Test func `run --once sends the summary at the end`() throws {
    let gateway = try HTTP2Gateway(
      in: box, .certificate, ["--topic", "com.example.tinypush", "--topic", "com.example.other"])
    try box.drop(
      (1...3).map { line($0 % 2 + 1, "Alert \($0)") }.joined()
        + #"{"token":"\#(token(2))","topic":"com.example.other","payload":{"aps":{"alert":"Alert 4"}}}"#
        + #"{"token":"\#(token(2))","payload":{"aps":{"content-available":1}}}"#, as: "many.ndjson")
    let run = try box.deliver(gateway, .certificate, ["limit=1/10m"])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.errors.contains("2 over the limit"))
    // A background push does not count as an alert.
    let alerts = try gateway.alerts()
    #expect(alerts.count == 4)
    #expect(alerts.prefix(3) == ["Alert 1", "Alert 2", ""])
    #expect(try alerts.at(3).contains(/^2 more alerts in \d+ (second|minute)s?$/), "\(alerts)")
    let summary = try #require(
      try gateway.requests().first {
        try $0.member("payload", as: String.self).contains("more alerts")
      })
    let headers = try #require(summary["headers"] as? [String: String])
    #expect(headers["apns-topic"] == "com.example.other")
    #expect(headers["apns-push-type"] == "alert")
  }

  @Test func `the newest notification of a collapse ID waits until the limit allows it`() throws {
    let clocks = try Clocks(in: box, [.wall, .awake])
    // The clock of the file system must not be ahead.
    let now = Int(Date().timeIntervalSince1970) + 600
    try clocks.set(.wall, to: now)
    let gateway = try HTTP2Gateway(in: box)
    let agent = try box.agent(
      gateway, .certificate, settings(box, "limit=1/10m"), environment: clocks.environment)
    try box.drop(text("First"), as: "a")
    try gateway.accepts("First")
    for (number, name) in ["b", "c", "d"].enumerated() {
      try box.drop(text("Level \(number)", #","collapse-id":"level","ttl":3600"#), as: name)
      try wait(for: "\(name) to be the only file in later/") {
        box.names(in: "later").map { $0.hasSuffix(".\(name)") } == [true]
      }
    }
    try wait(for: "the spool to be empty") { box.queued == [] }
    // The limit has room ten minutes after the first alert, and time passes between both.
    #expect((now + 1...now + 601).contains(try due(in: box)))
    // Token 2 gets the alert at once, token 1 later.
    try box.drop(
      #"{"tokens":["\#(token(2))","\#(token(1))"],"collapse-id":"gate","payload":{"aps":{"alert":"Gate open"}}}"#,
      as: "e")
    try wait(for: "the other to wait") { box.names(in: "later").count == 2 }
    try gateway.accepts("Gate open")
    // An answer that is not read yet would be overdue when the clock jumps.
    try wait(for: "the spool to be empty") { box.queued == [] }
    #expect(try gateway.alerts() == ["First", "Gate open"])
    try clocks.set(.awake, to: 601)
    try clocks.set(.wall, to: now + 601)
    try clocks.announceChange()
    try gateway.accepts("Level 2")
    // The fake clock wakes the agent only once.
    try wait(for: "the other to wait again") {
      try box.names(in: "later").count == 1 && due(in: box) > now + 601 && box.queued == []
    }
    try clocks.set(.awake, to: 1202)
    try clocks.set(.wall, to: now + 1202)
    try clocks.announceChange()
    try wait(for: "the last one") { try gateway.alerts().count == 4 }
    #expect(try gateway.alerts() == ["First", "Gate open", "Level 2", "Gate open"])
    let tokens: [String] = try gateway.requests().map { try $0.member("token") }
    #expect(tokens == [token(1), token(2), token(1), token(1)])
    #expect(try agent.terminate() == 0)
    #expect(box.names(in: "failed") + box.names(in: "later") + box.queued == [])
  }

  @Test func `a token gets the same notification once within again-after`() throws {
    let clocks = try Clocks(in: box, [.awake])
    let gateway = try HTTP2Gateway(in: box)
    let agent = try box.agent(
      gateway, .certificate, settings(box), environment: clocks.environment)
    func send(_ words: String...) throws {
      let sent = try box.run(
        Build.command(Build.host) + ["send", "-o", "spool=\(box.spool)", "--again-after", "30m"]
          + words)
      #expect(sent.status == 0, "\(sent.errors)")
      try wait(for: "the spool to be empty") { box.queued == [] }
    }
    for _ in 1...3 { try send("Door open", "--token", token(1), "--token", token(2)) }
    try send("Door shut", "--token", token(1))
    try send("Level 1", "--token", token(1), "--collapse-id", "level")
    try send("Level 2", "--token", token(1), "--collapse-id", "level")
    #expect(try gateway.alerts() == ["Door open", "Door open", "Door shut", "Level 1"])
    try wait(for: "the page") { try status(box, "duplicates") == 5 }
    try clocks.set(.awake, to: 1801)
    try send("Door open", "--token", token(1), "--urgent")
    #expect(try gateway.alerts().suffix(1) == ["Door open"])
    #expect(try agent.terminate() == 0)
    #expect(agent.errors.contains("within its again-after"), "\(agent.errors)")
    #expect(box.names(in: "failed") == [])
  }

  @Test(arguments: [false, true])
  func `a notification of the same collapse-id without again-after begins anew`(isLimited: Bool)
    throws
  {
    let gateway = try HTTP2Gateway(in: box)
    let agent = try box.agent(
      gateway, .certificate, isLimited ? settings(box, "limit=20/10m") : settings(box))
    func send(_ words: String...) throws {
      let sent = try box.run(
        Build.command(Build.host) + [
          "send", "-o", "spool=\(box.spool)", "--token", token(1), "--collapse-id", "leak",
          "--urgent",
        ] + words)
      #expect(sent.status == 0, "\(sent.errors)")
      try wait(for: "the spool to be empty") { box.queued == [] && box.names(in: "taken") == [] }
    }
    for _ in 1...2 { try send("Leak", "--again-after", "30m") }
    try send("Cleared")
    for _ in 1...2 { try send("Leak", "--again-after", "30m") }
    #expect(try gateway.alerts() == ["Leak", "Cleared", "Leak"])
    #expect(try agent.terminate() == 0)
  }

  @Test func `a notification with the text of a refused one is sent despite again-after`() throws {
    let gateway = try HTTP2Gateway(
      in: box, .certificate, ["--answer", token(1) + "=413:PayloadTooLarge"])
    let agent = try box.agent(gateway, .certificate, settings(box))
    for name in ["a", "b"] {
      try box.drop(text("Door open", #","again-after":1800"#), as: name)
      try wait(for: "the record") { try box.failures(name).count == 1 }
    }
    #expect(try gateway.requests().count == 2)
    #expect(try status(box, "duplicates") == 0)
    #expect(try agent.terminate() == 0)
  }
}
