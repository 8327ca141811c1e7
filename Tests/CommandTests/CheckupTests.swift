import Foundation
import Testing

/// What `tinypush check` reports about the set-up, and the advice that it gives.
@Suite(.sideBySide) struct CheckupTests {
  /// One set-up, and the item that the check must report about it.
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var name: String
    var state: String
    var message: String
    var advice: String
    /// The exit status of the command.
    var status: Int32
    var certificate = "client"
    var key: String?
    var settings: [String] = []
    var server = "server"
    var ca = "ca"
    var script: [String] = []

    init(
      _ description: String, _ name: String, _ state: String, _ message: String,
      _ advice: String = "", status: Int32 = 0, certificate: String = "client",
      key: String? = nil, settings: [String] = [], server: String = "server", ca: String = "ca",
      script: [String] = []
    ) {
      testDescription = description
      (self.name, self.state, self.message, self.advice) = (name, state, message, advice)
      (self.status, self.certificate, self.key) = (status, certificate, key)
      (self.settings, self.server, self.ca, self.script) = (settings, server, ca, script)
    }
  }

  /// The items whose state depends on the machine that runs the test.
  static let dependentOnMachine: Set = ["clock.time", "spool.room", "state.room"]

  // MARK: - The whole report

  @Test(arguments: TLSTests.versions)
  func `check reports every item of a sound set-up as ok`(version: (build: String, tls: String))
    throws
  {
    let gateway = try Gateway(in: box, tls: version.tls)
    let agent = try box.start(
      Build.command(version.build) + ["run"] + box.wellSettings(gateway.port))
    try agent.line("connected to", in: .errors)
    let checkup = try box.checkup(gateway.port, build: version.build)
    #expect(checkup.status == 0)
    #expect(
      checkup.names("ok").union(Self.dependentOnMachine) == [
        "config.environment", "clock.time", "certificate.file", "certificate.topic",
        "certificate.environment", "certificate.dates", "certificate.chain", "certificate.key",
        "certificate.authorities", "spool.directory", "spool.tmp", "spool.new", "spool.failed",
        "spool.room", "spool.rights", "spool.agent", "state.directory", "state.list", "state.page",
        "state.room", "recipients.directory", "gateway.name", "gateway.address",
        "gateway.handshake", "gateway.certificate", "gateway.client", "gateway.answer",
        "feedback.name", "feedback.address",
      ])
    #expect(checkup.names("warning").subtracting(Self.dependentOnMachine) == ["config.file"])
    #expect(checkup.names("error") == [])
    #expect(
      checkup["config.environment"].message
        == "production, gateway localhost:\(gateway.port), feedback localhost:\(gateway.port)")
    #expect(checkup["certificate.topic"].message == "com.example.tinypush")
    #expect(checkup["certificate.environment"].message == "production")
    #expect(checkup["certificate.dates"].message.hasPrefix("2020-01-01 to 2099-12-31, "))
    #expect(
      checkup["certificate.chain"].message
        == "Push Services: com.example.tinypush, issued by TinyPush test authority")
    #expect(checkup["certificate.key"].message.hasSuffix("/client.key, EC, 256 bits"))
    #expect(checkup["certificate.authorities"].message.hasSuffix("/ca.pem, 1 certificate"))
    #expect(checkup["spool.agent"].message == "an agent is running")
    #expect(checkup["gateway.name"].message == "localhost, port \(gateway.port)")
    #expect(
      checkup.all("gateway.address").contains {
        $0.message.hasPrefix("127.0.0.1, round trip ")
      })
    #expect(checkup["gateway.handshake"].message.hasPrefix("TLS \(version.tls), TLS"))
    #expect(checkup["gateway.handshake"].message.hasSuffix(" ms"))
    #expect(
      checkup["gateway.certificate"].message.hasPrefix(
        "localhost, issued by TinyPush test authority; 2020-01-01 to 2099-12-31, "))
    #expect(checkup["gateway.client"].message == "sent, and not refused")
    #expect(
      checkup["gateway.answer"].message.wholeMatch(
        of: #/within \d+ ms: status 5, invalid token size, to a frame that it must refuse/#) != nil)
    // The check left no file and delivered nothing, and the agent ran on.
    for name in ["tmp", "new", "failed"] { #expect(box.names(in: name) == []) }
    #expect(gateway.recorded(.accepted) == [])
    #expect(gateway.recorded(.refused).count == 1)
    #expect(try agent.terminate() == 0)
  }

  @Test func `check prints the items under headings, with the advice below each`() throws {
    let gateway = try Gateway(in: box)
    let path = try box.write("# all by -o\n", to: "tinypush.conf")
    let settings = try box.wellSettings(gateway.port)
    let said = try box.run(
      Build.command(Build.host) + ["check", "--config", path] + settings)
    #expect(said.status == 0)
    let lines = said.output.split(separator: "\n").map(String.init)
    #expect(
      lines.filter { !$0.hasPrefix(" ") && !$0.contains("warning") } == [
        "config", "clock", "certificate", "spool", "state", "recipients", "gateway", "feedback",
      ])
    #expect(try lines.at(1) == "  ✓ file         \(path)")
    let agent = try #require(lines.firstIndex { $0.contains("! agent") })
    #expect(try lines.at(agent) == "  ! agent        no agent is running: nothing is delivered")
    #expect(
      try lines.at(agent + 1) == "                 → systemctl start tinypush, or tinypush run")
    #expect(said.output.hasSuffix(" warnings\n") || said.output.hasSuffix("\n1 warning\n"))
    #expect(!said.output.contains("\u{1B}"))
    // On a terminal, check prints colours and fits the lines to the width.
    let narrow = [
      "python3", "-c",
      """
      import fcntl, os, pty, struct, sys, termios
      child, terminal = pty.fork()
      if child == 0:
          fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
          os.execvp(sys.argv[1], sys.argv[1:])
      try:
          while piece := os.read(terminal, 65536):
              sys.stdout.buffer.write(piece)
      except OSError:
          pass
      sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
      """,
    ]
    let command = try narrow + Build.command(Build.host) + ["check", "--config", path] + settings
    let shown = try box.run(command, environment: ["TERM": "xterm", "NO_COLOR": ""])
    #expect(shown.status == 0)
    #expect(shown.output.contains("\u{1B}[1mconfig\u{1B}[0m"))
    #expect(shown.output.contains("\u{1B}[32m✓\u{1B}[0m file"))
    #expect(shown.output.contains("\u{1B}[33m!\u{1B}[0m agent"))
    #expect(shown.output.contains("shaking hands with localhost:\(gateway.port) ..."))
    let plain = try box.run(command, environment: ["TERM": "xterm", "NO_COLOR": "1"])
    let dumb = try box.run(command, environment: ["TERM": "dumb", "NO_COLOR": ""])
    #expect(!plain.output.contains("\u{1B}[3"))
    #expect(!dumb.output.contains("\u{1B}"))
    // Except words without a space, such as paths.
    let long = dumb.output.split(separator: "\r\n").filter { $0.count > 60 }
    #expect(long.allSatisfy { $0.contains("/") }, "\(long)")
  }

  @Test func `the worst problem decides the exit status of check, not the first`() throws {
    let gateway = try Gateway(in: box)
    gateway.child.kill()
    #expect(try box.checkup(gateway.port).status == 69)
    #expect(try box.checkup(gateway.port, ["spool=/nowhere"]).status == 66)
    let both = try box.checkup(
      gateway.port, certificate: "client-expired", ["spool=/nowhere", "ca=/nowhere.pem"])
    #expect(both.status == 78)
    #expect(
      both.names("error") == [
        "certificate.dates", "certificate.authorities", "spool.directory", "gateway.address",
      ])
    // The items that depend on a failed one are skipped.
    #expect(both.names("skipped") == ["gateway.handshake", "gateway.answer"])
    #expect(both["spool.rights"].state == "absent")
  }

  // MARK: - The configuration

  @Test func `check --json reports a configuration that cannot be used`() throws {
    let path = try box.write("settle = 5s\nwindow = many\n", to: "tinypush.conf")
    let ended = try box.tinypush("check", "--json", "--config", path)
    let checkup = try Checkup(ended)
    #expect(checkup.status == 78)
    #expect(checkup["config.file"].state == "error")
    #expect(
      checkup["config.file"].message == "\(path):2: window must be a number from 16 to 65000")
    #expect(ended.errors.contains("\(path):2: window must be"))
  }

  @Test func `relative paths start at the configuration or name credentials of the service`() throws
  {
    let gateway = try Gateway(in: box)
    for name in ["client.pem", "client.key"] {
      let target = box.path + "/etc/credentials/" + name
      try FileManager.default.createDirectory(
        atPath: box.path + "/etc/credentials", withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: Certificates.path(name), toPath: target)
    }
    let path = try box.write(
      """
      protocol = binary
      certificate = credentials/client.pem
      key = credentials/client.key
      ca = \(Certificates.path("ca.pem"))
      spool = \(box.spool)
      state = \(box.state)
      gateway = localhost:\(gateway.port)
      feedback = localhost:\(gateway.port)

      """, to: "etc/tinypush.conf")
    func check(_ environment: [String: String]) throws -> Checkup {
      try Checkup(
        box.run(
          Build.command(Build.host) + ["check", "--json", "--config", path],
          environment: environment))
    }
    let beside = try check([:])
    #expect(beside["config.file"].message == path)
    #expect(beside["certificate.file"].message == box.path + "/etc/credentials/client.pem")
    let given = box.path + "/run"
    mkdir(given, 0o700)
    try FileManager.default.copyItem(
      atPath: box.path + "/etc/credentials/client.key", toPath: given + "/credentials_client.key")
    let service = try check(["CREDENTIALS_DIRECTORY": given])
    #expect(service["certificate.key"].message.hasPrefix("\(given)/credentials_client.key, "))
    chmod(path, 0o666)
    #expect(try check([:])["config.file"].message == "\(path), which anybody may change")
    chmod(path, 0o644)
    try writeFile(box.text("etc/tinypush.conf") + "key-password = x\n", to: path)
    let open = try check([:])["config.file"]
    #expect(open.message == "\(path), in which anybody may read the password of the key")
    #expect(
      open.advice
        == "let only root and the agent read it: chgrp tinypush-agent \(path) && chmod 640 \(path)"
    )
    chown(box.spool, uid_t.max, 65534)
    chown(path, uid_t.max, 65534)
    chmod(path, 0o640)
    #expect(
      try check([:])["config.file"].message
        == "\(path), in which everybody who sends may read the password of the key")
    chown(path, uid_t.max, 65533)
    #expect(try check([:])["config.file"].state == "ok")
    try writeFile(box.text("etc/tinypush.conf") + "linger = 50ms\n", to: path)
    let former = try check([:])["config.settings"]
    #expect(former.state == "warning")
    #expect(former.message.hasSuffix("have no effect any more"), "\(former.message)")
  }

  // MARK: - The certificate

  @Test(arguments: [
    Row(
      "expired", "certificate.dates", "error", "2020-01-01 to 2021-01-01, expired ",
      "renew the certificate and replace the file; if it is a credential, restart the service",
      status: 78,
      certificate: "client-expired"),
    Row(
      "not yet valid", "certificate.dates", "error", "2090-01-01 to 2099-12-31, not valid yet",
      "is this machine's clock right? If so, wait, or use another certificate", status: 78,
      certificate: "client-not-yet"),
    Row(
      "about to expire", "certificate.dates", "warning", ", 5 days left",
      "renew the certificate and replace the file; if it is a credential, restart the service",
      certificate: "client-soon"),
    Row(
      "of the sandbox", "certificate.environment", "error",
      "development only, but environment = production",
      "use the app's certificate for that environment, or connect to the other environment: otherwise every token is invalid",
      status: 78, certificate: "client-sandbox"),
    Row(
      "of production", "certificate.environment", "error",
      "production only, but environment = development",
      "use the app's certificate for that environment, or connect to the other environment: otherwise every token is invalid",
      status: 78, settings: ["environment=sandbox"]),
    Row(
      "of the sandbox, as it should", "certificate.environment", "ok", "development",
      certificate: "client-sandbox", settings: ["environment=sandbox"]),
    Row(
      "for trying", "certificate.environment", "ok", "development", certificate: "client-sandbox",
      settings: ["environment=local"]),
    Row(
      "universal", "certificate.environment", "ok", "production and development",
      certificate: "client-universal", settings: ["environment=sandbox"]),
    Row(
      "universal, its topics", "certificate.topic", "ok",
      "com.example.tinypush; valid for com.example.tinypush, com.example.tinypush.voip",
      certificate: "client-universal"),
    Row(
      "not Apple's", "certificate.environment", "warning",
      "it names no environment, unlike Apple's certificates",
      "is it the push certificate of an app?",
      certificate: "client-plain"),
    Row(
      "of no app", "certificate.topic", "error", "no topic: nobody has no UID in its subject",
      "is it the push certificate of an app? Make one in Apple's Member Center", status: 78,
      certificate: "client-no-topic"),
    Row(
      "with its intermediate", "certificate.chain", "ok",
      "Push Services: com.example.tinypush, issued by TinyPush test intermediate, issued by TinyPush test authority",
      certificate: "client-chain"),
    Row(
      "with an intermediate that expired", "certificate.chain", "warning",
      "; but TinyPush former intermediate expired on 2021-01-01",
      "replace it with the current certificate of the same issuer", status: 78,
      certificate: "client-old-chain"),
    Row(
      "with a stranger's", "certificate.chain", "warning",
      "; but Somebody else's authority did not issue Push Services: com.example.tinypush",
      "put after each certificate the certificate of its issuer; others have no use",
      certificate: "client-broken-chain", key: "client.key"),
    Row(
      "RSA", "certificate.key", "ok", "/client-rsa.key, RSA, 2048 bits", certificate: "client-rsa"),
    Row(
      "another's key", "certificate.key", "error", "does not belong to the first certificate in ",
      "Give the two that belong together.", status: 78, key: "client-mismatch.key"),
    Row(
      "a key without its password", "certificate.key", "error",
      "client-encrypted.key is encrypted",
      "Give its password, or decrypt it with \"openssl pkey\".", status: 78,
      key: "client-encrypted.key"),
    Row(
      "a key with a wrong password", "certificate.key", "error",
      "The password does not open the key in ", "Correct the password.", status: 78,
      key: "client-encrypted.key", settings: ["key-password=sesame"]),
    Row(
      "a key with its password", "certificate.key", "ok", "/client-encrypted.key, EC, 256 bits",
      key: "client-encrypted.key", settings: ["key-password=secret"]),
    Row(
      "none", "certificate.file", "error", "/nowhere.pem does not exist",
      "Put it there, or correct the path.", status: 66, settings: ["certificate=/nowhere.pem"]),
    Row(
      "no authorities", "certificate.authorities", "error",
      "The CA file /nowhere.pem does not exist", "Put it there, or correct the path.", status: 66,
      settings: ["ca=/nowhere.pem"]),
    Row(
      "authorities that are none", "certificate.authorities", "error",
      "/server.key is PEM, but holds no certificate", "Is it the right file?", status: 78,
      settings: ["ca=@/server.key"]),
  ])
  func `check reports what is wrong with the certificate or its key`(row: Row) throws {
    let gateway = try Gateway(in: box)
    try expect(row, of: gateway, in: box)
  }

  private func expect(_ row: Row, of gateway: Gateway, in box: Box) throws {
    let checkup = try box.checkup(
      gateway.port, certificate: row.certificate, key: row.key,
      row.settings.map { setting in
        let parts = setting.components(separatedBy: "@/")
        return try parts.count == 2 ? parts[0] + Certificates.path(parts[1]) : setting
      })
    let item = checkup[row.name]
    #expect(item.state == row.state, "\(item)")
    #expect(item.message.contains(row.message), "\(item)")
    #expect(item.advice == row.advice)
    #expect(checkup.status == row.status)
    #expect(gateway.recorded(.accepted) == [])
  }

  @Test
  func `check warns of a key that others may read, and a key closed to the agent is an error`()
    throws
  {
    try #require(geteuid() == 0, "needs root")
    let gateway = try Gateway(in: box)
    let key = box.path + "/client.key"
    try FileManager.default.copyItem(atPath: Certificates.path("client.key"), toPath: key)
    chmod(key, 0o644)
    let open = try box.checkup(gateway.port, ["key=" + key])["certificate.key"]
    #expect(open.state == "warning")
    #expect(open.message == "\(key), EC, 256 bits, which anybody may read (mode 644)")
    #expect(open.advice == "chmod o= \(key)")
    chmod(key, 0o600)
    try box.giveSpoolToNobody()
    mkdir(box.state, 0o700)
    chown(box.state, 65534, 65534)
    let closed = try box.checkup(gateway.port, ["key=" + key])
    #expect(closed.status == 77)
    #expect(closed["certificate.key"].state == "error")
    #expect(
      closed["certificate.key"].message == "\(key), EC, 256 bits, which nobody may not read")
    #expect(
      closed["certificate.key"].advice
        == "put it in credentials/ beside the configuration, where the service manager reads it for the agent"
    )
    // Root may read the key, so the handshake succeeds.
    #expect(closed["gateway.handshake"].state == "ok")
    // A key that the service manager hands over need not be readable for the agent.
    let given = try box.checkup(
      gateway.port, environment: ["CREDENTIALS_DIRECTORY": box.path], ["key=" + key])
    #expect(given.status == 0)
    #expect(given["certificate.key"].state == "ok")
    // The directory name credentials/ is not enough to make a file a credential.
    mkdir(box.path + "/credentials", 0o755)
    let namesake = box.path + "/credentials/client.key"
    try FileManager.default.copyItem(atPath: key, toPath: namesake)
    chmod(namesake, 0o600)
    #expect(try box.checkup(gateway.port, ["key=" + namesake]).status == 77)
  }

  @Test func `a certificate, CA file or configuration closed to the agent is an error`() throws {
    try #require(geteuid() == 0, "needs root")
    let gateway = try Gateway(in: box)
    try box.giveSpoolToNobody()
    mkdir(box.state, 0o700)
    chown(box.state, 65534, 65534)
    let key = try box.keyReadableByAll()
    var copies: [String] = []
    for name in ["client.pem", "ca.pem"] {
      let copy = box.path + "/" + name
      try FileManager.default.copyItem(atPath: Certificates.path(name), toPath: copy)
      copies.append(copy)
    }
    let path = try box.write("# all by -o\n", to: "tinypush.conf")
    let settings = [key, "certificate=" + copies[0], "ca=" + copies[1]]
    func check() throws -> Checkup {
      try Checkup(
        box.run(
          Build.command(Build.host) + ["check", "--json", "--config", path]
            + box.wellSettings(gateway.port, settings)))
    }
    for file in copies + [path] { chmod(file, 0o644) }
    let open = try check()
    #expect(open.status == 0)
    #expect(open.names("error") == [])
    for (file, name) in zip(
      copies + [path], ["certificate.file", "certificate.authorities", "config.file"])
    {
      chmod(file, 0o600)
      let closed = try check()
      chmod(file, 0o644)
      #expect(closed.status == 77)
      #expect(closed.names("error") == [name])
      #expect(closed[name].message.hasPrefix(file))
      #expect(closed[name].message.hasSuffix(", which nobody may not read"))
    }
    #expect(try check().status == 0)
  }

  @Test func `check advises once to renew an expired certificate that the gateway refuses too`()
    throws
  {
    let gateway = try Gateway(in: box)
    let checkup = try box.checkup(gateway.port, certificate: "client-expired")
    #expect(checkup.status == 78)
    #expect(checkup["certificate.dates"].advice.hasPrefix("renew the certificate"))
    // In TLS 1.2 the gateway refuses the certificate during the handshake, not after it.
    let refusal =
      checkup["gateway.handshake"].state == "error"
      ? checkup["gateway.handshake"] : checkup["gateway.client"]
    #expect(refusal.state == "error")
    #expect(refusal.message.contains("refuses the client certificate"))
    #expect(refusal.advice == "")
  }

  // MARK: - The gateway

  @Test(
    arguments: [
      Row(
        "another host", "gateway.handshake", "error",
        "The certificate of the server localhost is for elsewhere.example",
        "Correct the host name, or the server's certificate.", status: 78,
        server: "server-wrong-host"),
      Row(
        "an unknown authority", "gateway.handshake", "error",
        "was issued by \"Somebody else's authority\", which is not in the CA file ",
        "If you trust that issuer, add its certificate there.", status: 78,
        server: "server-unknown-ca"),
      Row(
        "self-signed", "gateway.handshake", "error", "is self-signed, and not in the CA file ",
        "If you trust it, add it there.", status: 78, server: "server-self-signed"),
      Row(
        "expired", "gateway.handshake", "error", "expired on 2021-01-01 00:00 UTC",
        "It must be renewed there, unless this machine's clock, which says ", status: 69,
        server: "server-expired"),
      Row(
        "not yet valid", "gateway.handshake", "error", "is valid only from 2090-01-01 00:00 UTC",
        "Is this machine's clock set? It says ", status: 69, server: "server-not-yet"),
      Row(
        "a weak key", "gateway.handshake", "error", "cannot be accepted: its key is too weak",
        "It must be renewed there, with an RSA key of 2048 bits or more, or an EC key.",
        status: 69, server: "server-weak", script: ["--ciphers", "DEFAULT:@SECLEVEL=0"]),
      Row(
        "an outdated hash", "gateway.handshake", "error",
        "cannot be accepted: it is signed with an outdated hash, such as SHA-1",
        "It must be renewed there, signed with SHA-256.",
        status: 69, server: "server-sha1", script: ["--ciphers", "DEFAULT:@SECLEVEL=0"]),
      Row(
        "about to expire", "gateway.certificate", "warning", ", 5 days left",
        "the operator of the gateway must renew it", server: "server-soon"),
      Row(
        "a chain", "gateway.certificate", "ok",
        "localhost, issued by TinyPush test intermediate, issued by TinyPush test authority; ",
        server: "server-chain"),
      Row(
        "it does not trust ours", "gateway.client", "error",
        "refuses the client certificate: it does not trust the certificate's issuer",
        "Set this app's current push certificate and its key.", status: 78,
        ca: "other-ca"),
      Row(
        "it wants none", "gateway.client", "warning", "the gateway did not ask for our certificate",
        "a push gateway asks for it: are the host and the port right?", script: ["--trusting"]),
      Row(
        "it hangs up", "gateway.handshake", "error",
        " during the handshake",
        "are the host and the port those of a push gateway?", status: 69, script: ["--slam"]),
      Row(
        "it says nothing", "gateway.handshake", "error", ": Connection timed out",
        "are the host and the port those of a push gateway?", status: 69,
        settings: ["connect-timeout=1s"], script: ["--hang"]),
      Row(
        "it does not answer", "gateway.answer", "warning",
        "no answer to a frame that it must refuse, within 5 s",
        "without answers nothing proves what arrived: if this persists, set confirm = settle",
        settings: ["connect-timeout=5m"], script: ["--mute"]),
      Row(
        "it closes without an answer", "gateway.answer", "warning",
        "the gateway closed the connection after a frame that it must refuse",
        "without answers nothing proves what arrived: if this persists, set confirm = settle",
        script: ["--wordless"]),
      Row(
        "it knows no topic", "gateway.answer", "error", "status 3, missing topic",
        "check that the certificate is a push certificate of this app", status: 78,
        script: ["--answer-status", "3"]),
      Row(
        "it goes out of service", "gateway.answer", "ok",
        "status 10, shutdown: this gateway is shutting down, and another takes over",
        script: ["--answer-status", "10"]),
      Row(
        "it names another", "gateway.answer", "warning",
        "status 5, invalid token size, but for notification 0 instead of 1",
        "refused notifications cannot be identified, so they are sent again",
        script: ["--answer-identifier", "0"]),
      Row(
        "not to be asked", "gateway.answer", "skipped", "not tested: confirm = settle",
        settings: ["confirm=settle"]),
      Row(
        "a format without answers", "gateway.answer", "skipped",
        "not tested: format = 0 has no answers", settings: ["format=0"]),
      Row(
        "the older format", "gateway.answer", "ok", "status 5, invalid token size, to a frame",
        settings: ["format=1"]),
      Row(
        "no such name", "gateway.name", "error", "gateway.invalid: ", "", status: 69,
        settings: ["gateway=gateway.invalid:2195", "feedback=feedback.invalid"]),
    ], TLSTests.versions)
  func `check reports each step of the connection to the gateway`(
    row: Row, version: (build: String, tls: String)
  ) throws {
    let gateway = try Gateway(
      in: box, certificate: row.server, ca: row.ca, tls: version.tls, row.script)
    let checkup: Checkup
    if row.script == ["--mute"] {
      let clocks = try Clocks(in: box, [.awake])
      let check = try box.start(
        Build.command(version.build) + ["check", "--json"]
          + box.wellSettings(gateway.port, row.settings), environment: clocks.environment)
      try wait(for: "the handshake") {
        try check.hasEnded || !gateway.events("open").isEmpty
      }
      try clocks.pass(6, for: check, and: gateway.child) { check.hasEnded }
      checkup = try Checkup(check)
    } else {
      checkup = try box.checkup(gateway.port, build: version.build, row.settings)
    }
    // In TLS 1.2 the gateway refuses the certificate during the handshake, not after it.
    let refused = checkup["gateway.client"].state == "absent" && row.name == "gateway.client"
    let item = checkup[refused ? "gateway.handshake" : row.name]
    #expect(item.state == row.state, "\(item)")
    #expect(item.message.contains(row.message), "\(item)")
    #expect(item.advice.hasPrefix(row.advice), "\(item)")
    if row.advice.isEmpty { #expect(item.advice == "") }
    #expect(checkup.status == row.status)
    #expect(gateway.recorded(.accepted) == [])
    if item.state == "error", row.name != "gateway.answer" {
      #expect(["skipped", "absent"].contains(checkup["gateway.answer"].state))
    }
    if row.message.hasPrefix("not tested") { #expect(gateway.recorded(.stream) == []) }
  }

  @Test func `check reports an address at which nothing listens`() throws {
    let gateway = try Gateway(in: box)
    gateway.child.kill()
    let none = try box.checkup(gateway.port)
    #expect(none.status == 69)
    #expect(none["gateway.address"].state == "error")
    #expect(
      none["gateway.address"].message
        == "localhost:\(gateway.port): Connection refused: nothing listens there")
    #expect(none["gateway.address"].advice.hasPrefix("is the port right, "))
    #expect(none["gateway.handshake"].state == "skipped")
    #expect(none["feedback.address"].state == "warning")
  }

  @Test func `check reports a gateway whose TLS version is too old`() throws {
    let server = try box.start([
      "openssl", "s_server", "-accept", "127.0.0.1:0", "-tls1_1", "-rev", "-cipher",
      "ALL:@SECLEVEL=0",
      "-cert", Certificates.path("server.pem"), "-key", Certificates.path("server.key"),
    ])
    let line = try server.line("ACCEPT 127.0.0.1:")
    let port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
    let checkup = try box.checkup(port)
    #expect(checkup.status == 69)
    #expect(checkup["gateway.handshake"].state == "error")
    #expect(
      checkup["gateway.handshake"].message.contains(
        "both sides have no TLS version, cipher suite or key exchange in common"))
  }

  // MARK: - The clock

  @Test func `check reports a clock that is not set and skips the certificate's dates`() throws {
    let gateway = try Gateway(in: box)
    let environment = try ["LD_PRELOAD": Shared.library("clock"), "CLOCK": "1000000"]
    let checkup = try box.checkup(gateway.port, environment: environment)
    #expect(checkup.status == 75)
    #expect(checkup["clock.time"].state == "error")
    #expect(
      checkup["clock.time"].message
        == "1970-01-12T13:46:40Z is before this program was built: the clock is not set, so no certificate seems valid yet"
    )
    #expect(
      checkup["clock.time"].advice
        == "set the clock (date -s), and run a time service: systemctl enable --now systemd-timesyncd"
    )
    #expect(checkup["certificate.dates"].state == "skipped")
    #expect(
      checkup["certificate.dates"].message == "2020-01-01 to 2099-12-31; the clock is not set")
    #expect(checkup["gateway.handshake"].state == "error")
    #expect(checkup["gateway.handshake"].message.contains("is valid only from 2020-01-01"))
    #expect(
      checkup["gateway.handshake"].advice.hasPrefix("Is this machine's clock set? It says 1970"))
  }
}

extension Box {
  /// Returns the setting of a key that all users may read.
  func keyReadableByAll() throws -> String {
    let key = path + "/open.key"
    try FileManager.default.copyItem(atPath: Certificates.path("client.key"), toPath: key)
    chmod(key, 0o644)
    return "key=" + key
  }
}
