import Foundation
import Testing

/// The messages about a signing key.
@Suite(.sideBySide) struct SigningKeyTests {
  /// Makes signing keys in a box, and returns the path of a configuration that names one.
  private func configure(_ box: Box, _ gateway: Gateway, _ more: String = "") throws -> String {
    let made = try box.run([
      "sh", "-c",
      """
      mkdir -p etc/credentials && cd etc/credentials && umask 077 &&
      openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey_ABC123DEFG.p8 &&
      openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out curve.p8
      """,
    ])
    #expect(made.status == 0, "\(made.errors)")
    return try box.write(
      """
      signing-key = credentials/AuthKey_ABC123DEFG.p8
      key-id = ABC123DEFG
      team-id = DEF123GHIJ
      topic = com.example.app
      ca = \(Certificates.path("ca.pem"))
      spool = \(box.spool)
      state = \(box.path)/state
      gateway = localhost:\(gateway.port)
      protocol = http2
      \(more)

      """, to: "etc/tinypush.conf")
  }

  private func check(
    _ box: Box, _ path: String, _ settings: [String] = [], environment: [String: String] = [:],
    build: String = Build.host
  ) throws -> Checkup {
    try Checkup(
      box.run(
        Build.command(build) + ["check", "--json", "--config", path]
          + settings.flatMap { ["-o", $0] }, environment: environment))
  }

  @Test(arguments: [Build.host, Build.recent])
  func `check reports the signing key, its ID, the team and the topic`(build: String) throws {
    let gateway = try Gateway(in: box)
    let path = try configure(box, gateway)
    let checkup = try check(box, path, build: build)
    let key = box.path + "/etc/credentials/AuthKey_ABC123DEFG.p8"
    #expect(checkup["signing-key.file"].message == key + ", EC, 256 bits")
    #expect(checkup["signing-key.key-id"].message == "ABC123DEFG")
    #expect(checkup["signing-key.team-id"].message == "DEF123GHIJ")
    #expect(checkup["signing-key.topic"].message == "com.example.app")
    #expect(checkup["signing-key.authorities"].state == "ok")
    #expect(
      checkup["config.environment"].message
        == "production, gateway localhost:\(gateway.port) (HTTP/2)")
    for name in ["certificate.file", "feedback.name"] { #expect(checkup[name].state == "absent") }
    chmod(key, 0o644)
    let open = try check(box, path, build: build)["signing-key.file"]
    #expect(open.message == key + ", EC, 256 bits, which anybody may read (mode 644)")
    #expect(open.advice == "chmod o= " + key)
  }

  @Test func `the signing key may be a credential of the service`() throws {
    let path = try configure(box, try Gateway(in: box))
    let given = box.path + "/run"
    mkdir(given, 0o700)
    try FileManager.default.moveItem(
      atPath: box.path + "/etc/credentials/AuthKey_ABC123DEFG.p8",
      toPath: given + "/credentials_AuthKey_ABC123DEFG.p8")
    let checkup = try check(box, path, environment: ["CREDENTIALS_DIRECTORY": given])
    #expect(
      checkup["signing-key.file"].message
        == given + "/credentials_AuthKey_ABC123DEFG.p8, EC, 256 bits")
    #expect(checkup["signing-key.key-id"].state == "ok")
  }

  @Test func `check reports what is wrong with the signing key and the remedy`() throws {
    let path = try configure(box, try Gateway(in: box))
    let directory = box.path + "/etc/credentials"
    let other = try check(box, path, ["key-id=ABC123DEFH"])["signing-key.key-id"]
    #expect(other.state == "warning")
    #expect(other.message == "ABC123DEFH, but the file is named after ABC123DEFG")
    for (setting, status, message, advice) in [
      (
        "signing-key=\(directory)/curve.p8", 78,
        "The signing key \(directory)/curve.p8 is an EC key of 384 bits, and not an EC key of the curve P-256",
        "Give the file that Apple (AuthKey_....p8) or \"tinypush recipient invite\" made, unchanged."
      ),
      (
        "signing-key=\(directory)/none.p8", 66,
        "The signing key \(directory)/none.p8 does not exist",
        "Put it there, or correct the path."
      ),
    ] as [(String, Int32, String, String)] {
      let checkup = try check(box, path, [setting])
      #expect(checkup["signing-key.file"].message == message)
      #expect(checkup["signing-key.file"].advice == advice)
      #expect(
        checkup["gateway.handshake"].message
          == "the signing key or the authorities cannot be used")
      let ended = try box.tinypush("run", "--once", "--config", path, "-o", setting)
      #expect(ended.status == status)
      #expect(ended.errors.contains(message), "\(ended.errors)")
    }
  }

  @Test func `check reports a gateway that does not speak HTTP/2`() throws {
    let path = try configure(box, try Gateway(in: box))
    // With TLS 1.3: the server then notices the missing certificate only after the handshake.
    let handshake = try check(box, path, build: Build.recent)["gateway.handshake"]
    #expect(handshake.state == "error")
    #expect(handshake.message == "The server localhost does not speak HTTP/2", "\(handshake)")
  }

  @Test func `contradictory settings are reported with their line`() throws {
    let path = try configure(box, try Gateway(in: box), "settle = 5s")
    for command in ["run", "check"] {
      let ended = try box.tinypush(command, "--config", path)
      #expect(ended.status == 78)
      #expect(
        ended.errors.contains(
          "\(path):10: settle applies only to protocol = binary; with http2 the service answers each notification: remove it, or set protocol = binary"
        ), "\(ended.errors)")
    }
  }

  @Test func `feedback with HTTP/2 explains that there is no feedback service and exits with 0`()
    throws
  {
    let path = try configure(box, try Gateway(in: box))
    let said = try box.tinypush("feedback", "--config", path)
    #expect(said.status == 0)
    #expect(
      said.output
        == "with protocol = http2 there is no feedback service: the agent learns from each answer whether a device is gone\n"
    )
    #expect(said.errors == "")
  }
}
