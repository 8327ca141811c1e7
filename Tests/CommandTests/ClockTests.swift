import Foundation
import Testing

/// A wall clock that is not set, as on a board without a battery until a time service answers.
@Suite(.sideBySide) struct ClockTests {
  /// Returns the clocks of a machine whose wall clock is not set.
  private func clock(_ box: Box) throws -> Clocks {
    let clocks = try Clocks(in: box, [.wall])
    try clocks.set(.wall, to: 60)
    return clocks
  }

  @Test func `the agent connects as soon as the clock is set`() throws {
    let gateway = try Gateway(in: box)
    try box.drop(line(1, "hello"), as: "hello")
    let page = "status=" + box.path + "/page"
    let clocks = try Clocks(in: box, [.wall, .awake])
    try clocks.set(.wall, to: 60)
    try clocks.set(.awake, to: Clocks.prolonged)
    let agent = try box.agent(gateway, [page], environment: clocks.environment)
    try agent.line("Is this machine's clock set?", in: .errors)
    try clocks.prolongPause(of: agent, page: page)
    try clocks.set(.wall, to: Int(Date().timeIntervalSince1970))
    try clocks.announceChange()
    // The next attempt would come after the patience of this wait.
    try gateway.accepts("hello")
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
    Row(arguments: ["--registered", "2030-01-01"], status: 0, says: ""),
    Row(arguments: ["--expiration", "10m"], status: 75, says: "use --ttl, which needs no clock"),
    Row(arguments: ["--ttl", "10m"], status: 0, says: ""),
    Row(arguments: ["--not-before", "2030-12-24T18:00:00Z"], status: 0, says: ""),
    Row(arguments: ["--not-before", "1924452000"], status: 0, says: ""),
    Row(arguments: ["--not-before", "soon"], status: 64, says: "takes UNIX seconds"),
  ])
  func `send refuses a time relative to now while the clock is not set`(row: Row) throws {
    let sent = try box.run(
      Build.command(Build.host)
        + ["send", "Hi", "--token", token(1), "-o", "spool=\(box.spool)"] + row.arguments,
      environment: clock(box).environment)
    #expect(sent.status == row.status, "\(sent.errors)")
    #expect(row.says.isEmpty ? sent.errors == "" : sent.errors.contains(row.says), "\(sent.errors)")
    #expect(box.queued.count == (row.status == 0 ? 1 : 0))
  }

  @Test(arguments: ["binary", "http2"])
  func `a ttl counts from the arrival of the file even if no agent runs`(way: String) throws {
    let clocks = try Clocks(in: box, [.wall, .awake])
    let start = Int(Date().timeIntervalSince1970)
    for (number, words) in [(1, ["late", "--ttl", "60s"]), (2, ["early", "--ttl", "10m"])] {
      let sent = try box.run(
        Build.command(Build.host) + ["send"] + words
          + ["--token", token(number), "-o", "spool=\(box.spool)"])
      #expect(sent.status == 0, "\(sent.errors)")
    }
    // 100 s later, on both clocks: the machine was not asleep.
    try clocks.set(.wall, to: start + 100)
    try clocks.set(.awake, to: 100)
    var expirations: [Int] = []
    let settings: [String]
    let binary: Gateway?
    let http2: HTTP2Gateway?
    if way == "binary" {
      let gateway = try Gateway(in: box)
      (binary, http2) = (gateway, nil)
      settings = try box.settings(gateway.port)
    } else {
      let gateway = try HTTP2Gateway(in: box)
      (binary, http2) = (nil, gateway)
      settings = try box.http2Settings(gateway.port)
    }
    let agent = try box.run(
      Build.command(Build.host) + ["run", "--once"] + settings, environment: clocks.environment)
    #expect(agent.status == 0, "\(agent.errors)")
    #expect(agent.errors.contains("1 delivered"), "\(agent.errors)")
    #expect(agent.errors.contains("1 expired"), "\(agent.errors)")
    if let binary {
      try #expect(binary.alerts(in: box) == ["early"])
      for file in binary.recorded(.accepted) {
        let decoded = try box.run(["python3", Build.tools + "/decode.py", file])
        expirations += try objects(decoded.output).compactMap { $0["expiration"] as? Int }
      }
    } else if let http2 {
      try #expect(http2.alerts() == ["early"])
      expirations = try http2.requests().compactMap { request in
        (request["headers"] as? [String: String])?["apns-expiration"].flatMap { Int($0) }
      }
    }
    #expect(expirations.count == 1)
    // The agent's clock counts whole seconds.
    #expect(expirations.allSatisfy { (start + 598...start + 660).contains($0) }, "\(expirations)")
    #expect(box.queued == [])
  }
}
