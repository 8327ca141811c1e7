import Foundation
import Testing

/// The sandbox over HTTP/2, with the agent and with third-party clients.
@Suite(.sideBySide) struct SandboxHTTP2Tests {
  private func drop(_ count: Int, in box: Box) throws {
    for number in 1...count {
      try box.write(
        #"{"aps":{"alert":"Alert \#(number)"}}"#,
        to: "sandbox/spool/new/\(String(number + 100)).json")
    }
  }

  /// Runs the agent until the spool is empty.
  private func deliver(_ box: Box, _ sandbox: Sandbox, _ settings: String...) throws -> Child {
    try box.run(
      Build.command(Build.host) + ["run", "--once", "--config", sandbox.http2Config]
        + settings.flatMap { ["-o", $0] })
  }

  private func left(_ box: Box, in directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(
      atPath: box.path + "/sandbox/spool/" + directory)
  }

  // MARK: - With the agent

  private static let faults = [
    "close@7", "reset@7", "stall@7", "garbage@7", "reason=ServiceUnavailable@7",
    "reason=InternalServerError@1", "reason=Shutdown@7", "retry-after=1@7", "odd-body@7",
    "refused-stream@7", "reset-stream@7", "slow+1s@7", "goaway@7", "goaway@1", "goaway@0s",
    "close@0s", "reset-stream@20%", "refused-stream@20%",
  ]

  @Test(arguments: faults)
  func `no fault over HTTP/2 loses a notification, and repeats replace the shown alert`(
    fault: String
  ) throws {
    let sandbox = try Sandbox(in: box, ["--fault", fault, "--seed", "1"], hasDevices: true)
    try drop(20, in: box)
    let agent = try deliver(box, sandbox, "answer-timeout=1s")
    #expect(agent.status == 0, "\(agent.errors)")
    #expect(try sandbox.child.terminate() == 0)
    let delivered = try sandbox.events("delivered")
    let texts = delivered.compactMap { $0["text"] as? String }
    #expect(Set(texts) == Set((1...20).map { "Alert \($0)" }), "\(agent.errors)")
    let repeats = delivered.filter { $0["replaces"] as? String == "same" }
    #expect(repeats.count == texts.count - 20, "each alert is shown once")
    let sums = try #require(sandbox.events("stopped").first)
    #expect(sums["replaced"] as? Int == repeats.count)
    #expect(sums["faults"] as? Int ?? 0 >= 1)
    #expect(try left(box, in: "new") == [])
    #expect(try left(box, in: "failed") == [])
  }

  @Test func `a delayed GOAWAY lets all requests so far be answered`() throws {
    let faults = ["--fault", "goaway+300ms@3", "--fault", "slow+1s@5"]
    let sandbox = try Sandbox(in: box, faults, hasDevices: true)
    try drop(20, in: box)
    let agent = try deliver(box, sandbox)
    #expect(agent.status == 0, "\(agent.errors)")
    #expect(try sandbox.child.terminate() == 0)
    #expect(try sandbox.events("accepted").count == 20, "each is accepted once")
    #expect(try sandbox.events("fault").count == 2)
  }

  /// What the agent does after a refusal.
  enum Outcome: String, Sendable {
    /// The agent sends the notification again and delivers it.
    case again
    /// The notification goes to failed/.
    case failed
    /// The agent suppresses the token.
    case gone
    /// The notification stays in the spool.
    case kept
  }

  private static let reasons: [(reason: String, status: Int, outcome: Outcome)] = [
    ("BadCollapseId", 400, .failed), ("BadDeviceToken", 400, .failed),
    ("BadExpirationDate", 400, .failed), ("BadMessageId", 400, .failed),
    ("BadPriority", 400, .failed), ("BadTopic", 400, .kept),
    ("DeviceTokenNotForTopic", 400, .failed), ("DuplicateHeaders", 400, .failed),
    ("IdleTimeout", 400, .again), ("InvalidPushType", 400, .failed),
    ("MissingDeviceToken", 400, .failed), ("MissingTopic", 400, .kept),
    ("PayloadEmpty", 400, .failed), ("TopicDisallowed", 400, .kept),
    ("BadCertificate", 403, .kept), ("BadCertificateEnvironment", 403, .kept),
    ("BadEnvironmentKeyIdInToken", 403, .kept), ("ExpiredProviderToken", 403, .kept),
    ("Forbidden", 403, .kept), ("InvalidProviderToken", 403, .kept),
    ("MissingProviderToken", 403, .kept), ("UnrelatedKeyIdInToken", 403, .kept),
    ("BadPath", 404, .kept), ("MethodNotAllowed", 405, .kept),
    ("ExpiredToken", 410, .gone), ("Unregistered", 410, .gone),
    ("PayloadTooLarge", 413, .failed),
    ("TooManyProviderTokenUpdates", 429, .again), ("TooManyRequests", 429, .again),
    ("InternalServerError", 500, .again), ("ServiceUnavailable", 503, .again),
    ("Shutdown", 503, .again),
  ]

  @Test(arguments: reasons)
  func `each reason of Apple's table has its effect`(
    reason: String, status: Int, outcome: Outcome
  ) throws {
    let sandbox = try Sandbox(in: box, ["--fault", "reason=\(reason)@1"], hasDevices: true)
    try drop(1, in: box)
    let agent = try deliver(box, sandbox)
    #expect(try sandbox.child.terminate() == 0)
    let refused = try sandbox.events("refused")
    #expect(refused.first?["reason"] as? String == reason)
    #expect(refused.first?["status"] as? Int == status)
    let delivered = try sandbox.events("delivered").count
    let isKept = try left(box, in: "new").count + left(box, in: "taken").count == 1
    let isFailed = try left(box, in: "failed").count == 1
    let phone = String(
      try #require(box.text("sandbox/recipients/default").split(separator: "\n").last))
    let list = try box.tinypush("token", "list", "--config", sandbox.http2Config)
    let isGone = list.output.contains(phone)
    let found: Outcome? =
      delivered == 1 ? .again : isKept ? .kept : isFailed ? .failed : isGone ? .gone : nil
    #expect(found == outcome, "\(agent.errors)")
    #expect(
      agent.status == (outcome == .kept ? 78 : outcome == .failed ? 65 : 0), "\(agent.errors)")
  }

  @Test func `tokens of all lengths reach their devices, and a 410 suppresses a long one`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let sizes = [1, 40, 48, 54, 80, 100]
    let tokens = sizes.map { String(repeating: "c5", count: $0) }
    for (size, token) in zip(sizes, tokens) {
      let added = try sandbox.device(box, "add", "pad\(size)", "--token", token)
      #expect(added.status == 0 && added.output == token + "\n", "\(added.errors)")
    }
    func send(_ text: String, _ tokens: [String]) throws {
      let options = tokens.flatMap { ["--token", $0] } + ["--config", sandbox.http2Config]
      let sent = try box.run(Build.command(Build.host) + ["send", text] + options)
      #expect(sent.status == 0, "\(sent.errors)")
      let agent = try deliver(box, sandbox)
      #expect(agent.status == 0, "\(agent.errors)")
    }
    func devices(_ text: String) throws -> [String] {
      try sandbox.events("delivered").filter { $0["text"] as? String == text }.compactMap {
        $0["device"] as? String
      }
    }
    try send("first", tokens.map { $0.uppercased() })
    let all = sizes.map { "pad\($0)" }
    try wait(for: "the devices to show it") { try devices("first").sorted() == all.sorted() }

    // The app is gone from the device with a token of 80 bytes.
    let long = tokens[4]
    try sandbox.device(box, "uninstall", "pad80")
    try send("second", [long, tokens[5]])
    try send("third", [long, tokens[5]])
    try wait(for: "the other device") { try devices("third") == ["pad100"] }
    let refused = try sandbox.events("refused")
    #expect(refused.map { $0["reason"] as? String } == ["Unregistered"], "asked once")
    #expect(refused.first?["token"] as? String == long)
    let digest = try box.run([
      "python3", "-c",
      "import hashlib; print(hashlib.sha256(bytes.fromhex('\(long)')).hexdigest())",
    ])
    func token(_ words: String...) throws -> String {
      try box.run(
        Build.command(Build.host) + ["token"] + words + ["--config", sandbox.http2Config]
      ).output
    }
    try #expect(token("list").hasSuffix(" \(digest.output.dropLast())  gone\n"))
    let trace = try box.tinypush(
      "trace", long, "--log", "/dev/null", "--config", sandbox.http2Config)
    #expect(trace.output.contains("token     \(long): suppressed, gone since "), "\(trace.output)")
    let warned = try box.tinypush("send", "x", "--token", long, "--config", sandbox.http2Config)
    #expect(warned.errors.contains("token \(long) has been suppressed since "), "\(warned.errors)")

    // The app registers again, and keeps its token, over a restart of the sandbox as well.
    try sandbox.device(box, "reregister", "pad80")
    try #expect(token("register", long).hasSuffix("  is sent to again\n"))
    #expect(try sandbox.child.terminate() == 0)
    let second = try Sandbox(in: box, hasDevices: true)
    let listed = try objects(second.device(box, "list", "--json").output)
    let kept = listed.compactMap { $0["token"] as? String }
    #expect(Set(tokens).isSubset(of: kept))
    #expect(try second.device(box, "add", "pad", "--token", long).status == 64)
    #expect(try second.device(box, "add", "pad", "--token", "c5c").status == 64)
    #expect(try second.child.terminate() == 0)
  }

  @Test func `a token of 80 bytes is refused before it is sent over the binary protocol`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let long = String(repeating: "c5", count: 80)
    let sent = try box.tinypush("send", "x", "--token", long, "--config", sandbox.config)
    #expect(sent.status == 65)
    let words = "over the binary protocol a device token has 64 hex digits"
    #expect(sent.errors.contains(words), "\(sent.errors)")
    try box.write("\(long)\n", to: "sandbox/recipients/long")
    try box.write(
      #"{"to": ["long", "default"], "payload": {"aps": {"alert": "x"}}}"#,
      to: "sandbox/spool/new/name")
    let agent = try box.tinypush("run", "--once", "--config", sandbox.config)
    #expect(agent.status == 65, "\(agent.errors)")
    #expect(box.text("sandbox/spool/failed/name").contains(words))
    try wait(for: "the other recipient") { try sandbox.events("delivered").count == 1 }
    try #expect(sandbox.events("refused").filter { $0["token"] as? String == long }.count == 0)
    #expect(try sandbox.child.terminate() == 0)
  }

  @Test func `the agent stops sending to a token after a 410 until the app registers again`() throws
  {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try sandbox.device(box, "uninstall", "phone")
    for _ in 1...2 {
      try drop(1, in: box)
      let agent = try deliver(box, sandbox)
      #expect(agent.status == 0, "\(agent.errors)")
    }
    try #expect(sandbox.events("refused").map { $0["reason"] as? String } == ["Unregistered"])
    let token = try sandbox.token(box, "reregister", "phone")
    let listed = try objects(sandbox.device(box, "list", "--json").output).at(0)
    let registered = try #require(listed["registered"] as? Int)
    try box.write(
      #"{"token":"\#(token)","registered":\#(registered),"payload":{"aps":{"alert":"Back"}}}"#,
      to: "sandbox/spool/new/again")
    let agent = try deliver(box, sandbox)
    #expect(agent.status == 0, "\(agent.errors)")
    try wait(for: "the phone to show it") {
      try sandbox.events("delivered").map { $0["text"] as? String } == ["Back"]
    }
  }

  @Test func `files and commands take a token as programs print it`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let token = try sandbox.token(box, "token", "phone")
    try box.write("", to: "recipients/family")
    let bytes = try stride(from: 0, to: 64, by: 2).map {
      let start = token.index(token.startIndex, offsetBy: $0)
      return try #require(UInt8(token[start..<token.index(start, offsetBy: 2)], radix: 16))
    }
    let groups = stride(from: 0, to: 64, by: 8).map { String(token.dropFirst($0).prefix(8)) }
    let base64 = Data(bytes).base64EncodedString()
    let spool = ["-o", "spool=\(box.spool)"]
    let config =
      ["--config", sandbox.http2Config, "-o", "recipients=\(box.path)/recipients"] + spool
    func run(_ words: String...) throws -> Child {
      try box.run(Build.command(Build.host) + words + config)
    }
    for (index, form) in ["<\(groups.joined(separator: " "))>", base64, token.uppercased()]
      .enumerated()
    {
      let sent = try run("send", "by command \(index)", "--token", form)
      #expect(sent.status == 0, "\(sent.errors)")
      let added = try run("recipient", "add", "family", form)
      #expect(added.output.hasPrefix("family \(token)  "), "\(added.output)\(added.errors)")
      try box.write("\(form) lang=de\n", to: "recipients/list\(index)")
      #expect(try run("send", "by list \(index)", "--to", "list\(index)").status == 0)
      let text = form.replacing("/", with: #"\/"#)
      try box.drop(
        #"{"token":"\#(text)","payload":{"aps":{"alert":"by file \#(index)"}}}"#, as: "file\(index)"
      )
      let suppressed = try run("token", "suppress", form, "--at", "1700000000", "--json")
      #expect(suppressed.output.contains(token), "\(suppressed.output)\(suppressed.errors)")
      #expect(try run("token", "forget", form).status == 0)
    }
    #expect(timeless(box.text("recipients/family")) == "\(token)\n")
    let agent = try run("run", "--once")
    #expect(agent.status == 0)
    #expect(agent.errors.contains("9 delivered"), "\(agent.errors)")
  }

  @Test func `recipient add lets an app that was installed again get notifications`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let recipients = box.path + "/recipients"
    let token = try sandbox.token(box, "token", "phone")
    try box.write("\(token) registered=1700000000\n", to: "recipients/family")
    func add() throws -> String {
      let added = try box.run(
        Build.command(Build.host) + [
          "recipient", "add", "family", token, "--config", sandbox.http2Config, "-o",
          "recipients=\(recipients)",
        ])
      #expect(added.status == 0, "\(added.errors)")
      return added.output
    }
    func send(_ alert: String) throws {
      try box.write(
        #"{"to":"family","payload":{"aps":{"alert":"\#(alert)"}}}"#,
        to: "sandbox/spool/new/\(alert)")
      let agent = try deliver(box, sandbox, "recipients=\(recipients)")
      #expect(agent.status == 0, "\(agent.errors)")
    }
    try sandbox.device(box, "uninstall", "phone")
    for _ in 1...2 { try send("gone") }
    try #expect(sandbox.events("refused").map { $0["reason"] as? String } == ["Unregistered"])
    try #expect(sandbox.token(box, "reregister", "phone") == token)
    let again = try add()
    #expect(again.hasPrefix("family \(token)  registered again; it was suppressed since 20"))
    #expect(again.hasSuffix(" (gone)\n"), "\(again)")
    try send("back")
    try wait(for: "the phone to show it") {
      try sandbox.events("delivered").map { $0["text"] as? String } == ["back"]
    }
    #expect(try add().hasPrefix("family \(token)  registered again"))
  }

  @Test func `the sandbox keeps a notification for an offline device across a restart`() throws {
    let first = try Sandbox(in: box, hasDevices: true)
    try first.device(box, "offline", "phone")
    let token = try first.token(box, "token", "phone")
    try box.write(
      #"{"token":"\#(token)","collapse-id":"tank","payload":{"aps":{"alert":"Tank low"}}}"#,
      to: "sandbox/spool/new/one")
    #expect(try deliver(box, first).status == 0)
    #expect(try first.child.terminate() == 0)
    let second = try Sandbox(in: box, hasDevices: true)
    try second.device(box, "online", "phone")
    #expect(try second.child.terminate() == 0)
    let delivered = try #require(second.events("delivered").first)
    #expect(delivered["text"] as? String == "Tank low")
    #expect(delivered["pushType"] as? String == "alert")
    #expect(delivered["collapseId"] as? String == "tank")
    #expect(delivered["id"] as? String == (try first.events("stored").first?["id"] as? String))
  }

  // MARK: - With other clients

  /// Returns a provider token signed with the sandbox's key.
  private func providerToken(_ box: Box, _ more: String...) throws -> String {
    let made = try box.run(
      [
        "python3", Build.tools + "/providertoken.py", "--signing-key",
        box.path + "/sandbox/AuthKey_SANDBOXKEY.p8", "--key-id", "SANDBOXKEY", "--team-id",
        "TEAM123456",
      ] + more)
    guard made.status == 0 else { throw Failure(made.errors) }
    return made.output.trimmingCharacters(in: .newlines)
  }

  private func curl(_ box: Box, _ sandbox: Sandbox, _ path: String, _ more: [String]) throws
    -> Child
  {
    try box.run(
      ["curl", "-si", "--http2", "--cacert", "sandbox/ca.pem"] + more
        + ["-d", #"{"aps":{"alert":"Tank low"}}"#, "https://localhost:\(sandbox.gateway)\(path)"])
  }

  @Test func `curl gets answers with a provider token or a certificate`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let path = "/3/device/" + (try sandbox.token(box, "token", "phone"))
    let id = "123E4567-E89B-42D3-A456-426614174000"
    let token = ["-H", "authorization: bearer \(try providerToken(box))"]
    let topic = ["-H", "apns-topic: com.example.tinypush"]
    let certificate = ["--cert", "sandbox/client.pem", "--key", "sandbox/client-key.pem"]

    let good = try curl(box, sandbox, path, token + topic + ["-H", "apns-id: \(id)"])
    #expect(good.output.hasPrefix("HTTP/2 200 "), "\(good.output)\(good.errors)")
    #expect(good.output.contains("\r\napns-id: \(id)\r\n"))
    #expect(good.output.contains(/\r\napns-unique-id: [0-9A-F-]{36}\r\n/))
    let certified = try curl(box, sandbox, path, certificate)
    #expect(certified.output.hasPrefix("HTTP/2 200 "), "\(certified.output)\(certified.errors)")
    #expect(
      certified.output.contains(/\r\napns-id: [0-9A-F-]{36}\r\n/), "the sandbox makes an apns-id")

    let rows: [(more: [String], status: Int, reason: String)] = [
      (topic, 403, "MissingProviderToken"), (token, 400, "MissingTopic"),
      (
        topic + ["-H", "authorization: bearer \(try providerToken(box, "--age", "3700"))"], 403,
        "ExpiredProviderToken"
      ),
      (certificate + ["-H", "apns-topic: com.example.other"], 400, "TopicDisallowed"),
    ]
    for row in rows {
      let answer = try curl(box, sandbox, path, row.more)
      #expect(answer.output.hasPrefix("HTTP/2 \(row.status) "), "\(answer.output)")
      #expect(answer.output.hasSuffix(#"{"reason":"\#(row.reason)"}"#), "\(answer.output)")
    }
    // Without ALPN the sandbox speaks the binary protocol, which requires a certificate.
    let old = try box.run([
      "curl", "-si", "--no-alpn", "--cacert", "sandbox/ca.pem",
      "https://localhost:\(sandbox.gateway)/",
    ])
    #expect(old.status != 0)
    #expect(try sandbox.child.terminate() == 0)
    try #expect(sandbox.events("delivered").count == 2)
    let refused = try #require(try sandbox.events("handshakeRefused").first)
    #expect(
      (refused["text"] as? String)?.hasSuffix("must offer h2 in ALPN.") == true, "\(refused)")
  }

  @Test func `the sandbox refuses a certificate of another authority over HTTP/2`() throws {
    let sandbox = try Sandbox(in: box)
    let answer = try curl(
      box, sandbox, "/3/device/" + token(7),
      ["--cert", Certificates.path("client.pem"), "--key", Certificates.path("client.key")])
    #expect(answer.status != 0, "\(answer.output)")
    #expect(!answer.output.contains("HTTP/2"))
    try sandbox.child.line(#""event":"handshakeRefused""#)
    #expect(try sandbox.child.terminate() == 0)
  }

  @Test func `the gateway negotiates HTTP/2 with openssl, and the feedback service does not`()
    throws
  {
    let sandbox = try Sandbox(in: box)
    func meet(_ port: Int) throws -> String {
      try box.run(
        [
          "openssl", "s_client", "-alpn", "h2", "-connect", "127.0.0.1:\(port)", "-CAfile",
          "sandbox/ca.pem", "-verify_return_error",
        ], input: ""
      ).output
    }
    let met = try meet(sandbox.gateway)
    #expect(met.contains("ALPN protocol: h2"), "\(met)")
    #expect(met.contains("Verify return code: 0 (ok)"), "\(met)")
    _ = try meet(sandbox.feedback)
    try sandbox.child.line("the feedback service does not speak")
    #expect(try sandbox.child.terminate() == 0)
  }

  @Test(arguments: Identity.allCases)
  func `Python's h2 sends many requests at a time to the sandbox`(identity: Identity) throws {
    let sandbox = try Sandbox(in: box)
    let whom =
      identity == .token
      ? ["--token", try providerToken(box)]
      : ["--certificate", "sandbox/client.pem", "--key", "sandbox/client-key.pem"]
    let client = try box.run(
      [
        "python3", Build.tools + "/http2client.py", "--port", "\(sandbox.gateway)", "--ca",
        "sandbox/ca.pem", "--count", "500", "--streams", "50", "--ping", "3",
      ] + whom)
    let lines = try objects(client.output)
    #expect(lines.last?["end"] as? String == "done", "\(client.output)\(client.errors)")
    #expect(lines.last?["answered"] as? Int == 500)
    #expect(lines.dropLast().allSatisfy { $0["status"] as? Int == 200 })
    #expect(try sandbox.child.terminate() == 0)
    try #expect(sandbox.events("accepted").count == 500)
  }
}
