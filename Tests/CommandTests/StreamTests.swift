import Foundation
import Testing

/// Standard input, output and error that cannot be used.
@Suite(.sideBySide) struct StreamTests {
  /// Runs a program in a shell with these redirections.
  private func run(_ command: [String], _ redirections: String) throws -> Child {
    try box.run(["sh", "-c", "exec \"$@\" \(redirections)", "sh"] + command)
  }

  @Test(arguments: [
    ["tinypush", "--version"], ["tinypush", "help", "run"], ["tinypush", "help", "settings"],
    ["tinypush", "send", "x", "--token", "01", "--dry-run"], ["tinypush-mqtt", "--version"],
    ["tinypush-http", "--help"], ["tinypush-sendmail", "--version"],
    ["tinypush-sandbox", "--help"],
  ])
  func `a program whose output cannot be written says so`(words: [String]) throws {
    let command = try Build.command(Build.host, words[0]) + words.dropFirst()
    let full = try run(command, ">/dev/full")
    #expect(full.status == 74)
    #expect(
      full.errors == "\(words[0]): cannot write to standard output: No space left on device\n")
    let closed = try run(command, ">&-")
    #expect(closed.status == 74)
    #expect(closed.errors == "\(words[0]): cannot write to standard output: Bad file descriptor\n")
  }

  @Test func `an agent whose standard streams are closed writes into no file of the spool`() throws
  {
    try box.drop(line(1), as: "1")
    let gateway = try Gateway(in: box)
    let command =
      try Build.command(Build.host) + ["run", "--once"]
      + box.settings(gateway.port, ["log=deliveries"])
    #expect(try run(command, "<&- >&- 2>&-").status == 0)
    try gateway.readsAll()
    #expect(try gateway.alerts(in: box).count == 1)
    #expect(box.text("spool/.agent") == "")
  }
}
