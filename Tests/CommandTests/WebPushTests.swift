import Foundation
import Testing

/// Web Push: the agent delivers to browsers, beside devices or alone.
@Suite(.sideBySide) struct WebPushTests {
  init() throws { try box.makeVAPIDKey() }

  /// Subscribes a page in a browser, and adds the subscription to a recipients file.
  @discardableResult
  private func subscribe(
    _ sandbox: Sandbox, _ browser: String, to list: String
  ) throws -> String {
    let subscription = try sandbox.subscription(box, browser)
    try box.add(subscription, to: list)
    return subscription
  }

  /// The settings of an agent that serves devices as well.
  private func both(_ sandbox: Sandbox) -> [String] {
    ["--config", sandbox.http2Config, "-o", "spool=\(box.spool)"] + box.browserSettings
  }

  /// The settings of an agent that serves only browsers.
  private func alone(_ sandbox: Sandbox) throws -> [String] {
    let file = try box.write(
      "spool = spool\nstate = state\nca = \(sandbox.directory)/ca.pem\n", to: "tinypush.conf")
    return ["--config", file] + box.browserSettings
  }

  /// Starts a service with a browser in the list `good`, and ends another one with a browser in `bad`,
  /// whose subscription is returned as well.
  ///
  /// The authorities of both are in `both.pem`.
  private func servicesOfWhichOneIsDown() throws -> (
    up: Sandbox, down: Sandbox, subscription: String
  ) {
    let up = try Sandbox(in: box, hasDevices: true)
    let down = try Sandbox(in: box, hasDevices: true, name: "other")
    try subscribe(up, "laptop", to: "good")
    let subscription = try subscribe(down, "tablet", to: "bad")
    try box.write(box.text("sandbox/ca.pem") + box.text("other/ca.pem"), to: "both.pem")
    #expect(try down.child.terminate() == 0)
    return (up, down, subscription)
  }

  private func agent(_ settings: [String], _ more: String...) throws -> Child {
    try box.start(Build.command(Build.host) + ["run"] + settings + more.flatMap { ["-o", $0] })
  }

  private func deliver(_ settings: [String], _ more: String...) throws -> Child {
    try box.run(
      Build.command(Build.host) + ["run", "--once"] + settings + more.flatMap { ["-o", $0] })
  }

  private func drop(_ alerts: ClosedRange<Int>, to list: String) throws {
    for number in alerts {
      try box.drop(
        #"{"to":"\#(list)","payload":{"aps":{"alert":"Alert \#(number)"}}}"#,
        as: "\(list)-\(number + 1000)")
    }
  }

  /// The titles that a browser shows, without repeats that replace the shown ones.
  private func shown(_ sandbox: Sandbox, on device: String) throws -> [String] {
    try sandbox.events("delivered").filter {
      $0["device"] as? String == device && $0["replaces"] as? String != "same"
    }.map { try $0.member($0["title"] is String ? "title" : "text") }
  }

  private func alerts(_ numbers: ClosedRange<Int>) -> Set<String> {
    Set(numbers.map { "Alert \($0)" })
  }

  // MARK: - Delivery

  @Test func `a name may stand for phones and browsers, and each gets the alert once`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try subscribe(sandbox, "laptop", to: "family")
    try subscribe(sandbox, "tablet", to: "family")
    let phone = try sandbox.token(box, "token", "phone")
    try box.add(phone, to: "family")
    let agent = try agent(both(sandbox))
    let sent = try box.tinypush(
      "send", "Tank low", "--title", "Cellar", "--url", "https://cellar.test/tank", "--to",
      "family", "--wait", "--json", "--config", sandbox.http2Config, "-o", "spool=\(box.spool)",
      "-o", "recipients=\(box.path)/recipients")
    #expect(sent.status == 0, "\(sent.errors) \(agent.errors)")
    let recipients = try #require(
      try objects(sent.output).first?["recipients"] as? [[String: Any]])
    #expect(recipients.map { $0["outcome"] as? String } == ["accepted", "accepted", "accepted"])
    #expect(Set(recipients.map { $0["token"] as? String }).count == 3)
    try wait(for: "the cards") { try sandbox.events("delivered").count == 3 }
    for card in try sandbox.events("delivered") {
      #expect(card["title"] as? String == "Cellar")
      #expect(card["text"] as? String == "Tank low")
      #expect(card["url"] as? String == "https://cellar.test/tank")
      #expect(card["notes"] as? [String] == [])
    }
    #expect(try agent.terminate() == 0)
    #expect(box.queued + box.names(in: "failed") == [])
    #expect(!agent.errors.contains("/push/"), "an endpoint is a secret")
  }

  @Test func `recipient list tells when a service last accepted an alert, after a restart too`()
    throws
  {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try subscribe(sandbox, "laptop", to: "family")
    try box.add(try sandbox.token(box, "token", "phone"), to: "family")
    try subscribe(sandbox, "tablet", to: "neighbour")
    let page = ["status=\(box.path)/page", "recipients=\(box.path)/recipients"]
    let settings = both(sandbox) + page.flatMap { ["-o", $0] }
    func list(_ more: String...) throws -> String {
      try box.run(Build.command(Build.host) + ["recipient", "list"] + more + settings).output
    }
    #expect(try !list().contains("accepted"), "no agent has run")
    let start = Int(Date().timeIntervalSince1970)
    try drop(1...1, to: "family")
    #expect(try deliver(settings).status == 0)
    #expect(try deliver(settings).status == 0, "a restart")
    let listed = try objects(list("--json"))
    #expect(listed.map { $0["name"] as? String } == ["family", "family", "neighbour"])
    for recipient in listed.prefix(2) {
      let accepted = try #require(recipient["accepted"] as? Int)
      #expect(start - 1...Int(Date().timeIntervalSince1970) ~= accepted)
    }
    #expect(try listed.at(2)["accepted"] == nil)
    let lines = try list().split(separator: "\n")
    #expect(
      try lines.at(0).contains(#/^family [0-9a-f]+ .*, added [-0-9]+, accepted [-0-9]+T[:0-9]+Z$/#),
      "\(lines)")
    #expect(
      try lines.at(1).contains(#/^family [0-9a-f]+ registered=\d+ accepted [-0-9]+T[:0-9]+Z$/#),
      "\(lines)")
  }

  @Test func `a configuration for browsers alone asks for no key of Apple's`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try subscribe(sandbox, "laptop", to: "default")
    let settings = try alone(sandbox) + ["-o", "web-page=https://cellar.test/web/"]
    try box.drop(#"{"aps":{"alert":"Tank low","sound":"default"}}"#, as: "a")
    let phone = try sandbox.token(box, "token", "phone")
    try box.drop(#"{"token":"\#(phone)","payload":{"aps":{"alert":"x"}}}"#, as: "b")
    let agent = try deliver(settings)
    #expect(agent.status == 65, "\(agent.errors)")
    try wait(for: "the card") { try shown(sandbox, on: "laptop") == ["Tank low"] }
    let card = try sandbox.events("delivered").at(0)
    #expect(card["sound"] as? String == "default")
    #expect(card["url"] as? String == "https://cellar.test/web/")
    let accepted = try sandbox.events("accepted").at(0)
    #expect((accepted["payload"] as? String)?.hasPrefix(#"{"web_push":8030,"#) == true)
    let failure = try box.failures("b").at(0)
    #expect(failure["code"] as? String == "no-device-service")
    #expect(failure["token"] as? String == phone)
    let check = try box.run(Build.command(Build.host) + ["check"] + settings)
    #expect(check.output.contains("environment  browsers alone (Web Push)"), "\(check.output)")
    #expect(check.output.contains("service      localhost:\(sandbox.gateway), TLS"))
    #expect(!check.output.contains("gateway\n"))
  }

  @Test func `text of 3993 bytes arrives byte for byte, and longer text is shortened`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try subscribe(sandbox, "laptop", to: "default")
    let start = #"{"web_push":8030,"notification":"#
    func notification(_ body: String) -> String {
      #"{"title":"Cellar","navigate":"https://cellar.test/","body":"\#(body)"}"#
    }
    let room = 3993 - (start + notification("") + "}").utf8.count
    let exact = notification(String(repeating: "é", count: room / 2) + (room % 2 == 1 ? "x" : ""))
    try box.drop(#"{"to":"default","payload":{"aps":{"badge":1},"web":\#(exact)}}"#, as: "a")
    let long = String(repeating: "Ü", count: 1990)
    try box.drop(#"{"aps":{"alert":{"title":"Long","body":"\#(long)"}}}"#, as: "b")
    let agent = try deliver(alone(sandbox))
    #expect(agent.status == 0, "\(agent.errors)")
    #expect(try sandbox.child.terminate() == 0)
    let accepted = try sandbox.events("accepted")
    #expect(accepted.count == 2)
    #expect(try accepted.at(0)["payload"] as? String == start + exact + "}")
    #expect(try accepted.at(0)["body"] as? Int == 4096)
    let shown = try #require(try sandbox.events("delivered").at(1)["text"] as? String)
    #expect(shown.hasSuffix("Ü…") && shown.utf8.count > 3800)
  }

  @Test func `a notification without a text is not sent to a browser, and that is said`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try subscribe(sandbox, "laptop", to: "default")
    try box.drop(#"{"aps":{"content-available":1}}"#, as: "a")
    let agent = try deliver(alone(sandbox))
    #expect(agent.status == 65, "\(agent.errors)")
    let failure = try box.failures("a").at(0)
    #expect(failure["code"] as? String == "nothing-to-show")
    #expect((failure["token"] as? String)?.hasPrefix("https://localhost:") == true)
    #expect(try sandbox.events("accepted").isEmpty)
    #expect(agent.errors.contains("give the alert a text"), "\(agent.errors)")
  }

  @Test
  func `an ended subscription is suppressed by its digest until it is registered again`()
    throws
  {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let subscription = try subscribe(sandbox, "laptop", to: "default")
    // An answer does not count against a registration in the same second.
    let list = box.text("recipients/default")
    try box.write(list.replacing(#/ registered=\d+/#, with: ""), to: "recipients/default")
    try sandbox.device(box, "uninstall", "laptop")
    try drop(1...2, to: "default")
    let settings = try alone(sandbox)
    let agent = try deliver(settings)
    #expect(agent.status == 0, "\(agent.errors)")
    #expect(try sandbox.events("delivered").isEmpty)
    #expect(
      agent.errors.contains(
        " at localhost:\(sandbox.gateway) not delivered: the subscription has ended; the browser needs a new invitation"
      ), "\(agent.errors)")
    let suppressed = try box.run(
      Build.command(Build.host) + ["token", "list", "--json"] + settings)
    #expect(try objects(suppressed.output).count == 1)
    #expect(!suppressed.output.contains("https:"))
    // Nothing more is sent to it.
    try drop(3...3, to: "default")
    let again = try deliver(settings)
    #expect(again.status == 0 && again.errors.contains("1 suppressed"), "\(again.errors)")
    #expect(
      again.errors.contains("not sent: the browser has been suppressed since ")
        && again.errors.contains("; the browser needs a new invitation: tinypush recipient invite"),
      "\(again.errors)")
    // A registration lifts the suppression: the agent asks the service again.
    let refused = try sandbox.events("refused").count
    try box.add(subscription, to: "default")
    try drop(4...4, to: "default")
    let asked = try deliver(settings)
    #expect(!asked.errors.contains("1 suppressed"), "\(asked.errors)")
    #expect(try sandbox.events("refused").count == refused + 1)
  }

  @Test func `queue retry says that an alert to an ended subscription can never be sent`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    _ = try subscribe(sandbox, "laptop", to: "default")
    let list = box.text("recipients/default")
    try box.write(list.replacing(#/ registered=\d+/#, with: ""), to: "recipients/default")
    try drop(1...2, to: "default")
    let settings = try alone(sandbox)
    let limited = try deliver(settings, "limit=1/10m")
    #expect(limited.status == 0, "\(limited.errors)")
    #expect(box.names(in: "failed") == ["default-1002"])
    try sandbox.device(box, "uninstall", "laptop")
    try drop(3...3, to: "default")
    let gone = try deliver(settings)
    #expect(gone.errors.contains("the subscription has ended"), "\(gone.errors)")
    let retry = try box.run(Build.command(Build.host) + ["queue", "retry", "--all"] + settings)
    #expect(
      retry.output.contains(
        "its browser has ended the subscription, so the alert can never be sent: tinypush queue drop"
      ), "\(retry.output)\(retry.errors)")
  }

  // MARK: - What the agent tells

  @Test(arguments: [1, 3])
  func `a key that a service refuses for all its browsers is a refused configuration`(
    browsers: Int
  ) throws {
    let sandbox = try Sandbox(
      in: box, ["--fault", "reason=VapidPkHashMismatch@100%"], hasDevices: true)
    for number in 1...browsers { try subscribe(sandbox, "browser-\(number)", to: "all") }
    let settings = try alone(sandbox) + ["-o", "status=\(box.path)/page"]
    let agent = try agent(settings)
    try box.drop(#"{"to":"all","payload":{"aps":{"alert":"Tank low"}}}"#, as: "a")
    try agent.line("the service refuses the configuration: ", in: .errors)
    try wait(for: "the page") {
      try box.run(Build.command(Build.host) + ["status"] + settings).status == 78
    }
    #expect(!agent.errors.contains("not documented"), "\(agent.errors)")
    #expect(try agent.terminate() == 0)
  }

  @Test func `a service that accepted alerts and then refuses the key refuses none for good`()
    throws
  {
    let clocks = try Clocks(in: box, [.awake])
    let first = try Sandbox(in: box, hasDevices: true)
    try subscribe(first, "laptop", to: "good")
    let agent = try box.start(
      Build.command(Build.host) + ["run"] + alone(first), environment: clocks.environment)
    try drop(1...1, to: "good")
    try wait(for: "the first alert") { try first.events("delivered").count == 1 }
    #expect(try first.child.terminate() == 0)
    let second = try Sandbox(
      in: box, ["--port", "\(first.gateway)", "--fault", "reason=BadJwtToken@100%"],
      hasDevices: true)
    try drop(2...3, to: "good")
    try clocks.pass(130, for: agent, and: second.child) { try second.events("fault").count >= 8 }
    #expect(box.queued.count == 2 && box.names(in: "failed") == [], "\(agent.errors)")
    #expect(try agent.terminate() == 0)
  }

  @Test func `status, metrics, queue and trace tell of each service, also of one that is down`()
    throws
  {
    let (sandbox, other, subscription) = try servicesOfWhichOneIsDown()
    let (up, down) = ("localhost:\(sandbox.gateway)", "localhost:\(other.gateway)")
    let settings =
      both(sandbox)
      + ["-o", "ca=\(box.path)/both.pem", "-o", "status=\(box.path)/page", "-o", "log=deliveries"]
    let agent = try agent(settings)
    func status(_ form: String...) throws -> Child {
      try box.run(Build.command(Build.host) + ["status"] + form + settings)
    }
    func services() throws -> [[String: Any]] {
      try objects(status("--json").output).first?["services"] as? [[String: Any]] ?? []
    }
    try wait(for: "the connection") { try status().status == 0 }
    // Until a browser is next, the page is that of an agent for devices.
    #expect(try !status().output.contains("accepted, "))
    #expect(try !status("--prometheus").output.contains("tinypush_service_"))
    #expect(try services().count == 1)
    let phone = try sandbox.token(box, "token", "phone")
    try box.drop(#"{"token":"\#(phone)","payload":{"aps":{"alert":"Phone"}}}"#, as: "a")
    try drop(1...2, to: "good")
    try wait(for: "the others") { try sandbox.events("delivered").count == 3 }
    try drop(1...3, to: "bad")
    try wait(for: "the numbers") {
      try services().map { $0["accepted"] as? Int } == [1, 2, 0]
        && services().last?["next_try_in_ms"] != nil
    }
    let told = try services()
    #expect(told.map { $0["service"] as? String } == [up, up, down])
    #expect(told.map { $0["recipients"] as? String } == ["devices", "browsers", "browsers"])
    #expect(told.map { $0["in_flight"] as? Int } == [0, 0, 3])
    #expect(told.prefix(2).allSatisfy { $0["state"] as? String == "connected" })
    #expect(try told.at(2)["detail"] as? String == "Connection refused: nothing listens there")
    let shown = try status()
    // The state of an agent for devices is that of their service.
    #expect(shown.status == 0)
    #expect(
      shown.output.contains(
        /\n  localhost:\d+: connected for \d+ s; 2 accepted\n  localhost:\d+: (not connected|connecting) for \d+ s; 0 accepted, 3 in flight/
      ), "\(shown.output)")
    let metrics = try status("--prometheus").output
    for line in [
      #"connected{service="\#(up)",recipients="devices"} 1"#,
      #"connected{service="\#(down)",recipients="browsers"} 0"#,
      #"in_flight_notifications{service="\#(down)",recipients="browsers"} 3"#,
      #"accepted_total{service="\#(up)",recipients="browsers"} 2"#,
    ] { #expect(metrics.contains("\ntinypush_service_\(line)\n"), "\(metrics)") }
    let checked = try box.run(
      [Build.directory + "/promtool", "check", "metrics"], input: metrics)
    #expect(checked.status == 0 && checked.errors == "", "\(checked.errors)")
    let queue = try box.run(Build.command(Build.host) + ["queue", "--json"] + settings)
    #expect(
      try objects(queue.output).map { $0["why"] as? String }
        == Array(repeating: "waits until its push service takes it", count: 3))
    // The browser is named by the digits that `recipient list` shows.
    try box.write(agent.errors, to: "log")
    func trace(_ word: String, _ more: String...) throws -> String {
      try box.run(
        Build.command(Build.host) + ["trace", word, "--log", "\(box.path)/log"] + settings + more
      ).output
    }
    let list = try box.tinypush(
      "recipient", "list", "good", "-o", "recipients=\(box.path)/recipients")
    let digits = String(try list.output.split(separator: " ").at(1))
    #expect(try trace("good-1001").hasSuffix("good-1001 to \(digits) at \(up) delivered\n"))
    #expect(try trace(digits).split(separator: "\n").count == 2)
    #expect(try trace("bad-1001") == "new       bad-1001: waits to be sent, or is being sent\n")
    let endpoint = try #require(subscription.firstMatch(of: /\/push\/[^"]+/)).output
    let all =
      try agent.errors + shown.output + metrics + trace(digits, "--json") + status("--json").output
    #expect(!all.contains(endpoint) && !all.contains("/push/"), "an endpoint is a secret")
    #expect(try agent.terminate() == 0)
  }

  @Test func `an agent for browsers alone is not connected while one of their services is missed`()
    throws
  {
    let (sandbox, other, _) = try servicesOfWhichOneIsDown()
    let settings =
      try alone(sandbox)
      + ["-o", "ca=\(box.path)/both.pem", "-o", "status=\(box.path)/page"]
    let agent = try agent(settings)
    func status() throws -> Child {
      try box.run(Build.command(Build.host) + ["status"] + settings)
    }
    try wait(for: "the start") { try status().status == 0 }
    #expect(try status().output.contains("  ready to connect to the push services of browsers\n"))
    try drop(1...1, to: "good")
    try wait(for: "the card") { try sandbox.events("delivered").count == 1 }
    #expect(try status().status == 0)
    try drop(1...1, to: "bad")
    try wait(for: "the outage") {
      let said = try status()
      return said.status == 75
        && said.output.contains(
          "  localhost:\(other.gateway): Connection refused: nothing listens there\n")
    }
    let again = try Sandbox(
      in: box, ["--port", "\(other.gateway)"], hasDevices: true, name: "other")
    try wait(for: "the rest") { try again.events("delivered").count == 1 }
    try wait(for: "the end of the outage") { try status().status == 0 }
    #expect(try agent.terminate() == 0)
  }

  // MARK: - Trouble

  @Test func `a push service that is down holds up no phone and no other browser`() throws {
    let (sandbox, other, _) = try servicesOfWhichOneIsDown()
    let port = other.gateway
    let agent = try agent(both(sandbox), "ca=\(box.path)/both.pem")
    try drop(1...100, to: "bad")
    try wait(for: "the first attempt") {
      agent.errors.contains("cannot connect to localhost:\(port)")
    }
    try drop(1...20, to: "good")
    let phone = try sandbox.token(box, "token", "phone")
    try box.drop(#"{"token":"\#(phone)","payload":{"aps":{"alert":"Phone"}}}"#, as: "z")
    try wait(for: "the others") {
      try Set(shown(sandbox, on: "laptop")) == alerts(1...20)
        && shown(sandbox, on: "phone") == ["Phone"]
    }
    try wait(for: "their files to leave") { box.queued.count == 100 }
    let again = try Sandbox(in: box, ["--port", "\(port)"], hasDevices: true, name: "other")
    try wait(for: "the rest") { try Set(shown(again, on: "tablet")) == alerts(1...100) }
    try wait(for: "the spool to be empty") { box.queued == [] }
    #expect(try shown(again, on: "tablet").count == 100)
    #expect(try agent.terminate() == 0)
    #expect(box.names(in: "failed") == [])
  }

  @Test func `a name that no server looks up holds up no phone, and no stop`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try box.add(sandbox.token(box, "token", "phone"), to: "good")
    let subscription = try sandbox.subscription(box, "tablet")
    let host = try #require(subscription.firstMatch(of: /https:\/\/([^\/]+)/)?.1)
    try box.add(subscription.replacing(host, with: "slow.example"), to: "bad")
    let library = box.path + "/lookup.so"
    let made = try box.run([
      "cc", "-shared", "-fPIC", Build.tools + "/lookup.c", "-o", library,
    ])
    #expect(made.status == 0, "\(made.errors)")
    let agent = try box.start(
      Build.command(Build.host) + ["run"] + both(sandbox),
      environment: ["LD_PRELOAD": library, "LOOKUP": box.path + "/lookup"])
    try drop(1...3, to: "bad")
    try wait(for: "the look-up") { box.text("lookup").hasSuffix("\n") }
    try drop(1...20, to: "good")
    try wait(for: "the phone's alerts") { try sandbox.events("delivered").count == 20 }
    let child = try #require(pid_t(box.text("lookup").dropLast()))
    #expect(kill(child, 0) == 0)
    #expect(try agent.terminate() == 0)
    #expect(kill(child, 0) != 0 && errno == ESRCH)
    #expect(box.queued.count == 3)
  }

  @Test func `on-trouble names the service that cannot be reached while another one can`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try subscribe(sandbox, "laptop", to: "good")
    let port = try box.port()
    let gateway = "localhost:\(port.number)"
    let agent = try agent(
      both(sandbox), "gateway=\(gateway)", "trouble-after=1s",
      #"on-trouble=printf %s "$TINYPUSH_REASON" >\#(box.path)/reason"#)
    try drop(1...1, to: "good")
    try wait(for: "the card") { try shown(sandbox, on: "laptop") == ["Alert 1"] }
    try box.drop(#"{"token":"\#(token(1))","payload":{"aps":{"alert":"Phone"}}}"#, as: "z")
    try wait(for: "the command") { box.text("reason").contains(gateway) }
    #expect(box.text("reason").contains("Connection refused"), "\(box.text("reason"))")
    #expect(try agent.terminate() == 0)
  }

  @Test func `on-trouble tells of a service that is down while the others deliver`() throws {
    let (sandbox, other, _) = try servicesOfWhichOneIsDown()
    let agent = try agent(
      both(sandbox), "ca=\(box.path)/both.pem", "trouble-after=2s",
      #"on-trouble=echo "$TINYPUSH_TROUBLE $TINYPUSH_KIND $TINYPUSH_REASON" >>\#(box.path)/told"#)
    try drop(1...1, to: "bad")
    var sent = 0
    try wait(for: "the command") {
      sent += 1
      try drop(sent...sent, to: "good")
      return box.text("told").contains("\n")
    }
    #expect(
      box.text("told") == """
        began offline alerts for localhost:\(other.gateway) wait, and none could be delivered for \
        2 s: localhost:\(other.gateway): Connection refused: nothing listens there

        """)
    let again = try Sandbox(
      in: box, ["--port", "\(other.gateway)"], hasDevices: true, name: "other")
    try wait(for: "the rest") { try again.events("delivered").count == 1 }
    try wait(for: "the end") {
      box.text("told").hasSuffix("\nover offline alerts can be delivered again\n")
    }
    #expect(try agent.terminate() == 0)
  }

  @Test(arguments: ["slow+1s@7", "goaway@1", "close@0s", "reset-stream@20%"])
  func `no fault of a push service loses a notification, and repeats are shown once`(
    fault: String
  ) throws {
    let sandbox = try Sandbox(in: box, ["--fault", fault, "--seed", "1"], hasDevices: true)
    try subscribe(sandbox, "laptop", to: "default")
    try drop(1...20, to: "default")
    let agent = try deliver(alone(sandbox), "answer-timeout=1s")
    #expect(agent.status == 0, "\(agent.errors)")
    #expect(try sandbox.child.terminate() == 0)
    #expect(try !sandbox.events("fault").isEmpty)
    let shown = try shown(sandbox, on: "laptop")
    #expect(Set(shown) == alerts(1...20), "\(agent.errors)")
    #expect(shown.count == 20)
    #expect(box.queued + box.names(in: "failed") == [])
  }

  @Test(arguments: [false, true])
  func `a subscription to a host in this network is refused unless a setting allows it`(
    hasProxy: Bool
  ) throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let subscription = try sandbox.subscription(box, "laptop")
    // A proxy looks up names, so that only an address tells where the host is.
    try box.add(
      hasProxy ? subscription.replacing("localhost", with: "127.0.0.1") : subscription,
      to: "default")
    try drop(1...1, to: "default")
    let proxy = hasProxy ? ["proxy=http://127.0.0.1:9"] : []
    let agent = try deliver(alone(sandbox) + proxy.flatMap { ["-o", $0] }, "private-endpoints=no")
    #expect(agent.status == 75, "\(agent.errors)")
    #expect(
      agent.errors.contains(": this address is private: remove the subscription"), "\(agent.errors)"
    )
    #expect(box.queued.count == 1)
    #expect(try sandbox.events("connected").isEmpty)
  }

  @Test func `subscriptions made with another key hold up none that was made with this key`() throws
  {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    for number in 1...12 { try subscribe(sandbox, "old-\(number)", to: "family") }
    // The service learns the key of a subscription from the first alert.
    try drop(1...1, to: "family")
    #expect(try deliver(alone(sandbox)).status == 0)
    try box.makeVAPIDKey()
    try subscribe(sandbox, "tablet", to: "family")
    let agent = try agent(try alone(sandbox))
    try drop(2...3, to: "family")
    try wait(for: "the alerts") { try Set(shown(sandbox, on: "tablet")) == alerts(2...3) }
    #expect(agent.errors.contains("vapid pk hash mismatch"))
    #expect(try agent.terminate() == 0)
  }

  @Test func `a subscription whose key is no key is recorded, and others get the alert`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let subscription = try sandbox.subscription(box, "old")
    try subscribe(sandbox, "tablet", to: "family")
    let key = try #require(subscription.range(of: #""p256dh":""#)).upperBound
    let place = subscription.index(key, offsetBy: 40)
    let other = subscription[place] == "A" ? "B" : "A"
    let wrong = subscription.replacingCharacters(in: place...place, with: other)
    try box.write(box.text("recipients/family") + wrong + "\n", to: "recipients/family")
    try drop(1...1, to: "family")
    #expect(try deliver(alone(sandbox)).status == 65)
    #expect(try sandbox.child.terminate() == 0)
    #expect(try Set(shown(sandbox, on: "tablet")) == alerts(1...1))
    #expect(try box.failures("family-1001").at(0)["code"] as? String == "bad-browser-key")
  }

  @Test func `a key that a subscription was not made for is that subscription's problem`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try subscribe(sandbox, "laptop", to: "default")
    try drop(1...1, to: "default")
    let settings = try alone(sandbox)
    #expect(try deliver(settings).status == 0)
    // Another key: the browser that knows the first one refuses, and a new one accepts.
    try box.makeVAPIDKey()
    try subscribe(sandbox, "tablet", to: "new")
    let agent = try agent(settings)
    try drop(2...2, to: "default")
    try wait(for: "the refusal") { agent.errors.contains("vapid pk hash mismatch") }
    try drop(1...9, to: "new")
    try wait(for: "the others") { try Set(shown(sandbox, on: "tablet")) == alerts(1...9) }
    try wait(for: "the record") { box.names(in: "failed").count == 1 }
    #expect(try agent.terminate() == 0)
    #expect(box.queued == [])
    #expect(
      try box.failures("default-1002").at(0)["code"] as? String == "vapid-pk-hash-mismatch")
  }
}
