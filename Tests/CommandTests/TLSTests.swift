import Foundation
import Testing

/// TLS connections: their failures, which the log explains, and their limits.
@Suite(.sideBySide) struct TLSTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var server = "server"
    /// The authority that the gateway trusts.
    var ca = "ca"
    var client = "client"
    var key: String?
    var password: String?
    /// The gateway's host; nil: localhost.
    var host: String?
    var words: [String]
    /// The gateway's options.
    var script: [String]
    /// The exit status of an agent that ends at once, as with wrong files; nil: the agent runs on.
    var status: Int32?

    init(
      _ name: String, server: String = "server", ca: String = "ca", client: String = "client",
      key: String? = nil, password: String? = nil, host: String? = nil, script: [String] = [],
      status: Int32? = nil, says words: String...
    ) {
      testDescription = name
      (self.server, self.ca, self.client, self.key) = (server, ca, client, key)
      (self.password, self.host, self.status, self.words) = (password, host, status, words)
      self.script = script
    }
  }

  private static let refusals = [
    Row(
      "wrong host", server: "server-wrong-host",
      says: "The certificate of the server localhost is for elsewhere.example"),
    Row(
      "unknown authority", server: "server-unknown-ca",
      says: "was issued by \"Somebody else's authority\", which is not in the CA file"),
    Row(
      "expired", server: "server-expired", says: "expired on 2021-01-01", "must be renewed there"),
    Row(
      "not yet valid", server: "server-not-yet", says: "is valid only from 2090-01-01",
      "Is this machine's clock set?"),
    Row(
      "self-signed", server: "server-self-signed", says: "is self-signed, and not in the CA file"),
    Row(
      "signed with SHA-1", server: "server-sha1", script: ["--ciphers", "DEFAULT:@SECLEVEL=0"],
      says: "it is signed with an outdated hash, such as SHA-1. It must be renewed there"),
    Row(
      "a weak key", server: "server-weak", script: ["--ciphers", "DEFAULT:@SECLEVEL=0"],
      says: "its key is too weak. It must be renewed there, with an RSA key of 2048 bits"),
    Row(
      "our authority is unknown there", client: "client-unknown-ca",
      says: "refuses the client certificate: it does not trust the certificate's issuer",
      "alert unknown_ca"),
    Row(
      "ours is self-signed",
      client: "client-self-signed",
      says: "refuses the client certificate"),
    Row(
      "ours has expired", client: "client-expired", says: "refuses the client certificate",
      "alert certificate_expired"),
    Row(
      "the key is another's", key: "client-mismatch.key", status: 78,
      says: "client-mismatch.key does not belong to the first certificate in",
      "Give the two that belong together"),
    Row(
      "an encrypted key without its password", key: "client-encrypted.key", status: 78,
      says: "client-encrypted.key is encrypted. Give its password"),
    Row(
      "an encrypted key with a wrong password", key: "client-encrypted.key", password: "sesame",
      status: 78, says: "The password does not open the key in"),
  ]

  static let versions = [(Build.host, "1.2"), (Build.recent, "1.3")]

  private func start(_ row: Row, _ build: String, _ tls: String, in box: Box) throws -> (
    Gateway, Child
  ) {
    let gateway = try Gateway(
      in: box, certificate: row.server, ca: row.ca, tls: tls, row.script)
    var settings = try box.settings(
      gateway.port, certificate: row.client, key: row.key,
      row.password.map { ["key-password=" + $0] } ?? [])
    if let host = row.host { settings += ["-o", "gateway=\(host):\(gateway.port)"] }
    try box.drop(line(1, "hello"), as: "one")
    return (gateway, try box.start(Build.command(build) + ["run"] + settings))
  }

  @Test(arguments: refusals, versions)
  func `the log explains why the TLS connection failed`(
    row: Row, version: (build: String, tls: String)
  ) throws {
    let (gateway, agent) = try start(row, version.build, version.tls, in: box)
    for words in row.words { try agent.line(words, in: .errors) }
    if let status = row.status {
      #expect(try agent.wait() == status)
    } else {
      #expect(try agent.terminate() == 0)
    }
    #expect(box.queued == ["one"])
    #expect(gateway.recorded(.accepted) == [])
  }

  @Test(
    arguments: [
      Row("intermediates", server: "server-chain", client: "client-chain"),
      Row("RSA", server: "server-rsa", client: "client-rsa"),
      Row("certificate and key in one file", client: "client-both", key: "client-both.pem"),
      Row("an encrypted key", key: "client-encrypted.key", password: "secret"),
      Row("an address", host: "127.0.0.1"),
    ], versions)
  func `the agent connects with every valid kind of certificate, key and host`(
    row: Row, version: (build: String, tls: String)
  ) throws {
    let (gateway, agent) = try start(row, version.build, version.tls, in: box)
    try agent.line("connected to", in: .errors)
    #expect(agent.errors.contains("(TLS \(version.tls), "))
    try gateway.accepts("hello")
    #expect(try agent.terminate() == 0)
    #expect(box.queued == [])
    try #expect(gateway.events("open").map { $0["version"] as? String } == ["TLSv\(version.tls)"])
  }

  @Test(arguments: versions)
  func `the agent resumes the TLS session on the next connection`(
    version: (build: String, tls: String)
  ) throws {
    let gateway = try Gateway(
      in: box, tls: version.tls, ["--first", "2", "--close-after", "1", "--abrupt"])
    for number in 1...3 { try box.drop(line(number, "\(number)"), as: "\(number)") }
    let agent = try box.deliver(gateway, build: version.build)
    #expect(agent.status == 0, "\(agent.errors)")
    // Two closed connections, one that only checks the gateway, and the last.
    try #expect(gateway.events("open").map { $0["resumed"] as? Bool } == [false, true, true, true])
    #expect(agent.errors.contains(", resumed)"))
  }

  @Test func `the log reports a server that does not speak TLS`() throws {
    let server = try box.start([
      "python3", "-u", "-c",
      """
      import socket
      listener = socket.create_server(("127.0.0.1", 0))
      print("listening", listener.getsockname()[1])
      while True:
          peer, _ = listener.accept()
          peer.sendall(b"220 mail.example ESMTP\\r\\n")
          peer.recv(65536)
          peer.close()
      """,
    ])
    let port = try number(server.line("listening ").dropFirst("listening ".count))
    let agent = try box.start(Build.command(Build.host) + ["run"] + box.settings(port))
    try agent.line("does not speak TLS: its first bytes are \"220 m\"", in: .errors)
    #expect(try agent.terminate() == 0)
  }

  // MARK: - After the handshake

  /// Returns the last line of an agent's log.
  private func lastLine(_ agent: Child) -> Substring {
    agent.errors.split(separator: "\n").last ?? ""
  }

  @Test(arguments: versions)
  func `run --once exits with 78 if the gateway refuses the certificate`(
    version: (build: String, tls: String)
  ) throws {
    let gateway = try Gateway(in: box, ca: "other-ca", tls: version.tls)
    try box.drop(line(1, "hello"), as: "one")
    let agent = try box.deliver(gateway, build: version.build)
    #expect(agent.status == 78, "\(agent.errors)")
    let reason =
      "The server localhost refuses the client certificate: it does not trust the certificate's issuer (alert unknown_ca). "
      + "Set this app's current push certificate and its key."
    // In TLS 1.2 the handshake fails. In TLS 1.3 it succeeds, and the connection ends after it.
    #expect(
      agent.errors.contains(" error: cannot connect to localhost:\(gateway.port): \(reason)")
        || agent.errors.contains(" error: connection to localhost:\(gateway.port) ended: \(reason)"),
      "\(agent.errors)")
    #expect(
      lastLine(agent).hasSuffix("; the rest stays in the spool. The last connection: \(reason)"))
    #expect(box.queued == ["one"])
  }

  @Test(arguments: versions)
  func `run --once gives up on a gateway that closes after each handshake`(
    version: (build: String, tls: String)
  ) throws {
    let gateway = try Gateway(in: box, tls: version.tls, ["--leave"])
    try box.drop(line(1, "hello"), as: "one")
    let agent = try box.deliver(gateway, build: version.build)
    #expect(agent.status == 75, "\(agent.errors)")
    #expect(agent.errors.contains(" ended: The server localhost closed the connection."))
    #expect(agent.errors.contains("It did so right after the handshake"))
    #expect(
      lastLine(agent).hasSuffix(
        "try again later. The last connection: The server localhost closed the connection."))
    // The first connection and three more attempts.
    try #expect(gateway.events("open").count == 4)
    #expect(box.queued == ["one"])
  }

  @Test(arguments: versions)
  func `run --once delivers on the third connection if the gateway closed two`(
    version: (build: String, tls: String)
  ) throws {
    let gateway = try Gateway(in: box, tls: version.tls, ["--leave", "--first", "2"])
    try box.drop(line(1, "hello"), as: "one")
    let agent = try box.deliver(gateway, build: version.build)
    #expect(agent.status == 0, "\(agent.errors)")
    try gateway.accepts("hello")
    #expect(box.queued == [])
  }

  @Test func `the log reports a gateway that speaks only TLS 1.3`() throws {
    let gateway = try Gateway(in: box, tls: "1.3")
    let agent = try box.agent(gateway)
    try agent.line(
      "it does not support TLS 1.2, probably only TLS 1.3, which mbed TLS 2 lacks "
        + "(alert protocol_version). Allow TLS 1.2 there, or run the build for Debian 13",
      in: .errors)
    #expect(try agent.terminate() == 0)
  }

  @Test(arguments: versions)
  func `the agent closes a flooded connection without reading all bytes first`(
    version: (build: String, tls: String)
  ) throws {
    let gateway = try Gateway(in: box, tls: version.tls, ["--babble", "250000", "--first", "1"])
    let agent = try box.agent(gateway, build: version.build)
    try agent.line("connected to", in: .errors)
    agent.signal(SIGSTOP)
    gateway.child.signal(SIGUSR1)
    try wait(for: "the gateway to send") { try !gateway.events("babbled").isEmpty }
    agent.signal(SIGCONT)
    // The first byte shows that this is no answer. The rest must not delay the agent.
    try agent.line("unexpected bytes from the gateway", in: .errors)
    try wait(for: "the gateway to see the end") { try !gateway.events("closed").isEmpty }
    try #expect(gateway.events("unread").count == 1)
    #expect(try agent.terminate() == 0)
  }

  // MARK: - The password of the key

  /// Returns the memory mappings of a process that contain these bytes.
  private func places(of bytes: Data, in process: pid_t) throws -> [String] {
    let maps = try String(contentsOfFile: "/proc/\(process)/maps", encoding: .utf8)
    let memory = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(process)/mem"))
    var found: [String] = []
    for map in maps.split(separator: "\n") {
      guard let range = map.firstMatch(of: /^([0-9a-f]+)-([0-9a-f]+) r/),
        let start = UInt64(range.1, radix: 16), let end = UInt64(range.2, radix: 16),
        start < end, end < Int64.max
      else { continue }
      try memory.seek(toOffset: start)
      // Some mappings of the kernel cannot be read.
      guard let read = try? memory.read(upToCount: Int(end - start)) else { continue }
      if read.range(of: bytes) != nil { found.append(String(map)) }
    }
    return found
  }

  @Test(arguments: versions)
  func `the passwords of a key and of a proxy do not stay in memory`(
    version: (build: String, tls: String)
  ) throws {
    let password = "Quetzalcoatlus-\(version.build)"
    let made = try box.run([
      "openssl", "pkey", "-in", Certificates.path("client.key"), "-aes256", "-passout",
      "pass:" + password, "-out", box.path + "/client.key",
    ])
    #expect(made.status == 0, "\(made.errors)")
    let gateway = try Gateway(in: box, tls: version.tls, ["--close-after", "1", "--first", "1"])
    let proxy = try ConnectProxy(in: box, ["--login", "me:" + password])
    let config = try box.write(
      """
      gateway = localhost:\(gateway.port)
      certificate = \(Certificates.path("client.pem"))
      key = client.key
      key-password = \(password)
      protocol = binary
      confirm = drain
      proxy = http://me:\(password)@127.0.0.1:\(proxy.port)
      ca = \(Certificates.path("ca.pem"))
      spool = \(box.spool)
      state = \(box.state)
      """, to: "tinypush.conf")
    let agent = try box.start(Build.command(version.build) + ["run", "--config", config])
    try agent.line("connected to", in: .errors)
    #expect(try places(of: Data(box.spool.utf8), in: agent.id) != [])
    #expect(try places(of: Data(password.utf8), in: agent.id) == [])
    // A second connection reads the key again, and so does a reload.
    for number in 1...2 { try box.drop(line(number, "hello \(number)"), as: "\(number)") }
    try gateway.accepts("hello 2")
    agent.signal(SIGHUP)
    try wait(for: "the next agent") { agent.errors.components(separatedBy: "delivering").count > 2 }
    try box.drop(line(3, "hello 3"), as: "3")
    try gateway.accepts("hello 3")
    let left = try places(of: Data(password.utf8), in: agent.id)
    #expect(left == [])
    #expect(try agent.terminate() == 0)
  }
}
