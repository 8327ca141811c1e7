import Foundation

/// A gateway like Apple's HTTP/2 service: Tests/Tools/http2gateway.py.
final class HTTP2Gateway: Peer {
  /// What it asks of its clients.
  enum Identity: String, CaseIterable, Sendable {
    case certificate, token
  }

  static let keyID = "ABCDE12345"
  static let teamID = "TEAM123456"

  init(
    in box: Box, _ identity: Identity = .certificate, certificate: String = "server",
    tls: String? = nil, _ script: [String] = [], name: String = "gateway"
  ) throws {
    var words = script
    if identity == .token {
      words += [
        "--signing-key-public", try Certificates.path("signing-public.pem"),
        "--key-id", Self.keyID, "--team-id", Self.teamID,
      ]
    }
    try super.init(
      "http2gateway", in: box, certificate: certificate, ca: "ca", tls: tls, words, name: name)
  }

  /// Each request, as it came.
  func requests() throws -> [[String: Any]] {
    try objects(
      String(decoding: try Data(contentsOf: URL(filePath: record + "/requests")), as: UTF8.self))
  }

  /// The alerts' texts of what it accepted, in the order in which it came.
  func alerts() throws -> [String] {
    try requests().filter { $0["accepted"] as? Bool == true }.map { request in
      let payload = try JSONSerialization.jsonObject(
        with: Data((request["payload"] as! String).utf8))
      let aps = (payload as? [String: Any])?["aps"] as? [String: Any]
      return aps?["alert"] as? String ?? ""
    }
  }

  /// Waits until an alert with this text has been accepted.
  func accepts(_ alert: String) throws {
    try wait(for: "the gateway to accept \"\(alert)\"") { try alerts().contains(alert) }
  }
}

/// A server that attacks whoever connects: Tests/Tools/hostile.py.
final class Hostile: Peer {
  init(in box: Box, _ attack: String, _ script: [String] = [], name: String = "hostile") throws {
    try super.init(
      "hostile", in: box, certificate: "server", ca: "ca", tls: nil,
      ["--attack", attack] + script, name: name)
  }

  /// The names of all attacks.
  static func attacks(in box: Box) throws -> [String] {
    try box.run(["python3", Build.tools + "/hostile.py", "--list"]).output
      .split(separator: "\n").map { String($0.prefix { $0 != " " }) }
  }
}
