import Foundation
import Testing

/// The log of a running agent: the levels of its lines, and repeated lines as a count.
@Suite(.sideBySide) struct LogTests {
  /// The prefix of a log line: time and level in a file, the priority in the journal.
  enum Form: CaseIterable, Sendable {
    case file, journal, elsewhere

    /// Returns the line with the level as a word and without the time.
    func plain(_ line: String) throws -> String {
      if self == .journal {
        let levels = ["3": "error", "4": "warning", "5": "notice", "6": "info"]
        let (_, number, rest) = try #require(line.wholeMatch(of: #/<([3-6])>(.*)/#), "\(line)")
          .output
        let level = try #require(levels[String(number)])
        return "\(level): \(rest)"
      }
      let time = #/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) (.*)/#
      let (_, date, rest) = try #require(line.wholeMatch(of: time), "\(line)").output
      let age = try -Date(String(date), strategy: .iso8601).timeIntervalSinceNow
      #expect((0..<600).contains(age), "\(line)")
      return String(rest)
    }
  }

  @Test(arguments: Form.allCases)
  func `each log line has its level: a word, or the priority in the journal`(form: Form)
    throws
  {
    let clocks = try Clocks(in: box, [.awake])
    let gateway = try Gateway(in: box, ["--reject", token(2)])
    // `elsewhere`: a service whose standard error goes to a file.
    let stream = form == .journal ? "$(stat -Lc %d:%i /proc/self/fd/2)" : "8:12345"
    let prefix = ["sh", "-c", "JOURNAL_STREAM=\(stream) exec \"$@\"", "sh"]
    let agent = try box.start(
      (form == .file ? [] : prefix) + Build.command(Build.host) + ["run"]
        + box.settings(gateway.port, ["settle=1h"]), environment: clocks.environment)
    let address = "localhost:\(gateway.port)"
    func said(_ words: String) throws -> String {
      try form.plain(agent.line(words, in: .errors))
    }
    try #expect(
      said("delivering") == "info: delivering \(box.spool) to \(address)")
    try #expect(said("connected").hasPrefix("info: connected to \(address) (TLS"))
    try box.drop("{\"tokn\": 1}\n", as: "wrong")
    try #expect(
      said("wrong")
        == "warning: wrong not sent: tokn: unknown key; did you mean token? (tinypush queue show wrong)"
    )
    try box.drop(line(2) + line(3, "sound"), as: "refused")
    let refusal = try said("not delivered")
    #expect(
      refusal.hasPrefix(
        "warning: refused to 00000000 not delivered: the service refused it: invalid token;"),
      "\(refusal)")
    try gateway.accepts("sound")
    try clocks.pass(3601, for: agent, and: gateway.child) { box.queued.isEmpty }
    gateway.child.kill()
    try #expect(said(" ended: ").hasPrefix("notice: connection to \(address) ended: "))
    // The gateway may just be ending: then the connection may fail in another way than a refusal.
    let failure = try said("cannot connect")
    #expect(failure.hasPrefix("warning: cannot connect to \(address): "), "\(failure)")
    #expect(try agent.terminate() == 0)
    #expect(try said("stopping").hasPrefix("info: stopping: "))
    #expect(try said("1 delivered").hasPrefix("info: 1 delivered "))
  }

  @Test(arguments: [
    ("127.0.0.1:2195", "127.0.0.1:2195: Network is unreachable"),
    ("gateway.invalid", "gateway.invalid: "),
    ("gateway.invalid:2195", ": is the name right, and is there a network?"),
  ])
  func `the log says so if there is no network`(gateway: String, words: String) throws {
    let agent = try box.start(
      ["unshare", "--user", "--map-root-user", "--net"]
        + Build.command(Build.host) + ["run"] + box.settings(1, ["gateway=" + gateway]))
    let line = try agent.line("cannot connect", in: .errors)
    #expect(try Form.file.plain(line).hasPrefix("warning: cannot connect to \(gateway)"), "\(line)")
    #expect(line.contains(words), "\(line)")
    #expect(try agent.terminate() == 0)
  }

  @Test func `a long line with control characters ends where the next one begins`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["log=deliveries"])
    try box.drop("{}", as: String(repeating: "\u{1}", count: 213))
    try box.drop("{}", as: "second")
    let line = try agent.line("second", in: .errors)
    #expect(!line.contains("x01"), "\(line)")
    #expect(try agent.terminate() == 0)
  }

  @Test func `failed attempts make one log line, and the next line counts them`() throws {
    let gateway = try Gateway(in: box)
    let manager = try NotifySocket(in: box)
    let agent = try box.agent(gateway, environment: manager.environment)
    try manager.receives("STATUS=connected")
    // A gateway that is just ending fails a connection in another way than one that is gone.
    agent.signal(SIGSTOP)
    gateway.child.kill()
    agent.signal(SIGCONT)
    for _ in 1...3 { try manager.receives("STATUS=cannot connect") }
    #expect(agent.errors.count(of: "cannot connect") == 1)
    let back = try Gateway(in: box, ["--port", "\(gateway.port)"], name: "back")
    try manager.receives("STATUS=connected")
    #expect(try agent.terminate() == 0)
    withExtendedLifetime(back) {}
    let again = try agent.line(" attempts", in: .errors)
    #expect(
      try Form.file.plain(again).hasPrefix("info: connected to localhost:\(gateway.port) (TLS"),
      "\(again)")
    let end = /; after \d+ \w+ offline, (\d+) attempts \(after (\d+) more changes in \d+ \w+\)$/
    let (_, attempts, changes) = try #require(again.firstMatch(of: end), "\(again)").output
    #expect(try number(attempts) >= 3)
    #expect(try number(changes) >= 2)
    #expect(agent.errors.count(of: "cannot connect") == 1)
  }

  @Test func `many mistakes and refusals are a few log lines with their count`() throws {
    let refused = 1...4
    let gateway = try Gateway(
      in: box, refused.flatMap { ["--reject", token($0) + "=5"] })
    for number in 1...100 { try box.drop("{\"tokn\": \(number)}\n", as: "b\(number)") }
    try box.drop(refused.map { line($0) }.joined() + line(99, "last"), as: "c")
    let agent = try box.deliver(gateway)
    #expect(agent.status == 65, "\(agent.errors)")
    let mistakes = "not sent: tokn: unknown key; did you mean token?"
    #expect(agent.errors.count(of: mistakes) == 2, "\(agent.errors)")
    #expect(agent.errors.contains(" (99 more times in "))
    let refusal = "not delivered: the service refused it: invalid token size"
    #expect(agent.errors.count(of: refusal) == 2, "\(agent.errors)")
    #expect(agent.errors.contains(" (3 more times in "))
  }

  @Test func `the log reports that new/ is missing and that new/ is back`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["rescan=1s"])
    try agent.line("connected", in: .errors)
    rmdir(box.spool + "/new")
    try #expect(
      Form.file.plain(agent.line("new/ cannot", in: .errors))
        == "error: new/ cannot be read: is it a directory that the agent's user can read, and is the disk healthy?"
    )
    mkdir(box.spool + "/new", 0o755)
    try #expect(
      Form.file.plain(agent.line("new/ can be", in: .errors)) == "notice: new/ can be read again")
    try box.drop(line(1, "found"), as: "1")
    try gateway.accepts("found")
    #expect(try agent.terminate() == 0)
  }

  @Test func `a key that is missing while the agent runs is an error until it is back`() throws {
    let key = try box.write(
      String(contentsOfFile: Certificates.path("client.key"), encoding: .utf8), to: "push.key")
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["key=" + key])
    try agent.line("connected", in: .errors)
    rename(key, key + ".old")
    gateway.child.kill()
    try agent.line("nothing listens there", in: .errors)
    let back = try Gateway(in: box, ["--port", "\(gateway.port)"], name: "back")
    let missing = try agent.line("push.key", in: .errors)
    #expect(
      try Form.file.plain(missing).hasPrefix(
        "error: cannot connect to localhost:\(gateway.port): "), "\(missing)")
    #expect(missing.contains("does not exist. Put it there"), "\(missing)")
    rename(key + ".old", key)
    try box.drop(line(1, "found"), as: "1")
    try back.accepts("found")
    #expect(try agent.terminate() == 0)
    #expect(agent.errors.contains(" offline, "))
  }
}
