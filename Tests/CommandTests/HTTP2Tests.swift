import Foundation
import Testing

/// Delivery to Apple's service of today, played by Tests/Tools/http2gateway.py: an HTTP/2 server that shares no code with the
/// product.
@Suite(.sideBySide) struct HTTP2Tests {
  private static func lines(_ count: Int) -> String {
    (1...count).map { line($0, "Alert \($0)") + "\n" }.joined()
  }

  @Test(arguments: Identity.allCases)
  func `notifications arrive, and say who sends them`(identity: Identity) throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try HTTP2Gateway(in: box, identity)
    try box.drop(Self.lines(300), as: "many.ndjson")
    let run = try box.deliver(gateway, identity)
    #expect(run.status == 0, "\(run.errors)")
    #expect(Set(try gateway.alerts()) == Set((1...300).map { "Alert \($0)" }))
    let requests = try gateway.requests()
    #expect(requests.count == 300)
    let headers = try #require(requests.first?["headers"] as? [String: String])
    #expect(headers["apns-topic"] == "com.example.tinypush")
    #expect(headers["apns-push-type"] == "alert")
    #expect((headers["authorization"] != nil) == (identity == .token))
    #expect(box.names(in: "new") == [])
    #expect(box.names(in: "failed") == [])
  }

  @Test(arguments: Build.all) func `every build delivers over HTTP/2`(build: String) throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try HTTP2Gateway(in: box, .token)
    try box.drop(line(1, "Tank low"), as: "one")
    let run = try box.deliver(gateway, .token, build: build)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try gateway.alerts() == ["Tank low"])
  }

  /// What the service does wrong, once.
  private static let faults = [
    "unavailable@5", "internal-error@5..7", "too-many-requests=1@5", "refuse%7", "reset@5",
    "cut-before@20",
    "cut-lost@20", "cut-after=reset@20", "goaway@20", "goaway-twice@20", "goaway-refusing@20",
    "goaway-below@20", "goaway-error@20", "shutdown@20", "silent@20", "closed-window",
    "stream-window=100", "connection-window", "long-body@5", "byte-body", "early-hints", "trailers",
    "late-settings", "lower=1@20", "one-first",
  ]

  @Test(arguments: faults)
  func `nothing is lost whatever the service does, and nothing is shown twice`(
    fault: String
  ) throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", fault])
    try box.drop(Self.lines(100), as: "many.ndjson")
    let run = try box.deliver(gateway, .certificate, ["answer-timeout=2s"])
    #expect(run.status == 0, "\(run.errors)")
    #expect(box.names(in: "new") == [])
    #expect(box.names(in: "failed") == [])
    let accepted = try gateway.requests().filter { $0["accepted"] as? Bool == true }
    var ids: [String: Set<String>] = [:]
    for request in accepted {
      let headers = try #require(request["headers"] as? [String: String])
      ids[request["token"] as! String, default: []].insert(
        headers["apns-id"]! + headers["apns-collapse-id"]!)
    }
    #expect(ids.count == 100)
    // A repeat bears the same identifiers, so that the device replaces what it shows.
    #expect(ids.values.allSatisfy { $0.count == 1 })
  }

  @Test func `a single answer mutes no device that was reached before`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try HTTP2Gateway(
      in: box, .certificate,
      ["--fault", "answer=400:BadDeviceToken@2", "--fault", "answer=400:BadDeviceToken@4"])
    let page = "status=\(box.path)/page"
    let agent = try box.agent(gateway, .certificate, [page])
    func status() throws -> [String: Any] {
      try objects(box.tinypush("status", "--json", "-o", page).output)[0]
    }
    try box.drop(line(1, "first"), as: "first")
    try gateway.accepts("first")
    try box.drop(line(1, "second"), as: "second")
    try wait(for: "a record") { box.names(in: "failed") == ["second"] }
    let spared = try box.failures("second")[0]["reason"] as? String
    #expect(spared?.hasSuffix("is not suppressed until the gateway refuses it again") == true)
    try agent.line(
      "the gateway rejects token 00000000... as invalid, but accepted it before", in: .errors)
    try box.drop(line(1, "third"), as: "third")
    try gateway.accepts("third")
    try #expect(status()["tokens_suppressed"] as? Int == 0)
    // It knows nothing good of this one.
    try box.drop(line(2, "fourth"), as: "fourth")
    try wait(for: "a record") { box.names(in: "failed") == ["fourth", "second"] }
    let muted = try box.failures("fourth")[0]["reason"] as? String
    #expect(muted?.hasSuffix("tinypush token register \(token(2))") == true, "\(muted ?? "")")
    let words =
      "the gateway rejects token 00000000... as invalid: nothing more is sent to it; failed/ says what to do (file fourth)"
    try agent.line("tinypush token register \(token(2)) (tinypush queue show fourth)", in: .errors)
    try box.drop(line(2, "fifth"), as: "fifth")
    try wait(for: "nothing to wait") { box.names(in: "new").isEmpty }
    try wait(for: "the page") { try status()["suppressed"] as? Int == 1 }
    try #expect(status()["tokens_suppressed"] as? Int == 1)
    try #expect(status()["last_suppressed"] as? String == words)
    #expect(
      try box.tinypush("status", "-o", page).output.contains("tokens suppressed: 1; the last"))
    #expect(try agent.terminate() == 0)
  }

  @Test func `what the service does not take goes to failed, with its reason`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try HTTP2Gateway(
      in: box, .certificate,
      [
        "--answer", token(2) + "=400:BadDeviceToken", "--answer",
        token(3) + "=410:Unregistered:1700000000000", "--answer", token(4) + "=413:PayloadTooLarge",
      ])
    for number in 1...5 { try box.drop(line(number, "Alert \(number)"), as: "n\(number)") }
    let run = try box.deliver(gateway)
    #expect(run.status == 65, "\(run.errors)")
    #expect(Set(try gateway.alerts()) == ["Alert 1", "Alert 5"])
    #expect(box.names(in: "new") == [])
    #expect(box.names(in: "failed") == ["n2", "n4"])
    #expect(try box.failures("n2").first?["status"] as? Int == 400)
    #expect(
      (try box.failures("n4").first?["reason"]
        as? String)?.contains("payload too large") == true)
    // The device that is gone is not sent to any more.
    try box.drop(line(3, "Once more"), as: "n6")
    #expect(try box.deliver(gateway).status == 0)
    #expect(try !gateway.requests().contains { ($0["payload"] as! String).contains("Once more") })
  }

  @Test(arguments: ["bad-certificate", "bad-topic", "invalid-token"])
  func `nothing leaves the spool while the service refuses the configuration`(fault: String) throws
  {
    let box = try Box()
    defer { box.end() }
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", fault])
    for number in 1...5 { try box.drop(line(number, "Alert \(number)"), as: "n\(number)") }
    let run = try box.deliver(gateway)
    #expect(run.status == 78)
    #expect(run.errors.contains("the service refuses the configuration"))
    #expect(box.names(in: "new").count == 5)
    #expect(box.names(in: "failed") == [])
  }

  @Test func `one provider token serves many runs`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try HTTP2Gateway(in: box, .token)
    for number in 1...3 {
      try box.drop(line(number, "Alert \(number)"), as: "n\(number)")
      #expect(try box.deliver(gateway, .token).status == 0)
    }
    let tokens = try gateway.requests().map {
      ($0["headers"] as! [String: String])["authorization"]!
    }
    #expect(tokens.count == 3)
    #expect(Set(tokens).count == 1)
  }

  @Test func `a stop waits for the answer to what was sent`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", "slow=2000"])
    try box.drop(line(1, "Tank low"), as: "one")
    let agent = try box.agent(gateway)
    try gateway.accepts("Tank low")
    #expect(try agent.terminate() == 0)
    #expect(box.names(in: "new") == [])
  }

  @Test(arguments: [("1s", "11000000"), ("10m", "30000000")])
  func `a stop ends in the time that systemd gives, without answers too`(
    timeout: String, microseconds: String
  ) throws {
    let box = try Box()
    defer { box.end() }
    let manager = try NotifySocket(in: box)
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", "silent"])
    try box.drop(line(1), as: "one")
    let agent = try box.agent(
      gateway, .certificate, ["answer-timeout=" + timeout], environment: manager.environment)
    try wait(for: "the request") { try gateway.requests().count == 1 }
    agent.signal(SIGTERM)
    let stopping = try manager.hears("STOPPING=1\n")
    #expect(stopping.hasSuffix("\nEXTEND_TIMEOUT_USEC=" + microseconds))
    #expect(try agent.wait() == 0)
    #expect(box.names(in: "new") == ["one"])
  }

  /// Attacks on the connection, which the agent has to close.
  private static let attacks = [
    "settings-flood", "ping-flood", "ping-ack-flood", "window-update-flood", "unknown-flood",
    "empty-data-flood", "endless-body", "endless-hints", "continuation-flood", "hpack-bomb",
    "huge-header", "push-promise", "headers-on-zero", "data-on-idle",
    "window-overflow", "settings-window", "oversized-frame", "garbage", "reset-flood",
    "goaway-flood", "half-frame",
  ]

  @Test(arguments: attacks)
  func `a connection with an attacker on it is closed`(attack: String) throws {
    try bear(attack) { agent, hostile in
      try wait(for: "the agent to close the connection: \(agent.errors)") {
        try hostile.events("end").first { $0["connection"] as? Int == 1 }?["closed"] as? Bool
          == true
      }
    }
  }

  /// With these each request ends with an error of its own, and the connection is in order.
  @Test(arguments: [
    "refuse-all", "no-status", "two-statuses", "request-header", "upper-case", "connection-header",
    "stream-window-overflow",
  ])
  func `a service that closes each request is asked again later`(attack: String) throws {
    try bear(attack) { agent, _ in try agent.line("closed a request with error", in: .errors) }
  }

  /// An attack costs neither memory nor the queue, and a sane server at the same place gets everything.
  private func bear(
    _ attack: String, until hasEffect: (_ agent: Child, _ hostile: Hostile) throws -> Void
  ) throws {
    let box = try Box()
    defer { box.end() }
    let hostile = try Hostile(in: box, attack, ["--megabytes", "4"])
    for number in 1...3 { try box.drop(line(number, "Alert \(number)"), as: "n\(number)") }
    let agent = try box.agent(hostile, .certificate, ["answer-timeout=1s"])
    try hasEffect(agent, hostile)
    let status = try String(contentsOfFile: "/proc/\(agent.id)/status", encoding: .utf8)
    let peak = try #require(status.firstMatch(of: /VmHWM:\s*(\d+) kB/))
    #expect(Int(peak.1)! < Self.memoryMax, "\(attack): \(peak.1) kB")
    #expect(box.names(in: "new") == ["n1", "n2", "n3"])
    #expect(box.names(in: "failed") == [])
    hostile.child.kill()
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--port", "\(hostile.port)"])
    // It may be about to wait for long.
    agent.signal(SIGHUP)
    try wait(for: "the alerts: \(agent.errors)") {
      try Set(gateway.alerts()) == ["Alert 1", "Alert 2", "Alert 3"]
    }
    #expect(try agent.terminate() == 0)
    #expect(box.names(in: "new") == [])
    #expect(box.names(in: "failed") == [])
  }

  /// Kilobytes: what the agent takes at rest, libraries included, and the 2 MB that its open requests may take.
  private static let memoryMax = 6000
}
