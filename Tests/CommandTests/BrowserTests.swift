import Foundation
import Testing

/// The sandbox as a push service of browsers, with outside clients.
@Suite(.sideBySide) struct BrowserTests {
  private func message(_ title: String, _ body: String, more: String = "") -> String {
    #"{"web_push":8030,"notification":{"title":"\#(title)","body":"\#(body)","navigate":"https://cellar.test/?a=1&b=2"\#(more)}}"#
  }

  /// Subscribes a page in a browser, and returns the line that the sandbox prints.
  private func subscribe(
    _ box: Box, _ sandbox: Sandbox, _ name: String = "laptop", _ more: String...
  ) throws -> String {
    let added = try box.run(
      Build.command(Build.host)
        + ["sandbox", "device", "--dir", sandbox.directory, "add", name, "--browser"] + more)
    guard added.status == 0, added.output.hasSuffix("}\n") else { throw Failure(added.errors) }
    return String(added.output.dropLast())
  }

  /// Sends texts with Tests/Tools/pushsender.py, and returns the answers.
  private func send(
    _ box: Box, _ subscription: String, _ texts: [String], options: [String] = [],
    input: String = ""
  ) throws -> [[String: Any]] {
    let sent = try box.run(
      [
        "python3", Build.tools + "/pushsender.py", "--subscription", subscription, "--key",
        "vapid.pem",
        "--ca", "sandbox/ca.pem",
      ] + options + texts, input: input)
    #expect(sent.status == 0, "\(sent.errors)")
    return try objects(sent.output)
  }

  private func statuses(_ answers: [[String: Any]]) -> [Int?] {
    answers.map { $0["status"] as? Int }
  }

  // MARK: - With Python

  @Test func `a browser shows byte for byte what Python's cryptography encrypts`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let subscription = try subscribe(box, sandbox)
    let bodies = [#"40\u00b0 \"warm\"\n\\ 🌊"#, "", "Ünïcödé \u{7F} 日本語"]
    var texts = bodies.map { message("Cellar", $0, more: #","tag":"t","app_badge":"12""#) }
    // The largest text, and one more byte.
    let empty = message("Large", "").utf8.count
    texts += [3993, 3994].map { message("Large", String(repeating: "x", count: $0 - empty)) }
    let answers = try send(box, subscription, texts)
    #expect(statuses(answers) == [201, 201, 201, 201, 413])
    #expect(answers.last?["body"] as? String == #"{"reason":"PayloadTooLarge"}"#)
    #expect(try sandbox.child.terminate() == 0)
    let accepted = try sandbox.events("accepted")
    #expect(accepted.map { $0["payload"] as? String } == texts.dropLast())
    #expect(accepted.last?["body"] as? Int == 4096)
    let delivered = try sandbox.events("delivered")
    #expect(delivered.count == 4)
    for (card, text) in zip(delivered, texts) {
      let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
      let sent = try #require(object?["notification"] as? [String: Any])
      #expect(card["title"] as? String == sent["title"] as? String)
      #expect(card["text"] as? String ?? "" == sent["body"] as? String)
      #expect(card["url"] as? String == "https://cellar.test/?a=1&b=2")
      #expect(card["device"] as? String == "laptop")
      #expect(card["topic"] as? String == "browser")
      #expect(card["urgency"] as? String == "high")
      #expect(card["sound"] as? String == "default")
      #expect(card["notes"] as? [String] == [])
    }
    #expect(delivered.map { $0["badge"] as? Int } == [12, 12, 12, 12])
    #expect(
      delivered.map { $0["replaces"] as? String } == [
        "nothing", "other", "other", "nothing",
      ])
    let refused = try #require(sandbox.events("refused").first)
    #expect(refused["text"] as? String == "the body has 4097 bytes, but may have at most 4096")
    let sums = try #require(sandbox.events("stopped").first)
    #expect([sums["accepted"] as? Int, sums["mistakes"] as? Int] == [4, 0])
  }

  @Test func `the sandbox names messages that a browser cannot decrypt or does not show`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let subscription = try subscribe(box, sandbox)
    let other = try subscribe(box, sandbox, "tablet")
    // The endpoint of one browser with the keys of the other.
    func part(_ line: String, _ name: String) throws -> Any {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return try #require(object?[name])
    }
    let mixed = try JSONSerialization.data(withJSONObject: [
      "endpoint": part(subscription, "endpoint"), "keys": part(other, "keys"),
    ])
    let first = try send(box, String(decoding: mixed, as: UTF8.self), [message("T", "B")])
    #expect(statuses(first) == [201])
    let answers = try send(
      box, subscription, ["Tank low", #"{"aps":{"alert":"Tank low"}}"#, message("", "B")])
    #expect(statuses(answers) == [201, 201, 201])
    #expect(try sandbox.child.terminate() == 0)
    let mistakes = try sandbox.events("mistake")
    #expect(mistakes.allSatisfy { $0["device"] as? String == "laptop" })
    let words = [
      "the body cannot be decrypted: it was changed, or encrypted for another p256dh or auth",
      "nothing is shown: its text is not a JSON object",
      "nothing is shown: its text has no object notification",
      "nothing is shown: its notification has no title",
    ]
    for (mistake, words) in zip(mistakes, words) {
      #expect((mistake["text"] as? String)?.hasPrefix(words) == true, "\(mistake)")
    }
    #expect(mistakes.count == 4)
    let payloads = try sandbox.events("accepted").map { $0["payload"] as? String }
    #expect(payloads == [nil, "Tank low", #"{"aps":{"alert":"Tank low"}}"#, message("", "B")])
    let sums = try #require(sandbox.events("stopped").first)
    #expect([sums["accepted"] as? Int, sums["mistakes"] as? Int] == [4, 4])
    try #expect(sandbox.events("delivered").isEmpty)
  }

  @Test func `an offline browser gets its messages after a restart of the sandbox`() throws {
    let first = try Sandbox(in: box, hasDevices: true)
    let subscription = try subscribe(box, first)
    try first.device(box, "offline", "laptop")
    let texts = (1...5).map { message("\($0)", "") }
    #expect(try statuses(send(box, subscription, [texts[0]])) == [201])
    for (text, topic) in [(texts[1], "tank"), (texts[2], "door"), (texts[3], "tank")] {
      let answers = try send(box, subscription, [text], options: ["--topic", topic])
      #expect(statuses(answers) == [201])
    }
    #expect(try statuses(send(box, subscription, [texts[4]], options: ["--ttl", "0"])) == [201])
    try #expect(
      first.device(box, "list").output.contains(
        "laptop, offline\n  browser, 3 notifications are stored\n"))
    #expect(try first.child.terminate() == 0)
    try #expect(
      first.story("stored", "replaced", "expired", "delivered").map { $0.prefix(8) } == [
        "stored l", "stored l", "stored l", "replaced", "stored l", "expired ",
      ])
    let second = try Sandbox(in: box, hasDevices: true)
    try second.device(box, "online", "laptop")
    #expect(try second.child.terminate() == 0)
    let delivered = try second.events("delivered")
    #expect(delivered.map { $0["title"] as? String } == ["1", "3", "4"])
    #expect(delivered.map { $0["collapseId"] as? String } == [nil, "door", "tank"])
    #expect(delivered.allSatisfy { $0["late"] as? Double ?? 0 > 0 })
  }

  @Test(
    arguments: [
      ("close@1", nil, nil), ("reset@1", nil, nil), ("garbage@1", nil, nil),
      ("refused-stream@1", nil, 7), ("reset-stream@1", nil, 2), ("goaway@1", 201, nil),
      ("retry-after=7@1", 429, nil), ("reason=ServiceUnavailable@1", 503, nil),
      ("reason=InternalServerError@1", 500, nil), ("reason=VapidPkHashMismatch@1", 403, nil),
      ("odd-body@1", 502, nil), ("slow+100ms@1", 201, nil),
    ] as [(String, Int?, Int?)])
  func `faults affect messages for browsers`(fault: String, status: Int?, code: Int?) throws {
    let sandbox = try Sandbox(in: box, ["--fault", fault], hasDevices: true)
    let subscription = try subscribe(box, sandbox)
    let sent = try box.run([
      "python3", Build.tools + "/pushsender.py", "--subscription", subscription, "--key",
      "vapid.pem",
      "--ca", "sandbox/ca.pem", message("1", "B"),
    ])
    let answer = try objects(sent.output).first
    #expect(answer?["status"] as? Int == status, "\(sent.output)\(sent.errors)")
    #expect(answer?["reset"] as? Int == code)
    let headers = answer?["headers"] as? [String: String]
    #expect(headers?["retry-after"] == (status == 429 ? "7" : nil))
    // The next message gets through.
    #expect(try statuses(send(box, subscription, [message("2", "B")])) == [201])
    #expect(try sandbox.child.terminate() == 0)
    try #expect(sandbox.events("fault").count == 1)
    try #expect(sandbox.events("delivered").last?["title"] as? String == "2")
  }

  // MARK: - With curl

  @Test func `curl gets the answers of browsers' services`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let subscription = try subscribe(box, sandbox)
    let object = try #require(
      JSONSerialization.jsonObject(with: Data(subscription.utf8)) as? [String: Any])
    let endpoint = try #require(object["endpoint"] as? String)
    func authorization(_ key: String, _ more: String...) throws -> String {
      let written = try box.run(
        [
          "python3", Build.tools + "/pushsender.py", "--subscription", subscription, "--key", key,
          "--write", "body",
        ] + more + [message("Cellar", "Tank low")])
      guard written.status == 0 else { throw Failure(written.errors) }
      return "authorization: " + written.output.trimmingCharacters(in: .newlines)
    }
    func post(_ url: String, _ headers: String...) throws -> String {
      try box.run(
        ["curl", "-si", "--http2", "--cacert", "sandbox/ca.pem", "--data-binary", "@body"]
          + headers.flatMap { ["-H", $0] } + [url]
      ).output
    }
    func expect(_ answer: String, _ status: Int, _ reason: String) {
      #expect(answer.hasPrefix("HTTP/2 \(status) "), "\(answer)")
      #expect(answer.hasSuffix(#"{"reason":"\#(reason)"}"#), "\(answer)")
    }
    let good = try authorization("vapid.pem")
    let (ttl, encoding) = ("ttl: 60", "content-encoding: aes128gcm")
    let answer = try post(endpoint, good, ttl, encoding)
    #expect(answer.hasPrefix("HTTP/2 201 "), "\(answer)")
    let origin = "https://localhost:\(sandbox.gateway)"
    #expect(answer.contains("\r\nlocation: \(origin)/message/"), "\(answer)")
    #expect(!answer.contains("apns"), "\(answer)")
    try expect(post(endpoint, ttl, encoding), 403, "BadJwtToken")
    try expect(
      post(
        endpoint, authorization("vapid.pem", "--contact", "mailto:root@localhost"), ttl, encoding),
      403, "BadJwtToken")
    try expect(
      post(endpoint, authorization("other.pem"), ttl, encoding), 403, "VapidPkHashMismatch")
    try expect(post(endpoint, good, encoding), 400, "BadTtl")
    try expect(post(endpoint, good, ttl), 400, "BadWebPushRequest")
    try expect(post(endpoint, good, ttl, encoding, "topic: a"), 400, "BadWebPushTopic")
    try expect(post(origin + "/push/none", good, ttl, encoding), 404, "BadPath")
    try sandbox.device(box, "uninstall", "laptop")
    try expect(post(endpoint, good, ttl, encoding), 410, "Unregistered")
    #expect(try sandbox.child.terminate() == 0)
    let shown = try sandbox.events("delivered")
    #expect(shown.map { $0["text"] as? String } == ["Tank low"])
    let refused = try sandbox.events("refused")
    #expect(refused.count == 8)
    #expect(refused.first?["token"] as? String == endpoint.components(separatedBy: "/").last)
  }

  // MARK: - The screen and the commands

  @Test func `the screen shows cards, and mistakes in words`() throws {
    let child = try box.start(
      Build.command(Build.host) + ["sandbox", "--dir", "sandbox", "--port", "0"])
    try child.line("ready; Ctrl-C ends it")
    let added = try box.tinypush(
      "sandbox", "device", "add", "laptop", "--browser", "--dir", "sandbox")
    let subscription = String(added.output.dropLast())
    let answers = try send(
      box, subscription, [message("Cellar", "Tank low"), "x"], options: ["--urgency", "low"])
    #expect(statuses(answers) == [201, 201])
    #expect(try child.terminate() == 0)
    let lines = child.output.split(separator: "\n").map(String.init)
    let card = try #require(lines.firstIndex { $0.hasPrefix("╭─ browser on laptop ─") })
    #expect(try lines.at(card + 1).hasPrefix("│ Cellar "))
    #expect(try lines.at(card + 2).hasPrefix("│ Tank low "))
    #expect(try lines.at(card + 3).hasPrefix("│ url https://cellar.test/?a=1&b=2 "))
    #expect(try lines.at(card + 4).hasPrefix("╰─ default sound ─"))
    #expect(
      try lines.at(card + 5).contains(", low urgency, kept for 60 min, connection 1 stream 1, "))
    #expect(lines.contains { $0.contains("laptop has subscribed to messages (browser)") })
    #expect(
      lines.contains { $0.contains("laptop: nothing is shown: its text is not a JSON object") })
    #expect(lines.last?.hasSuffix("1 delivered, 1 not shown, by mistake.") == true, "\(lines)")
  }

  @Test func `the device commands know browsers`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let first = try subscribe(box, sandbox)
    let name = try #require(first.firstMatch(of: #/\/push/([0-9a-f]{64})","expirationTime":null,/#))
    try #expect(sandbox.device(box, "token", "laptop").output == first + "\n")
    try #expect(
      sandbox.device(box, "list").output.hasSuffix("laptop, online\n  browser\n    \(name.1)\n"))
    let listed = try objects(sandbox.device(box, "list", "--json").output)
    #expect(listed.map { $0["browser"] as? Bool } == [false, true])
    // A second page in the same browser, and a browser on a device that has an app.
    let page = try subscribe(box, sandbox, "laptop", "--topic", "cellar.test")
    #expect(page != first)
    _ = try subscribe(box, sandbox, "phone")
    try #expect(sandbox.device(box, "token", "laptop").status == 64)
    try sandbox.device(box, "uninstall", "laptop", "--topic", "browser")
    let again = try sandbox.device(box, "reregister", "laptop", "--topic", "browser")
    #expect(again.output.hasPrefix(#"{"endpoint":"https://localhost:"#))
    #expect(again.output != first + "\n")
    #expect(try statuses(send(box, first, ["x"])) == [410])
    #expect(try statuses(send(box, page, ["x"])) == [201])
    let refused = try sandbox.device(box, "add", "pad", "--browser", "--token", token(7))
    #expect(refused.status == 64)
    #expect(refused.errors.contains("a browser has no --token"), "\(refused.errors)")
    let taken = try sandbox.device(box, "add", "laptop", "--browser")
    #expect(taken.status == 65)
    #expect(taken.errors.contains("laptop already has this app"), "\(taken.errors)")
    #expect(try sandbox.child.terminate() == 0)
    let mode = try FileManager.default.attributesOfItem(
      atPath: sandbox.directory + "/devices/laptop/browser/browser")
    #expect(mode[.posixPermissions] as? Int == 0o600)
  }
}
