import Foundation
import Testing

/// Programs that write to the spool in different ways lose no notification and cause no duplicate.
@Suite(.sideBySide) struct ProducerTests {
  /// The users that the agent and the producers run as.
  enum Users: String, CaseIterable, Sendable {
    /// The same user: the agent can see which processes have a file open.
    case same
    /// Different users: the agent cannot see the open files of the producers.
    case different
  }

  private struct Made: Decodable {
    var made: Int
    var failures: [String]
  }

  @Test(arguments: Users.allCases)
  func `the notifications of each kind of producer arrive once`(users: Users) throws {
    let gateway = try Gateway(in: box)
    let agent: Child
    switch users {
    case .same: agent = try box.agent(gateway, ["settle=1s", "rescan=5s"])
    case .different: agent = try box.startAsPackaged(gateway, ["settle=1s", "rescan=5s"])
    }
    try agent.line("connected to", in: .errors)
    let producers = try box.start(box.producing(as: users))
    let status = try producers.wait()
    #expect(status == 0, "\(producers.errors)\(producers.output)")
    let made = try JSONDecoder().decode(Made.self, from: Data(producers.output.utf8))
    #expect(made.failures == [])
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try agent.terminate() == 0)
    try gateway.readsAll()
    let tally = try Tally(gateway.record, count: made.made, in: box)
    #expect(tally.lost == 0, "\(tally.firstLost)")
    #expect(tally.duplicates == 0)
    #expect(box.names(in: "failed") == [])
  }

  @Test(arguments: Users.allCases)
  func `killing the agent while producers write loses no notification`(users: Users) throws {
    var chance = SeededRandom(for: "an agent that is killed while producers write")
    let gateway = try Gateway(in: box)
    if users == .different { try box.giveSpoolAsPackaged() }
    let producers = try box.start(box.producing(as: users))
    var kills = 0
    while !producers.hasEnded || kills <= 2 {
      let agent =
        try users == .same
        ? box.agent(gateway, ["settle=300ms", "rescan=5s"])
        : box.startAsPackaged(gateway, ["settle=300ms", "rescan=5s"])
      try agent.line("connected to", in: .errors)
      usleep(.random(in: 0..<900_000, using: &chance))
      agent.kill()
      kills += 1
    }
    let made = try JSONDecoder().decode(Made.self, from: Data(producers.output.utf8))
    #expect(made.failures == [])
    let agent =
      try users == .same
      ? box.agent(gateway, ["settle=300ms", "rescan=5s"])
      : box.startAsPackaged(gateway, ["settle=300ms", "rescan=5s"])
    try agent.line("connected to", in: .errors)
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try agent.terminate() == 0)
    try gateway.readsAll()
    let tally = try Tally(gateway.record, count: made.made, in: box)
    #expect(tally.lost == 0, "\(tally.firstLost), \(kills) kills")
    #expect(box.names(in: "failed") == [])
  }

  @Test func `a file written again with the same text is another notification`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=2s"])
    try agent.line("connected to", in: .errors)
    for number in 1...3 {
      try writeFile(line(1, "Alarm"), to: box.spool + "/new/alarm")
      try wait(for: "alarm \(number)") { try gateway.alerts(in: box).count == number }
    }
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try agent.terminate() == 0)
    try #expect(gateway.alerts(in: box) == ["Alarm", "Alarm", "Alarm"])
  }
}

extension Box {
  /// Returns the command that runs the producers.
  fileprivate func producing(as users: ProducerTests.Users) -> [String] {
    let command = ["python3", Build.tools + "/producers.py", spool]
    // The user's Python may be in root's home, which another user may not read.
    return users == .same ? command : asMember + ["/usr/bin/" + command[0]] + command.dropFirst()
  }

  /// The start of a command that runs the rest as a mere member of the spool's group.
  var asMember: [String] { ["setpriv", "--reuid=12345", "--regid=12345", "--groups=65534"] }

  /// Gives the spool to `nobody`, with the modes of the package.
  func giveSpoolAsPackaged() throws {
    try #require(geteuid() == 0, "needs root")
    try giveSpoolToNobody()
    for name in ["", "/failed"] { chmod(spool + name, 0o2750) }
    for name in ["/tmp", "/new"] { chmod(spool + name, 0o3770) }
  }

  /// Starts an agent as `nobody`, with the rights that it has in the package.
  func startAsPackaged(_ gateway: Gateway, _ settings: [String] = []) throws -> Child {
    try giveSpoolAsPackaged()
    let key = path + "/agent.key"
    if !FileManager.default.fileExists(atPath: key) {
      try FileManager.default.copyItem(atPath: Certificates.path("client.key"), toPath: key)
      chown(key, 65534, 65534)
    }
    return try start(
      ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        + Build.command(Build.host) + ["run"]
        + self.settings(gateway.port, settings + ["key=" + key]))
  }
}
