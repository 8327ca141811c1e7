import Foundation
import Testing

/// `tinypush queue`: lists, shows, drops and retries the files in the spool.
@Suite(.sideBySide) struct QueueTests {
  private func queue(_ box: Box, _ arguments: String..., input: String? = nil) throws -> Child {
    try box.run(
      Build.command(Build.host) + ["queue"] + arguments + settings(box), input: input)
  }

  private func settings(_ box: Box) -> [String] {
    ["spool=\(box.spool)", "recipients=\(box.path)/recipients", "state=\(box.path)/state"]
      .flatMap { ["-o", $0] }
  }

  /// Runs a command with the settings under Tests/Tools/traced.py.
  private func traced(_ box: Box, _ arguments: String...) throws -> Child {
    let program = "\(Build.directory)/\(Build.host)/tinypush"
    var (options, words) = ([String](), arguments)
    if arguments[0] == "--kill-at" {
      (options, words) = (Array(arguments[..<2]), Array(arguments[2...]))
    }
    return try box.run(
      ["python3", Build.tools + "/traced.py"] + options + [program] + words + settings(box))
  }

  /// Returns the last line of traced.py: the peak memory in KB, and the number of system calls.
  private func sums(_ child: Child) throws -> [Int] {
    try #require(child.errors.split(separator: "\n").last).split(separator: " ").map {
      try #require(Int($0))
    }
  }

  private func peak(_ child: Child) throws -> Int { try sums(child).at(0) }

  private func notification(_ alert: String, _ members: String) -> String {
    #"{"payload":{"aps":{"alert":"\#(alert)"}},\#(members)}"#
  }

  /// Returns a line of `failed/` with this notification.
  private func refusal(_ notification: String, _ place: String = #""line":7"#) -> String {
    let failed = #""failed":{"reason":"it was refused","code":"x","file":"x","offset":0,\#(place)}"#
    return "{\(failed)\(notification == "{}" ? "" : ",")\(notification.dropFirst())\n"
  }

  /// Returns the contents of the files in a spool directory by name.
  private func texts(_ box: Box, _ directory: String) -> [String: String] {
    let texts = box.names(in: directory).map { ($0, box.text("spool/\(directory)/\($0)")) }
    return Dictionary(texts) { _, last in last }
  }

  // MARK: - list

  @Test func `queue list prints each file in order with its state and the reason`() throws {
    try box.drop(line(1) + line(2), as: "b")
    try box.drop(line(1), as: "a\u{1B}[31m\nb")
    try box.drop(#"{"token""#, as: "c")
    try box.drop("", as: "d")
    try box.drop(line(1), as: "e.tmp")
    try box.drop(line(1), as: ".hidden")
    mkdir(box.spool + "/new/f", 0o755)
    let open = try #require(fopen(box.spool + "/new/g", "we"))
    defer { fclose(open) }
    let later = "4000000000.0000000000000000.0123456789abcdef.b"
    try box.write(line(1), to: "spool/later/\(later)")
    try box.write(refusal(line(1).dropLast() + "") + "{}\n", to: "spool/failed/b")
    try box.write(line(1), to: "spool/failed/h.unread")
    let listed = try queue(box, "list", "--json")
    #expect(listed.status == 0, "\(listed.errors)")
    let files = try objects(listed.output)
    let expected = [
      ["a\u{1B}[31m\nb", "new", "no-agent", 1], ["b", "new", "no-agent", 2],
      ["c", "new", "unfinished", 1], ["d", "new", "empty", 0],
      ["e.tmp", "new", "unfinished-name", 1],
      ["f", "new", "no-file", 0], ["g", "new", "being-written", 0], [later, "later", "later", 1],
      ["b", "failed", "failed", 1], ["h.unread", "failed", "whole", 1],
    ]
    #expect(files.count == expected.count)
    for (file, row) in zip(files, expected) {
      #expect(file["name"] as? String == row[0] as? String)
      #expect(file["place"] as? String == row[1] as? String)
      #expect(file["state"] as? String == row[2] as? String)
      #expect(file["notifications"] as? Int == row[3] as? Int)
      #expect((file["why"] as? String)?.isEmpty == false)
    }
    #expect(try files.at(1)["size"] as? Int == (line(1) + line(2)).utf8.count)
    #expect(try files.at(7)["due"] as? Int == 4_000_000_000)
    #expect(try files.at(8)["why"] as? String == "it was refused")
    let said = try queue(box)
    #expect(said.status == 0)
    #expect(said.output.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F || $0 == 0x0A })
    #expect(said.output.count(of: "NOTIFICATIONS  NAME") == 1)
    #expect(said.output.contains("waits until 2096-10-02T07:06:40Z"))
    #expect(said.output.hasSuffix("\n5 waiting, 1 for later, 2 failed, 2 ignored\n"))
    #expect(try queue(box, "--later").output.hasSuffix("\n1 for later\n"))
  }

  @Test func `queue list shows what the user may read and names the rest`() throws {
    try #require(geteuid() == 0, "needs root")
    try box.drop(line(1, "open"), as: "1")
    try box.drop(line(1), as: "2")
    try box.write(line(1), to: "spool/failed/3")
    chmod(box.spool + "/new/1", 0o644)
    chmod(box.spool + "/new/2", 0o600)
    chmod(box.spool + "/failed", 0o700)
    func asNobody(_ arguments: String...) throws -> Child {
      try box.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
          + Build.command(Build.host) + ["queue"] + arguments + settings(box))
    }
    let asRoot = "run the command as root (sudo), or as a member of the spool's group\n"
    let listed = try asNobody("list")
    #expect(listed.status == 77)
    #expect(listed.output.contains("this user may not read the file: Permission denied\n"))
    #expect(listed.output.hasSuffix("\n2 waiting, 0 for later, ? failed\n"), "\(listed.output)")
    #expect(
      listed.errors == "tinypush queue: the spool's failed/: Permission denied: " + asRoot)
    let shown = try asNobody("show", "1")
    #expect(shown.status == 0)
    #expect(shown.output.contains(#""alert":"open""#))
    let hidden = try asNobody("show", "3")
    #expect(hidden.status == 77)
    #expect(
      hidden.errors.hasSuffix(
        "; this user may not read failed/: run the command as root (sudo)\n"),
      "\(hidden.errors)")
    mkdir(box.spool + "/taken", 0o700)
    let blind = try asNobody("list", "--waiting")
    #expect(blind.status == 0)
    #expect(blind.output.hasSuffix("\n? waiting\n"), "\(blind.output)")
    #expect(blind.errors.contains("only root and the agent's user see"), "\(blind.errors)")
    let gone = try asNobody("show", "--waiting", "9")
    #expect(gone.status == 77)
    #expect(gone.errors.contains("; this user may not read taken/: run"), "\(gone.errors)")
    chmod(box.spool, 0o750)
    let closed = try asNobody()
    #expect(closed.status == 77)
    #expect(closed.errors == "tinypush queue: spool \(box.spool): Permission denied: " + asRoot)
  }

  @Test func `queue list tells why each file waits`() throws {
    try box.drop(line(1), as: "a")
    let page = "status=\(box.path)/status"
    let agent = try box.start(
      Build.command(Build.host) + ["run"] + box.settings(1, [page, "connect-timeout=1s"]))
    try agent.line("cannot", in: .errors)
    func state(_ arguments: String...) throws -> [String: Any] {
      let listed = try box.run(
        Build.command(Build.host) + ["queue", "--json", "-o", "spool=" + box.spool] + arguments)
      return try #require(objects(listed.output).first)
    }
    let waiting = try state("-o", page)
    #expect(waiting["state"] as? String == "gateway")
    #expect((waiting["why"] as? String)?.contains("localhost:1") == true)
    let unknown = try state()
    #expect(unknown["state"] as? String == "agent")
    #expect(try agent.terminate() == 0)
    #expect(try state("-o", page)["state"] as? String == "no-agent")
    let gateway = try Gateway(in: box)
    let other = try box.agent(gateway, [page, "settle=1h"])
    try gateway.accepts("Tank low")
    try wait(for: "the state sent") { try state("-o", page)["state"] as? String == "sent" }
    try #expect(
      state("-o", page)["why"] as? String == "sent, waiting for the answer or for settle")
    // A file that arrives while the agent is stopped is next to be sent.
    other.signal(SIGSTOP)
    try box.drop(line(2), as: "0")
    let next = try state("-o", page)
    #expect(next["name"] as? String == "0")
    #expect(next["state"] as? String == "delivering")
    #expect(next["why"] as? String == "next to be sent")
    // More files in flight than the page can list.
    other.signal(SIGCONT)
    for number in 1...150 { try box.drop(line(1), as: "b\(number)") }
    try wait(for: "all to be sent") {
      let listed = try box.run(
        Build.command(Build.host) + ["queue", "--json", "-o", "spool=" + box.spool, "-o", page])
      // Which files the page lists depends on the order in which the agent took them.
      let reasons = try objects(listed.output).compactMap { $0["why"] as? String }
      return reasons.count == 152 && reasons.allSatisfy { $0.hasPrefix("sent, ") }
        && reasons.contains("sent, or next to be sent")
    }
    other.kill()
  }

  @Test func `queue list shows a file that waits for the service's answer as sent`() throws {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", "silent@1"])
    let page = "status=\(box.path)/status"
    let agent = try box.agent(gateway, .certificate, [page])
    try box.drop(line(1), as: "a")
    func file() throws -> [String: Any] {
      let listed = try box.tinypush("queue", "--json", "-o", "spool=" + box.spool, "-o", page)
      return try #require(objects(listed.output).first)
    }
    try wait(for: "the state sent") { try file()["state"] as? String == "sent" }
    #expect(try file()["why"] as? String == "sent, waiting for the answer")
    agent.kill()
  }

  @Test func `queue list and send --wait name the refusal that holds up a notification`() throws {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", "bad-certificate"])
    let page = "status=\(box.path)/status"
    let agent = try box.agent(gateway, .certificate, [page])
    try box.drop(line(1), as: "a")
    try agent.line("the service refuses the configuration", in: .errors)
    try wait(for: "the state held") {
      let listed = try box.tinypush("queue", "--json", "-o", "spool=" + box.spool, "-o", page)
      let file = try #require(objects(listed.output).first)
      return file["state"] as? String == "held"
        && (file["why"] as? String)?.hasPrefix("held: the service refuses the configuration: ")
          == true
    }
    let sent = try box.send(["x", "--token", token(1), "--wait=0", "-o", page])
    #expect(
      sent.errors == "tinypush send: not yet: the notification is in the spool, and is delivered "
        + "later unless it expires; held: the service refuses the configuration: bad certificate\n")
    agent.kill()
  }

  @Test func `queue list and drop handle 30,000 files in order and in 8 MB of memory`()
    throws
  {
    // More names than the command holds in memory at a time.
    let count = 30_000
    let tail = String(repeating: "x", count: 200)
    for number in 1...count {
      try writeFile("{}", to: "\(box.spool)/new/\(number * 7919 % 1_000_003 + 1_000_000)\(tail)")
    }
    let listed = try traced(box, "queue", "--json")
    #expect(listed.status == 0)
    let names = try listed.output.split(separator: "\n").map { line in
      try #require(Int(line.dropFirst(#"{"name":""#.count).prefix(7)))
    }
    #expect(names.count == count)
    #expect(zip(names, names.dropFirst()).allSatisfy { $0 < $1 })
    #expect(try peak(listed) < 8192)
    let dropped = try traced(box, "queue", "drop", "--all")
    #expect(dropped.status == 0)
    #expect(try peak(dropped) < 8192)
    #expect(box.queued.count == 0)
  }

  // MARK: - show

  @Test func `queue show escapes control characters`() throws {
    let text = "ä☀\t\u{1B}[31m \u{9B}2J \u{202E}drawkcab \u{7F}\r\nlone\rreturn"
    try box.drop(text, as: "a")
    try box.write(
      refusal(notification("ä", #""token":"\#(token(1))""#)), to: "spool/failed/b")
    let shown = try queue(box, "show", "a", "b")
    #expect(shown.status == 0)
    let expected = #"""
      ==> new/a <==
      ä☀	\x1b[31m \xc2\x9b2J \xe2\x80\xaedrawkcab \x7f
      lone\x0dreturn

      ==> failed/b <==
      refused: it was refused (line 7)

      """#
    #expect(shown.output.hasPrefix(expected), "\(shown.output)")
    #expect(shown.output.hasSuffix("\n" + box.text("spool/failed/b")))
    #expect(try queue(box, "show", "c").status == 66)
  }

  @Test func `show and drop find what waits in later by the name that send printed`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway)
    let sent = try box.send(["Later", "--token", token(1), "--not-before", "4000000000"])
    #expect(sent.status == 0, "\(sent.errors)")
    let name = sent.output.trimmingCharacters(in: .newlines)
    let notBefore = #""not-before":4000000000"#
    try box.drop(
      notification("One", #""token":"\#(token(1))",\#(notBefore)"#) + "\n"
        + notification("Two", #""token":"\#(token(2))",\#(notBefore)"#) + "\n", as: "two")
    try wait(for: "three files in later/") {
      box.names(in: "later").count == 3 && box.queued.isEmpty
    }
    let listed = try queue(box, "--later").output
    #expect(listed.count(of: "  two  ") == 2 && listed.contains("  \(name)  "), "\(listed)")
    #expect(try queue(box, "show", name).output.contains(#""Later""#))
    let both = try queue(box, "show", "two").output
    #expect(both.contains(#""One""#) && both.contains(#""Two""#), "\(both)")
    for flag in ["--waiting", "--failed"] {
      #expect(try queue(box, "show", "two", flag).status == 66)
    }
    #expect(try queue(box, "drop", "two").output.count(of: ": dropped from later/\n") == 2)
    #expect(box.names(in: "later").count == 1)
    #expect(try queue(box, "drop", name, "--later").status == 0)
    #expect(box.names(in: "later") == [])
    #expect(try queue(box, "drop", name).status == 66)
    #expect(try agent.terminate() == 0)
  }

  @Test(arguments: ["$(touch pwned)", "a'; touch pwned; '", "-h", "é\u{1B}[2J `touch pwned`"])
  func `the hint of the log finds a file of any name, and runs nothing of the name`(name: String)
    throws
  {
    let gateway = try Gateway(in: box)
    try box.drop(#"{"tokn":"x"}"#, as: name)
    let agent = try box.deliver(gateway)
    let line = try #require(agent.errors.split(separator: "\n").first { $0.contains("queue show") })
    let hint = try #require(line.firstMatch(of: #/\((tinypush queue show .*)\)$/#)).1.description
    let command = try hint.replacing(
      "tinypush queue show",
      with: "\(Build.command(Build.host).joined(separator: " ")) queue show -o 'spool=\(box.spool)'"
    )
    let shown = try box.run(["sh", "-c", command])
    #expect(shown.status == 0, "\(command): \(shown.errors)")
    #expect(shown.output.hasSuffix(#""tokn":"x"}"# + "\n"), "\(shown.output)")
    #expect(!FileManager.default.fileExists(atPath: box.path + "/pwned"))
  }

  @Test func `queue show keeps characters whole across its read buffer`() throws {
    for shift in 0..<4 {
      let text = String(repeating: "x", count: shift) + String(repeating: "☀", count: 20_000)
      try box.drop(text, as: "a")
      #expect(try queue(box, "show", "a").output == "==> new/a <==\n\(text)\n")
    }
  }

  // MARK: - Names

  @Test func `queue refuses names with a path and understands the names that it prints`()
    throws
  {
    try box.write(line(1), to: "spool/outside")
    for name in [
      "../outside", "/etc/passwd", ".", "..", ".lock", "new/a", "", #"\x2e\x2e\x2foutside"#,
    ] {
      let dropped = try queue(box, "drop", name)
      #expect([64, 66].contains(dropped.status), "\(name): \(dropped.errors)")
    }
    #expect(box.text("spool/outside") == line(1))
    try box.drop(line(1), as: "a\n\u{1B}b")
    try box.drop(line(1), as: "spaces in it ")
    try box.drop(line(1), as: "c\nd")
    let listed = try queue(box, "list")
    #expect(listed.output.contains(#"a\x0a\x1bb"#))
    let dropped = try queue(box, "drop", "-", input: "a\\x0a\\x1bb\n\nspaces in it \n")
    #expect(dropped.status == 0, "\(dropped.errors)")
    #expect(box.queued == ["c\nd"])
    #expect(try queue(box, "drop", "--null", "-", input: "c\nd\0").status == 0)
    #expect(box.queued == [])
  }

  @Test(arguments: [
    ["lits"], ["list", "a"], ["drop"], ["drop", "a", "--all"], ["show", "a", "--json"],
    ["retry", "a", "--waiting"],
  ])
  func `queue refuses wrong arguments`(arguments: [String]) throws {
    try box.drop(line(1), as: "a")
    let said = try box.run(
      Build.command(Build.host) + ["queue"] + arguments + settings(box))
    #expect(said.status == 64)
    #expect(said.errors.hasPrefix("tinypush queue: "))
    #expect(box.queued == ["a"])
  }

  @Test func `queue names a spool that does not exist`() throws {
    let said = try box.tinypush("queue", "-o", "spool=/nowhere")
    #expect(said.status == 66)
    #expect(said.errors.contains("/nowhere"))
  }

  // MARK: - drop

  @Test func `a member of the group drops an own file`() throws {
    try #require(geteuid() == 0, "needs root")
    let path = try box.write(line(1), to: "spool/new/own")
    mkdir(box.spool + "/taken", 0o700)
    chmod(box.spool + "/new", 0o1777)
    chown(path, 65534, 65534)
    let dropped = try box.run(
      ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        + Build.command(Build.host) + ["queue", "drop", "own"] + settings(box))
    #expect(dropped.status == 0, "\(dropped.errors)")
    #expect(dropped.output == "own: dropped from new/\n")
    #expect(dropped.errors == "")
  }

  @Test func `queue drop removes only the named files`() throws {
    for name in ["a", "b", "c"] { try box.drop(line(1), as: name) }
    try box.write(refusal("{}"), to: "spool/failed/a")
    let ambiguous = try queue(box, "drop", "a")
    #expect(ambiguous.status == 64)
    #expect(ambiguous.errors.contains("--waiting, --later or --failed"))
    #expect(try queue(box, "drop", "a", "--failed").status == 0)
    #expect(box.names(in: "failed") == [])
    let some = try queue(box, "drop", "b", "none", "--json")
    #expect(some.status == 66)
    try #expect(objects(some.output).map { $0["name"] as? String } == ["b"])
    #expect(box.queued == ["a", "c"])
    try box.drop(line(1), as: "d.part")
    #expect(try queue(box, "drop", "--all").status == 0)
    #expect(box.queued == ["d.part"])
  }

  @Test func `queue drop warns that a running agent may still deliver the file`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    try box.drop(line(1, "first"), as: "a")
    try gateway.accepts("first")
    agent.signal(SIGSTOP)
    try box.drop(line(2, "second"), as: "b")
    let dropped = try queue(box, "drop", "b")
    #expect(dropped.status == 0)
    #expect(dropped.errors.contains("an agent is running"))
    agent.signal(SIGCONT)
    try box.drop(line(3, "third"), as: "c")
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    try gateway.accepts("third")
    #expect(try agent.terminate() == 0)
    try #expect(gateway.alerts(in: box) == ["first", "third"])
    #expect(box.names(in: "failed") == [])
  }

  @Test func `what queue drop drops while the service is away does not arrive later`() throws {
    let sandbox = try Sandbox(in: box)
    #expect(try sandbox.child.terminate() == 0)
    let settings = ["--config", sandbox.http2Config, "-o", "spool=\(box.spool)"]
    let agent = try box.start(Build.command(Build.host) + ["run"] + settings)
    for number in 1...3 { try box.drop(line(number, "alert \(number)"), as: "a\(number)") }
    try wait(for: "the taking") { box.names(in: "taken").count == 3 }
    let dropped = try box.run(Build.command(Build.host) + ["queue", "drop", "a2"] + settings)
    #expect(dropped.status == 0, "\(dropped.errors)")
    let again = try Sandbox(in: box)
    agent.signal(SIGHUP)
    try wait(for: "the others") { box.queued.isEmpty && box.names(in: "taken").isEmpty }
    #expect(try again.events("accepted").count == 2)
    #expect(try agent.terminate() == 0)
  }

  @Test func `drop takes all that was read of a name: each file, and what waits in later`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway)
    let early = notification("Early", #""token":"\#(token(1))","not-before":4000000000"#)
    try box.drop(early + "\n", as: "level")
    try wait(for: "a file in later/") { box.names(in: "later").count == 1 && box.queued.isEmpty }
    #expect(try agent.terminate() == 0)
    for number in 1...3 {
      try box.write(line(number), to: "spool/taken/level@\(1_700_000_000_000_000_000 + number).0")
    }
    try box.drop(line(4), as: "level")
    let shown = try queue(box, "show", "level").output
    #expect(shown.count(of: "\"alert\"") == 5, "\(shown)")
    let dropped = try queue(box, "drop", "level").output
    #expect(dropped.count(of: "level: dropped from new/\n") == 4, "\(dropped)")
    #expect(dropped.count(of: ": dropped from later/\n") == 1, "\(dropped)")
    #expect(box.queued == [] && box.names(in: "later") == [])
  }

  // MARK: - retry

  @Test func `queue retry sends only to the recipients that did not get the notification`() throws {
    let refusing = try Gateway(
      in: box, ["--reject", "\(token(2))=7", "--reject", "\(token(3))=8"])
    try box.write(
      "\(token(1)) lang=en\n\(token(2)) lang=fr\n\(token(3))\n", to: "recipients/family")
    let delivery =
      #""topic":"org.example","push-type":"alert","id":"123e4567-e89b-42d3-a456-426614174000""#
    let members =
      #""to":["family","nobody"],"localized":{"fr":"Cuve vide","en":"Tank low"},"ttl":600,\#(delivery)"#
    try box.drop(
      notification("x", members) + "\n" + notification("y", #""token":"123""#), as: "1")
    let lists = ["recipients=\(box.path)/recipients", "state=\(box.path)/state"]
    let refused = try box.deliver(refusing, lists)
    #expect(refused.status == 65, "\(refused.errors)")
    #expect(try box.failures("1").count == 4)

    let first = try queue(box, "retry", "1")
    #expect(first.status == 65)
    #expect(first.output.contains("1: 1 sent again as 1."), "\(first.output)\(first.errors)")
    #expect(first.output.contains("tinypush token register \(token(3))"))
    #expect(first.output.contains("recipients file nobody: No such file"))
    #expect(box.names(in: "failed") == ["1"])
    #expect(try box.failures("1").count == 3)
    for name in box.queued {
      let text = try String(contentsOfFile: "\(box.spool)/new/\(name)", encoding: .utf8)
      #expect(text.contains(delivery), "\(text)")
    }
    let accepting = try Gateway(in: box, name: "accepting")
    #expect(try box.deliver(accepting, lists).status == 0)
    try #expect(accepting.alerts(in: box) == ["Cuve vide"])

    try box.write("\(token(4)) lang=fr\n", to: "recipients/nobody")
    let registered = try box.run(
      Build.command(Build.host) + ["token", "forget", token(3)] + settings(box))
    #expect(registered.status == 0, "\(registered.errors)")
    let second = try queue(box, "retry", "--all", "--json")
    #expect(second.status == 65)
    let said = try #require(objects(second.output).first)
    #expect(said["sent"] as? Int == 2)
    #expect(said["left"] as? Int == 1)
    #expect(try box.failures("1").map { ($0["line"] as? Int) ?? 0 } == [2])
    let last = try Gateway(in: box, name: "last")
    #expect(try box.deliver(last, lists).status == 0)
    try #expect(Set(last.alerts(in: box)) == ["Tank low", "Cuve vide"])
    let sent = try box.run(["python3", Build.tools + "/decode.py"] + last.recorded(.accepted))
    try #expect(
      Set(objects(sent.output).compactMap { $0["token"] as? String }) == [token(3), token(4)])
    #expect(box.names(in: "tmp") == [])
  }

  @Test func `queue retry sends an unreadable file again as a whole and keeps expired lines`()
    throws
  {
    try box.write(
      #"{"failed":{"reason":"the file cannot be read","code":"unreadable","file":"a"}}"# + "\n",
      to: "spool/failed/a")
    try box.write(line(1, "whole"), to: "spool/failed/a.unread")
    try box.write(
      refusal(notification("late", #""token":"\#(token(1))","expiration":1000000001"#)),
      to: "spool/failed/b")
    try box.write(line(2, "strange"), to: "spool/failed/c")
    try box.write(line(2, "orphan"), to: "spool/failed/d.original")
    let said = try queue(box, "retry", "--all")
    #expect(said.status == 65)
    #expect(said.output.contains("a: sent again, the whole file as a."), "\(said.output)")
    #expect(said.output.contains("it expired at 2001-09-09T01:46:41Z"))
    #expect(box.names(in: "failed") == ["b", "c", "d.original"])
    #expect(texts(box, "new").values.sorted() == [line(1, "whole")])
    #expect(try queue(box, "retry", "a").status == 66)
  }

  @Test(arguments: ["all of it goes", "one stays"])
  func `queue retry killed at any system call neither loses nor repeats anything`(kind: String)
    throws
  {
    let notifications = (1...3).map { notification("good \($0)", #""token":"\#(token($0))""#) }
    let good = notifications.map { refusal($0) }.joined()
    let text = kind == "one stays" ? good + refusal(notification("bad", #""token":"123""#)) : good
    let alerts = (1...3).map { "good \($0)" } + (kind == "one stays" ? ["bad"] : [])
    let status: Int32 = kind == "one stays" ? 65 : 0
    func fill() throws {
      for directory in ["new", "failed", "tmp"] {
        for name in box.names(in: directory) { unlink("\(box.spool)/\(directory)/\(name)") }
      }
      try box.write(text, to: "spool/failed/a")
    }
    // Otherwise only the first command would create it.
    try box.write("", to: "spool/failed/.lock")
    try fill()
    let inode = try inode("\(box.spool)/failed/a")
    let whole = try traced(box, "--kill-at", "1000000", "queue", "retry", "--all")
    #expect(whole.status == status)
    let name = try #require(box.queued.first)
    // A file that is sent again unchanged is only renamed.
    #expect(try (inode == self.inode("\(box.spool)/new/\(name)")) == (kind == "all of it goes"))
    // The first half of the calls only reads.
    let calls = try sums(whole).at(1)
    try #require(calls > 0)
    for call in calls / 2...calls {
      try fill()
      let killed = try traced(box, "--kill-at", "\(call)", "queue", "retry", "--all")
      #expect(killed.status == 137)
      let everywhere = [texts(box, "new"), texts(box, "failed")].flatMap(\.values).joined()
      for alert in alerts {
        #expect(everywhere.contains("\"\(alert)\""), "\(alert), call \(call)")
      }
      let again = try queue(box, "retry", "--all")
      #expect(again.status == status, "call \(call): \(again.output)\(again.errors)")
      let sent = texts(box, "new").values.map { $0 }
      #expect(sent.count == 1)
      #expect(sent.first?.count(of: "\n") == 3, "call \(call)")
      #expect(sent == [good], "call \(call)")
      let left = texts(box, "failed")
      #expect(left.values.allSatisfy { !$0.contains("good") }, "call \(call)")
      #expect(left.values.joined().contains("bad") == (kind == "one stays"), "call \(call)")
    }
  }

  private func inode(_ path: String) throws -> Int {
    try #require(FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int)
  }

  @Test
  func `a file moved by hand from failed/ to new/ is sent again without nested failures`()
    throws
  {
    let gateway = try Gateway(in: box, ["--reject", "\(token(2))=7"])
    try box.drop(
      line(2, "refused") + #"{"token":"123","payload":{"aps":{"alert":"wrong"}}}"# + "\n{bad\n",
      as: "a")
    #expect(try box.deliver(gateway).status == 65)
    let before = try objects(box.text("spool/failed/a"))
    #expect(before.count == 3)
    #expect(rename("\(box.spool)/failed/a", "\(box.spool)/new/b") == 0)
    #expect(try box.deliver(gateway).status == 65)
    let after = try objects(box.text("spool/failed/b"))
    func said(_ lines: [[String: Any]], _ key: String) -> [String?] {
      lines.map { ($0["failed"] as? [String: Any])?[key] as? String }
    }
    #expect(Set(said(after, "code")) == ["invalid-payload-size", "token-size", "missing-payload"])
    #expect(said(after, "file") == ["b", "b", "b"])
    #expect(said(after, "text").compactMap { $0 } == ["{bad\n"])
    #expect(after.allSatisfy { ($0["failed"] as? [String: Any])?["failed"] == nil })
    let accepting = try Gateway(in: box, name: "accepting")
    let retried = try queue(box, "retry", "b")
    #expect(retried.status == 65)
    #expect(retried.output.contains("b: 1 sent again as b."), "\(retried.output)")
    #expect(retried.output.contains("this one has 3 characters"), "\(retried.output)")
    #expect(retried.output.contains("the line has no notification"), "\(retried.output)")
    #expect(try box.deliver(accepting).status == 0)
    try #expect(accepting.alerts(in: box) == ["refused"])
  }

  @Test func `queue retry sends lines of failed/ that were corrected by hand`() throws {
    try box.write("12\n\(token(1))\n", to: "recipients/family")
    let gateway = try Gateway(in: box)
    let lists = ["recipients=\(box.path)/recipients", "state=\(box.path)/state"]
    try box.drop(
      notification("list", #""to":"family""#) + "\n{\"token\":\"\(token(2))\"}\n{bad\n"
        + #"{"aps":{"alert":"bare","badge":"3"}}"#,
      as: "a")
    #expect(try box.deliver(gateway, lists).status == 65)
    try #expect(gateway.alerts(in: box) == ["list"])
    let before = try queue(box, "retry", "a")
    #expect(before.output.contains("a: 0 sent again, 4 stay"), "\(before.output)")
    #expect(before.output.contains("recipients file family, line 1 was wrong"), "\(before.output)")
    var lines = box.text("spool/failed/a").split(separator: "\n").map(String.init)
    try #require(lines.count == 4)
    let payload = #""payload":{"aps":{"alert":"mended"}}"#
    for (index, line) in lines.enumerated() {
      if line.contains("\"list_line\"") {
        lines[index] = line.dropLast() + #","token":"\#(token(3))"}"#
      } else if line.contains("missing-payload") {
        lines[index] = line.dropLast() + ",\(payload)}"
      } else if line.contains("\"text\"") {
        lines[index] = #"{"token":"\#(token(4))",\#(payload)}"#
      } else {
        #expect(line.hasSuffix(#","to":"default","payload":{"aps":{"alert":"bare","badge":"3"}}}"#))
        lines[index] = line.replacing("\"3\"", with: "3")
          .replacing(#""to":"default""#, with: #""token":"\#(token(5))""#)
      }
    }
    try box.write(lines.joined(separator: "\n") + "\n", to: "spool/failed/a")
    let after = try queue(box, "retry", "a")
    #expect(after.status == 0, "\(after.output)\(after.errors)")
    let accepting = try Gateway(in: box, name: "accepting")
    #expect(try box.deliver(accepting, lists).status == 0)
    try #expect(accepting.alerts(in: box).sorted() == ["bare", "list", "mended", "mended"])
  }

  @Test func `queue retry does not take a whole file with lines of failed/ for records`() throws {
    let good = notification("delivered", #""token":"\#(token(1))""#)
    let failed = #"{"failed":{"reason":"of all","code":"x","file":"a.0123456789abcdef"}}"# + "\n"
    try box.write(failed, to: "spool/failed/a.0123456789abcdef")
    // The original of a file that was retried before, whose lines look like records.
    try box.write(refusal(good), to: "spool/failed/a.0123456789abcdef.original")
    // A record of a file whose own name ends in .original.
    let other = #""failed":{"reason":"r","code":"x","file":"b.original","offset":0,"line":1}"#
    try box.write("{\(other),\(good.dropFirst())\n", to: "spool/failed/b.original")
    let listed = try objects(queue(box, "list", "--json").output)
    #expect(listed.map { $0["state"] as? String } == ["failed", "whole", "failed"])
    let retried = try queue(box, "retry", "--all")
    #expect(retried.status == 65)
    #expect(retried.output.contains("b.original: 1 sent again"), "\(retried.output)")
    #expect(
      box.names(in: "failed") == ["a.0123456789abcdef", "a.0123456789abcdef.original"])
    #expect(box.queued.count == 1)
  }

  @Test func `refusals during a queue retry are not lost`() throws {
    // Over HTTP/2 a refusal costs no connection, so that many rounds take little time.
    let gateway = try HTTP2Gateway(
      in: box, .certificate, ["--answer", "\(token(99))=413:PayloadTooLarge"])
    let agent = try box.agent(gateway)
    let count = 30
    for number in 1...count {
      try box.drop(line(99, "refused \(number)") + line(1, "good \(number)"), as: "a")
      try gateway.accepts("good \(number)")
      let retried = try queue(box, "retry", "--all")
      #expect(retried.status == 0, "\(retried.output)\(retried.errors)")
    }
    var refused = ""
    try wait(for: "all to be refused again: \(refused)") {
      refused = texts(box, "failed").values.joined()
      return (1...count).allSatisfy { refused.contains("\"refused \($0)\"") }
    }
    #expect(try agent.terminate() == 0)
    #expect(box.queued == [])
    refused = texts(box, "failed").values.joined()
    for number in 1...count {
      #expect(refused.count(of: "\"refused \(number)\"") == 1, "\(number)")
    }
    #expect(try gateway.alerts().filter { $0.hasPrefix("good") }.count == count)
    #expect(box.names(in: "tmp") == [])
  }

  @Test func `queue retry leaves a file to which a program still writes`() throws {
    let file = try box.write(
      refusal(notification("good", #""token":"\#(token(1))""#)), to: "spool/failed/a")
    let writer = try #require(fopen(file, "ae"))
    let busy = try queue(box, "retry", "a")
    #expect(busy.status == 75, "\(busy.errors)")
    #expect(box.queued == [])
    let late = refusal(notification("late", #""token":"\#(token(2))""#))
    #expect(fputs(late, writer) >= 0 && fclose(writer) == 0)
    #expect(try queue(box, "retry", "a").status == 0)
    let sent = texts(box, "new").values.joined()
    #expect(sent.contains("good") && sent.contains("late"), "\(sent)")
  }

  @Test func `queue retry sends 50,000 refusals again in 8 MB of memory`() throws {
    let text = refusal(notification("good", #""token":"\#(token(1))""#))
    let wrong = refusal(notification("wrong", #""token":"123""#))
    try box.write(String(repeating: text, count: 50_000) + wrong, to: "spool/failed/a")
    let retried = try traced(box, "queue", "retry", "a")
    #expect(retried.status == 65)
    #expect(retried.output.contains("50000 sent again as a."))
    #expect(try peak(retried) < 8192)
    #expect(box.text("spool/failed/a") == wrong)
    let sent = texts(box, "new").values.map { $0.split(separator: "\n").count }
    #expect(sent == [50_000])
  }
}
