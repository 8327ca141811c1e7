import Foundation
import Testing

/// The commands that people and scripts meet: send, check and status.
@Suite struct MessageTests {
  // MARK: - send

  struct Sending: Sendable, CustomTestStringConvertible {
    var arguments: [String]
    /// The file that it makes, or what it says instead.
    var result: String
    var input: String?
    var testDescription: String { arguments.joined(separator: " ") }
    init(_ arguments: String..., input: String? = nil, gives result: String) {
      (self.arguments, self.input, self.result) = (arguments, input, result)
    }
  }

  private static let one = token(1)
  private static let two = token(2)

  @Test(arguments: [
    Sending(
      "Tank low", "--token", one,
      gives: #"{"tokens":["\#(one)"],"payload":{"aps":{"alert":"Tank low"}}}"#),
    Sending(
      "--token", one, "--token=\(two)", "--title", "Cellar", "--", "--12 %",
      gives:
        #"{"tokens":["\#(one)","\#(two)"],"payload":{"aps":{"alert":{"title":"Cellar","body":"--12 %"}}}}"#
    ),
    Sending(
      "a \"b\" \\ \n ü ☀", "--token", one, "--badge", "0", "--sound", "bell \"1\".caf",
      "--category", "c",
      gives:
        #"{"tokens":["\#(one)"],"payload":{"aps":{"alert":"a \"b\" \\ \n ü ☀","badge":0,"sound":"bell \"1\".caf","category":"c"}}}"#
    ),
    Sending(
      "--token", one, "--content-available", "--priority", "5", "--ttl", "90m",
      gives:
        #"{"tokens":["\#(one)"],"priority":5,"ttl":5400,"payload":{"aps":{"content-available":1}}}"#
    ),
    Sending(
      "--token", one, "--ttl=0s", "--no-sync", "--badge", "3",
      gives: #"{"tokens":["\#(one)"],"ttl":0,"payload":{"aps":{"badge":3}}}"#),
    Sending(
      "--payload", "-", "--token", one, input: "{ \"aps\": {\"alert\": \"x\"},\n \"app\": [1] }\n",
      gives: #"{"tokens":["\#(one)"],"payload":{"aps":{"alert":"x"},"app":[1]}}"#),
  ])
  func `send queues what is asked for, and prints its name`(row: Sending) throws {
    let box = try Box()
    defer { box.end() }
    // It needs neither an agent nor its keys.
    let sent = try box.run(
      Build.command(Build.host) + ["send", "-o", "spool=" + box.spool] + row.arguments,
      input: row.input)
    #expect(sent.status == 0, "\(sent.errors)")
    let names = box.names(in: "new")
    #expect(names.count == 1)
    #expect(sent.output == names[0] + "\n")
    #expect(box.names(in: "tmp") == [])
    let text = box.text("spool/new/\(names[0])")
    let queued = try #require(objects(text.replacing("\n", with: " ")).first) as NSDictionary
    #expect(try queued == objects(row.result).first! as NSDictionary, "\(text)")
    let checked = try box.tinypush("check", box.spool + "/new/" + names[0])
    #expect(checked.status == 0, "\(checked.output)")
  }

  @Test func `what was sent arrives, in the order of sending`() throws {
    let box = try Box()
    defer { box.end() }
    for number in 1...20 {
      let sent = try box.tinypush(
        "send", "alert \(number)", "--token", token(number), "--token", token(number + 100),
        "--no-sync", "-o", "spool=" + box.spool)
      #expect(sent.status == 0)
    }
    let gateway = try Gateway(in: box)
    let agent = try box.deliver(gateway)
    #expect(agent.status == 0, "\(agent.errors)")
    try #expect(
      gateway.alerts(in: box) == (1...20).flatMap { ["alert \($0)", "alert \($0)"] })
  }

  @Test(arguments: [
    Sending("x", gives: "to whom? Give --token HEX"),
    Sending("x", "--token", "abc", gives: "a device token has 64 hex digits, and this one has 3"),
    Sending(
      "x", "--token", String(repeating: "g", count: 64), gives: "only the digits 0-9 and a-f"),
    Sending("--token", one, gives: "nothing to say: give a text"),
    Sending("x", "--token", one, "--priority", "7", gives: "priority must be 10"),
    Sending(
      "--token", one, "--content-available", "--priority", "10", gives: "priority must be 5"),
    Sending(
      String(repeating: "x", count: 2100), "--token", one,
      gives: "the payload has 2120 bytes without white space, and at most 2048 may be sent"),
    Sending("x", "--token", one, "-o", "payload-limit=16", gives: "at most 16 may be sent"),
    Sending("--payload", "-", "--token", one, input: #"{"alert":"x"}"#, gives: "no aps"),
    Sending("--payload", "-", "--token", one, input: "Tank low", gives: "expected a value"),
    Sending(
      "--payload", "-", "--token", one,
      input: #"{"aps":{"alert":"a"}}} {"token":"1","payload":{"aps":{"alert":"b"}}"#, gives: ""),
    Sending("x", "--token", one, "--badge", "x", gives: "badge"),
    Sending("x", "--token", one, "--badge", "1.5", gives: "badge"),
    Sending("x", "--token", one, "--badge", #"1},"x":{"y":2"#, gives: "badge"),
  ])
  func `send refuses what the agent or the gateway would refuse`(row: Sending) throws {
    let box = try Box()
    defer { box.end() }
    let sent = try box.run(
      Build.command(Build.host) + ["send", "-o", "spool=" + box.spool] + row.arguments,
      input: row.input)
    #expect(sent.status == 65 || sent.status == 64, "\(sent.output)")
    #expect(row.result == "" || sent.errors.contains(row.result), "\(sent.errors)")
    #expect(sent.output == "")
    #expect(box.names(in: "new") + box.names(in: "tmp") == [])
  }

  // MARK: - check, of what the agent needs

  @Test func `check looks at everything that the agent needs`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box)
    let well = try box.run(Build.command(Build.host) + ["check"] + box.settings(gateway.port))
    #expect(well.status == 0, "\(well.output)")
    #expect(well.output.contains("✓ certificate: com.example.tinypush, expires in "))
    #expect(well.output.contains("✓ gateway: localhost:\(gateway.port), TLS 1.2, "))
    #expect(!well.output.contains("✗"))
    gateway.child.kill()
    let ill = try box.run(
      Build.command(Build.host) + ["check"]
        + box.settings(gateway.port, certificate: "client-expired", ["spool=/nowhere"]))
    #expect(ill.status == 78)
    #expect(ill.output.contains("✗ certificate: com.example.tinypush, expired "))
    #expect(ill.output.contains("✗ spool /nowhere: No such file or directory"))
    #expect(ill.output.contains("✗ gateway: localhost:\(gateway.port): "))
    #expect(ill.output.contains("nothing listens there"))
  }

  // MARK: - status

  @Test func `status tells how it goes, and by its exit status`() throws {
    let box = try Box()
    defer { box.end() }
    let page = "status=\(box.path)/status"
    let none = try box.tinypush("status", "-o", page)
    #expect(none.status == 69)
    #expect(none.errors.contains("has the agent been started"))
    let gateway = try Gateway(in: box, ["--reject", "\(token(2))=8"])
    let agent = try box.agent(gateway, [page, "settle=3s"])
    for number in 1...3 { try box.drop(line(number, "alert \(number)"), as: "\(number)") }
    try box.drop("{}", as: "4")
    try gateway.accepts("alert 3")
    try wait(for: "new/ to become empty") { box.names(in: "new").isEmpty }
    func counters() throws -> [String: Any] {
      try objects(box.tinypush("status", "--json", "-o", page).output)[0]
    }
    try wait(for: "nothing in flight") { try counters()["in_flight"] as? Int == 0 }
    let said = try box.tinypush("status", "-o", page)
    #expect(said.status == 0)
    #expect(said.output.hasPrefix("connected for "))
    let running = try counters()
    #expect(running["state"] as? String == "connected")
    #expect(running["pid"] as? Int == Int(agent.id))
    #expect(running["refused"] as? Int == 1)
    #expect(running["failed_check"] as? Int == 1)
    #expect((running["settled_by_proof"] as! Int) + (running["settled_by_time"] as! Int) == 2)
    gateway.child.kill()
    try agent.line("ended", in: .errors)
    #expect(try box.tinypush("status", "-o", page).status == 75)
    #expect(try agent.terminate() == 0)
    let stopped = try box.tinypush("status", "--json", "-o", page)
    #expect(stopped.status == 69)
    try #expect(objects(stopped.output).first?["state"] as? String == "not running")
    try box.write("something else", to: "status")
    #expect(try box.tinypush("status", "-o", page).status == 69)
  }

  // MARK: - help

  @Test(arguments: ["", "run", "send", "check", "status", "sandbox"])
  func `every command has its help`(command: String) throws {
    let box = try Box()
    defer { box.end() }
    for flag in ["--help", "-h"] {
      let help = try box.run(
        Build.command(Build.host) + (command.isEmpty ? [flag] : [command, flag]))
      #expect(help.status == 0)
      #expect(help.output.hasPrefix("Usage: tinypush " + (command.isEmpty ? "COMMAND" : command)))
      #expect(help.errors == "")
      #expect(help.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }
  }

  @Test(arguments: Build.all)
  func `every build tells its version`(build: String) throws {
    let box = try Box()
    defer { box.end() }
    let version = try box.tinypush("--version", build: build)
    #expect(version.status == 0)
    #expect(version.output.wholeMatch(of: /tinypush \d+\.\d+\.\d+\n/) != nil)
  }
}
