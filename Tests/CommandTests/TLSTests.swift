import Foundation
import Testing

/// Each way in which a connection is refused is told in words of its own, which say what to do.
@Suite struct TLSTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var server = "server"
    /// The authority that the gateway trusts.
    var ca = "ca"
    var client = "client"
    var key: String?
    var password: String?
    /// Of the gateway, instead of localhost.
    var host: String?
    var words: [String]
    /// When it ends at once, as for files that are wrong: its exit status.
    var status: Int32?

    init(
      _ name: String, server: String = "server", ca: String = "ca", client: String = "client",
      key: String? = nil, password: String? = nil, host: String? = nil, status: Int32? = nil,
      says words: String...
    ) {
      testDescription = name
      (self.server, self.ca, self.client, self.key) = (server, ca, client, key)
      (self.password, self.host, self.status, self.words) = (password, host, status, words)
    }
  }

  private static let refusals = [
    Row(
      "wrong host", server: "server-wrong-host",
      says: "was asked for as localhost, but its certificate is made out to elsewhere.example"),
    Row(
      "unknown authority", server: "server-unknown-ca",
      says: "was issued by \"Somebody else's authority\", which is not in the CA file"),
    Row(
      "expired", server: "server-expired", says: "expired on 2021-01-01", "must be renewed there"),
    Row(
      "not yet valid", server: "server-not-yet", says: "is valid only from 2090-01-01",
      "Is this machine's clock set?", "(this machine's clock seems not to be set)"),
    Row(
      "self-signed", server: "server-self-signed", says: "is self-signed, and not in the CA file"),
    Row(
      "our authority is unknown there", client: "client-unknown-ca",
      says: "refuses our certificate: it does not trust the certificate's issuer",
      "alert unknown_ca"),
    Row("ours is self-signed", client: "client-self-signed", says: "refuses our certificate"),
    Row(
      "ours has expired", client: "client-expired", says: "refuses our certificate",
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
    let gateway = try Gateway(in: box, certificate: row.server, ca: row.ca, tls: tls)
    var settings = try box.settings(
      gateway.port, certificate: row.client, key: row.key,
      row.password.map { ["key-password=" + $0] } ?? [])
    if let host = row.host { settings += ["-o", "gateway=\(host):\(gateway.port)"] }
    try box.drop(line(1, "hello"), as: "one")
    return (gateway, try box.start(Build.command(build) + ["run"] + settings))
  }

  @Test(arguments: refusals, versions)
  func `a refusal is explained`(row: Row, version: (build: String, tls: String)) throws {
    let box = try Box()
    defer { box.end() }
    let (gateway, agent) = try start(row, version.build, version.tls, in: box)
    for words in row.words { try agent.line(words, in: .errors) }
    if let status = row.status {
      #expect(try agent.wait() == status)
    } else {
      #expect(try agent.terminate() == 0)
    }
    #expect(box.names(in: "new") == ["one"])
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
  func `what is right connects`(row: Row, version: (build: String, tls: String)) throws {
    let box = try Box()
    defer { box.end() }
    let (gateway, agent) = try start(row, version.build, version.tls, in: box)
    try agent.line("connected to", in: .errors)
    #expect(agent.errors.contains("(TLS \(version.tls), "))
    try gateway.accepts("hello")
    #expect(try agent.terminate() == 0)
    #expect(box.names(in: "new") == [])
    try #expect(gateway.events("open").map { $0["version"] as? String } == ["TLSv\(version.tls)"])
  }

  @Test(arguments: versions)
  func `a session is resumed on the next connection`(version: (build: String, tls: String)) throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(
      in: box, tls: version.tls, ["--first", "2", "--close-after", "1", "--abrupt"])
    for number in 1...3 { try box.drop(line(number, "\(number)"), as: "\(number)") }
    let agent = try box.deliver(gateway, build: version.build)
    #expect(agent.status == 0, "\(agent.errors)")
    // Between the two that were cut and the last, one that only sees whether the gateway is well.
    try #expect(gateway.events("open").map { $0["resumed"] as? Bool } == [false, true, true, true])
    #expect(agent.errors.contains(", resumed)"))
  }

  @Test func `what does not speak TLS is told as such`() throws {
    let box = try Box()
    defer { box.end() }
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
    let port = Int(try server.line("listening ").dropFirst("listening ".count))!
    let agent = try box.start(Build.command(Build.host) + ["run"] + box.settings(port))
    try agent.line("does not speak TLS: its first bytes are \"220 m\"", in: .errors)
    #expect(try agent.terminate() == 0)
  }
}
