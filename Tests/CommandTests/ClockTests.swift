import Foundation
import Testing

/// What is made of a wall clock that is not set, as on a board without a battery until a time service has answered.
@Suite struct ClockTests {
  /// A clock that is not set.
  private func clock(_ box: Box) throws -> Clocks {
    let clocks = try Clocks(in: box, [.wall])
    try clocks.set(.wall, to: 60)
    return clocks
  }

  @Test func `once the clock is set, the agent connects at once`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box)
    try box.drop(line(1, "hello"), as: "hello")
    let page = "status=" + box.path + "/page"
    let clocks = try clock(box)
    let agent = try box.agent(gateway, [page], environment: clocks.environment)
    // The pauses grow, up to minutes.
    var pause = 0.0
    try wait(for: "a long pause") {
      let status = try objects(box.tinypush("status", "--json", "-o", page).output).first
      pause = Double(status?["next_try_in_ms"] as? Int ?? 0) / 1000
      return pause > 5
    }
    let nextTry = Date(timeIntervalSinceNow: pause)
    #expect(agent.errors.contains("this machine's clock seems not to be set"))
    try clocks.set(.wall, to: Int(Date().timeIntervalSince1970))
    try clocks.tell()
    try gateway.accepts("hello")
    #expect(Date() < nextTry, "it waited for its next try")
    #expect(try agent.terminate() == 0)
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var arguments: [String]
    var status: Int32
    var says: String
    var testDescription: String { arguments.joined(separator: " ") }
  }

  @Test(arguments: [
    Row(
      arguments: ["--not-before", "3s"], status: 75,
      says: "--not-before: this machine's clock is not set"),
    Row(
      arguments: ["--registered", "0s"], status: 75,
      says: "--registered: this machine's clock is not set"),
    Row(arguments: ["--expiration", "10m"], status: 75, says: "use --ttl, which needs no clock"),
    Row(arguments: ["--ttl", "10m"], status: 0, says: ""),
    Row(arguments: ["--not-before", "2030-12-24T18:00:00Z"], status: 0, says: ""),
    Row(arguments: ["--not-before", "1924452000"], status: 0, says: ""),
    Row(arguments: ["--not-before", "soon"], status: 64, says: "takes UNIX seconds"),
  ])
  func `while the clock is not set, a time from now is none`(row: Row) throws {
    let box = try Box()
    defer { box.end() }
    let sent = try box.run(
      Build.command(Build.host)
        + ["send", "Hi", "--token", token(1), "-o", "spool=\(box.spool)"] + row.arguments,
      environment: clock(box).environment)
    #expect(sent.status == row.status, "\(sent.errors)")
    #expect(row.says.isEmpty ? sent.errors == "" : sent.errors.contains(row.says), "\(sent.errors)")
    #expect(box.names(in: "new").count == (row.status == 0 ? 1 : 0))
  }
}
