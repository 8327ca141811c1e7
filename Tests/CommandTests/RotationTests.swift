import Foundation
import Testing

/// The replacement of the provider token, with a clock that the test sets.
@Suite(.sideBySide) struct RotationTests {
  private static let hour = 3600

  /// The seconds for which a token is used, and its age at the first use.
  private static let (use, ageMin) = (25 * 60, 5 * 60)

  /// A clock that starts about five hours ago, since the gateway refuses tokens from the future, as
  /// the use of a token begins.
  private struct Clock {
    let clocks: Clocks
    private(set) var now: Int
    /// When the present token was issued.
    var issue: Int { (now - RotationTests.ageMin) / RotationTests.use * RotationTests.use }

    init(in box: Box) throws {
      now = Int(Date().timeIntervalSince1970) - 5 * hour
      now -= (now - ageMin) % use
      clocks = try Clocks(in: box, [.wall])
      try clocks.set(.wall, to: now)
    }

    mutating func advance(minutes: Int) throws {
      now += minutes * 60
      try clocks.set(.wall, to: now)
    }
  }

  /// Starts a gateway that accepts provider tokens up to ten hours old.
  private func gateway(in box: Box, _ faults: String...) throws -> HTTP2Gateway {
    try HTTP2Gateway(
      in: box, .token,
      ["--token-lives", "\(10 * Self.hour)", "--token-rests", "0"]
        + faults.flatMap { ["--fault", $0] })
  }

  /// Returns the issue time that the provider token of a request states, in UNIX seconds.
  private func issue(_ request: [String: Any]) throws -> Int {
    let headers: [String: String] = try request.member("headers")
    let parts = try #require(headers["authorization"]).split(separator: ".")
    var text = try String(parts.at(1)).replacing("-", with: "+").replacing("_", with: "/")
    text += String(repeating: "=", count: (4 - text.count % 4) % 4)
    let claims = try JSONSerialization.jsonObject(with: try #require(Data(base64Encoded: text)))
    return try #require((claims as? [String: Any])?["iat"] as? Int)
  }

  private func request(_ alert: String, at gateway: HTTP2Gateway) throws -> [String: Any] {
    try gateway.accepts(alert)
    return try #require(
      gateway.requests().last {
        try $0.member("payload", as: String.self).contains("\"\(alert)\"")
      })
  }

  @Test func `after 25 minutes a new connection has a new token, and the old one finishes`() throws
  {
    var clock = try Clock(in: box)
    let first = clock.issue
    let gateway = try gateway(in: box, "slow=3000@2", "one-token")
    let agent = try box.agent(gateway, .token, environment: clock.clocks.environment)
    try box.drop(line(1, "first"), as: "n1")
    try expect(request("first", at: gateway), connection: 1, issue: first)
    try clock.advance(minutes: 24)
    // The answer to this request is still open when the next one is sent.
    try box.drop(line(2, "second"), as: "n2")
    try expect(request("second", at: gateway), connection: 1, issue: first)
    try clock.advance(minutes: 1)
    try box.drop(line(3, "third"), as: "n3")
    try expect(request("third", at: gateway), connection: 2, issue: first + Self.use)
    try wait(for: "the first connection to end: \(agent.errors)") {
      try gateway.events("closed").contains { $0["connection"] as? Int == 1 }
    }
    #expect(try agent.terminate() == 0)
    #expect(box.queued == [])
    #expect(try gateway.requests().count == 3, "nothing was sent twice")
  }

  private func expect(_ request: [String: Any], connection: Int, issue: Int) throws {
    #expect(request["connection"] as? Int == connection)
    #expect(try self.issue(request) == issue)
  }

  @Test func `a clock that is set helps at once if the service calls the token expired`() throws {
    var clock = try Clock(in: box)
    let gateway = try gateway(in: box, "expired-token=token@2")
    let agent = try box.agent(gateway, .token, environment: clock.clocks.environment)
    try box.drop(line(1, "first"), as: "n1")
    try gateway.accepts("first")
    try box.drop(line(2, "second"), as: "n2")
    try agent.line("check this machine's clock", in: .errors)
    try clock.advance(minutes: 25)
    try clock.clocks.announceChange()
    try gateway.accepts("second")
    let answers = try gateway.requests().map { $0["answer"] as? Int }
    #expect(answers.first == 200 && answers.last == 200)
    #expect(answers.dropFirst().dropLast().allSatisfy { $0 == 403 })
    #expect(try issue(#require(gateway.requests().last)) == clock.issue)
    #expect(try agent.terminate() == 0)
  }

  @Test func `consecutive runs use one provider token for 25 minutes`() throws {
    var clock = try Clock(in: box)
    let first = clock.issue
    let gateway = try gateway(in: box)
    for run in 0...6 {
      try box.drop(line(run + 1, "run \(run)"), as: "n\(run)")
      let ended = try box.deliver(gateway, .token, environment: clock.clocks.environment)
      #expect(ended.status == 0, "\(ended.errors)")
      try clock.advance(minutes: 5)
    }
    #expect(
      try gateway.requests().map(issue)
        == Array(repeating: first, count: 5) + Array(repeating: first + Self.use, count: 2))
    let tokens = try gateway.requests().map {
      try $0.member("headers", as: [String: String].self)["authorization"]
    }
    #expect(Set(tokens).count == 2)
  }

  @Test func `the agent makes a provider token as soon as the clock is set`() throws {
    let clocks = try Clocks(in: box, [.wall, .awake])
    try clocks.set(.wall, to: 60)
    try clocks.set(.awake, to: Clocks.prolonged)
    let gateway = try HTTP2Gateway(in: box, .token)
    let page = "status=" + box.path + "/page"
    try box.drop(line(1, "hello"), as: "hello")
    let agent = try box.agent(gateway, .token, [page], environment: clocks.environment)
    try agent.line("this machine's clock is not set", in: .errors)
    try clocks.prolongPause(of: agent, page: page)
    try clocks.set(.wall, to: Int(Date().timeIntervalSince1970))
    try clocks.announceChange()
    // The next attempt would come after the patience of this wait.
    try gateway.accepts("hello")
    #expect(try agent.terminate() == 0)
  }
}
