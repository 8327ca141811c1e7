import Foundation
import Testing

/// Delivery to third-party HTTP/2 servers.
@Suite(.sideBySide) struct OtherServerTests {
  private static let count = 300

  private func fill(_ box: Box) throws {
    try box.drop((1...Self.count).map { line($0, "Alert \($0)") }.joined(), as: "many")
  }

  private func expectAll(_ run: Child, _ server: HTTP2Server, in box: Box) throws {
    #expect(run.status == 0, "\(run.errors)")
    #expect(box.queued + box.names(in: "failed") == [])
    let requests = try server.requests()
    #expect(requests.count == Self.count)
    #expect(requests.allSatisfy { $0["accepted"] as? Bool == true })
    let tokens: [String] = try requests.map { try $0.member("token") }
    #expect(Set(tokens).count == Self.count)
    #expect(try server.events("open").count == 1)
  }

  // MARK: - Go's net/http

  /// Starts Tests/Tools/goserver.go, which verifies the client certificate or the provider token.
  private func goServer(in box: Box, _ identity: Identity) throws -> HTTP2Server {
    let program = try Self.goProgram.get()
    let key = try ["--signing-key-public", Certificates.path("signing-public.pem")]
    return try HTTP2Server(
      [program], in: box,
      ["--ca", Certificates.path("ca.pem")] + (identity == .token ? key : []))
  }

  private static let goProgram = Result {
    let home = try Shared.directory()
    let program = home + "/goserver"
    let box = try Box()
    defer { box.end() }
    let built = try box.run(
      ["go", "build", "-o", program, Build.tools + "/goserver.go"],
      environment: ["GOCACHE": box.path + "/cache", "GOPATH": box.path + "/go"])
    guard built.status == 0 else { throw Failure(built.errors) }
    return program
  }

  @Test(arguments: Identity.allCases)
  func `Go's net/http accepts notifications and verifies the sender`(identity: Identity)
    throws
  {
    let server = try goServer(in: box, identity)
    try fill(box)
    try expectAll(box.deliver(server, identity), server, in: box)
    #expect(try Set(server.alerts()) == Set((1...Self.count).map { "Alert \($0)" }))
  }

  @Test func `Go's net/http refuses a provider token signed with another key`() throws {
    let server = try goServer(in: box, .token)
    try fill(box)
    let run = try box.deliver(
      server, .token, ["signing-key=" + Certificates.path("signing-other.p8")])
    #expect(run.status == 78, "\(run.errors)")
    // Another notification is tried as well, since the first may be the cause.
    let reasons = try server.requests().map { $0["reason"] as? String }
    #expect(reasons == ["InvalidProviderToken", "InvalidProviderToken"])
    #expect(box.queued == ["many"])
  }

  @Test func `Go's net/http refuses a certificate of another authority`() throws {
    let server = try goServer(in: box, .certificate)
    try fill(box)
    let run = try box.deliver(
      server, .certificate,
      [
        "certificate=" + Certificates.path("client-unknown-ca.pem"),
        "key=" + Certificates.path("client-unknown-ca.key"),
      ])
    #expect(run.status == 78, "\(run.errors)")
    #expect(try server.requests().isEmpty)
    #expect(box.queued == ["many"])
  }

  // MARK: - nghttpd

  @Test(arguments: Identity.allCases)
  func `nghttpd accepts notifications with the sender's credentials`(identity: Identity) throws {
    let server = try HTTP2Server(
      ["python3", Build.tools + "/nghttpserver.py"], in: box,
      identity == .token ? ["--optional"] : [])
    try fill(box)
    let run = try box.deliver(server, identity)
    // nghttpd writes its record when it ends.
    #expect(try server.child.terminate() == 0, "\(server.child.errors)")
    try expectAll(run, server, in: box)
    for request in try server.requests() {
      let headers: [String: String] = try request.member("headers")
      #expect(headers["apns-topic"] == "com.example.tinypush")
      let bearer = headers["authorization"]
      #expect((bearer?.hasPrefix("bearer ") ?? false) == (identity == .token))
      let never: [String] = try request.member("never")
      #expect(never.contains("authorization") == (identity == .token))
    }
  }
}
