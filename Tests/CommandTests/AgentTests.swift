import Foundation
import Testing

/// The agent as a service that runs all the time.
@Suite(.sideBySide) struct AgentTests {
  /// The ways in which a notification file enters the spool.
  enum Way: String, CaseIterable, Sendable { case mv, cp, send }

  @Test(arguments: Way.allCases)
  func `the agent delivers a new file on an idle connection`(way: Way) throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway)
    try box.drop(line(1, "first"), as: "first")
    try gateway.accepts("first")
    switch way {
    case .mv: try box.drop(line(2, "second"), as: "second")
    case .cp:
      let file = try box.write(line(2, "second"), to: "second.json")
      try box.run(["cp", file, box.spool + "/new/"])
    case .send:
      let sent = try box.tinypush(
        "send", "second", "--token", token(2), "-o", "spool=" + box.spool)
      #expect(sent.status == 0)
    }
    try gateway.accepts("second")
    #expect(try agent.terminate() == 0)
    #expect(agent.errors.contains("2 delivered"))
    try #expect(gateway.events("open").count == 1)
    #expect(box.queued + box.names(in: "failed") == [])
  }

  @Test func `files leave the spool after the settle time`() throws {
    for number in 1...5 { try box.drop(line(number, "alert \(number)"), as: "\(number)") }
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    try gateway.accepts("alert 5")
    try #expect(gateway.alerts(in: box) == (1...5).map { "alert \($0)" })
    // The agent sent no barrier: the connection is unchanged.
    try #expect(gateway.events("answer").isEmpty)
    #expect(try agent.terminate() == 0)
  }

  @Test func `SIGTERM makes the agent confirm and remove what it has sent`() throws {
    let notifications = try NotificationSet.plain(
      files: 50, lines: 50, in: box.path + "/notifications")
    try notifications.fill(box)
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=1h"])
    try gateway.accepts("Tank 100")
    #expect(box.queued.count == 51, "nothing has been confirmed yet")
    #expect(try agent.terminate() == 0)
    #expect(agent.errors.contains("100 delivered (100 proved)"))
    #expect(box.queued + box.names(in: "failed") == [])
    try #expect(
      gateway.compare(.accepted, with: notifications.paths, in: box)
        == "100 notifications, byte for byte")
  }

  @Test func `a run that a signal ends before everything is delivered exits with 75`() throws {
    try box.drop(line(1), as: "1")
    let gateway = try Gateway(in: box)
    gateway.child.kill()
    let agent = try box.start(
      Build.command(Build.host) + ["run", "--once"] + box.settings(gateway.port))
    try agent.line("nothing listens there", in: .errors)
    #expect(try agent.terminate() == 75)
    #expect(agent.errors.contains("; the rest stays in the spool: try again later"))
    #expect(box.queued == ["1"])
  }

  @Test func `killing the agent in the middle of a delivery loses no notification`() throws {
    let notifications = try NotificationSet.plain(
      files: 1000, lines: 1000, in: box.path + "/notifications")
    try notifications.fill(box)
    let gateway = try Gateway(
      in: box, ["--first", "1", "--shutdown-after", "500", "--delay-answer", "1"])
    let agent = try box.agent(gateway, ["settle=1h"])
    try gateway.accepts(bytes: 20_000)
    agent.kill()
    #expect(!box.queued.isEmpty)
    let again = try box.deliver(gateway)
    #expect(again.status == 0, "\(again.errors)")
    #expect(box.queued + box.names(in: "failed") == [])
    try #expect(
      gateway.compare(.accepted, with: notifications.paths, in: box, ["--repeats"])
        == "2000 notifications, byte for byte")
  }

  @Test func `a second agent on the same spool reports the first and exits with 75`() throws {
    let gateway = try Gateway(in: box)
    let first = try box.agent(gateway)
    try first.line("connected to", in: .errors)
    let second = try box.deliver(gateway)
    #expect(second.status == 75)
    #expect(second.errors.contains("\(box.spool): in use by another agent"))
    try box.drop(line(1, "still here"), as: "one")
    try gateway.accepts("still here")
    #expect(try first.terminate() == 0)
  }

  /// How much of a file has been written when the agent first scans it.
  enum Half: String, CaseIterable, Sendable {
    case nothing, withinAnObject, betweenLines, withinTheSecondLine, largeFile

    var parts: (String, String) {
      let lines = line(1, "slow 1") + line(2, "slow 2")
      let cut =
        switch self {
        case .nothing: 0
        case .withinAnObject: 40
        case .betweenLines: line(1, "slow 1").utf8.count
        case .withinTheSecondLine: line(1, "slow 1").utf8.count + 40
        case .largeFile: 0
        }
      guard self == .largeFile else {
        return (String(lines.prefix(cut)), String(lines.dropFirst(cut)))
      }
      let many = (10..<1500).map { line($0, "many") }.joined()
      return (lines + many.prefix(130_000), many.dropFirst(130_000) + line(3, "slow 3"))
    }
  }

  @Test(arguments: Half.allCases)
  func `the agent delivers a file that is being written only when it is complete`(half: Half) throws
  {
    let (first, second) = half.parts
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    try agent.line("connected to", in: .errors)
    let file = try #require(fopen(box.spool + "/new/slow", "we"))
    fputs(first, file)
    fflush(file)
    try deliverOthers(for: 3, in: box)
    #expect(box.queued == ["slow"])
    fputs(second, file)
    fclose(file)
    try expectAll(of: half, from: gateway, in: box)
    #expect(try agent.terminate() == 0)
  }

  @Test(arguments: [Half.nothing, .withinAnObject, .betweenLines])
  func `an agent that starts delivers a half-written file only when it is complete`(half: Half)
    throws
  {
    let (first, second) = half.parts
    let gateway = try Gateway(in: box)
    let file = try #require(fopen(box.spool + "/new/slow", "we"))
    fputs(first, file)
    fflush(file)
    let agent = try box.agent(gateway, ["settle=300ms"])
    try deliverOthers(for: 3, in: box)
    #expect(box.queued == ["slow"])
    fputs(second, file)
    fclose(file)
    try expectAll(of: half, from: gateway, in: box)
    #expect(try agent.terminate() == 0)
  }

  /// Drops other files all the time, one after the other.
  private func deliverOthers(for seconds: Double, in box: Box) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    var number = 0
    while ContinuousClock.now < end {
      number += 1
      try box.drop(line(number, "later"), as: "x\(number)")
      try wait(for: "x\(number) to leave new/") { !box.queued.contains("x\(number)") }
    }
  }

  private func expectAll(of half: Half, from gateway: Gateway, in box: Box) throws {
    let last = half == .largeFile ? "slow 3" : "slow 2"
    try wait(for: "\"\(last)\" to be accepted") {
      try gateway.alerts(in: box).contains(last)
    }
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(box.names(in: "failed") == [], "\(box.text("spool/failed/slow"))")
    let alerts = try gateway.alerts(in: box)
    #expect(alerts.filter { $0 == "slow 1" }.count == 1)
    #expect(alerts.filter { $0 == last }.count == 1)
  }

  @Test func `a file with the name of one that is being sent is delivered too`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=1s"])
    try box.drop(line(1, "before"), as: "same")
    try gateway.accepts("before")
    try box.drop(line(1, "after"), as: "same")
    try gateway.accepts("after")
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try agent.terminate() == 0)
    try #expect(gateway.alerts(in: box) == ["before", "after"])
    #expect(box.names(in: "failed") == [])
  }

  @Test func `removing a file that the agent is sending does no harm`() throws {
    let gateway = try Gateway(in: box, ["--first", "1", "--close-after", "1"])
    let agent = try box.agent(gateway, ["settle=1h"])
    try box.drop(line(1, "gone"), as: "gone")
    try agent.line("it is uncertain whether", in: .errors)
    #expect(try unlink("\(box.spool)/taken/" + box.names(in: "taken").at(0)) == 0)
    try box.drop(line(2, "next"), as: "next")
    try gateway.accepts("next")
    #expect(try agent.terminate() == 0)
    #expect(box.queued + box.names(in: "failed") == [])
    #expect(!agent.errors.contains("cannot be removed"))
  }

  @Test func `the agent leaves hidden, temporary and non-regular files in new/ alone`() throws {
    let gateway = try Gateway(in: box)
    let left = [".hidden", "backup~", "half.tmp", "half.part"]
    for name in left { try box.write(line(1, "no"), to: "spool/new/\(name)") }
    try FileManager.default.createDirectory(
      atPath: box.spool + "/new/directory", withIntermediateDirectories: true)
    symlink("/etc/passwd", box.spool + "/new/link")
    mkfifo(box.spool + "/new/pipe", 0o644)
    try box.drop(line(2, "yes"), as: "yes")
    let agent = try box.deliver(gateway)
    #expect(agent.status == 0, "\(agent.errors)")
    try #expect(gateway.alerts(in: box) == ["yes"])
    #expect(box.queued == (left + ["directory", "link", "pipe"]).sorted())
    #expect(box.names(in: "failed") == [])
  }

  @Test func `the agent delivers by itself when the gateway is back`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    try box.drop(line(1, "before"), as: "1")
    try gateway.accepts("before")
    gateway.child.kill()
    try agent.line("ended", in: .errors)
    try box.drop(line(2, "meanwhile"), as: "2")
    try agent.line("nothing listens there", in: .errors)
    let back = try Gateway(in: box, ["--port", "\(gateway.port)"], name: "back")
    try back.accepts("meanwhile")
    #expect(try agent.terminate() == 0)
    #expect(box.queued + box.names(in: "failed") == [])
  }
}
