import Foundation
import Testing

/// Faults at the thousandth notification lose none: the table in docs/measurements.md.
///
/// The released build delivers 20,000 notifications for the table, and 5,000 otherwise.
@Suite(.sideBySide) struct FaultTests {
  fileprivate static let count = Table.isMade ? 20_000 : 5000
  /// The connections that end without a fault: each 5,000 notifications or so fill the agent's memory
  /// for what is in flight, and a barrier empties it.
  private static let barriers = (count - 1) / 5000
  private static let files = 1200
  private static let at = 1000
  private static let notifications = Result {
    try NotificationSet.plain(
      files: files, lines: count - files, in: Shared.directory() + "/faults")
  }

  // MARK: - The matrix

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The fault as the sandbox's `--fault`; `script` is the same fault for gateway.py.
    var fault: String
    var script: [String]
    var settings: [String] = []
    /// The words that the log must contain.
    var words: String
    /// Whether the gateway refuses the thousandth notification.
    var isRefused = false
    /// Whether the gateway names what it has not accepted, so that nothing is sent twice.
    var isAnswered = false
  }

  private static let refusal = ["--reject", "\(token(at))=8"]

  static let rows = [
    Row(
      testDescription: "bad token", fault: "status=8@\(at)", script: refusal,
      words: "the service refused it: invalid token", isRefused: true, isAnswered: true),
    Row(
      testDescription: "bad token, answered 5 s late", fault: "status=8+5s@\(at)",
      script: refusal + ["--delay-answer", "5"], words: "the service refused it: invalid token",
      isRefused: true, isAnswered: true),
    Row(
      testDescription: "shutdown (status 10)", fault: "shutdown@\(at)",
      script: ["--shutdown-after", "\(at)"], words: "is shutting down", isAnswered: true),
    Row(
      testDescription: "silent close", fault: "close@\(at)", script: ["--close-after", "\(at)"],
      words: "it is uncertain whether"),
    Row(
      testDescription: "reset", fault: "reset@\(at)",
      script: ["--close-after", "\(at)", "--reset"], words: "it is uncertain whether"),
    Row(
      testDescription: "half-open", fault: "stall@\(at)", script: ["--stall-after", "\(at)"],
      // Only this time shows the fault, so that the table is made with a short one.
      settings: [Table.isMade ? "settle=2s" : "settle=10s"], words: "it is uncertain whether"),
    Row(
      testDescription: "4 MB that are no answer", fault: "garbage=4M@\(at)",
      script: ["--close-after", "\(at)", "--last-words", "6e6f", "--last-words-times", "2097152"],
      words:
        "unexpected bytes from the gateway (first byte 110); connection closed; it is uncertain whether"
    ),
  ]

  /// The gateway: the sandbox, the sandbox behind a slow proxy, or gateway.py.
  enum Way: String, CaseIterable, Sendable {
    case sandbox, distant, independent
  }

  @Test(arguments: rows, Way.allCases)
  func `a fault loses no notification, and the agent's closing line is true`(row: Row, way: Way)
    throws
  {
    let notifications = try Self.notifications.get()
    try notifications.fill(box)
    let peer = try Faulty(row, way, in: box)
    let start = ContinuousClock.now
    let agent = try box.start(
      Build.command(Build.host) + ["run", "--once"] + peer.settings(box)
        + row.settings.flatMap { ["-o", $0] })
    try agent.wait()
    let time = ContinuousClock.now - start
    let tally = try peer.tally(in: box)
    let words = "\(tally)\n\(agent.errors)"
    try Table.add(row.testDescription, way.rawValue, tally, time)

    #expect(tally.lost == 0, "\(words)")
    #expect(tally.refused == (row.isRefused ? [Self.at] : []), "\(words)")
    // A gateway that hangs may cost a second connection, if TCP has acknowledged all bytes: the
    // agent cannot yet tell this gateway from one that answers no barriers.
    let reconnects = row.fault.hasPrefix("stall") ? 1...2 : 1...1
    #expect(
      reconnects.contains(tally.connections - 1 - Self.barriers),
      "a fault costs one reconnect: \(words)")
    #expect(tally.duplicatesWithin == 0, "\(words)")
    if row.isAnswered { #expect(tally.duplicates == 0, "\(words)") }
    #expect(tally.duplicates <= Self.at, "only notifications accepted before the fault: \(words)")

    #expect(agent.status == (row.isRefused ? 65 : 0), "\(words)")
    #expect(agent.errors.split(separator: row.words).count == 2, "logged once: \(words)")
    let says = try Totals(agent.errors)
    #expect(says.delivered == tally.accepted, "\(words)")
    #expect(says.failed == tally.refused.count, "\(words)")
    // Some sent bytes never reach the gateway.
    #expect(says.repeated >= tally.seen - Self.count, "\(words)")
    #expect(box.queued == [])
    try expectFailures(row, in: box)
  }

  @Test func `a half-open connection after two closed ones loses no notification`()
    throws
  {
    try Self.notifications.get().fill(box)
    let faults = ["close@\(Self.count / 8)", "close@\(Self.count / 4)", "stall@\(Self.count / 2)"]
    let sandbox = try Sandbox(in: box, faults.flatMap { ["--fault", $0] })
    let proxy = try Proxy(in: box, to: sandbox.gateway)
    let agent = try box.start(
      Build.command(Build.host) + ["run", "--once", "--config", sandbox.config]
        + ["gateway=localhost:\(proxy.port)", "spool=\(box.spool)", "settle=10s"]
        .flatMap { ["-o", $0] })
    try agent.wait()
    #expect(try sandbox.child.terminate() == 0)
    let tally = try Tally(sandbox.child.outputPath, count: Self.count, in: box)
    let words = "\(tally)\n\(agent.errors)"
    #expect(tally.faults == faults.count, "\(words)")
    #expect(tally.lost == 0, "\(words)")
    #expect(tally.connections >= 1 + faults.count, "\(words)")
    #expect(agent.status == 0, "\(words)")
    try #expect(Totals(agent.errors).delivered == tally.accepted, "\(words)")
    #expect(box.queued + box.names(in: "failed") == [])
  }

  // MARK: - Poison

  struct Poison: Sendable {
    var fault: String
    var settings: [String]
    var words: String
  }

  @Test(arguments: [
    Poison(fault: "close", settings: [], words: "look for something unusual in it"),
    Poison(fault: "reset", settings: ["confirm=settle"], words: "unusual"),
    Poison(
      fault: "status=8", settings: ["format=0"], words: "most likely its token is invalid"),
  ])
  func `the agent finds the notification that breaks the gateway and delivers the others`(
    poison: Poison
  ) throws {
    let notifications = try NotificationSet.plain(
      files: 1500, lines: 500, in: box.path + "/notifications")
    try notifications.fill(box)
    let sandbox = try Sandbox(in: box, ["--fault", "\(poison.fault)@\(token(Self.at))"])
    let clocks = try Clocks(in: box, [.awake])
    let agent = try box.start(
      Build.command(Build.host) + ["run", "--once", "--config", sandbox.config]
        + (poison.settings + ["spool=\(box.spool)", "settle=30s"]).flatMap { ["-o", $0] },
      environment: clocks.environment)
    try clocks.pass(31, for: agent, and: sandbox.child) { agent.hasEnded }
    #expect(try sandbox.child.terminate() == 0)
    let tally = try Tally(sandbox.child.outputPath, count: 2000, in: box)
    #expect(tally.lost == 0, "\(tally)")
    #expect(tally.accepted >= 1999, "\(tally)")
    #expect(agent.status == 65, "\(agent.errors)")
    #expect(try Totals(agent.errors).delivered == 1999)
    let failures = try box.failures("001000")
    #expect(failures.map { $0["token"] as? String } == [token(Self.at)])
    #expect((failures.first?["reason"] as? String)?.contains(poison.words) == true)
    #expect(box.queued == [])
    #expect(box.names(in: "failed") == ["001000"])
  }

  // MARK: - Killed agents, two agents

  @Test func `killing the agent again and again loses no notification`() throws {
    let start = ContinuousClock.now
    let gateway = try Gateway(in: box)
    let kills = Self.count / 100
    // Each agent gets 20 small files. Every 25th also gets a large one, no larger than the gateway
    // can read before the agent is killed.
    let lines = 2000
    var number = 0
    func take(_ count: Int) -> String {
      number += count
      return (number - count + 1...number).map { line($0) }.joined()
    }
    // The notifications still in the spool at a kill: these may arrive twice.
    var unsettled = 0
    var random = SeededRandom(for: "the times of the kills")
    for kill in 0..<kills {
      if kill % 25 == 0 { try box.drop(take(lines), as: "many-\(kill)") }
      for _ in 1...20 { try box.drop(take(1), as: "one-\(number)") }
      let agent = try box.agent(gateway, ["settle=100ms"])
      // Three of four agents are killed after they have connected, the others at any time.
      if kill % 4 != 0 { try agent.line("connected to", in: .errors) }
      usleep(.random(in: 0...250_000, using: &random))
      agent.kill()
      #expect(agent.status == 128 + SIGKILL, "\(agent.errors)")
      for name in box.queued { unsettled += name.hasPrefix("many") ? lines : 1 }
    }
    #expect(number == Self.count)
    let last = try box.deliver(gateway)
    let time = ContinuousClock.now - start
    try gateway.readsAll()
    let tally = try Tally(gateway.record, count: Self.count, in: box)
    let words = "\(tally), \(unsettled) unsettled\n\(last.errors)"
    try Table.add("kill -9, \(kills) times", Way.independent.rawValue, tally, time)
    #expect(last.status == 0, "\(words)")
    #expect(tally.lost == 0, "\(words)")
    #expect(tally.duplicatesWithin == 0, "\(words)")
    #expect(tally.duplicates <= unsettled, "\(words)")
    #expect(tally.connections > kills / 2, "most were connected: \(words)")
    #expect(box.queued + box.names(in: "failed") == [])
  }

  @Test func `only one of two agents on a spool delivers, and nothing is sent twice`() throws {
    try Self.notifications.get().fill(box)
    let gateway = try Gateway(in: box)
    let start = ContinuousClock.now
    let first = try box.agent(gateway, ["settle=1s"])
    try first.line("connected to", in: .errors)
    while !box.queued.isEmpty {
      let second = try box.deliver(gateway)
      #expect(second.status == 75)
      #expect(second.errors.contains("\(box.spool): in use by another agent"))
    }
    #expect(try first.terminate() == 0)
    try gateway.readsAll()
    let tally = try Tally(gateway.record, count: Self.count, in: box)
    try Table.add(
      "two agents on one spool", Way.independent.rawValue, tally, ContinuousClock.now - start)
    #expect(tally.lost == 0, "\(tally)")
    #expect(tally.duplicates == 0, "\(tally)")
    #expect(tally.connections == 1 + Self.barriers, "\(tally)")
    try #expect(Totals(first.errors).delivered == Self.count)
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

// MARK: - Gateways with a fault

/// A gateway that plays the fault of a row, and the port through which the agent reaches it.
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

  func tally(in box: Box) throws -> Tally {
    if let gateway { return try Tally(gateway.record, count: FaultTests.count, in: box) }
    let sandbox = try #require(sandbox)
    #expect(try sandbox.child.terminate() == 0)
    let tally = try Tally(sandbox.child.outputPath, count: FaultTests.count, in: box)
    #expect(tally.faults == 1)
    return tally
  }
}
