import Foundation
import Testing

/// The gateway's statuses, and their effect on the log, failed/ and the counters.
///
/// The gateway answers the second of three notifications.
@Suite(.sideBySide) struct StatusTests {
  /// How the agent runs.
  enum Way: String, CaseIterable, Sendable { case once, service }

  /// The result of the three notifications.
  private struct Aftermath {
    var log: String
    /// The record of the second notification in failed/.
    var failure: [String: Any]?
    /// The agent's counters, with the names of `tinypush status --json`.
    var counters: [String: Int]
    /// The texts of the accepted alerts.
    var accepted: [String]
  }

  private func send(_ way: Way, _ script: [String], expecting status: Int32) throws -> Aftermath {
    let box = try Box()
    defer { box.end() }
    for number in 1...3 { try box.drop(line(number, "\(number)"), as: "\(number)") }
    let gateway = try Gateway(in: box, script)
    let page = "status=" + box.path + "/page"
    // The time of `settle` passes only while nothing else can happen.
    let clocks = try Clocks(in: box, [.awake])
    let command =
      try Build.command(Build.host) + ["run"] + (way == .once ? ["--once"] : [])
      + box.settings(gateway.port, [page, "settle=1h"])
    let agent = try box.start(command, environment: clocks.environment)
    try clocks.pass(3601, for: agent, and: gateway.child) {
      way == .once ? agent.hasEnded : box.queued.isEmpty
    }
    if way == .service { agent.signal(SIGTERM) }
    #expect(try agent.wait() == (way == .once ? status : 0), "\(agent.errors)")
    #expect(box.queued == [])
    try gateway.readsAll()
    let shown = try objects(box.tinypush("status", "--json", "-o", page).output).at(0)
    #expect(box.names(in: "failed") == (status == 65 ? ["2"] : []))
    return Aftermath(
      log: agent.errors, failure: try box.failures("2").first,
      counters: shown.compactMapValues { $0 as? Int }, accepted: try gateway.alerts(in: box))
  }

  // MARK: - Refusals

  struct Row: Sendable, CustomTestStringConvertible {
    var status: Int
    var words: String
    var advice: String
    var testDescription: String { "status \(status)" }
    init(_ status: Int, _ words: String, _ advice: String) {
      (self.status, self.words, self.advice) = (status, words, advice)
    }
  }

  private static let topic = "check that the certificate is a push certificate of this app"
  private static let again = "send it again; if it is refused again, look at the payload"

  @Test(
    arguments: [
      Row(1, "processing error", again),
      Row(2, "missing device token", again),
      Row(3, "missing topic", topic),
      Row(4, "missing payload", again),
      Row(5, "invalid token size", "over the binary protocol a device token has 64 hex digits"),
      Row(6, "invalid topic size", topic),
      Row(
        7, "invalid payload size",
        "the gateway accepts only smaller payloads: set payload-limit to its limit"),
      Row(
        8, "invalid token",
        "the token belongs to another app, or to the other environment (production, development), or is made up. Nothing more is sent to it: correct this, then run tinypush token register \(token(2))"
      ),
      Row(255, "unknown", again),
    ], Way.allCases)
  func `a refusal is reported in words with the remedy`(row: Row, way: Way) throws {
    let after = try send(way, ["--reject", "\(token(2))=\(row.status)"], expecting: 65)
    #expect(after.accepted.sorted() == ["1", "3"])
    #expect(
      after.failure?["reason"] as? String
        == "the service refused it: \(row.words); \(row.advice)")
    #expect(after.failure?["status"] as? Int == row.status)
    #expect(after.failure?["token"] as? String == token(2))
    let words = "not delivered: the service refused it: \(row.words); \(row.advice)"
    #expect(after.log.count(of: words) == 1, "\(after.log)")
    #expect(after.log.contains("2 delivered"), "\(after.log)")
    #expect(after.log.contains("1 failed"), "\(after.log)")
    #expect(after.counters["refused"] == 1)
    #expect(after.counters["failed_check"] == 0)
    #expect(after.counters["uncertain"] == 0)
    #expect(after.counters["connections"] == 2)
    #expect(
      (after.counters["settled_by_proof"] ?? 0) + (after.counters["settled_by_time"] ?? 0) == 2)
  }

  // MARK: - Other statuses

  @Test(arguments: Way.allCases)
  func `a shutdown does not count as a refusal`(way: Way) throws {
    let after = try send(way, ["--first", "1", "--shutdown-after", "2"], expecting: 0)
    #expect(after.accepted == ["1", "2", "3"])
    #expect(after.log.count(of: "the gateway is shutting down; reconnecting") == 1)
    #expect(after.log.contains("3 delivered"), "\(after.log)")
    #expect(after.counters["refused"] == 0)
    #expect(after.counters["uncertain"] == 0)
    #expect(after.counters["connections"] == 2)
  }

  @Test(arguments: Way.allCases)
  func `status 0 confirms the named notification and keeps the connection`(way: Way)
    throws
  {
    let after = try send(way, ["--no-error"], expecting: 0)
    #expect(after.accepted == ["1", "2", "3"])
    #expect(after.log.contains("3 delivered (3 proved)"), "\(after.log)")
    #expect(after.counters["settled_by_proof"] == 3)
    #expect(after.counters["connections"] == 1)
    #expect(after.counters["repeated"] == 0)
  }

  @Test(arguments: Way.allCases)
  func `a gateway without barrier answers gets nothing twice, and the log says so`(
    way: Way
  ) throws {
    let after = try send(way, ["--mute"], expecting: 0)
    #expect(after.accepted == ["1", "2", "3"])
    let words = "; no answer proves 3 of the deliveries"
    #expect(after.log.contains("3 delivered (0 proved)"), "\(after.log)")
    #expect(after.log.contains(words), "\(after.log)")
    #expect(after.counters["settled_by_time"] == 3)
    #expect(after.counters["uncertain"] == 0)
    #expect(after.counters["repeated"] == 0)
    #expect(after.counters["connections"] == (way == .once ? 2 : 1), "\(after.log)")
  }

  private static let strange = [(9, "undocumented"), (200, "undocumented")]

  @Test(arguments: strange, Way.allCases)
  func `an undocumented status makes all open notifications uncertain`(
    status: (number: Int, words: String), way: Way
  ) throws {
    let script = ["--first", "1", "--reject", "\(token(2))=\(status.number)"]
    let after = try send(way, script, expecting: 0)
    #expect(after.accepted.sorted() == ["1", "1", "2", "3"])
    let words =
      "the gateway answered \(status.words) (status \(status.number)) for notification 2, which tells nothing about what was sent; it is uncertain whether "
    #expect(after.log.count(of: words) == 1, "\(after.log)")
    #expect(after.log.contains("3 delivered"), "\(after.log)")
    #expect(after.counters["refused"] == 0)
    #expect((2...3).contains(after.counters["uncertain"] ?? 0))
    #expect(after.counters["repeated"] == after.counters["uncertain"])
  }

  @Test(arguments: strange)
  func `a notification that always gets an undocumented status goes to failed/`(
    status: (number: Int, words: String)
  ) throws {
    let after = try send(.once, ["--reject", "\(token(2))=\(status.number)"], expecting: 65)
    #expect(Set(after.accepted) == ["1", "3"])
    #expect(
      after.failure?["reason"] as? String
        == "the connection ended each time this notification was sent, without a valid answer, and stayed up without it: look for something unusual in it"
    )
    #expect(after.log.contains("2 delivered"), "\(after.log)")
    #expect(after.counters["refused"] == 1)
  }
}
