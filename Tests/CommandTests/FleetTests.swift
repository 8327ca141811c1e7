import Foundation
import Testing

/// The states that boxes share through a broker.
@Suite(.sideBySide) struct FleetTests {
  private static let simple = "subscribe = alerts/#\n[alerts/#]\nalert = {payload}\n"

  // MARK: - A broker that refuses

  @Test func `messages come in though the broker lets nobody publish to the fleet`() throws {
    let access = try box.write("topic readwrite alerts/#\n", to: "acl")
    let broker = try Mosquitto(in: box, "allow_anonymous true\nacl_file \(access)")
    let bridge = try box.member(of: broker, "one")
    try bridge.line(
      "the broker refused the state of this box for its fleet, topic tinypush/fleet/one: not authorized: ",
      in: .errors)
    try broker.publish("alerts/1", "first")
    try wait(for: "the message") { try box.alerts() == ["first"] }
    #expect(try box.fleet().status == 75)
    #expect(try box.fleet().errors.contains("does not let this user read it"))
    #expect(try bridge.terminate() == 0)
  }

  @Test func `fleet says that the broker refuses the subscription`() throws {
    let broker = try Mosquitto(in: box, DynamicSecurity.settings("alerts/#", allows: true, in: box))
    try box.rules(broker, "fleet = tinypush\n" + Self.simple)
    let fleet = try box.fleet()
    #expect(fleet.status == 69)
    #expect(fleet.errors.contains("the broker refused a subscription: not authorized"))
  }

  @Test func `messages come in though the broker refuses the connection with a will`() throws {
    let broker = try box.start(["python3", Build.tools + "/willbroker.py"])
    let port = try broker.line("listening ").dropFirst("listening ".count)
    try box.write(
      "broker = 127.0.0.1:\(port)\nclient-id = one\nfleet = tinypush\n" + Self.simple,
      to: "mqtt.conf")
    let bridge = try box.bridge()
    try bridge.line("without the last will, topic tinypush/fleet/one", in: .errors)
    try bridge.line("connected to the broker", in: .errors)
    try wait(for: "the message") { try box.alerts() == ["wet"] }
    #expect(try bridge.terminate() == 0)
  }

  @Test func `the bridge stays connected to a broker that closes if a box publishes its state`()
    throws
  {
    let broker = try box.start(["python3", Build.tools + "/willbroker.py", "--closes"])
    let port = try broker.line("listening ").dropFirst("listening ".count)
    try box.write(
      "broker = 127.0.0.1:\(port)\nclient-id = one\nfleet = tinypush\n" + Self.simple,
      to: "mqtt.conf")
    let bridge = try box.bridge()
    try bridge.line("may this user publish to topic tinypush/fleet/one?", in: .errors)
    try bridge.line("connected to the broker", in: .errors)
    #expect(try bridge.terminate() == 0)
    #expect(bridge.errors.split(separator: "\n").count { $0.contains("publish to topic") } == 1)
  }

  // MARK: - The list of boxes

  @Test func `fleet lists the boxes with their states`() throws {
    let (one, other) = (try Box(), try Box())
    defer {
      one.end()
      other.end()
    }
    let broker = try Mosquitto(in: one)
    try one.rules(broker, "fleet = tinypush\n" + Self.simple)
    let none = try one.fleet()
    #expect(none.status == 75)
    #expect(none.output == "")
    #expect(none.errors.contains("no box has published its state below tinypush/fleet"))
    let sandbox = try Sandbox(in: one)
    let agent = try one.agent(sandbox)
    let bridges = try [one.member(of: broker, "one"), other.member(of: broker, "other")]
    try wait(for: "both states") { try broker.retained(below: "tinypush/fleet").count == 2 }
    let text = try one.fleet()
    #expect(text.status == 75)
    let lines = text.output.split(separator: "\n").map { $0.split(separator: " ") }
    #expect(try lines.map { try $0.at(0) }.sorted() == ["BOX", "one", "other"])
    #expect(lines.contains(["one", "connected", "0", "0"]), "\(text.output)")
    #expect(lines.contains(["other", "not", "running"]), "\(text.output)")
    let json = try objects(one.fleet("--json").output)
    let first = try #require(json.first { $0["box"] as? String == "one" })
    #expect(first["state"] as? String == "connected")
    #expect((first["detail"] as? String)?.contains("localhost") == true, "\(first)")
    for key in ["waiting", "later", "sent_last_minute", "time"] {
      #expect(first[key] as? Int != nil, "\(key)")
    }
    #expect((first["version"] as? String)?.first?.isNumber == true)
    let second = try #require(json.first { $0["box"] as? String == "other" })
    #expect(second["state"] as? String == "not running")
    #expect((second["detail"] as? String)?.contains("no status page \(other.path)") == true)
    // The broker publishes the will of a bridge that dies, and of one that is stopped.
    bridges[1].kill()
    try wait(for: "the will") { try other.states()["other"] == "offline" }
    #expect(try bridges[0].terminate() == 0)
    #expect(try one.states() == ["one": "offline", "other": "offline"])
    #expect(try agent.terminate() == 0)
    broker.kill()
    let away = try one.fleet()
    #expect(away.status == 69)
    #expect(away.errors.contains("cannot connect to the broker 127.0.0.1"))
  }

  @Test func `fleet ends with 0 if all boxes are connected`() throws {
    let broker = try Mosquitto(in: box)
    try box.rules(broker, "fleet = tinypush\n")
    let now = Int(Date().timeIntervalSince1970)
    try broker.publish("tinypush/fleet/one", #"{"state":"connected","time":\#(now)}"#, ["-r"])
    #expect(try box.fleet().status == 0)
    // A broker that was restarted does not know that this box is gone.
    try broker.publish(
      "tinypush/fleet/two", #"{"state":"connected","time":\#(now - 3000)}"#, ["-r"])
    #expect(try box.fleet().status == 75)
    #expect(try box.states() == ["one": "connected", "two": "silent"])
  }

  @Test func `fleet prints hostile states as they are safe for a terminal and for JSON Lines`()
    throws
  {
    let broker = try Mosquitto(in: box)
    try box.rules(broker, "fleet = tinypush\n")
    let hostile = [
      #"{"state":"\u001b[2J","time":1e9,"waiting":"many","problem":"a\nb"}"#,
      "{\n\"state\":\n7}", "[]", "no JSON", "\"text\"",
      #"{"state":"offline","waiting":-1,"sent_last_minute":\#(String(repeating: "9", count: 40))}"#,
    ]
    for (number, payload) in hostile.enumerated() {
      try broker.publish("tinypush/fleet/\(number)", payload, ["-r"])
    }
    let text = try box.fleet()
    #expect(text.status == 75)
    #expect(text.output.split(separator: "\n").count == 1 + hostile.count - 1, "\(text.output)")
    #expect(!text.output.contains("\u{1B}"))
    let json = try objects(box.fleet("--json").output)
    #expect(json.count == hostile.count - 1)
    let last = try #require(json.first { $0["box"] as? String == "5" })
    #expect(last.keys.sorted() == ["box", "state"])
  }

  @Test func `fleet needs the setting, and refuses names that are no levels of a topic`() throws {
    func check(_ rules: String, says words: String) throws {
      try box.write(rules, to: "mqtt.conf")
      let child = try box.fleet()
      #expect(child.status == 78)
      #expect(child.errors.contains(words), "\(child.errors)")
    }
    try check(Self.simple, says: "set fleet = tinypush in ")
    try check("fleet = a/#\n", says: "mqtt.conf:1: fleet must be a topic without wildcards")
    try check("fleet = $SYS\n", says: "a topic without wildcards")
    try check("fleet = a/\n", says: "a topic without wildcards")
    try check("fleet = a\nclient-id = b/c\n", says: "client-id names this box in the fleet")
    try check("subscribe = a\ndiscovery = homeassistant\n", says: "add fleet = tinypush")
  }

  @Test func `a fleet of another name is joined at SIGHUP`() throws {
    let broker = try Mosquitto(in: box)
    let bridge = try box.member(of: broker, "one")
    try wait(for: "the state") { try !broker.retained(below: "tinypush/fleet").isEmpty }
    try box.write(
      "broker = 127.0.0.1:\(broker.port)\nclient-id = one\nfleet = home/push\n" + Self.simple,
      to: "mqtt.conf")
    bridge.signal(SIGHUP)
    try wait(for: "the state in the other fleet") {
      try !broker.retained(below: "home/push/fleet").isEmpty
    }
    #expect(try broker.retained(below: "tinypush/fleet").values.first?.contains("offline") == true)
    #expect(try broker.retained(below: "home/push/fleet").keys.sorted() == ["home/push/fleet/one"])
    #expect(try bridge.terminate() == 0)
  }

  @Test func `a box without a subscription publishes its state`() throws {
    let broker = try Mosquitto(in: box)
    try box.rules(broker, "fleet = tinypush\nclient-id = one\n")
    let bridge = try box.bridge()
    try wait(for: "the state") {
      try broker.retained(below: "tinypush/fleet").keys.sorted() == ["tinypush/fleet/one"]
    }
    #expect(try bridge.terminate() == 0)
  }

  // MARK: - Home Assistant

  @Test func `Home Assistant finds a box, and each value in its state`() throws {
    let broker = try Mosquitto(in: box)
    let sandbox = try Sandbox(in: box)
    // The wrong file makes a problem that the page shows.
    try box.drop("no notification", as: "wrong")
    let agent = try box.agent(sandbox)
    try wait(for: "the refusal") { box.names(in: "failed").count == 1 }
    let bridge = try box.member(of: broker, "one", "discovery = homeassistant\n")
    try wait(for: "the state") { try broker.retained(below: "tinypush/fleet").count == 1 }
    let messages = try broker.retained(below: "homeassistant")
    #expect(Array(messages.keys) == ["homeassistant/device/one/config"])
    let config = try object(messages.values.first)
    let components = try #require(config["components"] as? [String: [String: Any]])
    let availability = components.values.compactMap { $0["availability_topic"] as? String }
    #expect(Set(availability) == ["tinypush/fleet/one"])
    #expect(config["state_topic"] as? String == "tinypush/fleet/one")
    let state = try object(broker.retained(below: "tinypush/fleet")["tinypush/fleet/one"])
    for (key, component) in components {
      for name in ["value_template", "availability_template"] {
        guard let template = component[name] as? String else { continue }
        let member = try #require(template.firstMatch(of: #/value_json\.(\w+)/#)?.1)
        #expect(state[String(member)] != nil, "\(key) \(name)")
      }
    }
    // What Home Assistant's engine for templates makes of them.
    #expect(
      try box.rendered(components, state)
        == ["connected": "ON", "waiting": "0", "sent_last_minute": "0"]
        .merging(["problem": state["problem"] as? String ?? ""]) { $1 })
    #expect(
      try box.rendered(components, ["state": "offline"])
        == ["connected": "OFF", "waiting": "None", "sent_last_minute": "None", "problem": "none"])
    #expect(try bridge.terminate() == 0)
    #expect(try agent.terminate() == 0)
  }

  private func object(_ text: String?) throws -> [String: Any] {
    guard let text, let object = try objects(text).first else { throw Failure("no object") }
    return object
  }
}
