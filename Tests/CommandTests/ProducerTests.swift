import Foundation
import Testing

/// Programs that put notifications into the spool, each in its own way: none is lost, and none is sent twice.
@Suite(.sideBySide) struct ProducerTests {
  /// Who the agent and the producers are.
  enum Users: String, CaseIterable, Sendable {
    /// The agent may ask who has a file open.
    case same
    /// The agent is another user, and may not.
    case different
  }

  private struct Made: Decodable {
    var made: Int
    var failures: [String]
  }

  @Test(arguments: Users.allCases)
  func `the notifications of each kind of program arrive once`(users: Users) throws {
    let box = try Box()
    defer { box.end() }
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
    try wait(for: "new/ to become empty") { box.names(in: "new").isEmpty }
    #expect(try agent.terminate() == 0)
    try gateway.hearsAll()
    let truth = try Truth(gateway.record, count: made.made, in: box)
    #expect(truth.lost == 0, "\(truth.firstLost)")
    #expect(truth.duplicates == 0)
    #expect(box.names(in: "failed") == [])
    // Where the agent may not ask, what was written in new/ stays out of sight for some time.
    if users == .same { #expect(box.names(in: "leaving") == []) }
  }

  @Test(arguments: Users.allCases)
  func `nothing is lost when the agent is killed while programs write`(users: Users) throws {
    var chance = Chance(for: "an agent that is killed while programs write")
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box)
    if users == .different { try box.giveAwayAsPackaged() }
    let producers = try box.start(box.producing(as: users))
    var kills = 0
    while !producers.hasEnded {
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
    #expect(kills > 2)
    let agent =
      try users == .same
      ? box.agent(gateway, ["settle=300ms", "rescan=5s"])
      : box.startAsPackaged(gateway, ["settle=300ms", "rescan=5s"])
    try agent.line("connected to", in: .errors)
    try wait(for: "new/ to become empty") { box.names(in: "new").isEmpty }
    #expect(try agent.terminate() == 0)
    try gateway.hearsAll()
    let truth = try Truth(gateway.record, count: made.made, in: box)
    #expect(truth.lost == 0, "\(truth.firstLost), \(kills) kills")
    #expect(box.names(in: "failed") == [])
  }

  @Test func `the same text that is written once more is another notification`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=2s"])
    try agent.line("connected to", in: .errors)
    for number in 1...3 {
      try writeFile(line(1, "Alarm"), to: box.spool + "/new/alarm")
      try wait(for: "alarm \(number)") { try gateway.alerts(in: box).count == number }
    }
    try wait(for: "new/ to become empty") { box.names(in: "new").isEmpty }
    #expect(try agent.terminate() == 0)
    try #expect(gateway.alerts(in: box) == ["Alarm", "Alarm", "Alarm"])
  }
}

extension Box {
  /// The command that plays the programs.
  fileprivate func producing(as users: ProducerTests.Users) -> [String] {
    let command = ["python3", Build.tools + "/producers.py", spool]
    // Another user may not look into root's home, where root's Python may be.
    return users == .same ? command : asMember + ["/usr/bin/" + command[0]] + command.dropFirst()
  }

  /// A user who is a member of the spool's group, and has no other rights.
  var asMember: [String] { ["setpriv", "--reuid=12345", "--regid=12345", "--groups=65534"] }

  /// Gives the spool to the agent's user, with the modes that the package has.
  func giveAwayAsPackaged() throws {
    try #require(geteuid() == 0, "who else could give them away")
    try giveAway()
    for name in ["", "/failed"] { chmod(spool + name, 0o2750) }
    for name in ["/tmp", "/new"] { chmod(spool + name, 0o3770) }
  }

  /// Starts an agent of another user than the writers', with the rights that it has in the package.
  func startAsPackaged(_ gateway: Gateway, _ settings: [String] = []) throws -> Child {
    try giveAwayAsPackaged()
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
