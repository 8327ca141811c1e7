import Foundation
import Testing

/// The agent over HTTP/2, and a service at which something goes wrong at the thousandth request: nothing is lost. The other
/// rows of the table in docs/measurements.md; a smaller count serves where no table is made.
@Suite(.sideBySide) struct HTTP2FaultTests {
  private static let count = Table.isMade ? 20_000 : 2000
  private static let files = count / 20
  private static let sheaf = Result {
    try Sheaf.plain(files: files, lines: count - files, in: Shared.directory() + "/http2faults")
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// As http2gateway.py is told.
    var fault: String
    var settings: [String] = []
    var identity = Identity.certificate
    /// Whether nobody can know what became of the requests that have no answer.
    var isUncertain = false
  }

  /// The last request that an answer tells of trouble. The agent tries one request after such an answer, and waits twice as long
  /// before each: where few are under way, each of these may be such a try.
  private static let last = Table.isMade ? 1100 : 1005

  static let rows = [
    Row(testDescription: "cut", fault: "cut-lost@1000", isUncertain: true),
    Row(testDescription: "GOAWAY", fault: "goaway-refusing@1000"),
    Row(
      testDescription: "stall (`answer-timeout = 2s`)", fault: "stall=accepted@1000",
      settings: ["answer-timeout=2s"], isUncertain: true),
    Row(testDescription: "refused streams", fault: "refuse@1000..1100"),
    Row(testDescription: "429", fault: "too-many-requests=1@1000"),
    Row(testDescription: "503", fault: "unavailable@1000..\(last)"),
    Row(testDescription: "500", fault: "internal-error@1000..\(last)"),
    Row(testDescription: "expired JWT", fault: "expired-token=token@1000", identity: .token),
  ]

  /// How far away the service is.
  enum Way: String, CaseIterable, Sendable {
    case near, distant
  }

  @Test(arguments: rows, Way.allCases)
  func `nothing is lost, and only what nobody knows of is repeated`(row: Row, way: Way)
    throws
  {
    let box = try Box()
    defer { box.end() }
    let gateway = try HTTP2Gateway(in: box, row.identity, ["--fault", row.fault])
    let port = way == .distant ? try Proxy(in: box, to: gateway.port).port : gateway.port
    if row.identity == .token { try keepOldToken(in: box) }
    try Self.sheaf.get().fill(box)
    let start = ContinuousClock.now
    let agent = try box.start(Self.command(row.identity, port, row.settings, in: box))
    try agent.wait()
    let time = ContinuousClock.now - start
    let truth = try Truth(gateway.record, count: Self.count, in: box)
    let words = "\(truth)\n\(agent.errors)"
    try Table.add("HTTP/2: " + row.testDescription, way.rawValue, truth, time)

    #expect(agent.status == 0, "\(words)")
    #expect(truth.lost == 0, "\(words)")
    #expect(truth.refused == [], "\(words)")
    #expect(row.isUncertain || truth.duplicates == 0, "\(words)")
    #expect(try Sum(agent.errors).delivered == Self.count, "\(words)")
    #expect(box.names(in: "new") + box.names(in: "failed") == [])
  }
  private static func command(
    _ identity: Identity, _ port: Int, _ settings: [String] = [], in box: Box
  ) throws -> [String] {
    try Build.command(Build.host) + ["run", "--once"]
      + box.http2Settings(port, identity, settings)
  }

  /// Lets an agent make a provider token 40 minutes ago, which may be replaced by now.
  private func keepOldToken(in box: Box) throws {
    let gateway = try HTTP2Gateway(in: box, .token, name: "earlier")
    let clock = box.path + "/clock.so"
    try box.run(["cc", "-shared", "-fPIC", Build.tools + "/clock.c", "-o", clock])
    try box.drop(line(1), as: "earlier")
    let then = Int(Date().timeIntervalSince1970) - 2400
    let agent = try box.run(
      Self.command(.token, gateway.port, in: box),
      environment: ["LD_PRELOAD": clock, "CLOCK": "\(then)"])
    #expect(agent.status == 0, "\(agent.errors)")
  }
}
