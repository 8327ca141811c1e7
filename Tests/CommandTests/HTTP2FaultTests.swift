import Foundation
import Testing

/// Faults at the thousandth request over HTTP/2 lose nothing: the rows for HTTP/2 of the table in docs/measurements.md.
///
/// The agent delivers 20,000 notifications for the table, and 2,000 otherwise.
@Suite(.sideBySide) struct HTTP2FaultTests {
  private static let count = Table.isMade ? 20_000 : 2000
  private static let files = count / 20
  private static let notifications = Result {
    try NotificationSet.plain(
      files: files, lines: count - files, in: Shared.directory() + "/http2faults")
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The fault as http2gateway.py's `--fault`.
    var fault: String
    var settings: [String] = []
    /// Whether the result of the requests without an answer is unknown.
    var isUncertain = false
  }

  /// The last request that the service answers with trouble.
  ///
  /// After such an answer the agent sends one request at a time and doubles its pause each time. If
  /// few requests are open, each troubled request may be one of these: hence the low number.
  private static let last = 1005

  static let rows = [
    Row(testDescription: "cut", fault: "cut-lost@1000", isUncertain: true),
    Row(testDescription: "GOAWAY", fault: "goaway-refusing@1000"),
    Row(
      testDescription: "stall (`answer-timeout = 2s`)", fault: "stall=accepted@1000",
      settings: ["answer-timeout=2s"], isUncertain: true),
    Row(testDescription: "refused streams", fault: "refuse@1000..\(last)"),
    Row(testDescription: "429", fault: "too-many-requests=1@1000"),
    Row(testDescription: "503", fault: "unavailable@1000..\(last)"),
    Row(testDescription: "500", fault: "internal-error@1000..\(last)"),
  ]

  @Test func `run --once does not wait for hours until a device takes more`() throws {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", "too-many-requests=7200@2"])
    for number in 1...3 { try box.drop(line(number, "alert \(number)"), as: "\(number)") }
    let agent = try box.start(Self.command(gateway.port, in: box))
    #expect(try agent.wait() == 75, "\(agent.errors)")
    #expect(box.queued == ["2"])
    #expect(try Totals(agent.errors).delivered == 2, "\(agent.errors)")
  }

  /// The way to the service: direct, or through a slow proxy.
  enum Way: String, CaseIterable, Sendable {
    case near, distant
  }

  /// HTTP2Tests plays the same faults on the direct way.
  private static let ways: [Way] = Table.isMade ? Way.allCases : [.distant]

  @Test(arguments: rows, ways)
  func `a fault over HTTP/2 loses no notification and repeats only uncertain ones`(
    row: Row, way: Way
  )
    throws
  {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", row.fault])
    let port = way == .distant ? try Proxy(in: box, to: gateway.port).port : gateway.port
    try Self.notifications.get().fill(box)
    let start = ContinuousClock.now
    let agent = try box.start(Self.command(port, row.settings, in: box))
    try agent.wait()
    let time = ContinuousClock.now - start
    let tally = try Tally(gateway.record, count: Self.count, in: box)
    let words = "\(tally)\n\(agent.errors)"
    try Table.add("HTTP/2: " + row.testDescription, way.rawValue, tally, time)

    #expect(agent.status == 0, "\(words)")
    #expect(tally.faults == 1, "\(words)")
    #expect(tally.lost == 0, "\(words)")
    #expect(tally.refused == [], "\(words)")
    #expect(row.isUncertain || tally.duplicates == 0, "\(words)")
    #expect(try Totals(agent.errors).delivered == Self.count, "\(words)")
    #expect(box.queued + box.names(in: "failed") == [])
  }
  private static func command(
    _ port: Int, _ settings: [String] = [], in box: Box
  ) throws -> [String] {
    try Build.command(Build.host) + ["run", "--once"]
      + box.http2Settings(port, .certificate, settings)
  }
}
