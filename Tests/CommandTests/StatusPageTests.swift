import Foundation
import Testing

/// `tinypush status`: the status page as text, JSON, metrics and a live view.
@Suite(.sideBySide) struct StatusPageTests {
  private func status(_ box: Box, _ arguments: String...) throws -> Child {
    try box.run(
      Build.command(Build.host) + ["status", "-o", "status=\(box.path)/page"] + arguments)
  }

  private func object(_ box: Box) throws -> [String: Any] {
    try objects(status(box, "--json").output).first ?? [:]
  }

  private func settings(_ box: Box, _ more: String...) -> [String] {
    ["status=\(box.path)/page", "settle=1h"] + more
  }

  // MARK: - Content

  @Test(arguments: Build.all)
  func `the page of every build shows the connection, the sent count and the latency`(build: String)
    throws
  {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, build: build, settings(box))
    for number in 1...20 { try box.drop(line(number), as: "\(number)") }
    try wait(for: "twenty to be sent") { try object(box)["sent"] as? Int == 20 }
    let page = try object(box)
    #expect(page["state"] as? String == "connected")
    #expect(page["tls_version"] as? String == (build == Build.recent ? "TLS 1.3" : "TLS 1.2"))
    #expect((page["cipher_suite"] as? String)?.hasPrefix("TLS") == true)
    #expect(page["in_flight"] as? Int == 20)
    #expect(page["files"] as? Int == 20)
    #expect(page["files_exact"] as? Bool == true)
    #expect(page["next_try_in_ms"] == nil)
    let end = try box.run([
      "openssl", "x509", "-in", Certificates.path("client.pem"), "-noout", "-enddate", "-dateopt",
      "iso_8601",
    ]).output
    let expiry: Int = try page.member("certificate_expires_at")
    let shown = Date(timeIntervalSince1970: Double(expiry))
    #expect(
      end.trimmingCharacters(in: .newlines) == "notAfter="
        + shown.formatted(.iso8601.dateTimeSeparator(.space)), "\(end)")
    let traffic = page["traffic"] as? [String: [String: Int]]
    for period in ["minute", "hour", "start"] {
      #expect(traffic?[period]?["sent"] == 20)
      let median = try #require(traffic?[period]?["p50_ms"])
      let tail = try #require(traffic?[period]?["p99_ms"])
      #expect(median <= tail)
      #expect(tail < 60_000)
    }
    agent.kill()
  }

  @Test func `status says why the agent could not start`() throws {
    let page = "status=\(box.path)/page"
    for (line, reason) in [
      ("", "neither a signing key nor a certificate is set: "),
      ("certificate = missing.pem", "missing.pem does not exist. "),
      ("certificate = /etc/passwd", "/etc/passwd"),
      ("certficate = x", "tinypush.conf:2: unknown setting certficate; did you mean certificate?"),
    ] {
      let config = try box.write("status = \(box.path)/page\n\(line)\n", to: "tinypush.conf")
      let agent = try box.tinypush("run", "--config", config)
      #expect([66, 78].contains(agent.status), "\(line)")
      let shown = try box.run(Build.command(Build.host) + ["status", "--config", config])
      #expect(shown.status == 69)
      #expect(shown.output.hasPrefix("not running\n"), "\(shown.output)")
      let words = shown.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(words.contains("when it ended: the agent could not start: "), "\(words)")
      #expect(words.contains(reason), "\(words)")
      let printed = try #require(agent.errors.split(separator: "\n").first).dropFirst(14)
      #expect(words.contains(printed.prefix(100)), "\(words)")
    }
    // With --once, the reason is on the terminal alone.
    let once = try box.tinypush("run", "--once", "-o", page, "-o", "certificate=other.pem")
    #expect(once.status == 66)
    #expect(try !status(box).output.contains("other.pem"))
  }

  @Test func `without a gateway status shows the reason and the time of the next attempt`() throws {
    let gateway = try Gateway(in: box)
    gateway.child.kill()
    for number in 1...3 { try box.drop(line(number), as: "\(number)") }
    try box.drop(line(4), as: ".hidden")
    let agent = try box.agent(gateway, settings(box))
    let problems = {
      try (object(box)["problems"] as? [[String: Any]] ?? []).first?["count"] as? Int ?? 0
    }
    try wait(for: "two attempts") { try problems() >= 2 }
    try wait(for: "a pause") { try object(box)["next_try_in_ms"] != nil }
    try wait(for: "the time of the next attempt") {
      let said = try status(box)
      #expect(said.status == 75)
      return said.output.contains(/\n  next attempt in \d+ s\n/)
    }
    let page = try object(box)
    #expect(page["state"] as? String == "not connected" || page["state"] as? String == "connecting")
    #expect(page["files"] as? Int == 3)
    // Failed attempts do not change the time since when the agent is offline.
    #expect(page["changed_at"] as? Int == page["started_at"] as? Int)
    let problem = try #require((page["problems"] as? [[String: Any]])?.first)
    #expect(problem["severity"] as? String == "warning")
    #expect((problem["message"] as? String)?.contains("Connection refused") == true)
    #expect(try abs(problem.member("time") - Int(time(nil))) < 300)
    #expect(try agent.terminate() == 0)
  }

  @Test func `the time offline counts through all attempts`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box, "connect-timeout=5m"))
    try wait(for: "a connection") { try object(box)["state"] as? String == "connected" }
    gateway.child.kill()
    try wait(for: "its end") { try object(box)["state"] as? String != "connected" }
    let lostAt = try object(box)["changed_at"] as? Int
    let attempts = {
      try (object(box)["problems"] as? [[String: Any]] ?? [])
        .filter { ($0["message"] as? String)?.hasPrefix("cannot connect") == true }
        .compactMap { $0["count"] as? Int }.reduce(0, +)
    }
    try wait(for: "three attempts") { try attempts() >= 3 }
    #expect(try object(box)["changed_at"] as? Int == lostAt)
    // A server that never answers, so that an attempt lasts.
    let silent = try box.start([
      "python3", "-c",
      """
      import signal, socket
      kept = socket.create_server(("localhost", \(gateway.port)), family=socket.AF_INET)
      signal.pause()
      """,
    ])
    try wait(for: "an attempt that lasts") {
      let said = try status(box).output
      return said.contains(
        /^connecting, not connected for \d+ (s|min), running for \d+ (s|min)\n/)
    }
    #expect(try object(box)["changed_at"] as? Int == lostAt)
    silent.kill()
    let back = try Gateway(in: box, ["--port", "\(gateway.port)"], name: "back")
    try wait(for: "another connection") { try object(box)["state"] as? String == "connected" }
    #expect(try object(box)["changed_at"] as? Int ?? 0 > lostAt ?? 0)
    #expect(try agent.terminate() == 0)
    withExtendedLifetime(back) {}
  }

  @Test(arguments: ["queue drop", "rm"])
  func `status stops counting files that another program removes from later/`(way: String) throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box))
    for number in 1...3 {
      try box.drop(
        #"{"payload":{"aps":{"alert":"x"}},"token":"\#(token(number))","not-before":4000000000}"#,
        as: "\(number)")
    }
    try wait(for: "three to wait") { try object(box)["later_files"] as? Int == 3 }
    let first = try #require(box.names(in: "later").first)
    if way == "rm" {
      unlink(box.spool + "/later/" + first)
    } else {
      let dropped = try box.tinypush("queue", "drop", first, "-o", "spool=" + box.spool)
      #expect(dropped.status == 0, "\(dropped.errors)")
    }
    try wait(for: "two to wait") { try object(box)["later_files"] as? Int == 2 }
    let rest = try box.tinypush("queue", "drop", "--later", "--all", "-o", "spool=" + box.spool)
    #expect(rest.status == 0, "\(rest.errors)")
    try wait(for: "none to wait") { try object(box)["later_files"] as? Int == 0 }
    #expect(try agent.terminate() == 0)
  }

  @Test func `status counts refusals by reason`() throws {
    let gateway = try Gateway(
      in: box,
      [2, 3, 4].flatMap { ["--reject", "\(token($0))=\($0 == 4 ? 255 : $0 == 3 ? 7 : 8)"] })
    let agent = try box.agent(gateway, settings(box))
    for number in 1...5 { try box.drop(line(number, "Tank \(number)"), as: "\(number)") }
    try gateway.accepts("Tank 5")
    try wait(for: "the records") { box.names(in: "failed") == ["2", "3", "4"] }
    #expect(try agent.terminate() == 0)
    #expect(box.queued == [])
    let page = try object(box)
    #expect(page["refused"] as? Int == 3)
    #expect(
      page["refused_by_reason"] as? [String: Int]
        == ["invalid_payload_size": 1, "invalid_token": 1, "other": 1])
  }

  @Test func `the page keeps the last five problems across a restart`() throws {
    let gateway = try Gateway(
      in: box, (1...6).flatMap { ["--reject", "\(token($0))=\($0)"] })
    let agent = try box.agent(gateway, settings(box))
    for number in 1...6 { try box.drop(line(number), as: "\(number)") }
    try wait(for: "all to be refused") { box.queued.isEmpty }
    #expect(try agent.terminate() == 0)
    let messages = {
      try object(box).member("problems", as: [[String: Any]].self).map {
        try $0.member("message", as: String.self)
      }
    }
    let before = try messages()
    #expect(before.count == 5)
    #expect(try before.at(0).contains("invalid topic size"), "\(before)")
    #expect(try before.at(4).contains("missing device token"), "\(before)")
    let second = try box.agent(gateway, settings(box))
    try wait(for: "the second agent") { try object(box)["pid"] as? Int == Int(second.id) }
    #expect(try messages() == before)
    #expect(try object(box)["refused"] as? Int == 0)
    #expect(try second.terminate() == 0)
  }

  @Test func `a reload keeps the counters and the start time`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box))
    try box.drop(line(1, "first"), as: "1")
    try gateway.accepts("first")
    let before = try object(box)
    agent.signal(SIGHUP)
    try box.drop(line(2, "second"), as: "2")
    try gateway.accepts("second")
    var after: [String: Any] = [:]
    try wait(for: "both to be counted") {
      after = try object(box)
      let start = (after["traffic"] as? [String: [String: Int]])?["start"]
      return after["connections"] as? Int == 2 && after["sent"] as? Int ?? 0 >= 2
        && start?["sent"] ?? 0 >= 2
    }
    #expect(after["started_at"] as? Int == before["started_at"] as? Int)
    #expect(after["pid"] as? Int == Int(agent.id))
    #expect(after["sent"] as? Int ?? 0 >= 2)
    let start = (after["traffic"] as? [String: [String: Int]])?["start"]
    #expect(start?["sent"] == 2)
    #expect(try agent.terminate() == 0)
  }

  @Test func `status reports a killed agent as not running even if its PID is in use again`() throws
  {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box))
    try wait(for: "the page") { try status(box).status == 0 }
    agent.kill()
    // The PID of a running process.
    let page = try FileHandle(forUpdating: URL(filePath: box.path + "/page"))
    try page.seek(toOffset: 8)
    try page.write(contentsOf: withUnsafeBytes(of: getpid()) { Data($0) })
    try page.close()
    let said = try status(box)
    #expect(said.status == 69)
    #expect(said.output.hasPrefix("not running\n  when it ended: connected to "))
    #expect(try object(box)["pid"] as? Int == Int(getpid()))
  }

  // MARK: - The file

  @Test func `the agent makes a removed page again with all its figures`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box, "rescan=1s"))
    try box.drop(line(1, "first"), as: "1")
    try gateway.accepts("first")
    try wait(for: "the page") { try object(box)["sent"] as? Int == 1 }
    let before = try object(box)
    try FileManager.default.removeItem(atPath: box.path + "/page")
    try wait(for: "another page") { try status(box).status == 0 }
    let after = try object(box)
    #expect(after["started_at"] as? Int == before["started_at"] as? Int)
    #expect((after["traffic"] as? [String: [String: Int]])?["start"]?["sent"] == 1)
    #expect(try agent.terminate() == 0)
    #expect(!agent.errors.contains("status page"), "\(agent.errors)")
  }

  @Test func `a reload with another status path takes the agent's figures there`() throws {
    let gateway = try Gateway(in: box)
    let other = try box.agent(gateway, settings(box) + ["status=\(box.path)/other"])
    try box.drop(line(1, "of another agent"), as: "1")
    try gateway.accepts("of another agent")
    #expect(try other.terminate() == 0)

    let config = try box.write(
      settings(box).joined(separator: "\n") + "\n", to: "tinypush.conf")
    let agent = try box.start(
      Build.command(Build.host) + ["run", "--config", config] + box.settings(gateway.port))
    try wait(for: "the page") { try object(box)["state"] as? String == "connected" }
    for number in 2...4 { try box.drop(line(number, "own \(number)"), as: "\(number)") }
    try gateway.accepts("own 4")
    try box.write(
      settings(box).joined(separator: "\n").replacing("/page", with: "/other") + "\n",
      to: "tinypush.conf")
    agent.signal(SIGHUP)
    func there() throws -> [String: Any] {
      try objects(box.tinypush("status", "--json", "-o", "status=\(box.path)/other").output).first
        ?? [:]
    }
    try wait(for: "the other page") { try there()["pid"] as? Int == Int(agent.id) }
    let start = (try there()["traffic"] as? [String: [String: Int]])?["start"]
    #expect(start?["sent"] == 3)
    #expect(try status(box).status == 69)
    #expect(try agent.terminate() == 0)
  }

  @Test func `the agent keeps a file that is no status page and logs that`() throws {
    let path = try box.write("a key, perhaps", to: "page")
    chmod(path, 0o600)
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box))
    try agent.line("/page cannot be written: the file is not a status page", in: .errors)
    try box.drop(line(1, "all the same"), as: "1")
    try gateway.accepts("all the same")
    #expect(try agent.terminate() == 0)
    #expect(box.text("page") == "a key, perhaps")
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `the second of two agents with one status path logs that`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box))
    try wait(for: "the page") { try object(box)["pid"] as? Int == Int(agent.id) }
    try wait(for: "the connection") { try status(box).status == 0 }
    for name in ["new", "failed", "tmp"] {
      try FileManager.default.createDirectory(
        atPath: "\(box.path)/second/\(name)", withIntermediateDirectories: true)
    }
    let second = try box.agent(gateway, settings(box) + ["spool=\(box.path)/second"])
    try second.line("/page belongs to another agent: set status to a different file", in: .errors)
    #expect(try object(box)["pid"] as? Int == Int(agent.id))
    #expect(try second.terminate() == 0)
    #expect(try status(box).status == 0)
    #expect(try agent.terminate() == 0)
  }

  private enum Lock: String { case read = "F_RDLCK", write = "F_WRLCK" }

  /// Locks a file of a box in another process (37: F_OFD_SETLK).
  private func lock(_ file: String, _ kind: Lock, in box: Box) throws -> Child {
    let lock = try box.start([
      "python3", "-c",
      """
      import fcntl, signal, struct, sys
      page = open(sys.argv[1], "r+")
      fcntl.fcntl(page, 37, struct.pack("hhqqi4x", fcntl.\(kind.rawValue), 0, 0, 0, 0))
      print("locked", flush=True)
      signal.pause()
      """, file,
    ])
    try lock.line("locked")
    return lock
  }

  @Test func `a read lock on the page neither fakes an agent nor keeps one from the page`()
    throws
  {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box))
    try wait(for: "the page") { try status(box).status == 0 }
    agent.kill()
    let lock = try lock("page", .read, in: box)
    #expect(try status(box).status == 69)
    let next = try box.agent(gateway, settings(box))
    try wait(for: "its page") { try object(box)["pid"] as? Int == Int(next.id) }
    #expect(try next.terminate() == 0)
    lock.kill()
  }

  @Test func `status shows why the agent closed a connection`() throws {
    let sandbox = try Sandbox(in: box, ["--fault", "garbage@100%"])
    let agent = try box.start(
      Build.command(Build.host) + [
        "run", "--config", sandbox.config, "-o", "status=\(box.path)/page",
      ])
    try box.write(line(1), to: "sandbox/spool/tmp/1")
    #expect(rename(box.path + "/sandbox/spool/tmp/1", box.path + "/sandbox/spool/new/1") == 0)
    try wait(for: "the reason") {
      (try object(box)["detail"] as? String)?.hasPrefix("unexpected bytes from the gateway")
        == true
    }
    #expect(try agent.terminate() == 0)
  }

  // MARK: - Input

  enum Harm: CaseIterable, Sendable { case empty, short, random, words, directory, pipe, link }

  @Test(arguments: Harm.allCases)
  func `status survives anything in the place of the page and prints no control characters`(
    harm: Harm
  )
    throws
  {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box))
    try wait(for: "the page") { try status(box).status == 0 }
    #expect(try agent.terminate() == 0)
    let path = box.path + "/page"
    var page = try #require(FileManager.default.contents(atPath: path))
    try #require(page.count > 4)
    try FileManager.default.removeItem(atPath: path)
    switch harm {
    case .empty: page = Data()
    case .short: page.removeLast()
    case .random:
      var random = SeededRandom(for: "a page of random bytes")
      for index in 4..<page.count { page[index] = UInt8.random(in: 0...255, using: &random) }
    case .words:
      let text = try #require(page.range(of: Data("stopped".utf8)))
      page.replaceSubrange(text, with: Data("\u{1B}[2J\u{7}\n!".utf8))
    default: break
    }
    switch harm {
    case .directory: mkdir(path, 0o755)
    case .pipe: mkfifo(path, 0o644)
    case .link: symlink("/etc/passwd", path)
    default: try page.write(to: URL(filePath: path))
    }
    for form in [[], ["--json"], ["--prometheus"]] {
      let said = try box.run(
        Build.command(Build.host) + ["status", "-o", "status=\(path)"] + form)
      #expect(said.status == (form == ["--prometheus"] ? 0 : 69), "\(said.errors)")
      #expect(!(said.output + said.errors).contains { $0 == "\u{1B}" || $0 == "\u{7}" })
      if form == ["--json"], !said.output.isEmpty { _ = try objects(said.output) }
    }
    if harm == .words { #expect(try status(box).output.contains(#"\x1b[2J\x07\x0a!"#)) }
    if harm == .short || harm == .empty {
      #expect(try status(box).errors.contains("not a status page of this version"))
    }
  }

  @Test(arguments: Build.all)
  func `a page full of large numbers crashes neither status nor the next agent`(build: String)
    throws
  {
    let gateway = try Gateway(in: box)
    let path = box.path + "/page"
    let page = "status=" + path
    #expect(try box.deliver(gateway, build: build, [page]).status == 0)
    var bytes = try #require(FileManager.default.contents(atPath: path))
    try #require(bytes.count > 8)
    for index in 8..<bytes.count { bytes[index] = 0xFF }
    try bytes.write(to: URL(filePath: path))
    for isAlive in [false, true] {
      let lock = isAlive ? try lock("page", .write, in: box) : nil
      for form in [[], ["--json"], ["--prometheus"]] {
        let said = try box.run(Build.command(build) + ["status", "-o", page] + form)
        let status: Int32 = form == ["--prometheus"] ? 0 : isAlive ? 75 : 69
        #expect(said.status == status, "\(said.errors)")
        if form == ["--prometheus"] {
          #expect(said.output.contains("\ntinypush_up \(isAlive ? 1 : 0)\n"))
        }
      }
      lock?.kill()
    }
    // The agent compares a new problem with the problems on the page.
    try box.drop("{", as: "wrong")
    let agent = try box.deliver(gateway, build: build, [page])
    #expect(agent.status == 65, "\(agent.errors)")
  }

  /// Runs `status` where the page and the programs of the package are those in a box's run/.
  private func packaged(_ arguments: [String], in box: Box) throws -> Child {
    let mounts = """
      [ ! -d /etc/tinypush ] || mount -t tmpfs none /etc/tinypush || exit
      mount -t tmpfs none /run && mkdir /run/tinypush && mount --bind "$1" /run/tinypush &&
      export PATH="$1:$PATH" && shift && exec "$@"
      """
    return try box.run(
      ["unshare", "--mount", "sh", "-c", mounts, "sh", box.path + "/run"]
        + Build.command(Build.host) + ["status"] + arguments)
  }

  @Test func `status without a configuration shows the page of the package`() throws {
    try #require(geteuid() == 0, "needs root")
    mkdir(box.path + "/run", 0o755)
    let none = try packaged([], in: box)
    #expect(none.status == 69)
    #expect(
      none.errors == """
        tinypush status: /run/tinypush/status: No such file or directory: has the agent been \
        started with this configuration? There is no configuration /etc/tinypush/tinypush.conf: \
        name one with --config FILE, or the page with -o status=FILE

        """)
    let json = try packaged(["--json"], in: box)
    #expect(json.status == 69 && json.errors == "")
    let said = try objects(json.output).at(0)
    #expect(said["state"] as? String == "not running")
    #expect((said["detail"] as? String)?.contains("No such file or directory") == true)
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["status=\(box.path)/run/status"])
    try agent.line("connected to", in: .errors)
    let found = try packaged(["--json"], in: box)
    #expect(found.status == 0, "\(found.errors)")
    #expect(try objects(found.output).at(0)["pid"] as? Int == Int(agent.id))
  }

  @Test func `status shows what systemd knows of the MQTT bridge of the package`() throws {
    try #require(geteuid() == 0, "needs root")
    mkdir(box.path + "/run", 0o755)
    let gateway = try Gateway(in: box)
    let page = "status=\(box.path)/run/status"
    let agent = try box.agent(gateway, [page])
    try agent.line("connected to", in: .errors)
    let refusal = "the broker refused subscribe = a/#: not authorized"
    let failure = "not running: systemctl status tinypush-mqtt shows why"
    let rows: [(answer: String, isRunning: Bool?, words: String?)] = [
      ("StatusText=\(refusal)\nActiveState=active", true, refusal),
      ("ActiveState=reloading\nStatusText=\u{1B}[31m", true, #"\x1b[31m"#),
      ("StatusText=connected\nActiveState=failed", false, failure),
      ("ActiveState=activating\nStatusText=", false, failure),
      ("ActiveState=inactive\nStatusText=", nil, nil), ("", nil, nil),
    ]
    for row in rows {
      let systemctl = try box.write(
        """
        #!/bin/sh
        [ "$*" = 'show tinypush-mqtt --property=ActiveState,StatusText' ] && cat <<'END'
        \(row.answer)
        END
        """, to: "run/systemctl")
      chmod(systemctl, 0o755)
      let shown = try objects(packaged(["--json"], in: box).output).at(0)
      #expect(shown["mqtt_running"] as? Bool == row.isRunning, "\(row)")
      #expect(shown["mqtt_detail"] as? String == row.words, "\(row)")
      let lines = try packaged([], in: box).output.split(separator: "\n")
      #expect(
        lines.filter { $0.contains("MQTT") } == (row.words.map { ["  MQTT bridge: \($0)"] } ?? []))
    }
    // The bridge of the package puts nothing into the spool of another agent.
    let other = try box.tinypush("status", "--json", "-o", page)
    #expect(try objects(other.output).at(0)["mqtt_running"] == nil)
  }

  @Test func `status refuses wrong arguments and a missing setting`() throws {
    let unset = try box.tinypush("status", "-o", "spool=\(box.spool)", "--config", "/dev/null")
    #expect(unset.status == 78)
    #expect(unset.errors.contains("the setting status is missing"), "\(unset.errors)")
    for (arguments, words) in [
      (["--json", "--prometheus"], "give only one of --watch, --json and --prometheus"),
      (["--watch"], "--watch needs a terminal"), (["page"], "unexpected argument page"),
    ] {
      let wrong = try box.run(
        Build.command(Build.host) + ["status", "-o", "status=\(box.path)/page"] + arguments)
      #expect(wrong.status == 64)
      #expect(wrong.errors.contains(words), "\(wrong.errors)")
    }
  }

  // MARK: - Prometheus

  @Test func `promtool accepts the metrics, which match the page`() throws {
    let gateway = try Gateway(in: box, ["--reject", "\(token(2))=8"])
    let clocks = try Clocks(in: box, [.awake])
    func text(_ members: String) -> String {
      #"{"token":"\#(token(99))","payload":{"aps":{"badge":1}},\#(members)}"# + "\n"
    }
    for number in 1...2 { try box.drop(text(#""expiration":1000000000"#), as: "old \(number)") }
    for number in 1...3 { try box.drop("{}", as: "wrong \(number)") }
    for number in 1...5 { try box.drop(text(#""collapse-id":"x""#), as: "door \(number)") }
    let agent = try box.agent(gateway, settings(box), environment: clocks.environment)
    for number in 1...9 { try box.drop(line(number, "Tank \(number)"), as: "\(number)") }
    try gateway.accepts("Tank 9")
    try clocks.pass(3601, for: agent, and: gateway.child) { box.queued.isEmpty }
    try wait(for: "all to be counted") { try object(box)["in_flight"] as? Int == 0 }
    let metrics = try status(box, "--prometheus")
    #expect(metrics.status == 0)
    try check(metrics.output, box)
    var values: [String: Double] = [:]
    for line in metrics.output.split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      try values[String(parts.at(0))] = Double(parts.at(1))
    }
    let page = try object(box)
    for name in [
      "sent", "settled_by_proof", "settled_by_time", "failed_check", "repeated", "uncertain",
      "expired", "suppressed", "tokens_suppressed", "gone", "superseded", "postponed", "limited",
      "summaries", "duplicates",
      "connections", "records",
    ] {
      let count: Int = try page.member(name)
      #expect(values["tinypush_\(name)_total"] == Double(count), "\(name)")
    }
    #expect(values["tinypush_up"] == 1)
    #expect(values["tinypush_connected"] == 1)
    for (name, count) in [("expired", 2.0), ("failed_check", 3), ("superseded", 4)] {
      #expect(values["tinypush_\(name)_total"] == count, "\(name)")
    }
    #expect(values[#"tinypush_refused_total{reason="invalid_token"}"#] == 1)
    let expiry: Int = try page.member("certificate_expires_at")
    #expect(values["tinypush_certificate_expiry_time_seconds"] == Double(expiry))
    #expect(values["tinypush_send_latency_seconds_count"] == 10)
    #expect(values[#"tinypush_send_latency_seconds_bucket{le="+Inf"}"#] == 10)
    #expect(try agent.terminate() == 0)
    let down = try status(box, "--prometheus")
    #expect(down.status == 0)
    #expect(down.output.hasSuffix("\ntinypush_up 0\n"))
    try check(down.output, box)
  }

  private func check(_ metrics: String, _ box: Box) throws {
    let checked = try box.run([Build.directory + "/promtool", "check", "metrics"], input: metrics)
    #expect(checked.status == 0 && checked.errors == "", "\(checked.errors)")
  }

  // MARK: - On a terminal

  /// A tmux terminal with a shell.
  private struct Screen {
    let box: Box
    private var socket: String { box.path + "/tmux" }

    init(_ box: Box) throws {
      self.box = box
      try tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh")
      try tmux("set-option", "-g", "window-size", "manual")
    }

    func end() { _ = try? tmux("kill-server") }

    @discardableResult
    func tmux(_ words: String...) throws -> String {
      let child = try box.run(
        ["tmux", "-S", socket] + words,
        environment: ["TERM": "screen-256color", "LC_ALL": "C.UTF-8", "ENV": ""])
      guard child.status == 0 else { throw Failure("tmux: \(child.errors)") }
      return child.output
    }

    func type(_ text: String) throws { try tmux("send-keys", text, "Enter") }

    /// The lines on the screen.
    var lines: [String] {
      get throws {
        try tmux("capture-pane", "-p").split(separator: "\n", omittingEmptySubsequences: false)
          .map(String.init)
      }
    }

    func shows(_ words: String, line number: Int? = nil) throws {
      try wait(for: "\"\(words)\" on the screen") {
        let lines = try lines
        let shown = number.map { lines.dropFirst($0).prefix(1) } ?? lines[...]
        return shown.contains { $0.contains(words) }
      }
    }
  }

  @Test
  func `status --watch follows the agent, fits any size and restores the terminal`()
    throws
  {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box))
    let screen = try Screen(box)
    defer { screen.end() }
    let watch = try Build.command(Build.host).joined(separator: " ") + " status --watch"
    try screen.type("stty -g >before; echo rea''dy")
    try screen.shows("ready")
    try screen.type("\(watch) -o status=\(box.path)/page; stty -g >after; echo ov''er")
    try screen.shows("connected for ", line: 0)
    #expect(try screen.tmux("display-message", "-p", "#{alternate_on}#{cursor_flag}") == "10\n")
    for number in 1...40 { try box.drop(line(number), as: "\(number)") }
    try box.drop("{}", as: "wrong")
    try screen.shows("40 files")
    try screen.shows("██████████████████████████████")
    try screen.shows("wrong not sent: ")
    try screen.shows("q: quit")
    let lines = try screen.lines
    #expect(lines.filter { !$0.isEmpty }.count > 15)
    #expect(lines.contains { $0.hasPrefix("  last minute") && $0.contains("█") })
    for (columns, rows) in [(40, 10), (20, 3), (120, 40), (80, 24)] {
      try screen.tmux("resize-window", "-x", "\(columns)", "-y", "\(rows)")
      // No rest of the former size is on the screen, and the first line is still there.
      try wait(for: "a screen of \(columns) by \(rows)") {
        let lines = try screen.lines
        return lines.first?.hasPrefix("connected for ") == true
          && lines.filter { $0.hasPrefix("connected for ") }.count == 1
          && lines.contains { $0.contains("q: quit") }
          && lines.contains { $0.contains("arrow keys") } == (rows == 10)
          && lines.contains { $0.hasPrefix("  last minute") } == (rows >= 24)
      }
    }
    agent.kill()
    try screen.shows("not running", line: 0)
    try screen.tmux("send-keys", "q")
    try screen.shows("over")
    #expect(try screen.tmux("display-message", "-p", "#{alternate_on}#{cursor_flag}") == "01\n")
    #expect(box.text("before") == box.text("after"))
    #expect(box.text("before") != "")
  }

  @Test func `status --watch waits for an agent to start and ends at Ctrl-C`() throws {
    let screen = try Screen(box)
    defer { screen.end() }
    let watch = try Build.command(Build.host).joined(separator: " ") + " status --watch"
    try screen.type(
      "stty -g >before; \(watch) -o status=\(box.path)/page; stty -g >after; echo ov''er")
    try screen.shows("not running", line: 0)
    try screen.shows("configuration?")
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, settings(box))
    try screen.shows("connected for ", line: 0)
    try screen.tmux("send-keys", "C-c")
    try screen.shows("over")
    #expect(box.text("before") == box.text("after"))
    #expect(try agent.terminate() == 0)
  }
}
