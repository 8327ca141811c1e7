import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

private let token = String(repeating: "0123456789abcdef", count: 4)
private let other = String(repeating: "f", count: 64)
private let keys = "B\(String(repeating: "A", count: 86)).\(String(repeating: "A", count: 22))"
private let uuid = "123e4567-e89b-42d3-a456-426614174000"
private let alert = #""payload":{"aps":{"alert":"Tank low"}}"#

/// The lines of `failed/`, written and read.
@Suite struct FailedLineTests {
  /// The kinds of failures that a line records.
  enum Kind: Sendable {
    /// The check refused the notification.
    case check
    case sent(LanguageTag?)
    case list, lineOfList
  }

  private static let head = #"{"failed":{"reason":"why","code":"some-code","file":"NAME""#

  /// Returns the line for the failure of a notification.
  private func line(_ text: String, _ kind: Kind) -> String {
    let bytes = text.bytes
    var reader = NotificationReader()
    var findings = Findings()
    let reading = reader.next(in: bytes.span, isWhole: true, Rules(), &findings)
    return TinyPushTests.text(capacity: 200_000) { output in
      begin(&output)
      switch (reading, kind) {
      case (.refused(_, let object), .check):
        FailedLine.end(object: bytes.span.extracting(object), &output)
      case (.notification(let notification), .sent(let language)):
        FailedLine.append("status", 8, to: &output)
        FailedLine.end(
          notification, of: bytes.span, for: DeviceToken(hex: other.bytes.span)!, Span(), language,
          &output)
      case (.notification(let notification), .list):
        let name = [UInt8]("family".utf8)
        FailedLine.append(list: name.span, to: &output)
        FailedLine.end(notification, of: bytes.span, forList: name.span, &output)
      case (.notification(let notification), .lineOfList):
        let name = [UInt8]("family".utf8)
        FailedLine.append(list: name.span, to: &output)
        FailedLine.append("list_line", 3, to: &output)
        FailedLine.end(notification, of: bytes.span, forList: nil, &output)
      default: Issue.record("\(text) is read as \(reading)")
      }
    }
  }

  private func begin(_ output: inout Text) {
    var reason = Text()
    var code = Text()
    reason.append("why")
    code.append("some code")
    FailedLine.begin(reason, code, file: "NAME".bytes.span, to: &output)
  }

  /// Returns why the check refuses the one notification of a text, or nil if it may be sent.
  private func refusal(of text: String) -> Finding.Reason? {
    let bytes = text.bytes
    var reader = NotificationReader()
    var findings = Findings()
    let reading = reader.next(in: bytes.span, isWhole: true, Rules(), &findings)
    if case .refused(let finding, _) = reading { return finding.reason }
    guard case .notification = reading,
      case .end = reader.next(in: bytes.span, isWhole: true, Rules(), &findings)
    else {
      Issue.record("\(text) is not one notification")
      return nil
    }
    return nil
  }

  // MARK: - Writing

  static let sent: [(text: String, members: String)] = [
    (#"{"token":"\#(token)",\#(alert)}"#, alert),
    (
      "{ \"tokens\" : [\n\"\(token)\", \"\(other)\" ],\r\n \"ttl\" :\t60 ,\n\(alert)\n}",
      #""ttl":60,\#(alert)"#
    ),
    // Keys in any order and with escapes. Keys of these names in the payload belong to the app.
    (
      #"{"priority":5,"payload":{"token":"a","to":"b","failed":1,"aps":{"badge":1}},"t\u006f":"all"}"#,
      #""priority":5,"payload":{"token":"a","to":"b","failed":1,"aps":{"badge":1}}"#
    ),
    // A payload alone, with its own key failed.
    (
      "{\"aps\":{\"alert\":\"ü😀☀\"},\n\"failed\":{\"x\":1}}",
      #""payload":{"aps":{"alert":"ü😀☀"}, "failed":{"x":1}}"#
    ),
    // Members about the delivery.
    (
      #"{"topic":"org.example","token":"\#(token)","push-type":"voip","id":"\#(uuid)",\#(alert),"collapse-id":"x"}"#,
      #""topic":"org.example","push-type":"voip","id":"\#(uuid)",\#(alert),"collapse-id":"x""#
    ),
    // A notification that failed before.
    (
      #"{"failed":{"reason":"before","failed":{}},"token":"\#(token)",\#(alert)}"#, alert
    ),
    (
      #"{\#(alert),"to":"all","f\u0061iled":{}}"#, alert
    ),
  ]

  @Test(arguments: sent)
  func `the line of a sent notification names only the recipient that missed it`(
    text: String, members: String
  ) {
    let line = line(text, .sent(nil))
    #expect(line == #"\#(Self.head),"status":8},"token":"\#(other)",\#(members)}"# + "\n")
    #expect(refusal(of: line) == nil)
  }

  @Test func `the line of a sent notification keeps the alert in the recipient's language`() {
    let text = #"{"to":"all","localized":{"fr":"Cuve vide","en":"Tank low"},"payload":{"aps":{}}}"#
    let french = line(text, .sent(LanguageTag("fr-CA")))
    #expect(french.hasSuffix(#","payload":{"aps":{"alert":"Cuve vide"}}}"# + "\n"))
    #expect(!french.contains("localized"))
    #expect(refusal(of: french) == nil)
    for language in [LanguageTag("de"), nil] {
      #expect(
        line(text, .sent(language)).contains(#""localized":{"fr":"Cuve vide","en":"Tank low"}"#))
    }
  }

  @Test func `a missing recipients file stays the recipient, and a wrong line of one has none`() {
    let text = #"{"to":["a","family"],"token":"\#(token)",\#(alert),"id":"7"}"#
    let list = line(text, .list)
    #expect(list == Self.head + #","list":"family"},"to":"family",\#(alert),"id":"7"}"# + "\n")
    #expect(refusal(of: list) == nil)
    let one = line(text, .lineOfList)
    #expect(one == Self.head + #","list":"family","list_line":3},\#(alert),"id":"7"}"# + "\n")
    #expect(refusal(of: one) == .missingRecipient)
  }

  /// Notifications that the check refuses, and their members in the line.
  static let checked: [(text: String, members: String)] = [
    (#"{"token":"12",\#(alert)}"#, #","token":"12",\#(alert)"#),
    ("{}", ""),
    ("{ }", ""),
    (#"{"x":{"token":"\#(token)"},\#(alert)}"#, #","x":{"token":"\#(token)"},\#(alert)"#),
    (
      "{\"to\":\n\"a\",\"to\" :\"b\",\r\n\(alert)}", #","to":"a","to":"b",\#(alert)"#
    ),
    (#"{"payload":[1, 2],"id":"ü😀"}"#, #","to":"default","payload":[1, 2],"id":"ü😀""#),
    (
      #"{"push-type":"voip","topic":"org.example","id":"\#(uuid)","token":"12",\#(alert)}"#,
      #","push-type":"voip","topic":"org.example","id":"\#(uuid)","token":"12",\#(alert)"#
    ),
    // A notification without recipients goes to the default ones, unless a key may name others.
    (
      #"{"payload":{"aps":{"badge":1}},"tll":60}"#,
      #","to":"default","payload":{"aps":{"badge":1}},"tll":60"#
    ),
    (#"{"payload":{},"tokn":"0"}"#, #","payload":{},"tokn":"0""#),
    (#"{"payload":{},"device":"0"}"#, #","payload":{},"device":"0""#),
    (#"{"payload":{},"ids":["0"]}"#, #","payload":{},"ids":["0"]"#),
    (#"{"payload":{},"topics":"x"}"#, #","payload":{},"topics":"x""#),
    (#"{"payload":{},"to":5}"#, #","payload":{},"to":5"#),
    (#"{"failed":{"reason":"x"},"payload":{}}"#, #","payload":{}"#),
    // A payload alone gets its default recipients.
    (#"{"aps":{"badge":"3"},"x":1}"#, #","to":"default","payload":{"aps":{"badge":"3"},"x":1}"#),
    // A notification meant for one device must not go to all.
    (#"{"token":"\#(token)","aps":{"badge":3}}"#, #","token":"\#(token)","aps":{"badge":3}"#),
    (#"{"tokn":"\#(token)","aps":{"badge":"3"}}"#, #","tokn":"\#(token)","aps":{"badge":"3"}"#),
    // A notification that failed before.
    (#"{"failed":{"reason":"before"},"token":"12",\#(alert)}"#, #","token":"12",\#(alert)"#),
    (#"{"token":"12","failed":{"a":{"b":[]}} , "failed":{}}"#, #","token":"12""#),
  ]

  @Test(arguments: checked)
  func `the line of a refused notification keeps its members`(text: String, members: String) throws
  {
    let line = line(text, .check)
    #expect(line == "\(Self.head)}\(members)}\n")
    let before = try #require(refusal(of: text))
    if before != .duplicateKey || !text.contains("failed") { #expect(refusal(of: line) == before) }
  }

  @Test func `text that is no notification is recorded, and stays when moved back to new/`() throws
  {
    let bytes = "{bad \"\\ ü\u{1}\n".bytes
    let line = TinyPushTests.text(capacity: 4096) {
      begin(&$0)
      FailedLine.end(text: bytes.span, &$0)
    }
    #expect(line == Self.head + #","text":"{bad \"\\ ü\u0001\n"}}"# + "\n")
    #expect(refusal(of: line) == .missingPayload)
    #expect(self.line(line, .check) == line)
  }

  @Test func `the longest line fits the buffer`() {
    let bound = NotificationReader.objectBytesMax
    let start = #"{"aps":{"alert":"x"},"x":""#
    let text = start + String(repeating: "y", count: bound - start.utf8.count - 2) + "\"}"
    let bytes = text.bytes
    var reader = NotificationReader()
    var findings = Findings()
    guard
      case .notification(let notification) = reader.next(
        in: bytes.span, isWhole: true, Rules(payloadLimit: bound), &findings)
    else {
      Issue.record("the notification is refused")
      return
    }
    let courier = Courier(Courier.Settings())
    var output = Text(capacity: courier.failureBytesMax)
    var reason = Text(capacity: 512)
    while !reason.isCut { reason.append(byte: 1) }
    var code = Text(capacity: 64)
    while !code.isCut { code.append("x") }
    let name = [UInt8](repeating: 1, count: 255)
    let list = [UInt8](repeating: 0x61, count: 64)
    FailedLine.begin(reason, code, file: name.span, to: &output)
    FailedLine.append(list: list.span, to: &output)
    for key in ["status", "offset", "line", "column", "list_line"] as [StaticString] {
      FailedLine.append(key, Int64.max, to: &output)
    }
    FailedLine.end(
      notification, of: bytes.span, for: DeviceToken(hex: token.bytes.span)!,
      ("" as StaticString).span, nil, &output)
    let (isCut, count) = (output.isCut, output.count)
    #expect(!isCut)
    #expect(count < FailedCheck.lineBytesMax)
  }

  // MARK: - Reading

  /// Returns what is read from a line, in words.
  private func read(_ text: String) -> String {
    let bytes = text.bytes
    guard let line = FailedLine(bytes.span) else { return "none" }
    var words = TinyPushTests.text {
      line.describe(bytes.span, saysLine: true, in: &$0)
      if line.list(in: bytes.span).count > 0 {
        $0.append(", list ")
        $0.append(bytes: line.list(in: bytes.span))
        $0.append(" ")
        $0.append(line.listLine)
      }
    }
    if !line.hasPlace { words += ", no place" }
    if !line.hasNotification { words += ", nothing to send" }
    return words.replacing(token, with: "TOKEN")
  }

  static let lines: [(text: String, words: String)] = [
    (
      #"{"failed":{"reason":"a \"b\" \u001b[1m\n\u00fc😀","offset":7},"token":"\#(token)",\#(alert)}"#,
      "refused: a \"b\"  [1m ü😀 (token TOKEN)"
    ),
    // Of a subscription, neither the endpoint nor the secret is shown.
    (
      #"{"failed":{"reason":"a","offset":7},"token":"https://push.example:8443/secret#\#(keys)",\#(alert)}"#,
      "refused: a (browser df2c9089 at push.example:8443)"
    ),
    // The token of a notification that was not sent is not shown.
    (
      #"{"failed":{"reason":"a","offset":7,"line":2,"column":3},"token":"\#(token)",\#(alert)}"#,
      "refused: a (line 2)"
    ),
    // Members in any order, some with names of `failed`.
    (
      #" { "token" : "\#(token)", "reason":"x", "line":9, "list":"y", "payload":{}, "failed" : { "x":[{"reason":1}], "offset" : 7 ,"reason" : "a"} , "offset":1, "reason":"b" } "#,
      "refused: a (token TOKEN)"
    ),
    (
      #"{"failed":{"list_line":3,"list":"family","reason":"a","offset":1,"line":2}, "payload":{}}"#,
      "refused: a (line 2), list family 3"
    ),
    (
      #"{"payload":{"token":"\#(token)","failed":{"reason":"b"}},"failed":{"reason":"a","token":"\#(token)"}}"#,
      "refused: a, no place"
    ),
    (#"{"failed":{"reason":"a"}}"#, "refused: a, no place, nothing to send"),
    (
      #"{"failed":{"reason":"a","offset":99999999999,"text":"{"}}"#,
      "refused: a, nothing to send"
    ),
    // Truncated lines.
    (
      #"{"failed":{"reason":"a","line":2},"token":"12","payload":{"#,
      "refused: a (line 2), no place"
    ),
    (#"{"failed":{"reason":"a","li"#, "refused: a, no place, nothing to send"),
    // Texts that are no line.
    ("", "none"), (#"{"reason":"a","file":"f","offset":0,"text":"{"}"#, "none"),
    ("rubbish", "none"), ("[]", "none"), ("{}", "none"), (#"{"failed":1}"#, "none"),
    (#"{"failed":{"reason":1}}"#, "none"), (#"{"failed":{"reason":"a"#, "none"),
    (#"{"reason":"x","failed":{}}"#, "none"),
    (#"{"token":"\#(token)","payload":{"reason":"a"}}"#, "none"),
  ]

  @Test(arguments: lines)
  func `a line names the reason and the recipient`(text: String, words: String) {
    #expect(read(text) == words)
  }

  @Test(arguments: [
    (#"{"failed":{"reason":"a","file":"x\u002ey"}}"#, "x.y", true),
    (#"{"failed":{"reason":"a","file":"x"}}"#, "x.y", false),
    (#"{"failed":{"reason":"a","file":"x.yz"}}"#, "x.y", false),
    (#"{"failed":{"reason":"a"},"file":"x.y"}"#, "x.y", false),
  ])
  func `a line names its file`(text: String, name: String, isOf: Bool) throws {
    let bytes = text.bytes
    let found = FailedLine(bytes.span)
    let line = try #require(found)
    let said = line.isOfFile(name.bytes.span, in: bytes.span)
    #expect(said == isOf)
  }
}
