import Foundation
import Testing

/// Agents whose terminal is closed (SIGHUP).
@Suite(.sideBySide) struct HangupTests {
  private func run(
    _ command: [String], in box: Box, environment: [String: String] = [:]
  ) throws -> (Child, NamedPipe) {
    let pipe = try NamedPipe(in: box)
    let terminal = try box.start(
      ["python3", Build.tools + "/terminal.py", pipe.path] + command, environment: environment)
    return (terminal, pipe)
  }

  @Test func `an agent in a terminal stops in order when the terminal is closed`() throws {
    let gateway = try Gateway(in: box)
    let page = "status=\(box.path)/status"
    let (terminal, pipe) = try run(
      Build.command(Build.host) + ["run"] + box.settings(gateway.port, [page]), in: box)
    try box.drop(line(1, "one"), as: "1")
    try gateway.accepts("one")
    try pipe.open().close()
    #expect(try terminal.wait() == 0, "\(terminal.output)")
    #expect(terminal.output.contains("connected to localhost"))
    // The sent notification has been confirmed.
    #expect(box.queued == [])
    #expect(try box.tinypush("status", "-o", page).status == 69)
  }

  /// The sign by which the agent knows that it is a service.
  enum Sign: CaseIterable, Sendable { case manager, redirected }

  @Test(arguments: Sign.allCases)
  func `an agent that runs as a service reloads when a terminal is closed`(sign: Sign) throws {
    let gateway = try Gateway(in: box)
    let manager = try NotifySocket(in: box)
    let page = "status=\(box.path)/status"
    let command =
      try Build.command(Build.host) + ["run"] + box.settings(gateway.port, [page])
    let redirected = ["sh", "-c", "exec \"$@\" </dev/null 2>log", "sh"]
    let (terminal, pipe) = try run(
      (sign == .redirected ? redirected : []) + command, in: box,
      environment: sign == .manager ? manager.environment : [:])
    try box.drop(line(1, "one"), as: "1")
    try gateway.accepts("one")
    try pipe.open().close()
    if sign == .manager {
      try manager.receives("RELOADING=1\n")
    } else {
      try wait(for: "a second start in the log") { box.text("log").count(of: "delivering ") == 2 }
    }
    try box.drop(line(2, "two"), as: "2")
    try gateway.accepts("two")
    let said = try objects(box.tinypush("status", "--json", "-o", page).output).at(0)
    let agent = try #require(pid_t(exactly: said.member("pid", as: Int.self)))
    try #require(agent > 1)
    kill(agent, SIGTERM)
    #expect(try terminal.wait() == 0)
  }
}
