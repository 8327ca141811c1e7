import Foundation
import Testing

/// The output of `status`, `--help` and `--version`.
@Suite(.sideBySide) struct MessageTests {
  // MARK: - status

  @Test func `status reports the state of the agent in its output and its exit status`() throws {
    let page = "status=\(box.path)/status"
    let none = try box.tinypush("status", "-o", page)
    #expect(none.status == 69)
    #expect(none.errors.contains("has the agent been started"))
    let gateway = try Gateway(in: box, ["--reject", "\(token(2))=8"])
    let agent = try box.agent(gateway, [page, "settle=3s"])
    for number in 1...3 { try box.drop(line(number, "alert \(number)"), as: "\(number)") }
    try box.drop("{}", as: "4")
    try gateway.accepts("alert 3")
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    func counters() throws -> [String: Any] {
      try objects(box.tinypush("status", "--json", "-o", page).output).first ?? [:]
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
    let proved: Int = try running.member("settled_by_proof")
    #expect(try proved + running.member("settled_by_time") == 2)
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

  @Test func `every command prints its help`() throws {
    for command in try [[]] + ManualTests.commands.get().map(\.words) {
      for flag in ["--help", "-h"] {
        let help = try box.run(Build.command(Build.host) + command + [flag])
        #expect(help.status == 0)
        let words = command.isEmpty ? "COMMAND" : command.joined(separator: " ")
        #expect(help.output.hasPrefix("Usage: tinypush " + words))
        #expect(help.errors == "")
      }
    }
  }

  @Test func `help with a command prints what the command does with --help`() throws {
    let help = try box.tinypush("help")
    #expect(help.status == 0)
    #expect(help.output.hasPrefix("Usage: tinypush COMMAND"))
    for command in [["send"], ["status"], ["sandbox"], ["sandbox", "device"]] {
      let asked = try box.run(Build.command(Build.host) + ["help"] + command)
      let other = try box.run(Build.command(Build.host) + command + ["--help"])
      #expect(asked.status == 0)
      #expect(asked.output == other.output)
      #expect(asked.output.hasPrefix("Usage: tinypush " + command.joined(separator: " ")))
    }
  }

  @Test func `both programs print their version for every usual spelling of the option`() throws {
    for word in ["version", "-V", "--version"] {
      let version = try box.tinypush(word)
      #expect(version.status == 0)
      #expect(version.output.wholeMatch(of: /tinypush \d+\.\d+\.\d+\n/) != nil)
    }
    let program = "\(Build.directory)/\(Build.host)/tinypush-sandbox"
    for command in [[program, "--version"], [program, "-V"]] {
      let version = try box.run(command)
      #expect(version.status == 0)
      #expect(version.output.wholeMatch(of: /tinypush-sandbox \d+\.\d+\.\d+\n/) != nil)
    }
    #expect(try box.tinypush("sandbox", "--version").output.hasPrefix("tinypush-sandbox "))
  }

  @Test(arguments: Build.all)
  func `every build prints its version`(build: String) throws {
    let version = try box.tinypush("--version", build: build)
    #expect(version.status == 0)
    #expect(version.output.wholeMatch(of: /tinypush \d+\.\d+\.\d+\n/) != nil)
  }
}
