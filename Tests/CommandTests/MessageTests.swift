import Foundation
import Testing

/// The commands that people and scripts meet: check and status.
@Suite struct MessageTests {
  // MARK: - check

  struct Checking: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var text: String
    var line: Int
    var column: Int
    var words: String
    init(_ text: String, _ line: Int, _ column: Int, _ words: String) {
      (self.text, self.line, self.column, self.words) = (text, line, column, words)
      testDescription = words
    }
  }

  private static let one = token(1)
  private static let good = line(1)

  @Test(arguments: [
    Checking(
      #"{"token":"12","payload":{"aps":{"alert":"x"}}}"#, 1, 11, "64 hex digits, and this one has 2"
    ),
    Checking(good + good + #"  {"token": tru}"#, 3, 16, "expected a value"),
    Checking(
      #"{"tokens":[],"payload":{"aps":{"alert":"x"}}}"#, 1, 11, "tokens is empty"),
    Checking(#"{"token":"\#(one)"}"#, 1, 1, "no payload"),
    Checking(#"{"payload":{"aps":{"alert":"x"}}}"#, 1, 1, "no device token"),
    Checking(#"{"token":"\#(one)","payload":{"alert":"x"}}"#, 1, 87, "no aps"),
    Checking(
      "{\n  \"token\": \"\(one)\",\n  \"payload\": {\"aps\": {\"alert\": \"Füll☀\"},}\n}", 3, 41,
      "remove the comma"),
    Checking(
      "{\n  \"tokn\": \"\(one)\",\n  \"payload\": {\"aps\": {\"alert\": \"x\"}}\n}", 2, 3,
      "no such key"),
    Checking("Tank low\n", 1, 1, "expected '{'"),
    Checking(#"{"token":"\#(one)","payload":{"aps":{"alert":"x"}"#, 1, 107, "ends in the middle"),
    Checking(
      #"{"token":"\#(one)","token":"\#(one)","payload":{"aps":{"alert":"x"}}}"#, 1, 77,
      "stands here twice"),
    Checking(
      #"{"token":"\#(one)","payload":{"aps":{"content-available":1}},"priority":10}"#, 1, 130,
      "priority must be 5"),
    Checking(String(repeating: good, count: 3000) + "{]", 3001, 2, "expected a key"),
  ])
  func `check says where it is wrong, and shows it`(row: Checking) throws {
    let box = try Box()
    defer { box.end() }
    let path = try box.write(row.text, to: "notes.json")
    let said = try box.tinypush("check", path)
    #expect(said.status == 65)
    let lines = said.output.split(separator: "\n", omittingEmptySubsequences: false)
    try #require(lines.count == 4, "\(said.output)")
    #expect(lines[0].hasPrefix("\(path):\(row.line):\(row.column): "), "\(said.output)")
    #expect(lines[0].contains(row.words))
    // The caret stands under the character of that column, as far as the line was not cut.
    let source = Array(
      row.text.split(separator: "\n", omittingEmptySubsequences: false)[row.line - 1])
    let caret = lines[2].count - 1
    #expect(lines[2] == String(repeating: " ", count: caret) + "^")
    if row.column <= source.count, caret < lines[1].count {
      #expect(Array(lines[1])[caret] == source[row.column - 1])
    }
    let json = try objects(box.tinypush("check", "--json", path).output)
    #expect(json.count == 1)
    #expect(json.first?["file"] as? String == path)
    #expect(json.first?["line"] as? Int == row.line)
    #expect(json.first?["column"] as? Int == row.column)
    #expect((json.first?["message"] as? String)?.contains(row.words) == true)
    // Standard input is the same.
    let piped = try box.tinypush("check", "-", input: row.text)
    #expect(piped.status == 65)
    #expect(piped.output.hasPrefix("-:\(row.line):\(row.column): "))
  }

  @Test func `check finds nothing wrong with what is right`() throws {
    let box = try Box()
    defer { box.end() }
    let one = try box.write(Self.good, to: "one.json")
    let many = try box.write(String(repeating: Self.good, count: 5000), to: "many.json")
    let said = try box.tinypush("check", one, many)
    #expect(said.status == 0)
    #expect(
      said.output == "\(one): 1 notification, all well\n\(many): 5000 notifications, all well\n")
    let json = try box.tinypush("check", "--json", one, many)
    #expect(json.status == 0)
    #expect(json.output == "")
    let mixed = try box.tinypush("check", one, box.path + "/none.json", many)
    #expect(mixed.status == 66)
    #expect(mixed.output.contains("5000 notifications"))
  }

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
