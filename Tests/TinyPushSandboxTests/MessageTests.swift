import CMbed
import Foundation
import Testing
import TinyPushAgent

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

/// Tests of the sandbox's answers to messages for browsers.
@Suite struct MessageTests {
  static let origin = "https://localhost:2197"
  static let water =
    #"{"web_push":8030,"notification":{"title":"Water","body":"40 cm","navigate":"https://cellar.test/"}}"#

  /// A page in a browser of a desk.
  struct Page {
    let desk: Desk
    let device: Device
    let app: Installation

    init(_ desk: Desk, _ name: String = "laptop") throws {
      self.desk = desk
      var request = Devices.Request(topic: CString(DeviceCommands.browserTopic))
      request.isBrowser = true
      let name = name.bytes
      (device, app) = try desk.devices.add(name.span, request, now: desk.now)
    }

    var id: String { text { $0.append(hex: app.token.bytes) } }

    /// The subscription, as the sandbox prints it.
    var subscription: [String: Any] {
      let line = text { app.browser?.writeSubscription(of: app.token, port: 2197, in: &$0) }
      return (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any] ?? [:]
    }

    /// Returns a key of the subscription.
    private func key(_ name: String) -> [UInt8] {
      let letters = (subscription["keys"] as? [String: String])?[name]?.bytes ?? []
      var decoded = Text(capacity: 128)
      guard decoded.append(decodingBase64URL: letters.span) else { return [] }
      return copy(decoded.bytes)
    }

    /// Returns the body that is encrypted for the browser.
    func body(_ text: String) -> [UInt8] {
      var body = [UInt8](repeating: 0, count: Int(CMBED_WEBPUSH_BODY))
      let bytes = text.bytes
      let count = cmbed_webpush_seal(&body, key("p256dh"), key("auth"), bytes, bytes.count)
      precondition(count > 0)
      return Array(body[..<Int(count)])
    }

    /// Returns the headers of a valid request, with the values of `others` in place of its own.
    ///
    /// - Parameter others: an empty value: no such header.
    func headers(
      _ others: [String: String] = [:], again: String? = nil, authorization: String? = nil
    ) -> [(name: String, value: String)] {
      var headers = [
        (":method", "POST"), (":scheme", "https"), (":authority", "localhost:2197"),
        (":path", "/push/" + id),
        ("authorization", authorization ?? MessageTests.authorization(desk)),
        ("content-encoding", "aes128gcm"), ("ttl", "3600"), ("urgency", "normal"), ("topic", ""),
      ].map { (name: $0.0, value: others[$0.0]?.replacing("PHONE", with: desk.phone) ?? $0.1) }
      if let again, let value = headers.first(where: { $0.name == again }) { headers.append(value) }
      return headers.filter { !$0.value.isEmpty }
    }
  }

  /// Returns the header `authorization` of a sender.
  ///
  /// - Parameters:
  ///   - claims: JSON values in place of the right ones; an empty value: no such claim.
  ///   - form: the header, where TOKEN and KEY stand for their values.
  ///   - other: the key that signs, in place of the sandbox's.
  static func authorization(
    _ desk: Desk, head: String = #"{"typ":"JWT","alg":"ES256"}"#, claims: [String: String] = [:],
    expiresIn: Int64 = 43_200, isDamaged: Bool = false, form: String = "vapid t=TOKEN, k=KEY",
    signedBy other: (path: String, point: [UInt8])? = nil, point: [UInt8]? = nil
  ) -> String {
    let all = [
      "aud": #""\#(origin)""#, "exp": "\(desk.now + expiresIn)",
      "sub": #""mailto:box@cellar.test""#,
    ].merging(claims) { $1 }.filter { !$0.value.isEmpty }
    let text = "{" + all.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ",") + "}"
    let token = desk.jwt(head, claims: text, isDamaged: isDamaged, keyPath: other?.path)
    let key = Desk.base64(Data(point ?? other?.point ?? copy(desk.key.point)))
    // In this order, since a token may have the letters KEY.
    return form.replacing("KEY", with: key).replacing("TOKEN", with: token)
  }

  // MARK: - Requests

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var status: Int
    var reason: String
    var headers: [String: String]
    /// The name of a header that occurs twice.
    var again: String?
    /// The size of the body; nil: the body of ``water``.
    var bytes: Int?

    init(
      _ name: String, _ status: Int, _ reason: String, _ headers: [String: String] = [:],
      again: String? = nil, bytes: Int? = nil
    ) {
      (testDescription, self.status, self.reason) = (name, status, reason)
      (self.headers, self.again, self.bytes) = (headers, again, bytes)
    }
  }

  static let rows = [
    Row("a valid request", 201, ""),
    Row("no urgency", 201, "", ["urgency": ""]),
    Row("urgency very-low", 201, "", ["urgency": "very-low"]),
    Row("urgency low", 201, "", ["urgency": "low"]),
    Row("urgency high", 201, "", ["urgency": "high"]),
    Row("TTL 0", 201, "", ["ttl": "0"]),
    Row("a TTL of centuries", 201, "", ["ttl": "99999999999"]),
    Row("a topic of 2 characters", 201, "", ["topic": "-_"]),
    Row("a topic of 32 characters", 201, "", ["topic": String(repeating: "a", count: 32)]),
    Row("a body of 4096 bytes", 201, "", bytes: 4096),
    Row("no body and no encoding", 201, "", ["content-encoding": ""], bytes: 0),
    Row("GET", 405, "MethodNotAllowed", [":method": "GET"]),
    Row("two TTLs", 400, "DuplicateHeaders", again: "ttl"),
    Row("no name", 404, "BadPath", [":path": "/push/"]),
    Row("a name that is not hexadecimal", 404, "BadPath", [":path": "/push/laptop"]),
    Row(
      "an unknown name", 404, "BadPath", [":path": "/push/" + String(repeating: "ab", count: 32)]),
    Row("the token of an app", 404, "BadPath", [":path": "/push/PHONE"]),
    Row("zeros", 404, "BadPath", [":path": "/push/" + String(repeating: "0", count: 64)]),
    Row("no encoding", 400, "BadWebPushRequest", ["content-encoding": ""]),
    Row("the encoding of drafts", 400, "BadWebPushRequest", ["content-encoding": "aesgcm"]),
    Row("no TTL", 400, "BadTtl", ["ttl": ""]),
    Row("a negative TTL", 400, "BadTtl", ["ttl": "-1"]),
    Row("a TTL in words", 400, "BadTtl", ["ttl": "1h"]),
    Row("an unknown urgency", 400, "BadUrgency", ["urgency": "shout"]),
    Row(
      "a topic of 33 characters", 400, "BadWebPushTopic",
      ["topic": String(repeating: "a", count: 33)]),
    Row("a topic of 13 characters", 400, "BadWebPushTopic", ["topic": "aaaaaaaaaaaaa"]),
    Row("a topic with another character", 400, "BadWebPushTopic", ["topic": "tank:low"]),
    Row("a body of 4097 bytes", 413, "PayloadTooLarge", bytes: 4097),
    Row("a body of 60,000 bytes", 413, "PayloadTooLarge", bytes: 60_000),
  ]

  @Test(arguments: rows, [1, 16_384])
  func `a request for a browser gets the status and reason of browsers' services`(
    row: Row, piece: Int
  ) throws {
    let page = try Page(Desk())
    let conversation = Conversation(try page.desk.session(.nobody), piece: piece)
    let body = row.bytes.map { [UInt8](repeating: 7, count: $0) } ?? page.body(Self.water)
    let answer = conversation.ask(page.headers(row.headers, again: row.again), body: body)
    #expect(answer?.status == row.status, "\(answer as Any)")
    #expect(answer?.body == (row.reason.isEmpty ? "" : #"{"reason":"\#(row.reason)"}"#))
    #expect(page.desk.journal.tally.refused == (row.status == 201 ? 0 : 1))
    let isShown = row.status == 201 && row.bytes == nil
    #expect(page.desk.journal.tally.delivered == (isShown ? 1 : 0))
  }

  // MARK: - Senders

  struct Sender: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var reason = "BadJwtToken"
    var head = #"{"typ":"JWT","alg":"ES256"}"#
    var claims: [String: String] = [:]
    var expiresIn: Int64 = 43_200
    var isDamaged = false
    var form = "vapid t=TOKEN, k=KEY"
    var point: [UInt8]?

    init(_ name: String, _ reason: String = "BadJwtToken", _ change: (inout Sender) -> Void) {
      testDescription = name
      self.reason = reason
      change(&self)
    }

    init(_ name: String, _ reason: String = "BadJwtToken", claim: String, _ value: String) {
      self.init(name, reason) { $0.claims = [claim: value] }
    }
  }

  static let senders = [
    Sender("a right token", "") { _ in },
    Sender("a token for 24 hours", "") { $0.expiresIn = 86_400 },
    Sender("a token that expires now", "") { $0.expiresIn = 0 },
    Sender("the key first", "") { $0.form = "vapid k=KEY,t=TOKEN" },
    Sender("a capital letter", "") { $0.form = "Vapid  t=TOKEN,k=KEY" },
    Sender("a web address", "", claim: "sub", #""https://cellar.test/contact""#),
    Sender("an aud with escapes", "", claim: "aud", #""https:\/\/localhost:2197""#),
    Sender("no header") { $0.form = "" },
    Sender("a bearer token") { $0.form = "bearer TOKEN" },
    Sender("the scheme of drafts") { $0.form = "WebPush TOKEN" },
    Sender("no key") { $0.form = "vapid t=TOKEN" },
    Sender("no token") { $0.form = "vapid k=KEY" },
    Sender("no JWT") { $0.form = "vapid t=nonsense, k=KEY" },
    Sender("padding") { $0.form = "vapid t=TOKEN==, k=KEY" },
    Sender("a header of 2,000 bytes") { $0.form += ", x=" + String(repeating: "x", count: 2000) },
    Sender("another algorithm") { $0.head = #"{"typ":"JWT","alg":"HS256"}"# },
    Sender("no algorithm") { $0.head = #"{"typ":"JWT"}"# },
    Sender("a damaged signature") { $0.isDamaged = true },
    Sender("a short key", "BadVapidPublicKey") { $0.point = [UInt8](repeating: 4, count: 64) },
    Sender("a key off the curve", "BadVapidPublicKey") {
      $0.point = [4] + [UInt8](repeating: 1, count: 64)
    },
    Sender("a key with padding", "BadVapidPublicKey") { $0.form += "=" },
    Sender("no aud", claim: "aud", ""),
    Sender("an aud without the port", claim: "aud", #""https://localhost""#),
    Sender("an aud with a path", claim: "aud", #""https://localhost:2197/""#),
    Sender("an aud with another scheme", claim: "aud", #""http://localhost:2197""#),
    Sender("an aud with another host", claim: "aud", #""https://web.push.apple.com""#),
    Sender("no exp", claim: "exp", ""),
    Sender("an exp in quotes", claim: "exp", #""2000000000""#),
    Sender("an expired token") { $0.expiresIn = -1 },
    Sender("a token for more than 24 hours") { $0.expiresIn = 86_401 },
    Sender("no sub", claim: "sub", ""),
    Sender("an empty sub", claim: "sub", #""""#),
    Sender("a sub without mailto:", claim: "sub", #""box@cellar.test""#),
    Sender("a sub without a host", claim: "sub", #""mailto:box""#),
    Sender("a sub with mailto: twice", claim: "sub", #""mailto:mailto:box@cellar.test""#),
    Sender("a sub with http:", claim: "sub", #""http://cellar.test/""#),
    Sender("a sub at localhost", claim: "sub", #""mailto:box@localhost""#),
    Sender("a sub in .local", claim: "sub", #""https://cellar.local/""#),
    Sender("a sub in .invalid", claim: "sub", #""mailto:box@cellar.invalid""#),
    Sender("a sub at an example", claim: "sub", #""mailto:box@cellar.example.com""#),
    Sender("a sub in .example", claim: "sub", #""mailto:box@cellar.example""#),
  ]

  @Test(arguments: senders)
  func `the header authorization of a message must be right`(row: Sender) throws {
    let page = try Page(Desk())
    let conversation = Conversation(try page.desk.session(.nobody))
    let header = Self.authorization(
      page.desk, head: row.head, claims: row.claims, expiresIn: row.expiresIn,
      isDamaged: row.isDamaged, form: row.form, point: row.point)
    let body = page.body(Self.water)
    let answer = conversation.ask(page.headers(authorization: header), body: body)
    #expect(answer?.status == (row.reason.isEmpty ? 201 : 403), "\(answer as Any)")
    #expect(answer?.reason == row.reason)
    // The same header counts again, and another one is verified.
    #expect(
      conversation.ask(page.headers(authorization: header), body: body)?.reason == row.reason)
    let damaged = Self.authorization(page.desk, isDamaged: true)
    #expect(
      conversation.ask(page.headers(authorization: damaged), body: body)?.reason == "BadJwtToken")
  }

  @Test func `a subscription takes messages only of the sender of its first message`() throws {
    let desk = try Desk()
    let (page, other) = try (Page(desk), Page(desk, "tablet"))
    let second = Self.authorization(desk, signedBy: try desk.makeKey())
    let conversation = Conversation(
      try desk.session(.nobody, faults: ["reason=ServiceUnavailable@1"]))
    func ask(_ page: Page, _ authorization: String?) -> String? {
      conversation.ask(page.headers(authorization: authorization), body: page.body(Self.water))?
        .reason
    }
    #expect(ask(page, second) == "ServiceUnavailable", "this message is not accepted")
    #expect(ask(page, nil) == "")
    #expect(ask(page, second) == "VapidPkHashMismatch")
    #expect(ask(other, second) == "")
    #expect(ask(other, nil) == "VapidPkHashMismatch")
    #expect(ask(page, nil) == "")
    let signed = Self.authorization(
      desk, signedBy: try desk.makeKey(), point: copy(desk.key.point))
    #expect(ask(page, signed) == "BadJwtToken", "signed with another key than that of k")
    // The sender is remembered over a restart.
    let reloaded = try desk.reloaded()
    let app = try #require(reloaded.all.last { $0.name.equals("laptop") }?.apps.first)
    let sender = try #require(app.browser?.sender)
    #expect(copy(sender.point) == copy(desk.key.point))
    #expect(copy(app.token.bytes) == copy(page.app.token.bytes))
  }

  @Test func `an ended subscription gets 410, and subscribing again makes another one`() throws {
    let page = try Page(Desk())
    let conversation = Conversation(try page.desk.session(.nobody))
    func ask(_ headers: [(name: String, value: String)]) -> Int? {
      conversation.ask(headers, body: page.body(Self.water))?.status
    }
    let first = page.headers()
    #expect(ask(first) == 201)
    try page.desk.devices.uninstall(page.app, from: page.device)
    #expect(ask(first) == 410)
    try page.desk.devices.register(page.app, on: page.device, now: page.desk.now)
    #expect(ask(first) == 410)
    #expect(ask(page.headers()) == 201)
    #expect(page.headers()[3].value != first[3].value)
    let endpoint = try #require(page.subscription["endpoint"] as? String)
    #expect(endpoint == "https://localhost:2197/push/" + page.id)
  }

  // MARK: - Bodies

  @Test(arguments: [
    ("", "it is empty"), ("short", "it is shorter than 103 bytes"),
    ("length", "its byte 20 is not 65"), ("size", "it has more than one record"),
    ("point", "is not on the curve P-256"), ("text", "it was changed, or encrypted for another"),
    ("browser", "it was changed, or encrypted for another"),
  ])
  func `a body that a browser cannot decrypt is accepted, and named as a mistake`(
    change: String, words: String
  ) throws {
    let desk = try Desk()
    let page = try Page(desk)
    var body = page.body(Self.water)
    switch change {
    case "": body = []
    case "short": body = Array(body.prefix(102))
    case "length": body[20] = 64
    case "size": body[18] = 0
    case "point": body[85] ^= 1
    case "text": body[86] ^= 1
    default: body = try Page(desk, "tablet").body(Self.water)
    }
    let found = try #require(problem(page.app.browser, body))
    #expect(text { $0.append(found.words) }.contains(words))
    let conversation = Conversation(try desk.session(.nobody))
    #expect(conversation.ask(page.headers(), body: body)?.status == 201)
    #expect(desk.journal.tally.mistakes == 1)
    #expect(desk.journal.tally.delivered == 0)
  }

  @Test(arguments: [0, 1, 3993])
  func `a browser decrypts a text of each size`(count: Int) throws {
    let page = try Page(Desk())
    let sent = String(repeating: "x", count: count)
    let body = page.body(sent)
    #expect(body.count == count + 103)
    let browser = try #require(page.app.browser)
    #expect(opened(browser, body) == sent)
  }

  // MARK: - Storing

  @Test func `an offline browser gets the newest message of each topic and all others in order`()
    throws
  {
    let desk = try Desk()
    let page = try Page(desk)
    let conversation = Conversation(try desk.session(.nobody))
    try desk.devices.setOnline(page.device, false)
    func send(_ text: String, _ headers: [String: String] = [:]) {
      #expect(conversation.ask(page.headers(headers), body: page.body(text))?.status == 201)
    }
    func stored(_ app: Installation) -> [String] { app.stored.map { String($0.payload) } }
    send("one")
    send("two", ["topic": "tank"])
    send("three", ["ttl": "0"])
    send("four", ["topic": "door"])
    send("five", ["topic": "tank", "urgency": "very-low"])
    send("six")
    #expect(stored(page.app) == ["one", "four", "five", "six"])
    let tally = desk.journal.tally
    #expect([tally.accepted, tally.stored, tally.dropped] == [6, 5, 2])
    send("seven", ["topic": "door", "ttl": "0"])
    #expect(stored(page.app) == ["one", "five", "six"])
    // What is stored survives a restart.
    desk.devices.save()
    let app = try #require(
      try desk.reloaded().all.last { $0.name.equals("laptop") }?.apps.first)
    #expect(stored(app) == ["one", "five", "six"])
    #expect(app.stored.map { String($0.arrival.collapseID) } == ["", "tank", ""])
    desk.post.expire(now: desk.now + 3599)
    #expect(page.app.stored.count == 3)
    send(Self.water, ["ttl": "7200"])
    desk.post.expire(now: desk.now + 3600)
    #expect(stored(page.app) == [Self.water])
    try desk.devices.setOnline(page.device, true)
    desk.post.forward(to: page.device)
    #expect(page.app.stored.isEmpty)
    #expect(desk.journal.tally.delivered == 1)
  }

  @Test func `at most 100 messages are stored for a browser`() throws {
    let desk = try Desk()
    let page = try Page(desk)
    let conversation = Conversation(try desk.session(.nobody))
    try desk.devices.setOnline(page.device, false)
    let authorization = Self.authorization(desk)
    for number in 1...102 {
      let answer = conversation.ask(
        page.headers(authorization: authorization), body: page.body("\(number)"))
      #expect(answer?.status == 201)
    }
    #expect(page.app.stored.map { String($0.payload) } == (3...102).map { "\($0)" })
    desk.devices.save()
    let app = try desk.reloaded().all.last { $0.name.equals("laptop") }?.apps.first
    #expect(app?.stored.count == 100)
    try desk.devices.uninstall(page.app, from: page.device)
    #expect(page.app.stored.isEmpty)
  }

  // MARK: - Faults

  @Test func `faults affect messages for browsers`() throws {
    let desk = try Desk()
    let page = try Page(desk)
    let conversation = Conversation(
      try desk.session(
        .certificate(),
        faults: [
          "retry-after=7@1", "odd-body@2", "refused-stream@3", "reset-stream@4", "slow+1h@5",
          "reason=InternalServerError@6", "goaway@7",
        ]))
    let authorization = Self.authorization(desk)
    let places = (1...8).map { _ in
      conversation.begin(page.headers(authorization: authorization), body: page.body(Self.water))
    }
    let answers = places.map { conversation.answer($0) }
    #expect(answers.map { $0?.status } == [429, 502, 0, 0, nil, 500, 201, 0])
    #expect(answers[0]?.retryAfter == 7)
    #expect([answers[2]?.error, answers[3]?.error, answers[7]?.error] == [7, 2, 7])
    #expect(conversation.isLeaving)
    #expect(conversation.session.accepted == 3)
  }

  @Test func `a fault can be for one browser, and end the connection`() throws {
    let desk = try Desk()
    let (page, other) = try (Page(desk), Page(desk, "tablet"))
    let conversation = Conversation(try desk.session(.nobody, faults: ["close@\(page.id)"]))
    #expect(conversation.ask(other.headers(), body: other.body(Self.water))?.status == 201)
    #expect(!conversation.session.isOver)
    #expect(conversation.ask(page.headers(), body: page.body(Self.water)) == nil)
    #expect(conversation.session.isOver)
    #expect(desk.journal.tally.delivered == 2)
  }
}

private func copy(_ bytes: Span<UInt8>) -> [UInt8] {
  var copied: [UInt8] = []
  for index in bytes.indices { copied.append(bytes[index]) }
  return copied
}

/// Returns why a browser cannot decrypt a body; nil: it can.
private func problem(_ browser: Browser?, _ body: [UInt8]) -> BodyProblem? {
  do throws(BodyProblem) {
    _ = try browser?.open(body.span)
    return nil
  } catch {
    return error
  }
}

/// Returns the text of a body; nil: a browser cannot decrypt it.
private func opened(_ browser: Browser, _ body: [UInt8]) -> String? {
  do throws(BodyProblem) {
    let text = try browser.open(body.span)
    return String(text.bytes)
  } catch {
    return nil
  }
}
