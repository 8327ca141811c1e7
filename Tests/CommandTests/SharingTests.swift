import Foundation
import Testing

/// Boxes that share a broker's messages, while boxes and the broker fail.
@Suite(.sideBySide) struct SharingTests {
  private static let rows = [
    "fleet", "bridge", "takeover", "long", "queue", "restart", "crash", "saved",
    "expiry",
  ]

  /// One row of `make fleet`, with fewer messages.
  @Test(arguments: rows) func `messages are lost only where the manual page says so`(
    row: String
  ) throws {
    var random = SeededRandom(for: "the kills of the row \(row)")
    let run = try box.run([
      "python3", Build.package + "/Tests/Benchmarks/fleet", "\(Build.directory)/\(Build.host)",
      "--json", "--only", row, "--messages", "5000", "--kills", "12", "--bridge-kills", "20",
      "--seed", "\(random.next() >> 32)",
    ])
    #expect(run.status == 0, "\(run.errors)")
    let found = try #require(try objects(run.output).first)
    #expect(found["faults"] as? [String] == [])
    let kills = (found["kills"] as? [String: Int] ?? [:]).values.reduce(0, +)
    #expect(kills == ["fleet": 12, "bridge": 20][row] ?? 0)
  }

  @Test func `takeover wants the client ID of a box with a session`() throws {
    let broker = try Mosquitto(in: box)
    try box.rules(broker, "subscribe = $share/tinypush/alerts/#\n[alerts/#]\nalert = {payload}\n")
    let takeover = [
      Box.bridge, "takeover", "--rules", box.path + "/mqtt.conf", "-o", "spool=" + box.spool,
    ]
    #expect(try box.run(takeover).status == 64)
    let unknown = try box.run(takeover + ["tinypush-nowhere"])
    #expect(unknown.status == 66)
    #expect(unknown.errors.contains("keeps nothing for the client ID tinypush-nowhere"))
  }

  @Test(arguments: [
    (isThere: false, says: "cannot connect to the broker"),
    (isThere: true, says: "the broker refused the connection: not authorized"),
  ])
  func `takeover ends if the broker cannot be reached or refuses`(isThere: Bool, says: String)
    throws
  {
    let broker = try Mosquitto(in: box, "allow_anonymous false")
    try box.rules(broker, "subscribe = $share/tinypush/alerts/#\n[alerts/#]\nalert = {payload}\n")
    if !isThere { broker.kill() }
    let takeover = try box.run([
      Box.bridge, "takeover", "--rules", box.path + "/mqtt.conf", "-o", "spool=" + box.spool,
      "tinypush-cellar",
    ])
    #expect(takeover.status == 69)
    #expect(takeover.errors.contains(says), "\(takeover.errors)")
  }
}
