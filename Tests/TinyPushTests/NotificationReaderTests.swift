import Testing

@testable import Simulation
@testable import TinyPush

/// The result for one object of a text, with places in the whole text.
enum Outcome: Equatable {
  case accepted(
    tokens: [String], payload: String, payloadBytes: Int, priority: UInt8,
    lifetime: Notification.Lifetime)
  case refused(Finding.Reason, at: Int, found: Int, limit: Int)
}

private let limit = 2048
private let rules = Rules(payloadLimit: limit)

/// Reads a text like a file, in pieces that end at `cuts`.
private func read(_ text: [UInt8], cuts: [Int] = []) -> [Outcome] {
  var outcomes: [Outcome] = []
  var base = 0
  var ends = cuts + [text.count]
  var reader = NotificationReader()
  var findings = Findings()
  func expectLine(of object: Range<Int>) {
    #expect(reader.lineEndsBefore == text[..<(base + object.lowerBound)].count { $0 == .lineFeed })
  }
  while !ends.isEmpty {
    let piece = Array(text[base..<ends[0]])
    switch reader.next(in: piece.span, isWhole: ends.count == 1, rules, &findings) {
    case .notification(let notification):
      outcomes.append(accepted(notification, piece))
      expectLine(of: notification.object)
    case .refused(let refusal, let object):
      expectLine(of: object)
      outcomes.append(
        .refused(
          refusal.reason, at: base + refusal.offset, found: refusal.found, limit: refusal.limit))
    case .more(let from):
      #expect(ends.count > 1, "asked for more than there is")
      base += from
      ends.removeFirst()
      reader.resume(at: 0)
    case .end:
      #expect(ends.count == 1, "ended before the text did")
      return outcomes
    }
  }
  return outcomes
}

private func accepted(_ notification: Notification, _ text: [UInt8]) -> Outcome {
  var tokens: [String] = []
  var token = notification.firstToken
  for index in 0..<notification.tokens {
    if index > 0 { token = notification.nextString(after: token.upperBound, in: text.span) }
    tokens.append(String(decoding: text[token], as: UTF8.self))
  }
  return .accepted(
    tokens: tokens, payload: String(decoding: text[notification.payload.range], as: UTF8.self),
    payloadBytes: notification.payload.bytes, priority: notification.priority,
    lifetime: notification.lifetime)
}

/// A text with ▸ before the wrong byte.
struct Marked: Sendable, CustomStringConvertible {
  var reason: Finding.Reason
  var marked: String
  var found = 0
  var limit = 0

  init(_ reason: Finding.Reason, _ marked: String, found: Int = 0, limit: Int = 0) {
    self.reason = reason
    self.marked = marked
    self.found = found
    self.limit = limit
  }

  var description: String { "\(reason): \(marked.prefix(120))" }
  var text: String { marked.replacing("▸", with: "") }
  var offset: Int {
    marked.utf8.count - marked[marked.firstRange(of: "▸")!.lowerBound...].utf8.count
  }
}

private let token = String(repeating: "0123456789abcDEF", count: 4)
private let payload = #""payload": {"aps": {"alert": "Tank low"}}"#
private let good = #"{"token": "\#(token)", \#(payload)}"#
/// Returns a payload of `bytes` bytes without white space.
private func payload(of bytes: Int) -> String {
  #"{"aps":{"alert":"\#(String(repeating: "x", count: bytes - 20))"}}"#
}

/// Valid JSON that is not a notification.
///
/// The reader refuses each at its end and continues behind it.
let refusedNotifications = [
  Marked(.unknownKey(nearest: .priority), #"{"token": "\#(token)", ▸"prority": 5, \#(payload)}"#),
  Marked(.unknownKey(nearest: nil), #"{▸"": 1}"#),
  Marked(.unknownKey(nearest: .token), #"{▸"Token": 1}"#),
  Marked(.unknownKey(nearest: .collapseID), #"{▸"collapse_id": 1}"#),
  Marked(.unknownKey(nearest: nil), #"{▸"\u0069c": "x", \#(payload)}"#),
  Marked(.duplicateKey, #"{"token": "\#(token)", \#(payload), ▸"token": "\#(token)"}"#),
  Marked(.duplicateKey, #"{"id": "a", ▸"id": "b", \#(payload)}"#),
  Marked(.duplicateKey, #"{"payload": {"aps": {"badge": 1}, ▸"aps": {"badge": 2}}}"#),
  Marked(.missingPayload, #"▸{"token": "\#(token)"}"#),
  Marked(.missingPayload, #"▸{}"#),
  Marked(.missingRecipient, #"▸{"failed":{"reason":"x"},\#(payload)}"#),
  Marked(.payloadNotObject, #"{"payload": ▸"{}", "token": "\#(token)"}"#),
  Marked(.payloadNotObject, #"{"payload": ▸[{"aps": {}}]}"#),
  Marked(.missingAps, #"{"payload": ▸{}}"#),
  Marked(.missingAps, #"{"token": "\#(token)", "payload": ▸{"alert": {"aps": {}}}}"#),
  Marked(.apsNotObject, #"{"payload": {"x": [1], "aps": ▸"Tank low"}}"#),
  Marked(.apsNotObject, #"{"payload": {"aps":▸null}}"#),
  Marked(.apsIsEmpty, #"{"token": "\#(token)", "payload": {"aps": ▸{ }}}"#),
  Marked(.alert, #"{"token": "\#(token)", "payload": {"aps": {"alert": ▸["Tank low"]}}}"#),
  Marked(.alert, #"{"payload": {"aps": {"badge": 1, "alert":▸1}}}"#),
  Marked(.badge, #"{"token": "\#(token)", "payload": {"aps": {"badge": ▸"1"}}}"#),
  Marked(.badge, #"{"payload": {"aps": {"badge" : ▸null}}}"#),
  Marked(.notString(.sound), #"{"payload": {"aps": {"sound": ▸{"name": "default"}}}}"#),
  Marked(.notString(.sound), #"{"payload": {"aps": {"sound": ▸true}}}"#),
  Marked(.notString(.category), #"{"payload": {"aps": {"alert": "x", "category": ▸5}}}"#),
  Marked(.contentAvailable, #"{"payload": {"aps": {"content-available": ▸"1"}}}"#),
  Marked(.contentAvailable, #"{"payload": {"aps": {"content-available": ▸0}, "x": 1}}"#),
  Marked(.contentAvailable, #"{"payload": {"aps": {"content-available": ▸1.0}}}"#),
  Marked(.contentAvailable, #"{"payload": {"aps": {"content-available":▸true }}}"#),
  Marked(
    .payloadTooLarge, #"{"token": "\#(token)", "payload": ▸\#(payload(of: 2049))}"#, found: 2049,
    limit: 2048),
  Marked(.tokenNotString, #"{"token": ▸12, \#(payload)}"#),
  Marked(.tokenNotString, #"{"tokens": ["\#(token)", ▸["\#(token)"]], \#(payload)}"#),
  Marked(.tokenNotString, #"{"token": ▸null, \#(payload)}"#),
  Marked(.tokenSize, #"{"token": "▸", \#(payload)}"#, found: 0),
  Marked(.tokenSize, #"{"token": "▸\#(token.dropLast())", \#(payload)}"#, found: 63),
  Marked(.tokenNotHex, #"{"token": "▸(\#(token))", \#(payload)}"#),
  Marked(.tokenSizeOfBinary, #"{"tokens": ["\#(token)", "▸00"], \#(payload)}"#, found: 2),
  Marked(.tokenNotHex, #"{"token": "\#(token.dropLast())▸g", \#(payload)}"#),
  Marked(.tokenNotHex, #"{"token": "▸\n\#(token.dropLast(2))", \#(payload)}"#),
  Marked(.tokenNotHex, #"{"tokens": ["\#(token)", "0▸ \#(token.dropLast(2))"], \#(payload)}"#),
  Marked(.tokenTwice, #"{"token": "\#(token)", ▸"tokens": ["\#(token)"], \#(payload)}"#),
  Marked(.tokenTwice, #"{"tokens": ["\#(token)"], ▸"token": "\#(token)", \#(payload)}"#),
  Marked(.tokensNotArray, #"{"tokens": ▸"\#(token)", \#(payload)}"#),
  Marked(.tokensNotArray, #"{"tokens": ▸{"a": 1}, \#(payload)}"#),
  Marked(.tokensEmpty, #"{"tokens": ▸[ ], \#(payload)}"#),
  Marked(.priority, #"{"priority": ▸7, "token": "\#(token)", \#(payload)}"#),
  Marked(.priority, #"{"priority": ▸"10", \#(payload)}"#),
  Marked(.priority, #"{"priority": ▸10.0}"#),
  Marked(.priority, #"{"priority": ▸-5}"#),
  Marked(.priority, #"{"priority": ▸1e1}"#),
  Marked(
    .prioritySilent,
    #"{"token": "\#(token)", "priority": ▸10, "payload": {"aps": {"content-available": 1}}}"#),
  Marked(
    .prioritySilent,
    #"{"token": "\#(token)", "payload": {"aps": {"content-available": 1}}, "priority": ▸10 }"#),
  Marked(.expiration, #"{"expiration": ▸-1, \#(payload)}"#),
  Marked(.expiration, #"{"expiration": ▸4294967296}"#),
  Marked(.expiration, #"{"expiration": ▸"1700000000"}"#),
  Marked(
    .expiration, #"{"expiration": ▸00000000001}"#.replacing("00000000001", with: "17000000000")),
  Marked(.ttl, #"{"ttl": ▸1.5}"#),
  Marked(.ttl, #"{"ttl": ▸4294967296}"#),
  Marked(.ttl, #"{"ttl": ▸true}"#),
  Marked(.ttl, #"{"ttl": ▸{"ttl": 1}}"#),
  Marked(.expirationAndTtl, #"{"ttl": 1, ▸"expiration": 1, \#(payload)}"#),
  Marked(.expiration, #"{"expiration": ▸1700000000000}"#, found: 13),
  Marked(.expirationPast, #"{"expiration": ▸3600, \#(payload)}"#),
  Marked(.notBefore, #"{"not-before": ▸"8:00", \#(payload)}"#),
  Marked(.notBefore, #"{"not-before": ▸1700000000000}"#, found: 13),
  Marked(.notBeforePast, #"{"not-before": ▸60, \#(payload)}"#),
  Marked(.registered, #"{"registered": ▸-1, \#(payload)}"#),
  Marked(.registered, #"{"registered": ▸86400, \#(payload)}"#),
  Marked(.expirationAndTtl, #"{"expiration": 1700000000, ▸"ttl": 1, \#(payload)}"#),
  Marked(.mustBeString(.topic), #"{"topic": ▸1}"#),
  Marked(.mustBeString(.pushType), #"{"push-type": ▸{}, \#(payload)}"#),
  Marked(.mustBeString(.id), #"{"id": ▸null}"#),
  Marked(.failedNotObject, #"{"failed": ▸[], \#(payload)}"#),
  Marked(.urgent, #"{"urgent": ▸1, \#(payload)}"#),
  Marked(.againAfter, #"{"again-after": ▸-1, \#(payload)}"#),
]

/// Texts that are not JSON.
let refusedTexts = [
  Marked(.notAnObject, #"▸[\#(good)]"#),
  Marked(.notAnObject, #"▸"payload""#),
  Marked(.notAnObject, "▸ä{}"),
  Marked(.notAnObject, "▸# a comment"),
  Marked(.json(.expectedValue), #"{"token": ▸'\#(token)', \#(payload)}"#),
  Marked(.json(.expectedValue), #"{"token": ▸, \#(payload)}"#),
  Marked(.json(.expectedValue), #"{"payload": {"aps": {"badge": ▸}}}"#),
  Marked(.json(.expectedValue), #"{"payload": {"aps": {"badge": tr▸ie}}}"#),
  Marked(.json(.expectedValue), #"{"payload": {"aps": {"badge": ▸True}}}"#),
  Marked(.json(.expectedValue), #"{"payload": {"aps": {"badge": ▸+1}}}"#),
  Marked(.json(.expectedValue), #"{"payload": {"aps": {"badge": ▸NaN}}}"#),
  Marked(.json(.expectedValue), #"{"payload": {"aps": {"badge": nul▸x}}}"#),
  Marked(.json(.expectedValue), #"{"payload": {"aps": {"badge": ▸.5}}}"#),
  Marked(.json(.expectedKey), #"{▸token: 1}"#),
  Marked(.json(.expectedKey), #"{▸, "token": 1}"#),
  Marked(.json(.expectedKey), #"{"payload": {▸1: 2}}"#),
  Marked(.json(.expectedKey), #"{"payload": {"x": {"a": 1, ▸/* b */ "c": 2}}}"#),
  Marked(.json(.expectedColon), #"{"token" ▸= "\#(token)"}"#),
  Marked(.json(.expectedColon), #"{"token"▸, "x": 1}"#),
  Marked(.json(.expectedColon), #"{"payload": {"aps"▸}}"#),
  Marked(.json(.expectedCommaOrBrace), #"{"token": "\#(token)" ▸"payload": {}}"#),
  Marked(.json(.expectedCommaOrBrace), #"{"payload": {"aps": {"badge": 0 ▸1}}}"#),
  Marked(.json(.expectedCommaOrBrace), #"{"payload": {"aps": {"alert": "a"▸]}}"#),
  Marked(.json(.expectedCommaOrBracket), #"{"tokens": ["\#(token)" ▸"\#(token)"]}"#),
  Marked(.json(.expectedCommaOrBracket), #"{"payload": {"x": [1, 2▸}]}}"#),
  Marked(.json(.trailingComma), #"{"token": "\#(token)", \#(payload), ▸}"#),
  Marked(.json(.trailingComma), #"{"payload": {"aps": {"alert": {"body": "x",▸}}}}"#),
  Marked(.json(.trailingComma), #"{"tokens": ["\#(token)", ▸], \#(payload)}"#),
  Marked(.json(.invalidNumber), #"{"payload": {"aps": {"badge": 0▸1}}}"#),
  Marked(.json(.invalidNumber), #"{"priority": -▸x}"#),
  Marked(.json(.invalidNumber), #"{"ttl": 1.▸}"#),
  Marked(.json(.invalidNumber), #"{"ttl": 1.▸e5}"#),
  Marked(.json(.invalidNumber), #"{"payload": {"x": [1e▸]}}"#),
  Marked(.json(.invalidNumber), #"{"payload": {"x": [1E+▸-2]}}"#),
  Marked(.json(.invalidNumber), #"{"payload": {"x": [-▸-2]}}"#),
  Marked(.json(.invalidEscape), #"{"payload": {"aps": {"alert": "a▸\x41"}}}"#),
  Marked(.json(.invalidEscape), #"{"payload": {"aps": {"alert": "▸\u12g4"}}}"#),
  Marked(.json(.invalidEscape), #"{"payload": {"aps": {"alert": "▸\'"}}}"#),
  Marked(.json(.invalidEscape), #"{"payload": {"aps": {"alert": "\uD83D▸\uDE0"}}}"#),
  Marked(.json(.loneSurrogate), #"{"payload": {"aps": {"alert": "a▸\uDE00"}}}"#),
  Marked(.json(.loneSurrogate), #"{"payload": {"aps": {"alert": "a▸\uD83D"}}}"#),
  Marked(.json(.loneSurrogate), #"{"payload": {"aps": {"alert": "▸\uD83D\uD83D"}}}"#),
  Marked(.json(.loneSurrogate), #"{"payload": {"aps": {"alert": "▸\uD83D\n"}}}"#),
  Marked(.json(.controlCharacter), "{\"payload\": {\"aps\": {\"alert\": \"a▸\tb\"}}}"),
  Marked(.json(.controlCharacter), "{\"payload\": {\"aps\": {\"alert\": \"a▸\0b\"}}}"),
  Marked(.json(.controlCharacter), "{\"token\": \"\(token)▸\n\", \(payload)}"),
  Marked(.json(.tooDeep), #"{"payload": {"x": \#(String(repeating: "[", count: 30))▸[1"#),
  Marked(.json(.tooDeep), #"{"nothing": \#(String(repeating: #"{"a":"#, count: 31))▸{"b""#),
  Marked(
    .json(.tooDeep), #"{"payload": {"aps": {"x": \#(String(repeating: "[", count: 29))▸{}]"#),
  Marked(.json(.tooDeep), #"{"token": \#(String(repeating: "[", count: 31))▸[]"#),
  Marked(.json(.byteOrderMark), "▸\u{FEFF}\(good)"),
]

/// Byte sequences in a string that are not UTF-8.
private let invalidSequences = [
  "80", "bf", "c0 80", "c1 bf", "c2 41", "e0 80 80", "e0 9f bf", "ed a0 80", "ed bf bf", "e2 82 41",
  "f0 80 80 80", "f0 8f bf bf", "f4 90 80 80", "f5 80 80 80", "f0 9f 98 41", "fe", "ff", "c3 c3",
]

// MARK: - Refusals

@Test(arguments: refusedNotifications + refusedTexts)
func `a text that is no notification is refused with reason and place`(_ case: Marked) {
  #expect(
    read(`case`.text.bytes).first
      == .refused(`case`.reason, at: `case`.offset, found: `case`.found, limit: `case`.limit))
}

@Test func `every problem of JSON is tested above, and each reason has words`() {
  let all = (refusedNotifications + refusedTexts).map(\.reason)
  let problems = (0...).lazy.map(JSONProblem.init(rawValue:)).prefix { $0 != nil }.map { $0! }
  for problem in problems where problem != .unexpectedEnd && problem != .invalidUTF8 {
    #expect(all.contains(.json(problem)), "\(problem)")
  }
  for reason in all {
    let words = text { Finding(reason, at: 0, found: 3, limit: 2).describe(in: &$0) }
    #expect(words.utf8.count > 10 && !words.hasSuffix("."), "\(words)")
  }
}

@Test(arguments: refusedNotifications)
func `a refusal is the same in pieces of any size, and the next notification is read`(
  _ case: Marked
) {
  let text = (`case`.text + "\n" + good).bytes
  let whole = read(text)
  #expect(whole.count == 2 && whole.last == read(good.bytes).first)
  for cut in stride(from: 0, through: text.count, by: `case`.found > 100 ? 61 : 1) {
    #expect(read(text, cuts: [cut]) == whole, "cut at \(cut)")
  }
}

@Test(arguments: refusedTexts)
func `a text that is not JSON is refused once, in pieces of any size`(_ case: Marked) {
  let text = (good + "\n" + `case`.text + "\n" + good).bytes
  let whole = read(text)
  #expect(whole.count == 3 && whole.last == read(good.bytes).first)
  let wrong = (0...text.count).filter { read(text, cuts: [$0]) != whole }
  #expect(wrong == [], "differs when cut at these places")
}

@Test(arguments: invalidSequences)
func `a string that is not UTF-8 is refused at the first wrong byte`(hex: String) {
  let head = #"{"payload": {"aps": {"alert": "ü"#.bytes
  let text = head + [UInt8](hex: hex) + #""}}}"#.bytes
  let expected = Outcome.refused(.json(.invalidUTF8), at: head.count, found: 0, limit: 0)
  #expect(read(text).first == expected)
  for cut in 0...head.count + 1 { #expect(read(text, cuts: [cut]).first == expected) }
}

@Test func `an incomplete object asks for more bytes and is refused at the end of the text`() {
  let text = good.bytes
  for end in 1..<text.count {
    let part = Array(text[..<end])
    var reader = NotificationReader()
    var findings = Findings()
    guard case .more(from: 0) = reader.next(in: part.span, isWhole: false, rules, &findings) else {
      Issue.record("did not ask for more behind \(end) bytes")
      continue
    }
    #expect(reader.index == 0)
    #expect(read(part) == [.refused(.json(.unexpectedEnd), at: end, found: 0, limit: 0)])
  }
}

@Test(arguments: ["", " ", "\n\r\n\t "])
func `a text of white space is read to its end`(text: String) {
  #expect(read(text.bytes) == [])
  for cut in 0...text.utf8.count { #expect(read(text.bytes, cuts: [cut]) == []) }
}

// MARK: - Acceptances

struct Good: Sendable, CustomStringConvertible {
  var text: String
  var tokens = [token]
  var payload = #"{"aps": {"alert": "Tank low"}}"#
  var priority: UInt8 = 10
  var lifetime = Notification.Lifetime.configured

  var description: String { String(text.prefix(120)) }
  var outcome: Outcome {
    // Only "Tank low" has a space inside a string of these payloads.
    let spaces = payload.utf8.count { $0 <= 0x20 } - (payload.contains("Tank low") ? 1 : 0)
    return .accepted(
      tokens: tokens, payload: payload, payloadBytes: payload.utf8.count - spaces,
      priority: priority, lifetime: lifetime)
  }

  /// A notification with this payload and the usual token.
  static func payload(_ payload: String, priority: UInt8 = 10) -> Good {
    Good(
      text: #"{"token": "\#(token)", "payload": \#(payload)}"#, payload: payload, priority: priority
    )
  }
  /// A notification with these members besides the usual ones.
  static func with(
    _ members: String, priority: UInt8 = 10, lifetime: Notification.Lifetime = .configured
  ) -> Good {
    Good(
      text: #"{\#(members), "token": "\#(token)", \#(TinyPushTests.payload)}"#, priority: priority,
      lifetime: lifetime)
  }
}

/// Returns a value that reaches 32 levels inside `outside` levels.
private func nested(outside: Int, _ open: String = "[", _ close: String = "]") -> String {
  String(repeating: open, count: 32 - outside) + String(repeating: close, count: 32 - outside)
}
private let goodOnes = [
  Good(text: good),
  Good(text: "\r\n\t {\n  \"token\" : \"\(token)\" ,\r\n  \(payload)\n}\n"),
  Good(
    text: #"{"token":"\#(token)","payload":{"aps":{"badge":0}}}"#, payload: #"{"aps":{"badge":0}}"#),
  Good(
    text: #"{"tokens": ["\#(token)", "\#(token.lowercased())" ,"\#(token)"], \#(payload)}"#,
    tokens: [token, token.lowercased(), token]),
  Good(text: #"{\#(payload), "tokens": [ "\#(token)" ]}"#),
  .with(#""priority": 5"#, priority: 5),
  .with(#""priority":10"#),
  .with(#""ttl": 0"#, lifetime: .ttl(0)),
  .with(#""ttl": 4294967295"#, lifetime: .ttl(.max)),
  .with(#""expiration": 0"#, lifetime: .until(0)),
  .with(#""expiration": 1700000000"#, lifetime: .until(1_700_000_000)),
  .with(#""expiration": 4294967295"#, lifetime: .until(.max)),
  .with(#""topic": "a.b", "push-type": "alert", "id": "\"{[""#),
  .payload(#"{"aps":{"alert":"\"\\\/\b\f\n\r\t\u00e4"}}"#),
  .payload(#"{"aps":{"alert":"\uD83D\uDE00\ud83d\ude00\uFFFF"}}"#),
  .payload("{\"aps\":{\"alert\":\"äß€😀\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\"}}"),
  .payload(#"{"aps":{"alert":{"body":"}]","title":"{["}},"x":[{},[],{"a":[]}]}"#),
  .payload(#"{"aps":{"badge":-0,"n":[0,-1,0.5,1e9,1E+9,1e-9,-12.34E56,123456789012345678901]}}"#),
  .payload(#"{"x":true,"y":false,"z":null,"aps":{"sound":""}}"#),
  .payload(#"{"x":\#(nested(outside: 2)),"aps":{"badge":1,"y":\#(nested(outside: 3))}}"#),
  .payload(#"{"aps":{"x":\#(nested(outside: 3, #"{"a":"#, "1}").replacing("}1", with: "}"))}}"#),
  .payload(#"{ "aps" : { "badge" : 1 } , "x" : [ 1 , 2 ] }"#),
  .payload("{\n\"aps\"\n:\r\n{\t\"badge\"\t:\t1\t}\n}"),
  .payload(#"{"aps":{"content-available":1}}"#, priority: 5),
  .payload(#"{"aps":{"content-available":1,"category":"c"}}"#, priority: 5),
  .payload(#"{"aps":{"content-available":1,"badge":0}}"#),
  .payload(#"{"aps":{"content-available":1,"sound":""}}"#),
  .payload(#"{"aps":{"alert":"","content-available":1}}"#),
  .payload(payload(of: 2048)),
]

@Test(arguments: goodOnes)
func `a valid notification is read with all its fields`(_ good: Good) {
  #expect(read(good.text.bytes) == [good.outcome])
}

@Test(arguments: goodOnes)
func `a valid notification is read the same in pieces of any size`(_ good: Good) {
  let text = good.text.bytes
  for cut in stride(from: 0, through: text.count, by: text.count > 1000 ? 61 : 1) {
    #expect(read(text, cuts: [cut]) == [good.outcome], "cut at \(cut)")
  }
}

@Test(arguments: [
  ("", ""), (#""priority": 10, "#, ""), (#""priority": 5, "#, ""), ("", #", "priority": 5"#),
])
func `a silent push may have priority 5 before or behind the payload`(
  before: String, behind: String
) {
  let text =
    #"{\#(before)"token": "\#(token)", "payload": {"aps": {"content-available": 1}}\#(behind)}"#
  let outcome = read(text.bytes).first
  if before.contains("10") {
    #expect(outcome == .refused(.prioritySilent, at: 13, found: 0, limit: 0))
  } else if case .accepted(_, _, _, let priority, _) = outcome {
    #expect(priority == 5)
  } else {
    Issue.record("\(String(describing: outcome))")
  }
}

@Test func `the payload limit does not count white space`() {
  let spaced = payload(of: 2048).replacing(":", with: " :\n")
  guard case .accepted(_, _, 2048, _, _) = read(Good.payload(spaced).text.bytes).first else {
    Issue.record("the payload is refused or has another size")
    return
  }
}

// MARK: - Several in a text

@Test(arguments: ["\n", "", " ", "\r\n\r\n"])
func `several notifications in a text are read one after the other`(separator: String) {
  let all = goodOnes.filter { $0.text.utf8.count < 1000 }
  let text = all.map(\.text).joined(separator: separator).bytes
  let outcomes = all.map(\.outcome)
  #expect(read(text) == outcomes)
  for cut in stride(from: 0, through: text.count, by: 7) {
    #expect(read(text, cuts: [cut]) == outcomes)
  }
  #expect(read(text, cuts: Array(stride(from: 400, to: text.count, by: 400))) == outcomes)
}

@Test(arguments: [
  "[1, 2", "{\"token\": 'x'}", "}", "{\"a\": {\n  \"b\" }\n}", "x {\"token\"", "{{", "\"",
])
func `reading continues after bad text at the next line that begins with a brace`(
  bad: String
) {
  let pretty = "{\n  \"token\": \"\(token)\",\n  \(payload)\n}"
  for next in [good, pretty] {
    let outcomes = read((next + "\n" + bad + "\n" + next + "\n" + next).bytes)
    #expect(outcomes.count == 4)
    #expect(outcomes.count { if case .accepted = $0 { true } else { false } } == 3)
  }
}

@Test func `an object of the largest size is read at any place, and a larger one is refused`() {
  let bound = NotificationReader.objectBytesMax
  func object(of bytes: Int) -> [UInt8] {
    (String(good.dropLast()) + String(repeating: " ", count: bytes - good.utf8.count) + "}").bytes
  }
  let text = good.bytes + object(of: bound) + good.bytes
  #expect(read(text).count == 3)
  for cut in [good.utf8.count + bound - 1, good.utf8.count + bound] {
    #expect(read(text, cuts: [cut]) == read(text))
  }
  let large = object(of: bound + 1)
  let expected = [Outcome.refused(.objectTooLarge, at: 0, found: 0, limit: bound)]
  #expect(read(large) == expected, "whole")
  #expect(read(large, cuts: [bound]) == expected, "cut at the bound")
}

@Test func `the member failed does not count against the size limit of an object`() {
  let bound = NotificationReader.objectBytesMax
  let failed = #""failed":{"reason":"\#(String(repeating: "x", count: 5000))"}"#
  func object(of bytes: Int) -> [UInt8] {
    let space = String(repeating: " ", count: bytes - good.utf8.count - 1)
    return ("{\(failed),\(good.dropFirst().dropLast())\(space)}").bytes
  }
  #expect(read(object(of: bound)).map { if case .accepted = $0 { true } else { false } } == [true])
  #expect(read(object(of: bound), cuts: [bound, bound + 100]) == read(object(of: bound)))
  let expected = [Outcome.refused(.objectTooLarge, at: 0, found: 0, limit: bound)]
  #expect(read(object(of: bound + 1)) == expected)
  #expect(read(object(of: bound + 100), cuts: [bound + 50 + failed.utf8.count]) == expected)
  // At the end of an object that is too large the member does not help.
  let space = String(repeating: " ", count: bound - good.utf8.count)
  let last = "\(good.dropLast())\(space),\(failed)}".bytes
  #expect(read(last) == expected)
  #expect(read(last, cuts: [bound]) == expected)
}

@Test func `lines are counted in white space and in bad text, too`() {
  let text = "\n\n\(good)\n{bad\n\nbad}\n\(good)\n".bytes
  var reader = NotificationReader()
  var findings = Findings()
  var lines: [Int64] = []
  while true {
    if case .end = reader.next(in: text.span, isWhole: true, rules, &findings) { break }
    lines.append(reader.lineEnds)
  }
  #expect(lines == [2, 6, 6])
}

@Test(
  arguments: [
    ("", false), (#""urgent":true,"#, true), (#""urgent":false,"#, false),
    (#""priority":10,"#, true), (#""priority":10,"urgent":false,"#, true),
    (#""priority":5,"#, false), (#""priority":5,"urgent":true,"#, true),
  ])
func `urgent notifications and those with an explicit priority 10 pass limits`(
  members: String, isUrgent: Bool
) throws {
  let text =
    #"{"token":"\#(String(repeating: "0", count: 64))",\#(members)"again-after":60,"payload":{"aps":{"badge":1}}}"#
  var findings = Findings()
  var reader = NotificationReader()
  let result = reader.next(
    in: text.bytes.span, isWhole: true, Rules(), &findings)
  guard case .notification(let notification) = result else {
    Issue.record("\(result)")
    return
  }
  #expect(notification.isUrgent == isUrgent)
  #expect(notification.againAfter == 60)
}
