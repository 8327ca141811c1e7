import Foundation
import Testing

/// The bridge with a real broker.
@Suite(.sideBySide) struct MQTTTests {
  private static let simple = "subscribe = alerts/#\n[alerts/#]\nalert = {payload}\n"

  @Test(arguments: Build.all)
  func `every build puts messages into the spool`(build: String) throws {
    let broker = try Mosquitto(in: box)
    try box.rules(broker, Self.simple)
    let bridge = try box.bridge(to: broker, build)
    let texts = (1...100).map { "message \($0)" }
    try broker.publish("alerts/1", lines: texts)
    try wait(for: "all messages") { try box.alerts().count >= texts.count }
    #expect(try bridge.terminate() == 0)
    #expect(try box.alerts() == texts)
  }

  // MARK: - Rules

  @Test func `messages become notifications by the rules, and the others are logged`() throws {
    let broker = try Mosquitto(in: box)
    try box.rules(
      broker,
      """
      subscribe = zigbee2mqtt/#
      subscribe = alerts
      [zigbee2mqtt/+/leak]
      when = payload.water_leak = true
      to = family
      title = Leak
      alert = {topic.2}: {payload.state}
      collapse-id = leak-{topic.2}
      ttl = 1h
      """)
    let bridge = try box.bridge(to: broker)
    try broker.publish("zigbee2mqtt/bath/leak", #"{"water_leak":true,"state":"\"wet\""}"#)
    try broker.publish("zigbee2mqtt/bath/leak", #"{"water_leak":false}"#)
    try broker.publish("zigbee2mqtt/hall", "on")
    try broker.publish("alerts", #"{"to":"guests","payload":{"aps":{"alert":"ready"}}}"#)
    try bridge.line("topic zigbee2mqtt/hall: no rule matches the topic", in: .errors)
    try bridge.line("rule in line 5 do not hold; topic zigbee2mqtt/bath", in: .errors)
    try broker.publish("alerts", #"{"payload":{"aps":{"alert":"cut"#)
    try bridge.line("topic alerts: no rule matches the topic, and the payload is not", in: .errors)
    try wait(for: "two notifications") { try box.notifications().count == 2 }
    #expect(try bridge.terminate() == 0)
    let first = try #require(try box.notifications().first)
    #expect(first["to"] as? [String] == ["family"])
    #expect(first["collapse-id"] as? String == "leak-bath")
    #expect(first["ttl"] as? Int == 3600)
    let aps = (first["payload"] as? [String: [String: Any]])?["aps"]
    #expect(aps?["alert"] as? [String: String] == ["title": "Leak", "body": #"bath: "wet""#])
    #expect(try box.notifications().at(1)["to"] as? String == "guests")
    for name in box.queued {
      #expect(try box.tinypush("check", "\(box.spool)/new/\(name)").status == 0)
    }
  }

  @Test func `SIGHUP reads the rules again, and a mistake changes nothing`() throws {
    let broker = try Mosquitto(in: box)
    try box.rules(broker, Self.simple)
    let bridge = try box.bridge(to: broker)
    try broker.publish("alerts/1", "first")
    try box.rules(broker, "subscribe = alerts/#\n[alerts/#]\nalrt = {payload}\n")
    bridge.signal(SIGHUP)
    let refused = try bridge.line("the old rules stay in use", in: .errors)
    #expect(refused.contains("mqtt.conf:5: unknown key alrt; did you mean alert?"))
    try broker.publish("alerts/2", "second")
    // With the new rules, a message that still comes would be ignored.
    try wait(for: "the second message") { try box.alerts() == ["first", "second"] }
    try box.rules(broker, "subscribe = doors/#\n[doors/#]\nalert = Door: {payload}\n")
    bridge.signal(SIGHUP)
    try bridge.line("the new rules are in use", in: .errors)
    try wait(for: "the new subscription") {
      try broker.publish("doors/1", "open")
      return try box.alerts().contains("Door: open")
    }
    try broker.publish("alerts/3", "third")
    try broker.publish("doors/1", "shut")
    try wait(for: "the last message") { try box.alerts().contains("Door: shut") }
    #expect(try bridge.terminate() == 0)
    #expect(try Array(box.alerts().prefix(2)) == ["first", "second"])
    #expect(!bridge.errors.contains("alerts/3"))
  }

  @Test func `a bridge without messages sleeps`() throws {
    let broker = try Mosquitto(in: box)
    try box.rules(broker, Self.simple)
    let clocks = try Clocks(in: box, [.awake])
    let bridge = try box.bridge(to: broker, environment: clocks.environment)
    // What the bridge does once after the start is due, and no ping.
    try clocks.set(.awake, to: 60)
    try broker.publish("alerts/1", "first")
    try wait(for: "the message") { try box.alerts() == ["first"] }
    // A bridge that looks at the clock again and again never sleeps.
    try wait(for: "sleep") {
      let status = try String(contentsOfFile: "/proc/\(bridge.id)/status", encoding: .utf8)
      return status.contains("State:\tS")
    }
    #expect(try bridge.terminate() == 0)
  }

  // MARK: - Trouble with the broker

  @Test func `the bridge waits for a broker that is away`() throws {
    let broker = try Mosquitto(in: box)
    try box.rules(broker, Self.simple)
    broker.kill()
    let bridge = try box.bridge()
    try bridge.line("nothing listens there", in: .errors)
    try broker.subscribes(box) { try broker.start() }
    try broker.publish("alerts/1", "first")
    try wait(for: "the first message") { try box.alerts() == ["first"] }
    broker.kill()
    try bridge.line("ended", in: .errors)
    try broker.start()
    try bridge.line("has lost the session", in: .errors)
    // The new broker knows no subscription until the bridge is back.
    try wait(for: "the second message") {
      try broker.publish("alerts/1", "second")
      return try box.alerts().contains("second")
    }
    #expect(try bridge.terminate() == 0)
  }

  @Test func `a broker with persistence keeps the queue over a restart`() throws {
    let broker = try Mosquitto(
      in: box, "allow_anonymous true\npersistence true\npersistence_location \(box.path)/")
    try box.rules(broker, Self.simple)
    try box.bridge(to: broker).terminate()
    let texts = (1...500).map { "message \($0)" }
    try broker.publish("alerts/1", lines: texts)
    try broker.end()
    try broker.start()
    let bridge = try box.bridge()
    try bridge.line("which kept the session", in: .errors)
    try wait(for: "all messages") { try box.alerts().count >= texts.count }
    #expect(try bridge.terminate() == 0)
    #expect(try box.alerts() == texts)
  }

  @Test func `a wrong password is reported, and a file with the right one helps`() throws {
    let passwords = box.path + "/passwords"
    try writeFile("", to: passwords)
    try box.run(["mosquitto_passwd", "-b", passwords, "box", "s3cret-word"])
    let broker = try Mosquitto(in: box, "allow_anonymous false\npassword_file \(passwords)")
    try box.rules(broker, "user = box\npassword = wr0ng-word\n" + Self.simple)
    let bridge = try box.bridge()
    try bridge.line("correct user and password", in: .errors)
    try writeFile("s3cret-word\n", to: box.path + "/password")
    try box.rules(broker, "user = box\npassword-file = password\n" + Self.simple)
    try broker.subscribes(box) { bridge.signal(SIGHUP) }
    try broker.publish("alerts/1", "first", ["-u", "box", "-P", "s3cret-word"])
    try wait(for: "the message") { try box.alerts() == ["first"] }
    #expect(try bridge.terminate() == 0)
    #expect(!bridge.errors.contains("-word"))
  }

  @Test func `a refused subscription is reported, and the others bring messages`() throws {
    let broker = try Mosquitto(
      in: box, DynamicSecurity.settings("secret/#", allows: false, in: box))
    try box.rules(broker, "subscribe = secret/#\n" + Self.simple)
    let manager = try NotifySocket(in: box)
    let bridge = try box.bridge(to: broker, environment: manager.environment, refused: 1)
    let line = try bridge.line("refused subscribe = secret/#: not authorized", in: .errors)
    #expect(line.contains("asks again"))
    try broker.publish("alerts/1", "first")
    try wait(for: "the message") { try box.alerts() == ["first"] }
    try manager.receives("STATUS=the broker refused subscribe = secret/#: not authorized")
    try box.rules(broker, Self.simple)
    try broker.subscribes(box) { bridge.signal(SIGHUP) }
    try manager.receives("STATUS=the broker 127.0.0.1:\(broker.port) accepts each subscription now")
    #expect(try bridge.terminate() == 0)
  }

  @Test func `a message of any size the broker may send is taken, and a huge alert is reported`()
    throws
  {
    let broker = try Mosquitto(in: box)
    try box.rules(
      broker,
      """
      subscribe = +
      [camera]
      alert = {payload.text}
      [log]
      alert = {payload}
      data = all = {payload}
      """)
    let bridge = try box.bridge(to: broker)
    let picture = String(repeating: "x", count: 1_000_000)
    try broker.publish("camera", lines: [#"{"picture":"\#(picture)","text":"ring"}"#])
    try wait(for: "the alert") { try box.alerts() == ["ring"] }
    try broker.publish("log", lines: [String(repeating: "x", count: 70_000)])
    try bridge.line("topic log: its notification would have more than 65536 bytes", in: .errors)
    // The message that is too large does not come again.
    try broker.publish("camera", #"{"text":"short"}"#)
    try wait(for: "the next alert") { try box.alerts() == ["ring", "short"] }
    #expect(try bridge.terminate() == 0)
    #expect(bridge.errors.contains("messages: 3, 0 repeated; notifications: 2;"))
  }

  @Test func `check warns of what the rules and the subscriptions cannot mean`() throws {
    try box.write("\(token(1))\n", to: "recipients/family")
    let rules = try box.write(
      """
      subscribe = a/#
      subscribe = $share/x/a/+
      subscribe = b
      [a/b]
      to = famly
      alert = x
      [b]
      to = family
      to = {topic}
      alert = x

      """, to: "mqtt.conf")
    func check() throws -> Child {
      try box.run([
        Box.bridge, "check", "--rules", rules, "-o", "recipients=\(box.path)/recipients",
      ])
    }
    let checked = try check()
    #expect(checked.status == 0)
    #expect(
      checked.output.contains(
        "mqtt.conf:4: warning: there is no recipients file famly in \(box.path)/recipients\n"))
    #expect(
      checked.output.contains(
        "mqtt.conf: warning: subscribe = a/# and subscribe = $share/x/a/+ overlap: the broker may"))
    #expect(checked.output.count(of: "warning") == 2, "\(checked.output)")
    try box.write("subscribe = a\n[a]\nalert = x\nsubscribe = b\n", to: "mqtt.conf")
    #expect(try check().errors.contains(":4: subscribe belongs before the first [TOPIC-FILTER]"))
    try box.write("subscribe = a\n[a]\nwhen = a = 1 or b = 2\nalert = x\n", to: "mqtt.conf")
    #expect(try check().errors.contains(":3: when takes EXPRESSION = VALUE"))
  }

  @Test func `retained messages of a new subscription ring only if a rule says so`() throws {
    let broker = try Mosquitto(in: box)
    try broker.publish("alerts/old", "wet", ["-r"])
    try broker.publish("state/door", "open", ["-r"])
    try box.rules(
      broker,
      """
      subscribe = alerts/#
      subscribe = state/#
      [alerts/#]
      alert = {payload}
      continue = yes
      [alerts/+]
      alert = again {payload}
      [state/#]
      alert = {payload}
      retained = yes
      """)
    let bridge = try box.bridge(to: broker)
    try bridge.line("topic alerts/old: it is a retained one, and may be old", in: .errors)
    try broker.publish("alerts/old", "", ["-r"])
    try bridge.line("topic alerts/old: it is empty, which clears a retained message", in: .errors)
    try broker.publish("alerts/old", "wet")
    try wait(for: "three notifications") {
      try box.alerts().sorted() == ["again wet", "open", "wet"]
    }
    #expect(try bridge.terminate() == 0)
  }

  @Test func `check asks the broker for the login and the subscriptions, and takes no message`()
    throws
  {
    let mosquitto = try Mosquitto(in: box)
    try box.rules(mosquitto, "subscribe = $share/boxes/alerts/#\n" + Self.simple)
    let bridge = try box.bridge(to: mosquitto)
    let check = [Box.bridge, "check", "--broker", "--rules", "\(box.path)/mqtt.conf"]
    let fine = try box.run(check)
    #expect(fine.status == 0, "\(fine.output)\(fine.errors)")
    #expect(fine.output.contains("1 rule, 2 subscriptions"))
    #expect(try bridge.terminate() == 0)
    // CONNACK without shared subscriptions, and a refusal of the only other one.
    let (broker, port) = try broker(
      in: box, connack: "20 05 00 00 02 2a 00",
      """
      print("asked", asked, flush=True)
      link.sendall(bytes.fromhex("90 04") + asked[2:4] + bytes.fromhex("00 87"))
      link.recv(4096)
      """)
    try box.write(
      "broker = 127.0.0.1:\(port)\nsubscribe = $share/boxes/b/#\n" + Self.simple, to: "mqtt.conf")
    let refused = try box.run(check)
    #expect(refused.status == 77)
    for words in [
      "mqtt.conf: error: the broker refused subscribe = $share/boxes/b/#: it does not offer shared",
      "mqtt.conf: error: the broker refused subscribe = alerts/#: ",
    ] {
      #expect(refused.output.contains(words), "\(refused.output)\(refused.errors)")
    }
    #expect(try !broker.line("asked").contains("share"))
    #expect(try broker.wait() == 0)
    let gone = try box.run(check + ["--json"])
    #expect(gone.status == 69)
    #expect(gone.errors.contains("cannot connect to the broker 127.0.0.1:"), "\(gone.errors)")
    // A broker with shared subscriptions is asked for their topic filters: it sends no message.
    let (sharing, place) = try self.broker(
      in: box, connack: "20 03 00 00 00",
      """
      print("first", asked, flush=True)
      while asked:
          if asked[0] == 0x82:
              link.sendall(bytes.fromhex("90 04") + asked[2:4] + bytes.fromhex("00 01"))
          asked = asked[2 + asked[1]:] or link.recv(4096)
          print("next", asked, flush=True)
      """)
    try box.write(
      "broker = 127.0.0.1:\(place)\nsubscribe = $share/boxes/b/#\n" + Self.simple, to: "mqtt.conf")
    let shared = try box.run(check)
    #expect(shared.status == 0, "\(shared.output)\(shared.errors)")
    #expect(try sharing.wait() == 0)
    #expect(sharing.output.contains("b/#") && sharing.output.contains("alerts/#"))
    #expect(!sharing.output.contains("share/"), "\(sharing.output)")
  }

  @Test func `a rule for changes rings once for a state, and one for silence when no more comes`()
    throws
  {
    let broker = try Mosquitto(in: box)
    try box.rules(
      broker,
      """
      subscribe = sensor/#
      [sensor/+]
      silent-for = 1s
      alert = {topic.2} is silent
      [sensor/#]
      on-change = yes
      alert = {topic.2} {payload}
      """)
    let bridge = try box.bridge(to: broker)
    try broker.publish("sensor/a", lines: ["wet", "wet", "dry"])
    try bridge.line("topic sensor/a: the notification is the same as the one before", in: .errors)
    try bridge.line("silence: the rule in line 4 rings for [sensor/+]", in: .errors)
    try wait(for: "three notifications") { try box.alerts() == ["a wet", "a dry", "a is silent"] }
    try broker.publish("sensor/a", "dry")
    try wait(for: "silence again") { try box.alerts().count == 4 }
    #expect(try box.alerts().last == "a is silent")
    #expect(try bridge.terminate() == 0)
    let tried = try box.run(
      [Box.bridge, "check", "--rules", "\(box.path)/mqtt.conf", "-"],
      input: "sensor/a wet\nsensor/a wet\n")
    #expect(tried.output.contains("the notification is the same as the one before"))
    try box.write(
      "subscribe = a\n[a]\nsilent-for = 1h\nalert = {payload}\n", to: "mqtt.conf")
    let wrong = try box.run([Box.bridge, "check", "--rules", "\(box.path)/mqtt.conf"])
    #expect(wrong.errors.contains(":2: [a]: a rule with silent-for rings when no message comes"))
  }

  /// Starts a broker for one connection, and returns it with its port.
  ///
  /// - Parameter script: what the broker does on `link` once it was `asked` for a subscription.
  private func broker(
    in box: Box, connack: String, _ script: String
  ) throws -> (broker: Child, port: Substring) {
    let broker = try box.start([
      "python3", "-c",
      """
      import socket
      listener = socket.create_server(("127.0.0.1", 0))
      print("listening", listener.getsockname()[1], flush=True)
      link = listener.accept()[0]
      link.recv(4096)
      link.sendall(bytes.fromhex("\(connack)"))
      asked = link.recv(4096)

      """ + script,
    ])
    return (broker, try broker.line("listening ").dropFirst("listening ".count))
  }

  @Test func `messages that came before the broker ended the connection are in the spool`() throws {
    // SUBACK, and a message of QoS 0 and the end in one packet.
    let (_, port) = try broker(
      in: box, connack: "20 03 00 00 00",
      """
      link.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
      link.sendall(
        bytes.fromhex("90 04") + asked[2:4] + bytes.fromhex("00 01")
        + bytes.fromhex("30 0e 00 08") + b"alerts/1" + bytes.fromhex("00") + b"wet")
      link.close()
      """)
    try box.write("broker = 127.0.0.1:\(port)\n" + Self.simple, to: "mqtt.conf")
    let bridge = try box.bridge()
    try wait(for: "the message") { try box.alerts() == ["wet"] }
    #expect(try bridge.terminate() == 0)
  }

  @Test(arguments: ["code", "close", "silence"])
  func `a broker of MQTT 3.1.1 is spoken to in its language`(way: String) throws {
    let broker = try Mosquitto(in: box)
    let old = try box.start([
      "python3", Build.tools + "/oldbroker.py", "\(broker.port)", way,
    ])
    let port = try old.line("listening ").dropFirst("listening ".count)
    try box.write(
      "broker = 127.0.0.1:\(port)\nclient-id = one\nfleet = tinypush\n" + Self.simple,
      to: "mqtt.conf")
    let bridge = try broker.subscribes(box) { try box.bridge() }
    try bridge.line("next attempt is with MQTT 3.1.1", in: .errors)
    try bridge.line("connected to the broker 127.0.0.1:\(port) with MQTT 3.1.1", in: .errors)
    try broker.publish("alerts/1", "first")
    try wait(for: "the message") { try box.alerts() == ["first"] }
    #expect(try bridge.terminate() == 0)
    // The will is published, and the broker keeps the messages for the box that is away.
    try wait(for: "the will") {
      try broker.retained(below: "tinypush/fleet").values.first?.contains("offline") == true
    }
    // A broker that is silent is waited for again.
    guard way != "silence" else { return }
    try broker.publish("alerts/1", "second")
    let again = try box.bridge()
    try wait(for: "the message that was kept") { try box.alerts() == ["first", "second"] }
    #expect(try again.terminate() == 0)
    if way == "code" { #expect(try box.states() == ["one": "offline"]) }
  }

  @Test func `a broker that takes a subscription and sends nothing is not believed`() throws {
    // CONNACK without shared subscriptions, and SUBACK with QoS 0.
    let (broker, port) = try broker(
      in: box, connack: "20 05 00 00 02 2a 00",
      """
      print("asked", asked, flush=True)
      link.sendall(bytes.fromhex("90 04") + asked[2:4] + bytes.fromhex("00 00"))
      link.recv(4096)
      """)
    try box.write(
      "broker = 127.0.0.1:\(port)\nsubscribe = $share/boxes/alerts/#\n" + Self.simple,
      to: "mqtt.conf")
    let manager = try NotifySocket(in: box)
    let bridge = try box.bridge(environment: manager.environment)
    try bridge.line(
      "refused subscribe = $share/boxes/alerts/#: it does not offer shared subscriptions: remove",
      in: .errors)
    try bridge.line("grants subscribe = alerts/# only QoS 0: a message", in: .errors)
    try manager.receives("STATUS=the broker grants subscribe = alerts/# only QoS 0")
    #expect(try !broker.line("asked").contains("share"))
    #expect(try bridge.terminate() == 0)
  }

  @Test func `a bridge that stops while messages come repeats none`() throws {
    let broker = try Mosquitto(
      in: box, "allow_anonymous true\nmax_queued_messages 0\nmax_inflight_messages 1000")
    try box.rules(broker, Self.simple)
    try box.bridge(to: broker).terminate()
    let texts = (1...3000).map { "message \($0)" }
    try broker.publish("alerts/1", lines: texts)
    for _ in 1...5 {
      let bridge = try box.bridge()
      try bridge.line("connected to the broker", in: .errors)
      #expect(try bridge.terminate() == 0)
    }
    let last = try box.bridge()
    try wait(for: "all messages") { try Set(box.alerts()).count == texts.count }
    #expect(try last.terminate() == 0)
    #expect(try box.alerts() == texts)
  }

  @Test func `a second bridge with the same client ID is reported`() throws {
    let broker = try Mosquitto(in: box)
    try box.rules(broker, Self.simple)
    let first = try box.bridge(to: broker)
    let second = try box.bridge(to: broker)
    try first.line("if another client uses the same client ID, set client-id", in: .errors)
    try broker.publish("alerts/1", "first")
    try wait(for: "the message") { try box.alerts() == ["first"] }
    #expect(try first.terminate() == 0)
    #expect(try second.terminate() == 0)
  }

  @Test func `the bridge speaks TLS with a broker, and shows its certificate`() throws {
    let broker = try Mosquitto(
      in: box,
      """
      allow_anonymous true
      require_certificate true
      cafile \(Certificates.path("ca.pem"))
      certfile \(Certificates.path("server.pem"))
      keyfile \(Certificates.path("server.key"))
      """)
    try box.write(
      """
      broker = localhost:\(broker.port)
      client-id = box
      tls = yes
      ca = \(Certificates.path("ca.pem"))
      certificate = \(Certificates.path("client.pem"))
      key = \(Certificates.path("client.key"))
      \(Self.simple)
      """, to: "mqtt.conf")
    let bridge = try box.bridge(to: broker)
    try broker.publish(
      "alerts/1", "first",
      ["--cafile", Certificates.path("ca.pem"), "--cert", Certificates.path("client.pem")]
        + ["--key", Certificates.path("client.key"), "--insecure"])
    try wait(for: "the message") { try box.alerts() == ["first"] }
    #expect(try bridge.terminate() == 0)
  }

  // MARK: - Nothing is lost

  @Test func `while the disk is full, the broker keeps the messages`() throws {
    let disk = try Disk(under: box, "size=4m")
    let broker = try Mosquitto(in: box)
    try box.rules(broker, Self.simple)
    let bridge = try box.bridge(to: broker)
    try disk.fill(.bytes)
    // More than one batch comes at once.
    bridge.signal(SIGSTOP)
    let texts = (1...600).map { "message \($0) \(String(repeating: "x", count: 2000))" }
    try broker.publish("alerts/1", lines: texts)
    bridge.signal(SIGCONT)
    try bridge.line("the broker keeps the messages", in: .errors)
    disk.makeRoom()
    try wait(for: "all messages") { try Set(box.alerts()).count >= texts.count }
    try bridge.line("the spool can be written to again", in: .errors)
    #expect(try bridge.terminate() == 0)
    #expect(try box.alerts() == texts)
  }

  @Test func `no message is lost when the bridge is killed, and repeats replace one another`()
    throws
  {
    let broker = try Mosquitto(in: box)
    try box.rules(broker, Self.simple)
    try box.bridge(to: broker).terminate()
    var random = SeededRandom(for: "the times of the kills of the bridge")
    let (kills, messages) = (50, 100)
    for round in 0..<kills {
      try broker.publish("alerts/1", lines: (1...messages).map { "\(round * messages + $0)" })
      let known = box.queued.count
      let bridge = try box.bridge()
      // The messages may come before the broker has taken the subscription, and so may the end.
      try bridge.line("connected to the broker", in: .errors)
      // Half of the kills come around the acknowledgement, and the others anywhere.
      if Bool.random(using: &random) {
        try wait(for: "a file") { box.queued.count > known || bridge.hasEnded }
      } else {
        usleep(.random(in: 0...5000, using: &random))
      }
      bridge.kill()
    }
    let bridge = try box.bridge(to: broker)
    try wait(for: "all messages") { try Set(box.alerts()).count >= kills * messages }
    #expect(try bridge.terminate() == 0)
    let wanted = Set((1...kills * messages).map(String.init))
    #expect(try wanted.subtracting(box.alerts()) == [])
    var seen: [String: [String?]] = [:]
    for (alert, notification) in zip(try box.alerts(), try box.notifications()) {
      let identity = [notification["id"] as? String, notification["collapse-id"] as? String]
      #expect(identity.allSatisfy { $0 != nil })
      #expect(seen[alert] == nil || seen[alert] == identity, "\(alert)")
      seen[alert] = identity
    }
    #expect(Set(seen.values).count == kills * messages)
  }

  // MARK: - Check

  @Test func `check prints each mistake in the rules with its line`() throws {
    let rules = try box.write(
      """
      brokr = x
      subscribe = a/#
      [a+/b]
      alert = x
      [a/\(String(repeating: "long", count: 20))]
      level = loud
      [b]
      to = family
      [c]
      alert = {foo}
      [d]
      alert = \(String(repeating: "x", count: 200))
      [e]
      """, to: "mqtt.conf")
    let check = try box.run([Box.bridge, "check", "--rules", rules])
    #expect(check.status == 78)
    let lines = check.errors.split(separator: "\n").compactMap {
      $0.split(separator: ":").dropFirst().first.map(String.init)
    }
    #expect(lines == ["1", "3", "6", "7", "10", "13"], "\(check.errors)")
    let json = try box.run([Box.bridge, "check", "--rules", rules, "--json"])
    #expect(try objects(json.output).compactMap { $0["line"] as? Int } == [1, 3, 6, 7, 10, 13])
    let missing = try box.run([Box.bridge, "check", "--rules", rules + ".missing"])
    #expect(missing.status == 66)
    try box.write(
      """
      subscribe = a/#   ; all of them
        client-id = box
      password = a ;b
      [a/#]   ; a comment
        alert = x #1
      title = y ; z
      thread = room #1
      to = family ; a comment
      """, to: "mqtt.conf")
    let whole = try box.run(
      [Box.bridge, "check", "--rules", rules, "--json", "-"], input: "a/1 x\n")
    #expect(
      whole.output.contains(#""alert":{"title":"y ; z","body":"x #1"},"thread-id":"room #1""#),
      "\(whole.errors)\(whole.output)")
    try box.write("subscribe = a/#\n[a/#] x\nalert = x\n", to: "mqtt.conf")
    let wrong = try box.run([Box.bridge, "check", "--rules", rules])
    #expect(wrong.errors.contains(":2: expected KEY = VALUE or [TOPIC-FILTER]"))
    let directory = try box.run([Box.bridge, "check", "--rules", box.path])
    #expect(directory.errors.contains("\(box.path): Is a directory: "))
  }

  @Test func `check tries the rules on messages`() throws {
    let topic = "a/" + String(repeating: "long", count: 20)
    let rules = try box.write(
      "subscribe = a/#\n[\(topic)]\nalert = {payload.text}\n[a/badge]\nbadge = {payload}\n",
      to: "mqtt.conf")
    let messages = """
      \(topic) {"text":"hello world"}
      a/badge many
      a/other 1
      b {"to":"family","payload":{"aps":{"alert":"x"}}}

      """
    let check = [Box.bridge, "check", "--rules", rules]
    let tried = try box.run(check + ["--json", "-"], input: messages)
    #expect(tried.status == 65)
    let lines = try objects(tried.output)
    #expect(lines.map { $0["state"] as? String } == ["sent", "refused", "ignored", "sent"])
    #expect(try lines.at(0)["rule"] as? String == topic)
    #expect(try lines.at(0)["rule_line"] as? Int == 2)
    let codes = lines.map { line in
      (line["findings"] as? [[String: String]] ?? []).compactMap { $0["code"] }
    }
    #expect(codes == [[], ["badge"], [], ["not-subscribed"]])
    let shown = try box.run(check + ["-"], input: messages)
    #expect(shown.output.contains("hello world"))
    #expect(shown.output.contains("-: 2 notifications, 1 ignored, 1 refused\n"))
    let good = try box.run(check + ["-"], input: "\(topic) {\"text\":\"hello\"}\n")
    #expect(good.status == 0)
    // Two bytes for each character: the cut does not fall between them.
    let long = String(repeating: "ä", count: 10_001)
    let shortened = try box.run(check + ["-"], input: "\(topic) {\"text\":\"x\(long)\"}\n")
    #expect(shortened.status == 0, "\(shortened.output)")
    mkdir(box.path + "/recipients", 0o755)
    let missing = try box.run(
      check + ["-o", "recipients=\(box.path)/recipients", "-"],
      input: "b {\"to\":\"nobody\",\"payload\":{\"aps\":{\"alert\":\"x\"}}}\n")
    #expect(missing.status == 65)
    #expect(missing.output.contains("no recipients file has this name"), "\(missing.output)")
    let far = "\(topic) " + String(repeating: "x", count: 1 << 20) + "\n\(topic) {\"text\":\"y\"}\n"
    let cut = try box.run(check + ["-"], input: far)
    #expect(cut.status == 65)
    #expect(cut.output.contains("error: the line is longer than a message may be\n"))
    #expect(cut.output.hasSuffix("-: 1 notification, 0 ignored, 1 refused\n"), "\(cut.output)")
  }
}
