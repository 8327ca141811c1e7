import Foundation
import Testing

/// The binary gateway's refusals, shutdowns and failures: no valid notification is lost.
///
/// Each row is one way in which the gateway misbehaves. Each delivers 1,000 files of one line and
/// one file of 1,000 lines.
@Suite(.sideBySide) struct AnswerTests {
  private static let count = 2000
  private static let bad = 1000
  private static let late = 1500
  private static let notifications = Result {
    try NotificationSet.plain(files: 1000, lines: count - 1000, in: Shared.directory() + "/answers")
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var script: [String]
    var settings: [String] = []
    /// The words that the log must contain.
    var words = ""
    init(_ name: String, _ script: [String], _ settings: [String] = [], says words: String = "") {
      testDescription = name
      self.script = script
      self.settings = settings
      self.words = words
    }
  }

  private func deliver(_ row: Row, _ check: (Box, NotificationSet, Gateway, Child) throws -> Void)
    throws
  {
    let box = try Box()
    defer { box.end() }
    let notifications = try Self.notifications.get()
    try notifications.fill(box)
    let gateway = try Gateway(in: box, row.script)
    let settings = ["settle=1m"] + row.settings
    let agent: Child
    if row.script.contains("--hang") {
      let clocks = try Clocks(in: box, [.awake])
      agent = try box.start(
        Build.command(Build.host) + ["run", "--once"] + box.settings(gateway.port, settings),
        environment: clocks.environment)
      try wait(for: "the first connection") {
        try agent.hasEnded || !gateway.events("hang").isEmpty
      }
      try clocks.pass(301, for: agent) { agent.errors.contains(row.words) }
      try agent.wait()
    } else {
      agent = try box.deliver(gateway, settings)
    }
    #expect(box.queued == [])
    #expect(row.words.isEmpty || agent.errors.contains(row.words), "\(agent.errors)")
    try check(box, notifications, gateway, agent)
  }

  // MARK: - Refusals

  private static func refusing(_ number: Int, _ status: Int = 8) -> [String] {
    ["--reject", "\(token(number))=\(status)"]
  }

  @Test(arguments: [
    Row("in a file of its own", refusing(bad), says: "the service refused it: invalid token;"),
    Row("in a large file", refusing(late), says: "the service refused it: invalid token;"),
    Row("the first", refusing(1), says: "the service refused it: invalid token;"),
    Row("the last", refusing(count), says: "the service refused it: invalid token;"),
    Row("with status 128", refusing(bad, 128), says: "the service refused it: protocol error;"),
    Row("byte by byte", refusing(bad) + ["--answer-bytes", "1"]),
    Row("late, and within settle", refusing(bad) + ["--delay-answer", "1.5"], ["settle=1m"]),
    Row("with a reset behind it", refusing(bad) + ["--reset"]),
    Row("and the connection just ends", refusing(bad) + ["--abrupt"]),
    Row("in the legacy format", refusing(bad), ["format=1"]),
  ])
  func `a refused notification goes to failed/, and all others arrive once`(row: Row) throws {
    try deliver(row) { box, notifications, gateway, agent in
      #expect(agent.status == 65)
      let number = try #require(
        [Self.bad, Self.late, 1, Self.count].first {
          row.script.contains { [value = token($0)] in $0.hasPrefix(value) }
        })
      let arguments =
        ["--refused", token(number)] + (row.settings.contains("format=1") ? ["--format", "1"] : [])
      try #expect(
        gateway.compare(.accepted, with: notifications.paths, in: box, arguments)
          == "1999 notifications, byte for byte")
      let name = number > 1000 ? "many" : String("000000\(number)".suffix(6))
      #expect(box.names(in: "failed") == [name])
      let failures = try box.failures(name)
      #expect(failures.map { $0["token"] as? String } == [token(number)])
      #expect(failures.allSatisfy { ($0["reason"] as? String)?.contains("refused") == true })
      let status = row.testDescription.hasSuffix("128") ? 128 : 8
      #expect(failures.allSatisfy { $0["status"] as? Int == status })
    }
  }

  @Test func `twenty refused notifications go to failed/, and all others arrive once`() throws {
    let numbers = (1...20).map { $0 * 97 }
    try deliver(Row("", numbers.flatMap { Self.refusing($0) })) {
      box, notifications, gateway, agent in
      #expect(agent.status == 65)
      try #expect(
        gateway.compare(
          .accepted, with: notifications.paths, in: box,
          numbers.flatMap { ["--refused", token($0)] })
          == "1980 notifications, byte for byte")
      let failed = try box.names(in: "failed").flatMap { try box.failures($0) }
      #expect(failed.map { $0["token"] as? String } == numbers.map { token($0) })
    }
  }

  // MARK: - Lost connections

  @Test(arguments: [1, 700, 1500, 2000])
  func `a shutdown of the gateway neither loses nor repeats a notification`(after: Int) throws {
    let row = Row(
      "", ["--first", "1", "--shutdown-after", "\(after)"], says: "is shutting down")
    try deliver(row) { box, notifications, gateway, agent in
      #expect(agent.status == 0)
      #expect(box.names(in: "failed") == [])
      try #expect(
        gateway.compare(.accepted, with: notifications.paths, in: box)
          == "2000 notifications, byte for byte")
    }
  }

  private static func closing(_ after: Int, _ more: String...) -> [String] {
    ["--first", "1", "--close-after", "\(after)"] + more
  }

  @Test(arguments: [
    Row("a silent close", closing(700), says: "it is uncertain whether"),
    Row("a silent close in a large file", closing(1500), says: "it is uncertain whether"),
    Row("a silent close at the first", closing(1), says: "it is uncertain whether"),
    Row("a silent close at the last", closing(2000)),
    Row("a close without goodbye", closing(700, "--abrupt")),
    Row("a reset", closing(700, "--reset")),
    Row("five resets", ["--first", "5", "--close-after", "300", "--reset"]),
    Row("no handshake", ["--first", "1", "--hang"], ["connect-timeout=5m"], says: "timed out"),
    Row("status 9", ["--first", "1"] + refusing(bad, 9), says: "undocumented (status 9)"),
    Row(
      "identifier 0", ["--first", "1"] + refusing(bad) + ["--answer-identifier", "0"],
      says: "for notification 0"),
    Row(
      "an identifier that was never sent",
      ["--first", "1"] + refusing(bad) + ["--answer-identifier", "4000000000"],
      says: "for notification 4000000000"),
    Row("half an answer", closing(700, "--last-words", "080800")),
    Row("half an answer and a reset", closing(700, "--last-words", "080800", "--reset")),
    Row(
      "a web server's answer", closing(700, "--last-words", "485454502f312e3120343030"),
      says: "first byte 72"),
    Row("zeros", closing(700, "--last-words", "000000000000"), says: "first byte 0"),
    Row("an answer after which it goes on", closing(700, "--last-words", "0808000002bcff")),
  ])
  func `a connection that ends in any other way loses no notification`(row: Row) throws {
    try deliver(row) { box, notifications, gateway, agent in
      // The row with a valid answer refuses number 700, which the gateway has accepted before.
      let isRefused = row.testDescription.hasPrefix("an answer after")
      #expect(agent.status == (isRefused ? 65 : 0), "\(agent.errors)")
      #expect(box.names(in: "failed") == (isRefused ? ["000700"] : []))
      try #expect(
        gateway.compare(.accepted, with: notifications.paths, in: box, ["--repeats"])
          == "2000 notifications, byte for byte")
    }
  }

  @Test func `run --once keeps the files and says to try again later if no gateway listens`() throws
  {
    try box.drop(line(1), as: "one")
    let gateway = try Gateway(in: box)
    gateway.child.kill()
    let agent = try box.deliver(gateway)
    #expect(agent.status == 75)
    #expect(agent.errors.contains("nothing listens there"))
    #expect(agent.errors.contains("try again later"))
    #expect(box.queued == ["one"])
  }
}
