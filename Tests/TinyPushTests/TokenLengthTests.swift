import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushHTTP2

/// The number of a token's digits, and what is wrong with the token.
private struct Row: Sendable, CustomTestStringConvertible {
  var digits: Int
  var http2: String?
  var binary: String?
  var testDescription: String { "\(digits) digits" }

  init(_ digits: Int, http2: String? = nil, binary: String? = nil) {
    (self.digits, self.http2, self.binary) = (digits, http2, binary)
  }

  func problem(_ service: PushProtocol) -> String? { service == .http2 ? http2 : binary }
}

private let wrong = "token-size: a device token has an even number of hex digits, from 2 to 200; "
private let foreign = "token-size: over the binary protocol a device token has 64 hex digits; "

private let rows = [
  Row(0, http2: wrong, binary: wrong), Row(1, http2: wrong, binary: wrong), Row(2, binary: foreign),
  Row(62, binary: foreign), Row(63, http2: wrong, binary: wrong), Row(64),
  Row(65, http2: wrong, binary: wrong), Row(66, binary: foreign), Row(80, binary: foreign),
  Row(96, binary: foreign), Row(108, binary: foreign), Row(160, binary: foreign),
  Row(199, http2: wrong, binary: wrong), Row(200, binary: foreign),
  Row(202, http2: wrong, binary: wrong),
]

@Test(arguments: rows, [PushProtocol.http2, .binary])
fileprivate func `a notification takes each token that its protocol can carry`(
  row: Row, service: PushProtocol
) {
  let token = String(repeating: "c", count: row.digits)
  let start = #"{"tokens": ["\#(String(repeating: "A", count: 64))", ""#
  let text = start + #"\#(token)"], "payload": {"aps":{"alert":"x"}}}"#
  let said = remarks(text, Rules(service, payloadLimit: nil))
  guard let problem = row.problem(service) else {
    #expect(said == [])
    return
  }
  #expect(said.count == 1 && said[0].hasPrefix("\(start.utf8.count) \(problem)"), "\(said)")
}

@Test(arguments: rows.dropFirst(), [PushProtocol.http2, .binary])
fileprivate func `a recipients file takes each token that its protocol can carry`(
  row: Row, service: PushProtocol
) {
  let line = (String(repeating: "c", count: row.digits) + " lang=de").bytes
  switch RecipientsFile.read(line.span, for: service) {
  case .recipient(let recipient):
    #expect(row.problem(service) == nil && 2 * recipient.token.count == row.digits)
  case .wrong(let problem, at: 0):
    #expect("\(problem.code): \(problem.text)".hasPrefix(row.problem(service) ?? "nothing"))
  default: Issue.record("neither a recipient nor a mistake at the beginning")
  }
}

@Test func `a notification goes to tokens of several lengths with the path of each`() {
  let tokens = [2, 80, 96, 64, 108, 160, 200].map { String(repeating: "0a5", count: 70).prefix($0) }
  let list = tokens.map { #""\#($0.uppercased())""# }.joined(separator: " , ")
  let text = #"{"tokens": [\#(list)], "payload": {"aps":{"alert":"x"}}}"#.bytes
  var reader = NotificationReader()
  var findings = Findings()
  let rules = Rules(.http2, payloadLimit: nil)
  guard
    case .notification(let notification) = reader.next(
      in: text.span, isWhole: true, rules, &findings)
  else {
    Issue.record("the notification is refused")
    return
  }
  var paths: [String] = []
  var digits = notification.firstToken
  for index in 0..<notification.tokens {
    if index > 0 { digits = notification.nextString(after: digits.upperBound, in: text.span) }
    let token = DeviceToken(hex: text.span.extracting(digits))!
    paths.append(path(of: token, notification, text))
  }
  #expect(paths == tokens.map { "/3/device/\($0)" })
}

/// Returns the path of the request to a token.
private func path(of token: DeviceToken, _ notification: Notification, _ text: [UInt8]) -> String {
  let rules = Rules(.http2, payloadLimit: nil)
  var scratch = HeaderText()
  let message = Message(
    token: token, identity: token.identity, payload: notification.payload,
    rendition: Rendition(notification, for: nil, in: text.span, rules), expiration: 0, priority: 10,
    number: MessageNumber(0))
  let service = HTTP2Link.Service(
    authority: "api.push.apple.com".utf8.span, topic: "com.example.app".utf8.span,
    usesProviderToken: false)
  scratch.write(message, in: text.span, service, Text(), Courier.Settings())
  let header = scratch.headers[3]
  return String(
    decoding: UnsafeBufferPointer(start: header.value, count: Int(header.count)), as: UTF8.self)
}
