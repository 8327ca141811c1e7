import Testing
import TinyPushAgent

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

/// Tests of the sandbox's answers over HTTP/2.
@Suite struct RequestTests {
  static let alert = #"{"aps":{"alert":"Tank low"}}"#

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var status: Int
    var reason: String
    /// Headers that differ from those of a valid request; an empty value: no such header.
    var headers: [String: String]
    var payload: String
    /// The name of a header that occurs twice.
    var again: String?

    init(
      _ name: String, _ status: Int, _ reason: String, _ headers: [String: String] = [:],
      payload: String = RequestTests.alert, again: String? = nil
    ) {
      (testDescription, self.status, self.reason) = (name, status, reason)
      (self.headers, self.payload, self.again) = (headers, payload, again)
    }
  }

  private static func padded(_ bytes: Int) -> String {
    #"{"aps":{"alert":"\#(String(repeating: "x", count: bytes - 20))"}}"#
  }

  static let rows = [
    Row("a valid request", 200, ""),
    Row("priority 1", 200, "", ["apns-priority": "1"]),
    Row("a payload of 4096 bytes", 200, "", payload: padded(4096)),
    Row(
      "a voip payload of 5120 bytes", 200, "",
      ["apns-push-type": "voip", "apns-topic": "com.example.tinypush.voip"], payload: padded(5120)),
    Row("mdm needs no aps", 200, "", ["apns-push-type": "mdm"], payload: #"{"mdm":"x"}"#),
    Row("no push type", 200, "", ["apns-push-type": ""]),
    Row("no expiration", 200, "", ["apns-expiration": ""]),
    Row("GET", 405, "MethodNotAllowed", [":method": "GET"]),
    Row("another path", 404, "BadPath", [":path": "/4/device/00"]),
    Row("a path without a token", 400, "MissingDeviceToken", [":path": "/3/device/"]),
    Row("a path without a slash", 400, "MissingDeviceToken", [":path": "/3/device"]),
    Row("two topics", 400, "DuplicateHeaders", again: "apns-topic"),
    Row("no provider token", 403, "MissingProviderToken", ["authorization": ""]),
    Row("not a bearer token", 403, "InvalidProviderToken", ["authorization": "basic eHg6eHg="]),
    Row("not a JWT", 403, "InvalidProviderToken", ["authorization": "bearer nonsense"]),
    Row("an apns-id that is not a UUID", 400, "BadMessageId", ["apns-id": "7"]),
    Row(
      "a collapse ID of 65 bytes", 400, "BadCollapseId",
      ["apns-collapse-id": String(repeating: "x", count: 65)]),
    Row(
      "a collapse ID of 64 bytes", 200, "", ["apns-collapse-id": String(repeating: "x", count: 64)]),
    Row("an expiration in words", 400, "BadExpirationDate", ["apns-expiration": "soon"]),
    Row("a negative expiration", 400, "BadExpirationDate", ["apns-expiration": "-1"]),
    Row("priority 7", 400, "BadPriority", ["apns-priority": "7"]),
    Row("priority 05", 400, "BadPriority", ["apns-priority": "05"]),
    Row(
      "background with priority 10", 400, "BadPriority",
      ["apns-push-type": "background", "apns-priority": "10"]),
    Row("an unknown push type", 400, "InvalidPushType", ["apns-push-type": "shout"]),
    Row("no topic", 400, "MissingTopic", ["apns-topic": ""]),
    Row("a topic with a slash", 400, "BadTopic", ["apns-topic": "com/example"]),
    Row("a voip topic without its suffix", 400, "BadTopic", ["apns-push-type": "voip"]),
    Row("another app's topic", 400, "TopicDisallowed", ["apns-topic": "com.example.other"]),
    Row("a token of 2 digits", 400, "BadDeviceToken", [":path": "/3/device/00"]),
    Row("a token of 3 digits", 400, "BadDeviceToken", [":path": "/3/device/123"]),
    Row(
      "a token of 202 digits", 400, "BadDeviceToken",
      [":path": "/3/device/" + String(repeating: "1", count: 202)]),
    Row(
      "a token of 1000 digits", 400, "BadDeviceToken",
      [":path": "/3/device/" + String(repeating: "1", count: 1000)]),
    Row(
      "a token that the sandbox did not make", 400, "BadDeviceToken",
      [":path": "/3/device/" + String(repeating: "ab", count: 32)]),
    Row("an empty payload", 400, "PayloadEmpty", payload: ""),
    Row("not JSON", 400, "PayloadEmpty", payload: "{"),
    Row("no aps", 400, "PayloadEmpty", payload: "{}"),
    Row("a payload of 4097 bytes", 413, "PayloadTooLarge", payload: padded(4097)),
    Row("a payload of 60,000 bytes", 413, "PayloadTooLarge", payload: padded(60_000)),
  ]

  /// Returns the headers of a valid request, with the values of `others` in place of its own.
  ///
  /// - Parameters:
  ///   - others: an empty value: no such header.
  ///   - again: the name of a header that occurs twice.
  ///   - token: nil: the token of the first device.
  static func headers(
    _ desk: Desk, _ others: [String: String] = [:], again: String? = nil, token: String? = nil
  ) -> [(name: String, value: String)] {
    var headers = [
      (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
      (":path", "/3/device/" + (token ?? desk.phone)),
      ("authorization", "bearer " + desk.token), ("apns-topic", "com.example.tinypush"),
      ("apns-push-type", "alert"), ("apns-expiration", "2000000000"), ("apns-priority", "10"),
      ("apns-id", "123e4567-e89b-42d3-a456-426614174000"), ("apns-collapse-id", ""),
    ].map { (name: $0.0, value: others[$0.0] ?? $0.1) }
    if let again, let value = headers.first(where: { $0.name == again }) { headers.append(value) }
    return headers.filter { !$0.value.isEmpty }
  }

  @Test(arguments: rows, [1, 16_384])
  func `each request gets the status and reason of Apple's table`(row: Row, piece: Int) throws {
    let desk = try Desk()
    let conversation = Conversation(try desk.session(.nobody), piece: piece)
    let answer = conversation.ask(
      Self.headers(desk, row.headers, again: row.again), row.payload)
    #expect(answer?.status == row.status, "\(answer as Any)")
    #expect(answer?.reason == row.reason)
  }

  // MARK: - Apps and certificates

  @Test func `a request for a removed app gets status 410 with a timestamp`() throws {
    let desk = try Desk()
    let (device, app) = (desk.devices.all[0], desk.devices.all[0].apps[0])
    try desk.devices.uninstall(app, from: device)
    let conversation = Conversation(try desk.session(.nobody))
    let answer = conversation.ask(Self.headers(desk), Self.alert)
    #expect(answer?.status == 410)
    #expect(answer?.body == #"{"reason":"Unregistered","timestamp":\#(desk.now * 1000)}"#)
    try desk.devices.register(app, on: device, now: desk.now)
    #expect(conversation.ask(Self.headers(desk), Self.alert)?.status == 200)
  }

  @Test func `a token is refused with the topic of another app`() throws {
    let desk = try Desk()
    let request = Devices.Request(topic: CString("com.example.other"))
    let name = "pad".bytes
    let token = try desk.devices.add(name.span, request, now: desk.now).1.token
    let digits = text { $0.append(hex: token.bytes) }
    let conversation = Conversation(try desk.session(.nobody))
    let answer = conversation.ask(Self.headers(desk, token: digits), Self.alert)
    #expect(answer?.reason == "DeviceTokenNotForTopic")
    let other = Self.headers(desk, ["apns-topic": "com.example.other"], token: digits)
    #expect(conversation.ask(other, Self.alert)?.status == 200)
  }

  struct Certified: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var status: Int
    var reason: String
    var topic = "com.example.tinypush"
    var topics = ""
    /// The environments that the certificate names.
    var kind: Int32 = 4
    var wanted = "com.example.tinypush"
  }

  @Test(arguments: [
    Certified(testDescription: "its own topic", status: 200, reason: ""),
    Certified(testDescription: "no topic named", status: 200, reason: "", wanted: ""),
    Certified(testDescription: "both environments", status: 200, reason: "", kind: 6),
    Certified(testDescription: "no environment", status: 200, reason: "", kind: 0),
    Certified(
      testDescription: "only production", status: 403, reason: "BadCertificateEnvironment",
      kind: 2),
    Certified(testDescription: "no topic", status: 403, reason: "BadCertificate", topic: ""),
    Certified(
      testDescription: "another topic", status: 400, reason: "TopicDisallowed",
      wanted: "com.example.other"),
    Certified(
      testDescription: "one of several topics", status: 200, reason: "",
      topics: "com.example.other, com.example.tinypush"),
    Certified(
      testDescription: "none of several topics", status: 400, reason: "TopicDisallowed",
      topics: "com.example.other, com.example.more"),
    Certified(
      testDescription: "several topics, and a request without topic", status: 400,
      reason: "MissingTopic",
      topics: "com.example.other, com.example.tinypush", wanted: ""),
  ])
  func `a certificate allows requests only in its environment and for its topics`(row: Certified)
    throws
  {
    let desk = try Desk()
    let client = ClientIdentity.certificate(row.topic, topics: row.topics, kind: row.kind)
    let conversation = Conversation(try desk.session(client))
    #expect(conversation.streamsMax == 1000)
    let headers = Self.headers(desk, ["authorization": "", "apns-topic": row.wanted])
    let answer = conversation.ask(headers, Self.alert)
    #expect(answer?.status == row.status)
    #expect(answer?.reason == row.reason)
  }

  @Test func `a client with a provider token has one request at a time until one is accepted`()
    throws
  {
    let desk = try Desk()
    let conversation = Conversation(try desk.session(.nobody))
    #expect(conversation.streamsMax == 1)
    #expect(conversation.ask(Self.headers(desk, ["apns-topic": ""]), Self.alert)?.status == 400)
    #expect(conversation.streamsMax == 1)
    #expect(conversation.ask(Self.headers(desk), Self.alert)?.status == 200)
    #expect(conversation.streamsMax == 1000)
  }

  // MARK: - Provider tokens

  struct Token: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var reason: Reason?
    var head = #"{"alg":"ES256","kid":"SANDBOXKEY"}"#
    var claims: String?
    var age: Int64 = 0
    var isDamaged = false
  }

  @Test(arguments: [
    Token(testDescription: "a new token", reason: nil),
    Token(testDescription: "an hour old", reason: nil, age: 3600),
    Token(testDescription: "more than an hour old", reason: .expiredProviderToken, age: 3601),
    Token(testDescription: "a minute in the future", reason: nil, age: -60),
    Token(
      testDescription: "more than a minute in the future", reason: .invalidProviderToken, age: -61),
    Token(testDescription: "a damaged signature", reason: .invalidProviderToken, isDamaged: true),
    Token(
      testDescription: "another key", reason: .invalidProviderToken,
      head: #"{"alg":"ES256","kid":"ABCDE12345"}"#),
    Token(testDescription: "no key", reason: .invalidProviderToken, head: #"{"alg":"ES256"}"#),
    Token(
      testDescription: "another algorithm", reason: .invalidProviderToken,
      head: #"{"alg":"none","kid":"SANDBOXKEY"}"#),
    Token(
      testDescription: "another team", reason: .invalidProviderToken,
      claims: #"{"iss":"TEAM654321","iat":1}"#),
    Token(
      testDescription: "no time", reason: .invalidProviderToken, claims: #"{"iss":"TEAM123456"}"#),
    Token(
      testDescription: "a time in quotes", reason: .invalidProviderToken,
      claims: #"{"iss":"TEAM123456","iat":"1"}"#),
    Token(
      testDescription: "a header that is not JSON", reason: .invalidProviderToken, head: "ES256"),
  ])
  func `a provider token must have the right time, signature, key, algorithm and team`(row: Token)
    throws
  {
    let desk = try Desk()
    var check = ProviderTokenCheck()
    let token =
      "bearer " + desk.jwt(row.head, claims: row.claims, age: row.age, isDamaged: row.isDamaged)
    #expect(Self.check(token, &check, desk, now: desk.now) == row.reason)
  }

  private static func check(
    _ token: String, _ check: inout ProviderTokenCheck, _ desk: Desk, now: Int64
  ) -> Reason? {
    let bytes = token.bytes
    do throws(ProviderTokenCheck.Problem) {
      try check.check(bytes.span, by: desk.key, now: now)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test func `another provider token is refused within 20 minutes, and with another key`() throws {
    let desk = try Desk()
    var check = ProviderTokenCheck()
    let (first, second) = ("bearer " + desk.jwt(age: 60), "bearer " + desk.jwt())
    let now = desk.now
    #expect(Self.check(first, &check, desk, now: now) == nil)
    #expect(Self.check(first, &check, desk, now: now + 1) == nil)
    #expect(
      Self.check(second, &check, desk, now: now + 1199) == .tooManyProviderTokenUpdates)
    #expect(Self.check(second, &check, desk, now: now + 1200) == nil)
    #expect(Self.check(second, &check, desk, now: now + 3601) == .expiredProviderToken)
    let other = "bearer " + desk.jwt(#"{"alg":"ES256","kid":"ABCDE12345"}"#)
    #expect(Self.check(other, &check, desk, now: now + 1200) == .unrelatedKeyIDInToken)
  }

  // MARK: - Faults

  @Test(arguments: Reason.allCases)
  func `a fault can refuse a request with each reason`(reason: Reason) throws {
    let desk = try Desk()
    let conversation = Conversation(
      try desk.session(.nobody, faults: ["reason=\(String(reason.name))@1"]))
    let answer = conversation.ask(Self.headers(desk), Self.alert)
    #expect(answer?.status == Int(reason.status))
    #expect(answer?.reason == String(reason.name))
    #expect(answer?.body.contains("timestamp") == (reason.status == 410))
    #expect(conversation.ask(Self.headers(desk), Self.alert)?.status == 200)
  }

  @Test func `a fault of one stream does not affect the other streams`() throws {
    let desk = try Desk()
    let conversation = Conversation(
      try desk.session(
        .certificate(),
        faults: [
          "retry-after=7@1", "odd-body@2", "refused-stream@3", "reset-stream@4", "slow+1h@5",
          "status=8@6", "shutdown@6", "goaway@6",
        ]))
    let places = (1...7).map { _ in conversation.begin(Self.headers(desk), Self.alert) }
    let answers = places.map { conversation.answer($0) }
    #expect(answers[0]?.status == 429)
    #expect(answers[0]?.retryAfter == 7)
    #expect(answers[1]?.status == 502)
    #expect(answers[1]?.body.hasPrefix("<html>") == true)
    #expect(answers[2]?.error == 7)
    #expect(answers[3]?.error == 2)
    #expect(answers[4] == nil, "the answer is due in an hour")
    #expect(conversation.session.nextMs == desk.journal.clock.monotonicMs + 3_600_000)
    #expect(answers[5]?.status == 200)
    #expect(conversation.isLeaving)
    #expect(answers[6]?.error == 7, "the stream came after the last one that GOAWAY names")
    #expect(conversation.session.accepted == 3)
  }

  // MARK: - Random bytes

  @Test func `a session withstands random bytes`() throws {
    let desk = try Desk()
    var random = Seeded(3)
    for _ in 0..<200 {
      let session = try desk.session(.nobody)
      var bytes = [UInt8]("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
      for _ in 0..<200 { bytes.append(.random(in: 0...255, using: &random)) }
      session.receive(bytes.span)
      var room = [UInt8](repeating: 0, count: 16_384)
      _ = room.withUnsafeMutableBufferPointer { session.take($0) }
      #expect(session.accepted == 0)
    }
  }
}
