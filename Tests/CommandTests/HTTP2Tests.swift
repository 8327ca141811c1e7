import Foundation
import Testing

/// Delivery over HTTP/2 to an independent server that plays Apple's service.
///
/// The server is Tests/Tools/http2gateway.py, which shares no code with the product.
@Suite(.sideBySide) struct HTTP2Tests {
  private static func lines(_ count: Int) -> String {
    (1...count).map { line($0, "Alert \($0)") + "\n" }.joined()
  }

  @Test(arguments: Identity.allCases)
  func `the agent delivers over HTTP/2 with a certificate or a provider token`(identity: Identity)
    throws
  {
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
    #expect(box.queued == [])
    #expect(box.names(in: "failed") == [])
  }

  @Test(arguments: Build.all) func `every build delivers over HTTP/2`(build: String) throws {
    let gateway = try HTTP2Gateway(in: box, .token)
    try box.drop(line(1, "Tank low"), as: "one")
    let run = try box.deliver(gateway, .token, build: build)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try gateway.alerts() == ["Tank low"])
  }

  /// The faults of the service.
  private static let faults = [
    "unavailable@5", "internal-error@5..7", "too-many-requests=1@5", "refuse%7", "reset@5",
    "cut-before@20", "cut-lost@20", "cut-after=reset@20", "goaway@20", "goaway-twice@20",
    "goaway-refusing@20", "goaway-below@20", "goaway-error@20", "shutdown@20", "silent@20",
    "closed-window", "stream-window=100", "connection-window", "bad-gateway@5",
    "no-body internal-error@5", "text-body internal-error@5", "long-body@5",
    "byte-body internal-error@5", "no-id", "early-hints", "trailers", "late-settings", "lower=1@20",
    "one-first", "no-end",
  ]

  @Test(arguments: faults)
  func `no fault of the service loses a notification or shows one twice`(
    fault: String
  ) throws {
    let gateway = try HTTP2Gateway(
      in: box, .certificate, fault.split(separator: " ").flatMap { ["--fault", "\($0)"] })
    try box.drop(Self.lines(100), as: "many.ndjson")
    let run = try box.deliver(gateway, .certificate, ["answer-timeout=2s"])
    #expect(run.status == 0, "\(run.errors)")
    #expect(!run.errors.contains(": 0 "), "\(run.errors)")
    #expect(box.queued == [])
    #expect(box.names(in: "failed") == [])
    #expect(try !gateway.events("fault").isEmpty)
    let accepted = try gateway.requests().filter { $0["accepted"] as? Bool == true }
    var ids: [String: Set<String>] = [:]
    for request in accepted {
      let headers = try #require(request["headers"] as? [String: String])
      try ids[request.member("token"), default: []].insert(
        #require(headers["apns-id"]) + #require(headers["apns-collapse-id"]))
    }
    #expect(ids.count == 100)
    // A repeat has the same identifiers, so that the device replaces the alert it shows.
    #expect(ids.values.allSatisfy { $0.count == 1 })
  }

  @Test func `with repeats = show, a notification gets no collapse ID of its own`() throws {
    let gateway = try HTTP2Gateway(in: box)
    try box.drop(line(1, "one"), as: "one")
    #expect(try box.deliver(gateway, .certificate, ["repeats=show"]).status == 0)
    let headers = try gateway.requests().map { try $0.member("headers", as: [String: String].self) }
    #expect(headers.count == 1 && headers.first?["apns-id"] != nil)
    #expect(headers.first?["apns-collapse-id"] == nil)
  }

  @Test func `a token that was accepted before is not suppressed by one refusal`() throws {
    let gateway = try HTTP2Gateway(
      in: box, .certificate,
      ["--fault", "answer=400:BadDeviceToken@2", "--fault", "answer=400:BadDeviceToken@4"])
    let page = "status=\(box.path)/page"
    let agent = try box.agent(gateway, .certificate, [page])
    func status() throws -> [String: Any] {
      try objects(box.tinypush("status", "--json", "-o", page).output).at(0)
    }
    try box.drop(line(1, "first"), as: "first")
    try gateway.accepts("first")
    try box.drop(line(1, "second"), as: "second")
    try wait(for: "a record") { try box.failures("second").count == 1 }
    let spared = try box.failures("second").at(0)["reason"] as? String
    #expect(spared?.hasSuffix("is not suppressed until the service refuses it again") == true)
    try agent.line(
      "the service refuses token 00000000... as invalid, but accepted it before", in: .errors)
    try box.drop(line(1, "third"), as: "third")
    try gateway.accepts("third")
    try #expect(status()["tokens_suppressed"] as? Int == 0)
    // The service has never accepted this token.
    try box.drop(line(2, "fourth"), as: "fourth")
    try wait(for: "a record") { try box.failures("fourth").count == 1 }
    let muted = try box.failures("fourth").at(0)["reason"] as? String
    #expect(muted?.hasSuffix("tinypush token register \(token(2))") == true, "\(muted ?? "")")
    let words =
      "the service refuses token 00000000... as invalid: nothing more is sent to it; failed/ says what to do (file fourth)"
    try agent.line("tinypush token register \(token(2)) (tinypush queue show fourth)", in: .errors)
    try box.drop(line(2, "fifth"), as: "fifth")
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    try wait(for: "the page") { try status()["suppressed"] as? Int == 1 }
    try #expect(status()["tokens_suppressed"] as? Int == 1)
    try #expect(status()["last_suppressed"] as? String == words)
    #expect(
      try box.tinypush("status", "-o", page).output.contains("tokens suppressed: 1; the last"))
    #expect(try agent.terminate() == 0)
  }

  @Test func `refused requests go to failed/ with the service's reason`() throws {
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
    #expect(box.queued == [])
    #expect(box.names(in: "failed") == ["n2", "n4"])
    #expect(try box.failures("n2").first?["status"] as? Int == 400)
    #expect(
      (try box.failures("n4").first?["reason"]
        as? String)?.contains("payload too large") == true)
    // The agent does not send to the unregistered token again.
    try box.drop(line(3, "Once more"), as: "n6")
    #expect(try box.deliver(gateway).status == 0)
    #expect(
      try !gateway.requests().contains {
        try $0.member("payload", as: String.self).contains("Once more")
      })
  }

  @Test(arguments: ["bad-certificate", "bad-topic", "invalid-token"])
  func `nothing leaves the spool while the service refuses the configuration`(fault: String) throws
  {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", fault])
    for number in 1...5 { try box.drop(line(number, "Alert \(number)"), as: "n\(number)") }
    let run = try box.deliver(gateway)
    #expect(run.status == 78)
    #expect(run.errors.contains("the service refuses the configuration"))
    #expect(box.queued.count == 5)
    #expect(box.names(in: "failed") == [])
  }

  @Test func `an agent that stops waits for the answers to its open requests`() throws {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", "slow=2000"])
    try box.drop(line(1, "Tank low"), as: "one")
    let agent = try box.agent(gateway)
    try gateway.accepts("Tank low")
    #expect(try agent.terminate() == 0)
    #expect(box.queued == [])
  }

  @Test(arguments: [("1s", "11000000"), ("10m", "30000000")])
  func `an agent that stops without answers ends within the time it asked systemd for`(
    timeout: String, microseconds: String
  ) throws {
    let manager = try NotifySocket(in: box)
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", "silent"])
    try box.drop(line(1), as: "one")
    let agent = try box.agent(
      gateway, .certificate, ["answer-timeout=" + timeout], environment: manager.environment)
    try wait(for: "the request") { try gateway.requests().count == 1 }
    agent.signal(SIGTERM)
    let stopping = try manager.receives("STOPPING=1\n")
    #expect(stopping.hasSuffix("\nEXTEND_TIMEOUT_USEC=" + microseconds))
    #expect(try agent.wait() == 0)
    #expect(box.queued == ["one"])
  }

  /// Attacks at which the agent must close the connection.
  private static let attacks = [
    "settings-flood", "ping-flood", "ping-ack-flood", "window-update-flood", "unknown-flood",
    "empty-data-flood", "endless-body", "endless-hints", "continuation-flood", "hpack-bomb",
    "huge-header", "push-promise", "headers-on-zero", "data-on-idle",
    "window-overflow", "settings-window", "oversized-frame", "garbage", "reset-flood",
    "goaway-flood", "half-frame",
  ]

  @Test(arguments: attacks)
  func `the agent closes the connection of an attacking server`(attack: String) throws {
    try survive(attack) { agent, hostile in
      try wait(for: "the agent to close the connection: \(agent.errors)") {
        try hostile.events("end").first { $0["connection"] as? Int == 1 }?["closed"] as? Bool
          == true
      }
    }
  }

  /// These attacks break single requests and leave the connection intact.
  @Test(arguments: [
    "refuse-all", "no-status", "two-statuses", "request-header", "upper-case", "connection-header",
    "stream-window-overflow",
  ])
  func `the agent tries again later if the service breaks each request`(attack: String) throws {
    try survive(attack) { agent, _ in
      try agent.line("closed a request with HTTP/2 error", in: .errors)
    }
  }

  /// Checks that an attack costs no memory and no file, and that a sane server gets everything.
  private func survive(
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
    #expect(try number(peak.1) < Self.memoryMax, "\(attack): \(peak.1) kB")
    #expect(box.queued == ["n1", "n2", "n3"])
    #expect(box.names(in: "failed") == [])
    hostile.child.kill()
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--port", "\(hostile.port)"])
    // SIGHUP ends the pause before the next attempt, which may be long.
    agent.signal(SIGHUP)
    try wait(for: "the alerts: \(agent.errors)") {
      try Set(gateway.alerts()) == ["Alert 1", "Alert 2", "Alert 3"]
    }
    #expect(try agent.terminate() == 0)
    #expect(box.queued == [])
    #expect(box.names(in: "failed") == [])
  }

  /// The most memory in KB: the idle agent with its libraries, and 2 MB for its open requests.
  private static let memoryMax = 6000
}
