import Foundation
import Testing

/// An agent that somebody has started in a terminal, and what becomes of the agent when the terminal is closed.
@Suite(.sideBySide) struct HangupTests {
  private func run(
    _ command: [String], in box: Box, environment: [String: String] = [:]
  ) throws -> (Child, NamedPipe) {
    let pipe = try NamedPipe(in: box)
    let terminal = try box.start(
      ["python3", Build.tools + "/terminal.py", pipe.path] + command, environment: environment)
    return (terminal, pipe)
  }

  @Test func `an agent in a terminal ends with the terminal, as it does when it is told to`() throws
  {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box)
    let page = "status=\(box.path)/status"
    let (terminal, pipe) = try run(
      Build.command(Build.host) + ["run"] + box.settings(gateway.port, [page]), in: box)
    try box.drop(line(1, "one"), as: "1")
    try gateway.accepts("one")
    try pipe.open().close()
    #expect(try terminal.wait() == 0, "\(terminal.output)")
    #expect(terminal.output.contains("connected to localhost"))
    // What was sent has been confirmed.
    #expect(box.names(in: "new") == [])
    #expect(try box.tinypush("status", "-o", page).status == 69)
  }

  /// What tells that it is a service nonetheless.
  enum Sign: CaseIterable, Sendable { case manager, redirected }

  @Test(arguments: Sign.allCases)
  func `a service takes up the configuration, although a terminal is closed`(sign: Sign) throws {
    let box = try Box()
    defer { box.end() }
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
      try manager.hears("RELOADING=1\n")
    } else {
      try wait(for: "a second start in the log") { box.text("log").count(of: "delivering ") == 2 }
    }
    try box.drop(line(2, "two"), as: "2")
    try gateway.accepts("two")
    let said = try objects(box.tinypush("status", "--json", "-o", page).output)[0]
    kill(pid_t(try #require(said["pid"] as? Int)), SIGTERM)
    #expect(try terminal.wait() == 0)
  }
}
