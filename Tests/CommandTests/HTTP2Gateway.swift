import Foundation

/// The credential by which a service identifies the sender.
enum Identity: String, CaseIterable, Sendable {
  case certificate, token
}

/// A peer that takes HTTP/2 requests.
class HTTP2Server: Peer {
  static let keyID = "ABCDE12345"
  static let teamID = "TEAM123456"

  /// Returns the requests in the order of their arrival.
  func requests() throws -> [[String: Any]] {
    try objects(
      soFar: String(
        decoding: try Data(contentsOf: URL(filePath: record + "/requests")), as: UTF8.self))
  }

  /// Returns the alert texts of the accepted requests in the order of their arrival.
  func alerts() throws -> [String] {
    try requests().filter { $0["accepted"] as? Bool == true }.map { request in
      let payload = try JSONSerialization.jsonObject(
        with: Data(request.member("payload", as: String.self).utf8))
      let aps = (payload as? [String: Any])?["aps"] as? [String: Any]
      return aps?["alert"] as? String ?? ""
    }
  }

  /// Waits until an alert with this text has been accepted.
  func accepts(_ alert: String) throws {
    try wait(for: "the gateway to accept \"\(alert)\"") { try alerts().contains(alert) }
  }
}

/// A gateway like Apple's HTTP/2 service (Tests/Tools/http2gateway.py).
final class HTTP2Gateway: HTTP2Server {
  init(
    in box: Box, _ identity: Identity = .certificate, certificate: String = "server",
    tls: String? = nil, _ script: [String] = [], name: String = "gateway", prefix: [String] = []
  ) throws {
    var words = script
    if identity == .token {
      words += [
        "--signing-key-public", try Certificates.path("signing-public.pem"),
        "--key-id", Self.keyID, "--team-id", Self.teamID,
      ]
    }
    try super.init(
      "http2gateway", in: box, certificate: certificate, ca: "ca", tls: tls, words, name: name,
      prefix: prefix)
  }
}

/// A server that attacks its clients (Tests/Tools/hostile.py).
final class Hostile: HTTP2Server {
  init(in box: Box, _ attack: String, _ script: [String] = [], name: String = "hostile") throws {
    try super.init(
      "hostile", in: box, certificate: "server", ca: "ca", tls: nil,
      ["--attack", attack] + script, name: name)
  }
}

extension Box {
  /// Returns the options of ``settings(_:certificate:key:_:)`` for HTTP/2.
  func http2Settings(
    _ port: Int, _ identity: Identity = .certificate, _ more: [String] = []
  ) throws -> [String] {
    let common = try [
      "protocol=http2", "gateway=localhost:\(port)", "ca=" + Certificates.path("ca.pem"),
      "spool=" + spool, "state=" + state,
    ]
    let own =
      switch identity {
      case .certificate:
        try [
          "certificate=" + Certificates.path("client.pem"),
          "key=" + Certificates.path("client.key"),
        ]
      case .token:
        try [
          "signing-key=" + Certificates.path("signing.p8"), "key-id=" + HTTP2Server.keyID,
          "team-id=" + HTTP2Server.teamID, "topic=com.example.tinypush",
        ]
      }
    return (common + own + more).flatMap { ["-o", $0] }
  }

  /// Starts an agent as a service, behind the command `prefix`.
  func agent(
    _ server: HTTP2Server, _ identity: Identity = .certificate, _ settings: [String] = [],
    environment: [String: String] = [:], prefix: [String] = []
  ) throws -> Child {
    try start(
      prefix + Build.command(Build.host) + ["run"] + http2Settings(server.port, identity, settings),
      environment: environment)
  }

  /// Runs an agent until the spool is empty.
  func deliver(
    _ server: HTTP2Server, _ identity: Identity = .certificate, _ settings: [String] = [],
    build: String = Build.host, environment: [String: String] = [:]
  ) throws -> Child {
    try run(
      Build.command(build) + ["run", "--once"] + http2Settings(server.port, identity, settings),
      environment: environment)
  }
}
