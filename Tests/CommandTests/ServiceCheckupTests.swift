import Foundation
import Testing

/// What `tinypush check` reports about the HTTP/2 service.
@Suite(.sideBySide) struct ServiceCheckupTests {
  private static let nobody = String(repeating: "0", count: 64)

  private func check(
    _ box: Box, _ port: Int, _ identity: Identity, _ settings: [String] = [],
    environment: [String: String] = [:], prefix: [String] = []
  ) throws -> Checkup {
    try Checkup(
      box.run(
        prefix + Build.command(Build.host) + ["check", "--json"]
          + box.http2Settings(port, identity, settings), environment: environment))
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let answer: String
    let state: String
    let message: String
    let advice: String
    let status: Int32
    var identity = Identity.token
    var testDescription: String { answer }
  }

  @Test(arguments: [
    Row(
      answer: "400:BadDeviceToken", state: "ok",
      message:
        "status 400, bad device token, to a device token that cannot exist: it accepts the credentials and the topic",
      advice: "", status: 0),
    Row(
      answer: "400:BadDeviceToken", state: "ok",
      message:
        "status 400, bad device token, to a device token that cannot exist: it accepts the credentials and the topic",
      advice: "", status: 0, identity: .certificate),
    Row(
      answer: "403:InvalidProviderToken", state: "error",
      message: "status 403, invalid provider token",
      advice:
        "check that signing-key, key-id and team-id belong together, that the key is not revoked, and that this machine's clock is right",
      status: 78),
    Row(
      answer: "403:ExpiredProviderToken", state: "error",
      message: "status 403, expired provider token",
      advice: "check this machine's clock: by that clock, the provider token is new",
      status: 78),
    Row(
      answer: "403:BadCertificateEnvironment", state: "error",
      message: "status 403, bad certificate environment",
      advice:
        "the certificate is for the other environment: set environment to production or development",
      status: 78, identity: .certificate),
    Row(
      answer: "403:BadCertificate", state: "error", message: "status 403, bad certificate",
      advice: "renew the push certificate", status: 78, identity: .certificate),
    Row(
      answer: "403:Forbidden", state: "error", message: "status 403, forbidden",
      advice:
        "check that signing-key, key-id and team-id belong together, that the key is not revoked, and that this machine's clock is right",
      status: 78),
    Row(
      answer: "400:TopicDisallowed", state: "error", message: "status 400, topic disallowed",
      advice:
        "the topic is the app's bundle ID; the certificate or the signing key must be of the same team",
      status: 78),
    Row(
      answer: "400:BadTopic", state: "error", message: "status 400, bad topic",
      advice:
        "the topic is the app's bundle ID; the certificate or the signing key must be of the same team",
      status: 78),
    Row(
      answer: "404:BadPath", state: "error", message: "status 404, bad path",
      advice: "check that gateway names the push service itself, and no proxy", status: 78),
    Row(
      answer: "400:DeviceTokenNotForTopic", state: "warning",
      message: "status 400, device token not for topic",
      advice:
        "the token belongs to another app: give the topic of that app, or a token of this one",
      status: 0),
    Row(
      answer: "503:ServiceUnavailable", state: "warning",
      message: "status 503, service unavailable: the service has a problem: check again later",
      advice: "", status: 0),
    Row(
      answer: "429:TooManyRequests", state: "warning",
      message: "it did not process the request: check again later", advice: "", status: 0),
    Row(
      answer: "200", state: "warning", message: "it accepts a device token that cannot exist",
      advice: "is it the push service?", status: 0),
  ])
  func `check judges the service by its answer to a device token that cannot exist`(
    row: Row
  ) throws {
    let gateway = try HTTP2Gateway(
      in: box, row.identity, ["--answer", Self.nobody + "=" + row.answer])
    let checkup = try check(box, gateway.port, row.identity)
    let answer = checkup["gateway.answer"]
    #expect(answer.state == row.state, "\(answer)")
    #expect(answer.message.firstMatch(of: #/^within \d+ ms: /#) != nil, "\(answer)")
    #expect(answer.message.hasSuffix(" ms: " + row.message), "\(answer)")
    #expect(answer.advice == row.advice)
    #expect(checkup["gateway.client"].state == (row.identity == .token ? "skipped" : "ok"))
    #expect(checkup.status == row.status)
    let request = try #require(gateway.requests().first)
    #expect(request["token"] as? String == Self.nobody)
    #expect((request["headers"] as? [String: String])?["apns-topic"] == "com.example.tinypush")
  }

  @Test func `check waits connect-timeout for the service's answer`() throws {
    let gateway = try HTTP2Gateway(in: box, .token, ["--fault", "silent"])
    // The setting also limits the handshake, for which a busy machine may need longer.
    var checkup: Checkup?
    try wait(for: "a handshake within 2 s") {
      checkup = try check(box, gateway.port, .token, ["connect-timeout=2s"])
      return checkup?["gateway.handshake"].state == "ok"
    }
    #expect(checkup?["gateway.answer"].message == "no answer to a request within 2 s")
    #expect(checkup?["gateway.answer"].state == "error")
    #expect(checkup?.status == 69)
  }

  @Test(arguments: [
    ("cut-before@1", "The server localhost closed the connection"),
    ("goaway-refusing@1", "it ended the connection without an answer"),
  ])
  func `check reports a service that ends the connection`(
    fault: String, message: String
  ) throws {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", fault])
    let checkup = try check(box, gateway.port, .certificate)
    #expect(checkup["gateway.client"].state == "ok")
    #expect(checkup["gateway.answer"].message.hasSuffix(message))
    #expect(checkup["gateway.answer"].state == "error")
    #expect(checkup.status == 69)
  }

  @Test func `check reports a server that violates HTTP/2`() throws {
    let hostile = try Hostile(in: box, "garbage")
    let checkup = try check(box, hostile.port, .certificate)
    #expect(checkup["gateway.answer"].message.hasSuffix("it violates HTTP/2"))
    #expect(checkup.status == 69)
  }

  @Test func `two checks use the same provider token`() throws {
    let gateway = try HTTP2Gateway(in: box, .token)
    let clocks = try Clocks(in: box, [.wall])
    try clocks.set(.wall, to: Int(Date().timeIntervalSince1970))
    for _ in 1...2 { _ = try check(box, gateway.port, .token, environment: clocks.environment) }
    let tokens = try gateway.requests().map {
      try #require($0.member("headers", as: [String: String].self)["authorization"])
    }
    #expect(tokens.count == 2)
    #expect(Set(tokens).count == 1)
  }

  @Test func `check says how to make a missing key for browsers`() throws {
    let gateway = try HTTP2Gateway(in: box)
    let path = box.path + "/vapid.pem"
    let checkup = try check(
      box, gateway.port, .certificate, ["vapid-key=" + path, "contact=mailto:root@tinypush.org"])
    #expect(checkup["web-push.key"].message == "\(path) does not exist")
    #expect(checkup["web-push.key"].advice.contains("tinypush recipient invite NAME"))
  }
}
