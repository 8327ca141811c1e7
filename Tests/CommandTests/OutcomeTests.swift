import Foundation
import Testing

/// `tinypush send --wait`: its result, and the users who may send.
@Suite(.sideBySide) struct OutcomeTests {
  private static let one = token(1)

  // MARK: - With an agent

  @Test func `send --wait exits with 0 after the delivery`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    let sent = try box.send(["Tank low", "--token", Self.one, "--wait=1h"])
    #expect(sent.status == 0)
    #expect(sent.output.wholeMatch(of: /\d{10}\.\d{9}\.\d+\.wait\n/) != nil)
    #expect(sent.errors == "")
    let many = try box.send(["-", "--wait=1h"], input: (2...500).map { line($0) }.joined())
    #expect(many.status == 0, "\(many.errors)")
    #expect(box.queued == [])
    #expect(box.names(in: "tmp") == [])
    #expect(try agent.terminate() == 0)
    try gateway.readsAll(from: agent)
    try #expect(gateway.alerts(in: box).count == 500)
  }

  @Test func `send --wait says on a terminal that the service accepted the notification`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    let sending = try box.sending(["x", "--token", Self.one, "--token", token(2), "--wait=1h"])
    let shown = try box.run([
      "script", "-qec", sending.map { "'\($0)'" }.joined(separator: " "), "/dev/null",
    ])
    #expect(shown.status == 0)
    #expect(shown.output.hasSuffix("\r\naccepted: 2\r\n"), "\(shown.output)")
    #expect(try agent.terminate() == 0)
  }

  @Test func `send --wait prints the reason of a refusal`() throws {
    let gateway = try Gateway(in: box, ["--reject", "\(token(2))=8"])
    let agent = try box.agent(gateway, ["settle=1h", "payload-limit=64"])
    let sent = try box.send(["x", "--token", Self.one, "--token", token(2), "--wait=1h"])
    #expect(sent.status == 65)
    #expect(sent.output != "")
    #expect(
      sent.errors == """
        tinypush send: not delivered: the service refused it: invalid token; the token belongs to another \
        app, or to the other environment (production, development), or is made up. Nothing more is \
        sent to it: correct this, then run tinypush token register \(token(2)) (token \(token(2)))

        """)
    // The agent may have other settings than the sender.
    let long = String(repeating: "x", count: 100)
    let large = try box.start(
      box.sending(["-", "--wait=1h"]), input: line(3) + line(4, long) + line(5, long))
    let name = try large.line(".")
    try gateway.accepts("Tank low")
    try wait(for: "both records") { try box.failures(name).count == 2 }
    // The answer to the barrier of a stop decides about the first line.
    #expect(try agent.terminate() == 0)
    #expect(try large.wait() == 65)
    for number in [2, 3] {
      #expect(
        large.errors.split(separator: "\n").contains {
          $0.hasPrefix("tinypush send: not sent: the payload has 120 bytes")
            && $0.hasSuffix(" (line \(number))")
        })
    }
    #expect(large.errors.count(of: "tinypush send") == 2)
  }

  @Test func `send --wait prints 20 of many refusals and counts them all`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms", "payload-limit=16"])
    let sent = try box.send(["-", "--wait=1h"], input: (1...500).map { line($0) }.joined())
    #expect(sent.status == 65)
    #expect(sent.errors.count(of: "tinypush send: not sent: the payload has 28 bytes") == 20)
    #expect(
      sent.errors.hasSuffix("tinypush send: not delivered: 500; delivered: 0\n"))
    #expect(try agent.terminate() == 0)
  }

  @Test func `send --wait exits with 75 while the notification stays in the spool`() throws {
    let none = try box.send(["x", "--token", Self.one, "--wait=0"])
    #expect(none.status == 75)
    let words = """
      tinypush send: not yet: the notification is in the spool, and is delivered later unless it expires
      """
    #expect(
      none.errors == words + "; no agent is running: systemctl start tinypush, or tinypush run\n")
    let gateway = try Gateway(in: box)
    gateway.child.kill()
    let page = "status=\(box.path)/status"
    let agent = try box.agent(gateway, [page])
    try agent.line("nothing listens there", in: .errors)
    let some = try box.send(["x", "--token", Self.one, "--wait=1s", "-o", page])
    #expect(some.status == 75)
    #expect(some.errors.hasPrefix(words + "; waits for the service: "), "\(some.errors)")
    #expect(box.queued.count == 2)
  }

  // MARK: - With the test in the place of the agent

  /// How `send` notices that the file has left: by inotify, or by polling.
  enum Notice: CaseIterable, Sendable { case inotify, polling }

  private func waiting(_ box: Box, _ notice: Notice, _ arguments: [String] = []) throws -> (
    child: Child, name: String
  ) {
    var command = try box.sending(["x", "--token", Self.one, "--wait=1h"] + arguments)
    if notice == .polling {
      try #require(geteuid() == 0, "needs root")
      command =
        [
          "unshare", "--user", "--map-root-user", "sh", "-c",
          "echo 0 >/proc/sys/user/max_inotify_instances && exec \"$@\"", "sh",
        ] + command
    }
    let child = try box.start(command)
    return (child, try child.line("."))
  }

  /// Appends lines to a file's receipt, as the agent does.
  private func appendReceipt(_ box: Box, _ name: String, _ lines: String...) throws {
    let receipt = open("\(box.spool)/tmp/\(name).receipt", O_WRONLY | O_APPEND | O_CLOEXEC)
    guard receipt >= 0 else { throw Failure("\(name).receipt: errno \(errno)") }
    defer { close(receipt) }
    for line in lines {
      guard write(receipt, line + "\n", line.utf8.count + 1) == line.utf8.count + 1 else {
        throw Failure("\(name).receipt: errno \(errno)")
      }
    }
  }

  @Test(arguments: Notice.allCases)
  func `send --wait exits with 0 once the receipt says delivered and the file is gone`(
    notice: Notice
  ) throws {
    let (sender, name) = try waiting(box, notice)
    try appendReceipt(box, name, "accepted 0 \(Self.one) delivered", "= \(name)")
    unlink("\(box.spool)/new/\(name)")
    #expect(try sender.wait() == 0)
    #expect(sender.errors == "")
    #expect(box.names(in: "tmp") == [])
  }

  @Test(arguments: Notice.allCases)
  func `send --wait reports a file that somebody has removed as not delivered`(notice: Notice)
    throws
  {
    let (sender, name) = try waiting(box, notice)
    unlink("\(box.spool)/new/\(name)")
    #expect(try sender.wait() == 1)
    #expect(
      sender.errors == """
        tinypush send: probably not delivered: somebody has removed the notification from the queue

        """)
  }

  @Test(arguments: [("refused", Int32(65)), ("expired", 1)])
  func `send --wait prints only the reasons of a receipt`(mark: String, status: Int32) throws {
    let (sender, name) = try waiting(box, .inotify)
    try appendReceipt(
      box, name, "accepted 0 \(token(2)) delivered", "\(mark) 7 \(Self.one) the \u{1b}[1m best",
      "rubbish",
      "\(mark) 0 * last", "\(mark)", "\(mark) 0", "= other", "= \(name)")
    unlink("\(box.spool)/new/\(name)")
    #expect(try sender.wait() == status)
    #expect(
      sender.errors == """
        tinypush send: the \u{FFFD}[1m best (token \(Self.one))
        tinypush send: last

        """)
  }

  @Test func `send --wait removes its receipt when a signal ends it`() throws {
    let (sender, _) = try waiting(box, .inotify)
    #expect(box.names(in: "tmp").count == 1)
    #expect(try sender.terminate() == 128 + 15)
    #expect(box.names(in: "tmp") == [])
  }

  @Test func `send --wait --json tells the name of the file when a signal ends it`() throws {
    let sender = try box.start(
      box.sending(["x", "--token", Self.one, "--wait=1h", "--json"]))
    try wait(for: "the file") { box.queued.count == 1 && box.names(in: "tmp").count == 1 }
    #expect(try sender.terminate() == 75)
    let told = try objects(sender.output).at(0)
    #expect(told["name"] as? String == box.queued.first)
    #expect(told["outcome"] as? String == "pending")
    #expect(box.names(in: "tmp") == [])
  }

  @Test(arguments: [0, 2])
  func `send --wait reports a notification that waits for its time`(parts: Int) throws {
    let (sender, name) = try waiting(box, .inotify, ["--not-before", "2h"])
    let due = Int(Date().timeIntervalSince1970) + 7200
    let head = "0000000000000000.0123456789abcdef"
    for part in 0...parts { try box.write("", to: "spool/later/\(due - part).\(head).\(name)") }
    unlink("\(box.spool)/new/\(name)")
    #expect(try sender.wait() == 75)
    #expect(
      sender.errors.wholeMatch(
        of: /tinypush send: not yet: the notification is due in (2 h|119 min)\n/) != nil,
      "\(sender.errors)")
  }

  @Test func `send --wait waits for a not-before that is near and reports one that is far`()
    throws
  {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    let later = try box.send(["later", "--token", Self.one, "--not-before", "2d", "--wait=1h"])
    #expect(later.status == 75)
    #expect(later.errors.contains("is due in "))
    #expect(box.names(in: "later").count == 1)
    let soon = try box.send(["soon", "--token", Self.one, "--not-before", "2s", "--wait=1h"])
    #expect(soon.status == 0, "\(soon.errors)")
    try gateway.accepts("soon")
    try #expect(gateway.alerts(in: box) == ["soon"])
    #expect(try agent.terminate() == 0)
  }

  @Test func `send --wait follows a notification from later/ back to new/`() throws {
    let (sender, name) = try waiting(box, .inotify)
    let hash = "0123456789abcdef"
    let due = Int(Date().timeIntervalSince1970)
    try box.write("", to: "spool/later/\(due).\(hash).\(hash).\(name)")
    try appendReceipt(box, name, "~ \(name).\(hash)", "= \(name)")
    unlink("\(box.spool)/new/\(name)")
    try box.write("", to: "spool/new/\(name).\(hash)")
    unlink("\(box.spool)/later/\(due).\(hash).\(hash).\(name)")
    try appendReceipt(box, name, "expired 0 * too late", "= \(name).\(hash)")
    unlink("\(box.spool)/new/\(name).\(hash)")
    #expect(try sender.wait() == 1)
    #expect(sender.errors == "tinypush send: too late\n")
  }

  // MARK: - As a member of the group

  /// Returns `tinypush send` as run by a user with no rights but these groups.
  ///
  /// The user may not read `/etc/tinypush/tinypush.conf`. The spool's group is named `push`.
  private func member(_ box: Box, groups: String, _ arguments: [String]) throws -> [String] {
    try #require(geteuid() == 0, "needs root")
    try box.write("key = secret\nspool = \(box.path)/elsewhere\n", to: "etc/tinypush/tinypush.conf")
    chmod(box.path + "/etc/tinypush/tinypush.conf", 0o600)
    try box.write("root:x:0:\npush:x:65534:somebody\nlast:x:65535:\n", to: "etc/group")
    return try [
      "unshare", "--mount", "sh", "-c",
      "mount --bind '\(box.path)/etc' /etc && umask 077 && exec \"$@\"", "sh",
      "setpriv", "--reuid=12345", "--regid=12345", groups,
    ] + box.sending(arguments)
  }

  @Test func `a group member can send and learns the result`() throws {
    try box.giveSpoolToNobody()
    for name in ["", "/tmp", "/new", "/failed"] { chmod(box.spool + name, 0o2770) }
    let gateway = try Gateway(in: box, ["--reject", "\(token(2))=8"])
    let agent = try box.unprivilegedAgent(gateway, ["settle=1h"])
    try agent.line("connected to", in: .errors)
    func send(_ arguments: String..., input: String? = nil) throws -> Child {
      try box.start(
        member(box, groups: "--groups=65534", arguments), input: input)
    }
    let good = try send("x", "--token", Self.one, "--wait=1h")
    try gateway.accepts("x")
    let stream = try send("-", "--wait=1h", input: line(3))
    try gateway.accepts("Tank low")
    // The answer to this one proves that those before it arrived.
    let bad = try send("x", "--token", token(2), "--wait=1h")
    #expect(try bad.wait() == 65)
    #expect(try good.wait() == 0, "\(good.errors)")
    #expect(try stream.wait() == 0, "\(stream.errors)")
    #expect(bad.errors.contains("not delivered: the service refused it: "))
    try #expect(gateway.alerts(in: box) == ["x", "Tank low"])
    #expect(try agent.terminate() == 0)
    // A member can tell that no agent runs, although the lock file belongs to the agent.
    let none = try send("x", "--token", Self.one, "--wait=0")
    #expect(try none.wait() == 75)
    #expect(none.errors.contains("; no agent is running: "))
  }

  @Test func `send names the spool's group to a user who is no member`() throws {
    try box.giveSpoolToNobody()
    for name in ["", "/tmp", "/new", "/failed"] { chmod(box.spool + name, 0o2770) }
    let sent = try box.run(member(box, groups: "--clear-groups", ["x", "--token", Self.one]))
    #expect(sent.status == 77)
    #expect(
      sent.errors == """
        tinypush send: spool \(box.spool): no permission to write to tmp/ and new/: you must be \
        a member of the group push (adduser USER push, and log in again), and the group must \
        have write permission

        """)
    chmod(box.spool, 0o2775)
    chmod(box.spool + "/tmp", 0o2775)
    let closed = try box.run(member(box, groups: "--clear-groups", ["x", "--token", Self.one]))
    #expect(closed.errors == sent.errors)
    let named = try box.run(
      member(
        box, groups: "--clear-groups",
        ["x", "--token", Self.one, "--config", "/etc/tinypush/tinypush.conf"]))
    #expect(named.status == 77)
    #expect(named.errors.contains("tinypush.conf: Permission denied"))
  }

  @Test func `send works if the user may not read the recipients directory`() throws {
    try box.giveSpoolToNobody()
    for name in ["", "/tmp", "/new", "/failed"] { chmod(box.spool + name, 0o2770) }
    try box.write("", to: "recipients/family")
    chmod(box.path + "/recipients", 0o700)
    for arguments in [["x"], ["x", "--to", "family"], ["x", "--to", "unknown"]] {
      let sent = try box.run(member(box, groups: "--groups=65534", arguments))
      #expect(sent.status == 0, "\(sent.errors)")
    }
    #expect(box.queued.count == 3)
  }
}
