import Foundation
import Testing

/// The sandbox: its binary gateway, feedback service, faults and files.
@Suite(.sideBySide) struct SandboxTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var status: Int
    var frame: String
    var identifier = 9
    /// The subject of the client's certificate; nil: the sandbox's client certificate.
    var topic: String?
    init(_ name: String, _ status: Int, _ frame: String, identifier: Int = 9, topic: String? = nil)
    {
      (testDescription, self.status, self.frame) = (name, status, frame)
      (self.identifier, self.topic) = (identifier, topic)
    }
  }

  @Test func `the sandbox explains a token that is sent as hex digits`() throws {
    let sandbox = try Sandbox(in: box)
    let digits = hex(token(7))
    let client = try sandbox.client(box, [frame(token: digits), frame(identifier: 10)])
    #expect(try client.wait() == 0, "\(client.errors)")
    #expect(client.output == "connected\n0805" + hex(9, 4) + "\n")
    #expect(try sandbox.child.terminate() == 0)
    try #expect(
      sandbox.events("refused").map { $0["text"] as? String } == [
        "the device token is sent as 64 hex digits: send the 32 bytes that the digits stand for (hex decoded)"
      ])
  }

  @Test func `the certificate has its topic as Apple's have it, and HTTP/2 needs ALPN`() throws {
    let sandbox = try Sandbox(in: box)
    let shown = try box.run(["openssl", "x509", "-in", "sandbox/client.pem", "-noout", "-subject"])
    #expect(shown.output.contains("UID = com.example.tinypush"), "\(shown.output)")
    _ = try box.run(
      [
        "openssl", "s_client", "-quiet", "-connect", "127.0.0.1:\(sandbox.gateway)", "-CAfile",
        "sandbox/ca.pem", "-cert", "sandbox/client.pem", "-key", "sandbox/client-key.pem",
      ], input: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    try sandbox.child.line("the client must offer h2 in ALPN")
    #expect(try sandbox.child.terminate() == 0)
  }

  @Test func `with --rsa the sandbox makes RSA keys and replaces other keys`() throws {
    let ordinary = try Sandbox(in: box)
    #expect(try ordinary.child.terminate() == 0)
    for _ in 1...2 {
      let before = box.text("sandbox/client-key.pem")
      let sandbox = try Sandbox(in: box, ["--rsa"])
      let isKept = before.hasPrefix("-----BEGIN RSA PRIVATE KEY-----")
      #expect((box.text("sandbox/client-key.pem") == before) == isKept)
      #expect(sandbox.child.errors.contains("its key is not an RSA key") == !isKept)
      for name in ["ca", "gateway", "client"] {
        let key = try box.run([
          "openssl", "rsa", "-in", "sandbox/\(name)-key.pem", "-check", "-noout", "-text",
        ])
        #expect(key.status == 0, "\(key.errors)")
        #expect(key.output.contains("(2048 bit"), "\(key.output)")
        let verified = try box.run([
          "openssl", "verify", "-x509_strict", "-CAfile", "sandbox/ca.pem", "sandbox/\(name).pem",
        ])
        #expect(verified.status == 0, "\(verified.errors)")
      }
      // A client that accepts only RSA keys.
      let met = try box.run(
        [
          "openssl", "s_client", "-connect", "127.0.0.1:\(sandbox.gateway)", "-CAfile",
          "sandbox/ca.pem", "-cert", "sandbox/client.pem", "-key", "sandbox/client-key.pem",
          "-verify_return_error", "-tls1_2", "-cipher", "aRSA", "-sigalgs", "RSA+SHA256",
        ], input: "")
      #expect(met.status == 0, "\(met.output)\(met.errors)")
      #expect(met.output.contains("Verify return code: 0 (ok)"), "\(met.output)")
      let client = try sandbox.client(box, [frame(identifier: 8), frame(token: "00")])
      #expect(try client.wait() == 0, "\(client.errors)")
      #expect(client.output == "connected\n0805" + hex(9, 4) + "\n")
      #expect(try sandbox.child.terminate() == 0)
      try #expect(sandbox.events("accepted").count == 1)
    }
    // Without the option the keys stay unchanged.
    let kept = box.text("sandbox/client-key.pem")
    let again = try Sandbox(in: box)
    #expect(try again.child.terminate() == 0)
    #expect(box.text("sandbox/client-key.pem") == kept)
  }

  @Test(arguments: [
    Row("payload that is no JSON", 1, frame(payload: "{\"aps\":{\"alert\":\"x\"},}")),
    Row("payload without aps", 1, frame(payload: "{\"alert\":\"x\"}")),
    Row("priority 7", 1, frame(priority: 7)),
    Row("silent, at once", 1, frame(payload: #"{"aps":{"content-available":1}}"#)),
    Row("no token", 2, frame(token: nil)),
    Row("no topic", 3, frame(), topic: "/CN=nobody"),
    Row("no payload", 4, frame(payload: nil)),
    Row("token of 31 bytes", 5, frame(token: String(token(7).dropLast(2)))),
    Row("token of one byte", 5, frame(token: "00")),
    Row(
      "topic of 120 bytes", 6, frame(),
      topic: "/UID=com.example." + String(repeating: "x", count: 108) + "/CN=long"),
    Row(
      "payload of 2049 bytes", 7,
      frame(payload: #"{"aps":{"alert":"\#(String(repeating: "x", count: 2029))"}}"#)),
    Row("token of zeros", 8, frame(token: token(0))),
    Row("token that was named", 8, frame(token: token(0xBAD))),
    Row("unknown command", 255, "09", identifier: 0),
    Row("unknown item", 255, "0200000004" + "09000100", identifier: 0),
    Row(
      "legacy format", 8,
      "01" + hex(9, 4) + hex(0, 4) + "0020" + token(0) + "0002" + hex("{}")),
  ])
  func `the sandbox answers each wrong frame with its status`(row: Row) throws {
    let sandbox = try Sandbox(in: box, ["--invalid", token(0xBAD)])
    if let topic = row.topic {
      let made = try box.run([
        "sh", "-ec",
        """
        cd sandbox
        openssl req -new -key client-key.pem -subj "$1" -out request
        openssl x509 -req -in request -CA ca.pem -CAkey ca-key.pem -days 2 -out other.pem
        """, "sh", topic,
      ])
      #expect(made.status == 0, "\(made.errors)")
    }
    let before = row.topic == nil ? [frame(identifier: 8)] : []
    let client = try sandbox.client(
      box, before + [row.frame, frame(identifier: 10)],
      certificate: row.topic == nil ? "client" : "other")
    #expect(try client.wait() == 0, "\(client.errors)")
    #expect(
      client.output == "connected\n08" + hex(row.status, 1) + hex(row.identifier, 4)
        + "\n")
    #expect(try sandbox.child.terminate() == 0)
    try #expect(sandbox.events("refused").map { $0["status"] as? Int } == [row.status])
    try #expect(
      sandbox.events("accepted").map { $0["identifier"] as? Int } == (row.topic == nil ? [8] : []))
    let sums = try #require(sandbox.events("stopped").first)
    #expect(sums["refused"] as? Int == 1)
    #expect(sums["accepted"] as? Int == before.count)
  }

  @Test func `the sandbox's gateway refuses a certificate of production`() throws {
    let sandbox = try Sandbox(in: box)
    let made = try box.run([
      "sh", "-ec",
      """
      cd sandbox
      echo 1.2.840.113635.100.6.3.2=DER:0500 >production
      openssl req -new -key client-key.pem -subj /UID=com.example.tinypush/CN=other -out request
      openssl x509 -req -in request -CA ca.pem -CAkey ca-key.pem -days 2 -extfile production \
        -out other.pem
      """,
    ])
    #expect(made.status == 0, "\(made.errors)")
    let client = try sandbox.client(box, [frame(identifier: 8)], certificate: "other")
    _ = try client.wait()
    try sandbox.child.line(#""event":"handshakeRefused""#)
    #expect(try sandbox.child.terminate() == 0)
    let refused = try #require(try sandbox.events("handshakeRefused").first)
    #expect(
      (refused["text"] as? String)?.contains("production environment only") == true, "\(refused)")
    #expect(try sandbox.events("accepted").isEmpty)
  }

  // MARK: - Faults

  struct Faulty: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The gateway's bytes, in hex, on two consecutive connections with four notifications each.
    var heard: [String]
    /// The number of accepted notifications on each connection.
    var accepted: [Int]
    init(_ fault: String, heard: [String], accepted: [Int]) {
      (testDescription, self.heard, self.accepted) = (fault, heard, accepted)
    }
  }

  private static let invalid = "080800000003"
  /// Without a fault, a sandbox that ends sends a shutdown.
  private static let goodbye = "080a00000004"
  private static let reset = "[reset]"
  /// Nothing until the sandbox ends, which resets the connection since it has unread bytes.
  private static let nothing = "[nothing, and then a reset]"

  @Test(arguments: [
    Faulty("status=8@3", heard: [invalid, goodbye], accepted: [2, 4]),
    Faulty("status=128@3", heard: ["088000000003", goodbye], accepted: [2, 4]),
    Faulty("status=8+300ms@3", heard: [invalid, goodbye], accepted: [2, 4]),
    Faulty("status=8@\(token(3))", heard: [invalid, invalid], accepted: [2, 2]),
    Faulty("status=8@100%", heard: ["080800000001", "080800000001"], accepted: [0, 0]),
    Faulty("status=8@0s", heard: ["080800000001", goodbye], accepted: [0, 4]),
    Faulty("shutdown@3", heard: ["080a00000003", goodbye], accepted: [3, 4]),
    Faulty("shutdown@6", heard: [goodbye, "080a00000002"], accepted: [4, 2]),
    Faulty("close@3", heard: ["", goodbye], accepted: [3, 4]),
    Faulty("close+300ms@3", heard: ["", goodbye], accepted: [3, 4]),
    Faulty("garbage=10@3", heard: [hex("no answer "), goodbye], accepted: [3, 4]),
    Faulty("reset@3", heard: [reset, goodbye], accepted: [3, 4]),
    Faulty("stall@3", heard: [nothing, goodbye], accepted: [3, 4]),
  ])
  func `the sandbox plays a fault when it is due and reports it`(row: Faulty) throws {
    let sandbox = try Sandbox(in: box, ["--fault", row.testDescription])
    let frames = (1...4).map { frame(token: token($0), identifier: $0) }
    var clients: [Child] = []
    for (index, heard) in row.heard.enumerated() {
      let client = try sandbox.client(box, frames)
      clients.append(client)
      switch heard {
      case Self.goodbye:
        try sandbox.child.line(#""connection":\#(index + 1),"command":2,"identifier":4"#)
      case Self.nothing: try sandbox.child.line(#""connection":\#(index + 1),"fault":"stall@3""#)
      default: try client.wait()
      }
    }
    #expect(try sandbox.child.terminate() == 0)
    for (client, heard) in zip(clients, row.heard) {
      try client.wait()
      if heard.hasPrefix("[") {
        #expect(client.output == "connected\n")
        #expect(client.status == 1, "the connection ended without close_notify")
      } else {
        #expect(client.output == "connected\n\(heard)\n", "\(client.errors)")
      }
    }
    let accepted = try sandbox.events("accepted").map { $0["connection"] as? Int }
    #expect((1...2).map { number in accepted.count { $0 == number } } == row.accepted)
    let faults = try sandbox.events("fault")
    #expect(faults.count == row.heard.count { $0 != Self.goodbye })
    #expect(faults.allSatisfy { $0["fault"] as? String == row.testDescription })
    try #expect(sandbox.events("stopped").first?["faults"] as? Int == faults.count)
  }

  @Test func `the same seed plays the same random faults`() throws {
    func played(_ seed: Int) throws -> [Int?] {
      let box = try Box()
      defer { box.end() }
      let sandbox = try Sandbox(
        in: box, ["--fault", "status=8@2.5%", "--fault", "close@2.5%", "--seed", "\(seed)"])
      try #expect(sandbox.events("listening").first?["seed"] as? Int == seed)
      for _ in 1...3 {
        try sandbox.client(box, (1...400).map { frame(identifier: $0) }).wait()
      }
      #expect(try sandbox.child.terminate() == 0)
      return try sandbox.events("fault").map { $0["identifier"] as? Int }
    }
    let faults = try played(7)
    #expect(faults.count == 3)
    try #expect(played(7) == faults)
    try #expect(played(8) != faults)
  }

  @Test(arguments: [
    ("reset", "reset is not WHAT@WHEN"), ("", " is not WHAT@WHEN"),
    (
      "rest@5",
      "rest@5: \"rest\" is not a fault; the faults are status, shutdown, close, reset, stall"
    ),
    ("rest@5", "did you mean reset?"), ("@5", "\"\" is not a fault"),
    ("status@5", "\"status\" is not a status"), ("status=@5", "\"\" is not a status"),
    ("status=256@5", "\"256\" is not a status: give a number from 0 to 255"),
    ("status=10@5", "use shutdown"), ("reset=4@5", "\"reset=4\" has a value"),
    ("garbage=0@5", "\"0\" is not a size"), ("garbage=2000M@5", "\"2000M\" is not a size"),
    ("reset+5@5", "\"5\" is not a delay of at most an hour"),
    ("reset+2h@5", "\"2h\" is not a delay"),
    ("reason=Unregisterd@5", "did you mean Unregistered?"),
    ("reason@5", "is not a reason of Apple's table"),
    ("retry-after=0@5", "\"0\" is not a number of seconds from 1 to 86400"),
    ("goaway=5@5", "\"goaway=5\" has a value"),
    ("reset@", "\"\" must be a notification's number"), ("reset@0", "\"0\" must be a"),
    ("reset@0%", "\"0%\" must be a"), ("reset@100.1%", "\"100.1%\" must be a"),
    ("reset@0.00001%", "\"0.00001%\" must be a"), ("reset@%", "\"%\" must be a"),
    ("reset@-1", "\"-1\" must be a"), ("reset@abc", "\"abc\" must be a"),
    ("reset@5@6", "\"5@6\" must be a"), ("reset@1d", "\"1d\" must be a"),
    ("reset@100d", "\"100d\" must be a"),
  ])
  func `the sandbox refuses an invalid --fault and says why`(words: String, why: String) throws {
    let sandbox = try box.tinypush("sandbox", "--fault", words)
    #expect(sandbox.status == 64)
    #expect(sandbox.errors.contains(why), "\(sandbox.errors)")
    #expect(sandbox.errors.split(separator: "\n").count == 1)
  }

  @Test func `a sandbox that ends names the last accepted notification`() throws {
    let sandbox = try Sandbox(in: box)
    let client = try sandbox.client(box, [frame(identifier: 41), frame(identifier: 42)])
    try sandbox.child.line(#""identifier":42"#)
    #expect(try sandbox.child.terminate() == 0)
    #expect(try client.wait() == 0, "\(client.errors)")
    #expect(client.output == "connected\n080a0000002a\n")
  }

  @Test func `a sandbox ends although a connection waits for a delayed stall`() throws {
    let sandbox = try Sandbox(in: box, ["--fault", "stall+1h@1"])
    let client = try sandbox.client(box, [frame(identifier: 1)])
    try sandbox.child.line(#""event":"fault""#)
    #expect(try sandbox.child.terminate() == 0)
    try client.wait()
  }

  @Test(arguments: [["-c", "tinypush.conf"], ["-o", "gateway=localhost"]])
  func `the sandbox takes no configuration of an agent`(words: [String]) throws {
    for command in [["sandbox"], ["sandbox", "device", "list"]] {
      let sandbox = try box.run(Build.command(Build.host) + command + words)
      #expect(sandbox.status == 64)
      #expect(sandbox.errors.contains("takes no --config and no -o"), "\(sandbox.errors)")
    }
  }

  @Test func `the sandbox refuses a client certificate of another authority`() throws {
    let sandbox = try Sandbox(in: box)
    let agent = try box.start(
      Build.command(Build.host) + ["run", "--config", sandbox.config]
        + ["-o", "certificate=" + Certificates.path("client.pem")]
        + ["-o", "key=" + Certificates.path("client.key")])
    try agent.line("refuses the client certificate", in: .errors)
    #expect(try agent.terminate() == 0)
    #expect(try sandbox.child.terminate() == 0)
    try #expect(!sandbox.events("handshakeRefused").isEmpty)
  }

  // MARK: - The separate program

  @Test func `tinypush sandbox says what to install if the sandbox is missing`() throws {
    let program = box.path + "/tinypush"
    // Copied by cp: if this process wrote it, a child being started could keep it open (ETXTBSY).
    try box.run(["cp", "\(Build.directory)/\(Build.host)/tinypush", program])
    let missing = try box.run([program, "sandbox", "--help"])
    #expect(missing.status == 69)
    #expect(missing.output == "")
    #expect(missing.errors.contains("\(program)-sandbox: No such file or directory"))
    #expect(missing.errors.contains("install the package tinypush-sandbox"))
    // A sandbox beside the program is found and gets all arguments.
    try FileManager.default.createSymbolicLink(
      atPath: program + "-sandbox", withDestinationPath: "/bin/echo")
    let found = try box.run(
      [program, "sandbox", "device", "list"], environment: ["PATH": "/nowhere"])
    #expect(found.output == "device list\n")
  }

  // MARK: - With an agent

  @Test(arguments: [
    ("tinypush-binary.conf", ", priority 10, kept for 24 h, connection 1 no. 1, "),
    ("tinypush.conf", ", alert, priority 10, kept for 24 h, connection 1 stream 1, "),
  ])
  func `the sandbox shows the alert that send queues`(config: String, particulars: String) throws {
    let sandbox = try box.start(
      Build.command(Build.host) + ["sandbox", "--any-token", "--dir", "sandbox", "--port", "0"])
    try sandbox.line("ready; Ctrl-C ends it")
    let config = box.path + "/sandbox/" + config
    let agent = try box.start(Build.command(Build.host) + ["run", "--config", config])
    let sent = try box.tinypush(
      "send", "Tank low", "--title", "Cellar", "--badge", "3", "--token", token(7), "--config",
      config)
    #expect(sent.status == 0, "\(sent.errors)")
    try sandbox.line("  00000000..0007" + particulars)
    #expect(sandbox.output.contains("\n╭─ tinypush ──"))
    #expect(sandbox.output.contains("\n│ Cellar   "))
    #expect(sandbox.output.contains("\n│ Tank low   "))
    #expect(sandbox.output.contains("\n╰─ badge 3 ──"))
    #expect(try agent.terminate() == 0)
    #expect(try sandbox.terminate() == 0)
    #expect(sandbox.output.contains("Goodbye. 1 connection, 1 notification accepted"))
  }

  @Test(arguments: Build.all, ["tinypush-binary.conf", "tinypush.conf"])
  func `agents of every build deliver to the sandbox, and sandboxes of every build accept`(
    build: String, config: String
  ) throws {
    for other in build == Build.host ? Build.all : [Build.host] {
      let directory = "sandbox-\(other)"
      let sandbox = try box.start(
        Build.command(other) + [
          "sandbox", "--json", "--any-token", "--dir", directory, "--port", "0",
        ])
      try sandbox.line(#""event":"listening""#)
      let spool = "\(directory)/spool/new"
      for number in 1...20 {
        try box.write(line(number, "ü \(number)"), to: "\(spool)/\(number + 100)")
      }
      let agent = try box.tinypush(
        "run", "--once", "--config", "\(box.path)/\(directory)/\(config)", build: build)
      #expect(agent.status == 0, "\(other): \(agent.errors)")
      #expect(try sandbox.terminate() == 0)
      let accepted = try objects(sandbox.output).filter { $0["event"] as? String == "accepted" }
      #expect(accepted.map { $0["token"] as? String } == (1...20).map { token($0) })
      let payload = accepted.first?["payload"] as? [String: [String: String]]
      #expect(payload == ["aps": ["alert": "ü 1"]])
    }
  }

  @Test func `Python reads the sandbox's JSON Lines`() throws {
    let sandbox = try Sandbox(in: box)
    let odd =
      #"{ "aps" : {"alert":"a \"b\" \\ \u0001 ü ☀ </x>", "badge":1e2} , "x":[ null,true,-0.5 ] }"#
    let client = try sandbox.client(
      box, [frame(payload: odd), frame(token: "00ff"), frame()])
    try client.wait()
    #expect(try sandbox.child.terminate() == 0)
    let read = try box.run(
      [
        "python3", "-c",
        """
        import json, sys
        lines = [json.loads(line) for line in sys.stdin]
        print(*[line["event"] for line in lines])
        print(json.dumps(next(line["payload"] for line in lines if line["event"] == "accepted")))
        """,
      ], input: sandbox.child.output)
    #expect(read.status == 0, "\(read.errors)\(sandbox.child.output)")
    let lines = read.output.split(separator: "\n")
    #expect(lines.first == "listening connected accepted refused discarded closed stopped")
    try #expect(
      objects(String(lines.at(1))).at(0) as NSDictionary == objects(odd).at(0) as NSDictionary)
  }

  @Test func `a second start keeps certificates and settings and updates the ports`() throws {
    let first = try Sandbox(in: box)
    let other = try box.tinypush("sandbox", "--dir", first.directory, "--port", "0")
    #expect(other.status == 75)
    #expect(other.errors.contains("another sandbox uses"))
    let taken = try box.tinypush("sandbox", "--dir", "other", "--port", "\(first.gateway)")
    #expect(taken.status == 69)
    #expect(taken.errors.contains("\(first.gateway)"))
    #expect(try first.child.terminate() == 0)
    let before = box.text("sandbox/ca.pem") + box.text("sandbox/client.pem")
    let key = box.text("sandbox/AuthKey_SANDBOXKEY.p8")
    let written = box.text("sandbox/tinypush.conf")
    try box.write(written + "ping = 1h\n", to: "sandbox/tinypush.conf")
    let binary = box.text("sandbox/tinypush-binary.conf")
    try box.write(binary + "settle = 1s\n", to: "sandbox/tinypush-binary.conf")
    let again = try Sandbox(in: box)
    #expect(box.text("sandbox/ca.pem") + box.text("sandbox/client.pem") == before)
    let config = box.text("sandbox/tinypush.conf")
    #expect(config.contains("gateway = localhost:\(again.gateway)\n"))
    #expect(config.hasSuffix("ping = 1h\n"))
    #expect(!config.contains("feedback"))
    let old = box.text("sandbox/tinypush-binary.conf")
    #expect(old.contains("gateway = localhost:\(again.gateway)\n"))
    #expect(old.contains("feedback = localhost:\(again.feedback)\n"))
    #expect(old.hasSuffix("settle = 1s\n"))
    #expect(box.text("sandbox/AuthKey_SANDBOXKEY.p8") == key)
    #expect(try again.child.terminate() == 0)
  }

  @Test func `the feedback service sends its list once`() throws {
    let sandbox = try Sandbox(in: box)
    try box.write(
      "# gone\n1700000000 \(token(7))\nnonsense\n  1700000001\t\(token(8).uppercased())  # too\n",
      to: "sandbox/feedback")
    let first = try sandbox.client(box, port: sandbox.feedback)
    #expect(try first.wait() == 0, "\(first.errors)")
    #expect(
      first.output == "connected\n" + hex(1_700_000_000, 4) + "0020" + token(7)
        + hex(1_700_000_001, 4) + "0020" + token(8) + "\n")
    try sandbox.child.line(#""event":"feedback""#)
    let second = try sandbox.client(box, port: sandbox.feedback)
    #expect(try second.wait() == 0, "\(second.errors)")
    #expect(second.output == "connected\n\n")
    #expect(try sandbox.child.terminate() == 0)
  }
}
