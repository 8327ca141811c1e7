import Foundation
import Testing

/// The agent as it is delivered, and 20,000 notifications, of which none is lost whatever happens at the thousandth: the
/// table in docs/measurements.md. A smaller count serves where no table is made.
@Suite(.sideBySide) struct FaultTests {
  fileprivate static let count = Table.isMade ? 20_000 : 5000
  private static let files = 1200
  private static let at = 1000
  private static let sheaf = Result {
    try Sheaf.plain(files: files, lines: count - files, in: Shared.directory() + "/faults")
  }

  // MARK: - The matrix

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// As the sandbox is told, and gateway.py.
    var fault: String
    var script: [String]
    var settings: [String] = []
    /// What the log must speak of.
    var words: String
    /// Whether the thousandth is refused.
    var isRefused = false
    /// Whether the gateway says what it has not taken, so that nothing needs to be sent twice.
    var isAnswered = false
  }

  private static let refusal = ["--reject", "\(token(at))=8"]

  static let rows = [
    Row(
      testDescription: "bad token", fault: "status=8@\(at)", script: refusal,
      words: "the gateway refused it: invalid token", isRefused: true, isAnswered: true),
    Row(
      testDescription: "bad token, answered 5 s late", fault: "status=8+5s@\(at)",
      script: refusal + ["--delay-answer", "5"], words: "the gateway refused it: invalid token",
      isRefused: true, isAnswered: true),
    Row(
      testDescription: "shutdown (status 10)", fault: "shutdown@\(at)",
      script: ["--shutdown-after", "\(at)"], words: "goes out of service", isAnswered: true),
    Row(
      testDescription: "silent close", fault: "close@\(at)", script: ["--close-after", "\(at)"],
      words: "it is uncertain whether"),
    Row(
      testDescription: "reset", fault: "reset@\(at)",
      script: ["--close-after", "\(at)", "--reset"], words: "it is uncertain whether"),
    Row(
      testDescription: "half-open", fault: "stall@\(at)", script: ["--stall-after", "\(at)"],
      settings: ["settle=2s"], words: "it is uncertain whether"),
    Row(
      testDescription: "4 MB that are no answer", fault: "garbage=4M@\(at)",
      script: ["--close-after", "\(at)", "--last-words", "6e6f", "--last-words-times", "2097152"],
      words: "what is no answer (first byte 110); connection closed; it is uncertain whether"),
  ]

  /// Which gateway, and how far away.
  enum Way: String, CaseIterable, Sendable {
    case sandbox, distant, independent
  }

  @Test(arguments: rows, Way.allCases)
  func `nothing is lost, and what the agent says of itself is true`(row: Row, way: Way)
    throws
  {
    let box = try Box()
    defer { box.end() }
    let sheaf = try Self.sheaf.get()
    try sheaf.fill(box)
    let peer = try Faulty(row, way, in: box)
    let start = ContinuousClock.now
    let agent = try box.start(
      Build.command(Build.host) + ["run", "--once"] + peer.settings(box)
        + row.settings.flatMap { ["-o", $0] })
    try agent.wait()
    let time = ContinuousClock.now - start
    let truth = try peer.truth(in: box)
    let words = "\(truth)\n\(agent.errors)"
    try Table.add(row.testDescription, way.rawValue, truth, time)

    #expect(truth.lost == 0, "\(words)")
    #expect(truth.refused == (row.isRefused ? [Self.at] : []), "\(words)")
    // Where all bytes were acknowledged, a gateway that hangs is told from one that answers no barriers by one more.
    let reconnects = row.fault.hasPrefix("stall") ? 1...2 : 1...1
    #expect(reconnects.contains(truth.connections - 1), "a fault costs one reconnect: \(words)")
    #expect(truth.duplicatesWithin == 0, "\(words)")
    if row.isAnswered { #expect(truth.duplicates == 0, "\(words)") }
    #expect(truth.duplicates <= Self.at, "only what was accepted before the fault: \(words)")

    #expect(agent.status == (row.isRefused ? 65 : 0), "\(words)")
    #expect(agent.errors.split(separator: row.words).count == 2, "said once: \(words)")
    let says = try Sum(agent.errors)
    #expect(says.delivered == truth.accepted, "\(words)")
    #expect(says.failed == truth.refused.count, "\(words)")
    // Some of what is written never gets there.
    #expect(says.repeated >= truth.seen - Self.count, "\(words)")
    #expect(box.names(in: "new") == [])
    try expectFailures(row, in: box)
  }

  @Test func `nothing is lost to a half-open connection that follows two which were cut`()
    throws
  {
    let box = try Box()
    defer { box.end() }
    try Self.sheaf.get().fill(box)
    let faults = ["close@\(Self.count / 8)", "close@\(Self.count / 4)", "stall@\(Self.count / 2)"]
    let sandbox = try Sandbox(in: box, faults.flatMap { ["--fault", $0] })
    let proxy = try Proxy(in: box, to: sandbox.gateway)
    let agent = try box.start(
      Build.command(Build.host) + ["run", "--once", "--config", sandbox.config]
        + ["gateway=localhost:\(proxy.port)", "spool=\(box.spool)", "settle=3s"]
        .flatMap { ["-o", $0] })
    try agent.wait()
    #expect(try sandbox.child.terminate() == 0)
    let truth = try Truth(sandbox.child.outputPath, count: Self.count, in: box)
    let words = "\(truth)\n\(agent.errors)"
    #expect(truth.faults == faults.count, "\(words)")
    #expect(truth.lost == 0, "\(words)")
    #expect(truth.connections >= 1 + faults.count, "\(words)")
    #expect(agent.status == 0, "\(words)")
    try #expect(Sum(agent.errors).delivered == truth.accepted, "\(words)")
    #expect(box.names(in: "new") + box.names(in: "failed") == [])
  }

  // MARK: - Poison

  struct Poison: Sendable {
    var fault: String
    var settings: [String]
    var words: String
  }

  @Test(arguments: [
    Poison(fault: "close", settings: [], words: "look for what is unusual in it"),
    Poison(fault: "reset", settings: ["confirm=settle", "settle=500ms"], words: "unusual"),
    Poison(
      fault: "status=8", settings: ["format=0", "settle=500ms"],
      words: "most likely its token is invalid"),
  ])
  func `a notification at which the gateway dies each time is found, and the others arrive`(
    poison: Poison
  ) throws {
    let box = try Box()
    defer { box.end() }
    let sheaf = try Sheaf.plain(files: 1500, lines: 500, in: box.path + "/sheaf")
    try sheaf.fill(box)
    let sandbox = try Sandbox(in: box, ["--fault", "\(poison.fault)@\(token(Self.at))"])
    let agent = try box.run(
      Build.command(Build.host) + ["run", "--once", "--config", sandbox.config]
        + (poison.settings + ["spool=\(box.spool)"]).flatMap { ["-o", $0] })
    #expect(try sandbox.child.terminate() == 0)
    let truth = try Truth(sandbox.child.outputPath, count: 2000, in: box)
    #expect(truth.lost == 0, "\(truth)")
    #expect(truth.accepted >= 1999, "\(truth)")
    #expect(agent.status == 65, "\(agent.errors)")
    #expect(try Sum(agent.errors).delivered == 1999)
    let failures = try box.failures("001000")
    #expect(failures.map { $0["token"] as? String } == [token(Self.at)])
    #expect((failures.first?["reason"] as? String)?.contains(poison.words) == true)
    #expect(box.names(in: "new") == [])
    #expect(box.names(in: "failed") == ["001000"])
  }

  // MARK: - Agents

  @Test func `nothing is lost when it is killed again and again`() throws {
    let box = try Box()
    defer { box.end() }
    let start = ContinuousClock.now
    let gateway = try Gateway(in: box)
    let kills = Self.count / 100
    // A large file comes with every 25th agent, no larger than the gateway reads in the time that such an agent has; and
    // twenty small ones with each.
    let lines = 2000
    var number = 0
    func take(_ count: Int) -> String {
      number += count
      return (number - count + 1...number).map { line($0) }.joined()
    }
    // What a kill may make come twice: whatever has not left the spool by then.
    var unsettled = 0
    var random = Chance(for: "the times of the kills")
    for kill in 0..<kills {
      if kill % 25 == 0 { try box.drop(take(lines), as: "many-\(kill)") }
      for _ in 1...20 { try box.drop(take(1), as: "one-\(number)") }
      let agent = try box.agent(gateway, ["settle=100ms"])
      // Most have been connected for a while, however long that took; and some are killed at any time before.
      if kill % 4 != 0 { try agent.line("connected to", in: .errors) }
      usleep(.random(in: 0...250_000, using: &random))
      agent.kill()
      #expect(agent.status == 128 + SIGKILL, "\(agent.errors)")
      for name in box.names(in: "new") { unsettled += name.hasPrefix("many") ? lines : 1 }
    }
    #expect(number == Self.count)
    let last = try box.deliver(gateway)
    let time = ContinuousClock.now - start
    try gateway.hearsAll()
    let truth = try Truth(gateway.record, count: Self.count, in: box)
    let words = "\(truth), \(unsettled) unsettled\n\(last.errors)"
    try Table.add("kill -9, \(kills) times", Way.independent.rawValue, truth, time)
    #expect(last.status == 0, "\(words)")
    #expect(truth.lost == 0, "\(words)")
    #expect(truth.duplicatesWithin == 0, "\(words)")
    #expect(truth.duplicates <= unsettled, "\(words)")
    #expect(truth.connections > kills / 2, "most were connected: \(words)")
    #expect(box.names(in: "new") + box.names(in: "failed") == [])
  }

  @Test func `of two agents on one spool one works, and nothing is sent twice`() throws {
    let box = try Box()
    defer { box.end() }
    try Self.sheaf.get().fill(box)
    let gateway = try Gateway(in: box)
    let start = ContinuousClock.now
    let first = try box.agent(gateway, ["settle=1s"])
    try first.line("connected to", in: .errors)
    while !box.names(in: "new").isEmpty {
      let second = try box.deliver(gateway)
      #expect(second.status == 75)
      #expect(second.errors.contains("\(box.spool): another agent works here already"))
    }
    #expect(try first.terminate() == 0)
    try gateway.hearsAll()
    let truth = try Truth(gateway.record, count: Self.count, in: box)
    try Table.add(
      "two agents on one spool", Way.independent.rawValue, truth, ContinuousClock.now - start)
    #expect(truth.lost == 0, "\(truth)")
    #expect(truth.duplicates == 0, "\(truth)")
    #expect(truth.connections == 1, "\(truth)")
    try #expect(Sum(first.errors).delivered == Self.count)
    #expect(box.names(in: "failed") == [])
  }

  private func expectFailures(_ row: Row, in box: Box) throws {
    let name = String("000000\(Self.at)".suffix(6))
    #expect(box.names(in: "failed") == (row.isRefused ? [name] : []))
    guard row.isRefused else { return }
    let failures = try box.failures(name)
    #expect(failures.map { $0["token"] as? String } == [token(Self.at)])
    #expect(failures.map { $0["status"] as? Int } == [8])
  }
}

// MARK: - Gateways

/// A gateway at which something goes wrong, and the way to it.
private struct Faulty {
  private let sandbox: Sandbox?
  private let gateway: Gateway?
  private let port: Int

  init(_ row: FaultTests.Row, _ way: FaultTests.Way, in box: Box) throws {
    if way == .independent {
      let gateway = try Gateway(in: box, ["--first", "1"] + row.script)
      (self.gateway, sandbox, port) = (gateway, nil, gateway.port)
    } else {
      let sandbox = try Sandbox(in: box, ["--fault", row.fault])
      (gateway, self.sandbox) = (nil, sandbox)
      port = way == .distant ? try Proxy(in: box, to: sandbox.gateway).port : sandbox.gateway
    }
  }

  func settings(_ box: Box) throws -> [String] {
    guard let sandbox else { return try box.settings(port) }
    return [
      "--config", sandbox.config, "-o", "gateway=localhost:\(port)", "-o", "spool=\(box.spool)",
    ]
  }

  func truth(in box: Box) throws -> Truth {
    if let gateway { return try Truth(gateway.record, count: FaultTests.count, in: box) }
    #expect(try sandbox!.child.terminate() == 0)
    let truth = try Truth(sandbox!.child.outputPath, count: FaultTests.count, in: box)
    #expect(truth.faults == 1)
    return truth
  }
}
