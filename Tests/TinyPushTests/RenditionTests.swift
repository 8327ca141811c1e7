import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary
@testable import TinyPushSandbox

private let token = String(repeating: "0123456789abcdef", count: 4)

/// Returns the framed and read payload for a device's language, or nil if it is refused.
private func sent(
  _ payload: String, _ members: String = "", limit: Int, language: StaticString? = nil,
  format: FrameFormat = .items
) throws -> String? {
  let bytes = #"{"token":"\#(token)",\#(members)"payload":\#(payload)}"#.bytes
  let rules = Rules(payloadLimit: limit)
  var reader = NotificationReader()
  var findings = Findings()
  guard
    case .notification(let notification) = reader.next(
      in: bytes.span, isWhole: true, rules, &findings)
  else { return nil }
  let rendition = Rendition(
    notification, for: language.map { LanguageTag($0) }, in: bytes.span, rules)
  let buffer = FixedBuffer<UInt8>(capacity: 8192)
  let device = [UInt8](repeating: 7, count: 32)
  let frame = Frame(identifier: 1, expiration: 0, priority: notification.priority)
  let end = frame.write(
    format, token: device.span, notification.payload, rendition, in: bytes.span, to: buffer, at: 0)
  #expect(end == Frame.byteCount(format, payloadBytes: rendition.bytes))
  let stream = [UInt8](buffer, count: end)
  var frames = FrameReader()
  let taken = frames.append(stream.span)
  #expect(taken == end)
  let received = try #require(try frames.next())
  let range = try #require(received.payload)
  #expect(range.count == rendition.bytes)
  #expect(rendition.bytes <= limit)
  let next = try frames.next()
  #expect(next == nil)
  return String(frames.bytes(range))
}

private func object(_ text: String) throws -> [String: Any] {
  try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
}

/// Returns the text of a payload's alert.
private func spoken(_ payload: String) throws -> String {
  let aps = try #require(object(payload)["aps"] as? [String: Any])
  let alert = aps["alert"] as? String ?? (aps["alert"] as? [String: Any])?["body"] as? String
  return try #require(alert)
}

/// Texts in JSON's form.
private let texts = [
  "Tank low in the cellar, pump it out",
  "Füllstand über 90 %: größer als nötig",
  "水位が低くなっています。確認してください",
  #"a\"b\\c\/d\b\f\n\r\te\u0041\u00fc\u20AC"#,
  #"\uD83D\uDE00\ud83d\ude01 and 😀😁😂"#,
  "👩‍👩‍👧‍👦👩🏽‍🚒🏳️‍🌈 done",
  "🇩🇪🇫🇷🇮🇹🇪🇸 flags",
  "e\u{301}e\u{301}\u{323}o\u{308} n\\u0303",
  "a  b   c    d     e",
  "नमस्ते दुनिया สวัสดี",
  "{\\\"[}]: ,",
  "1️⃣2️⃣3️⃣",
]

@Test(arguments: texts)
func `a trimmed text is a prefix of the whole, ends between characters and fits`(
  text: String
) throws {
  let payloads = [
    #"{"aps":{"alert":"\#(text)"}}"#,
    #"{ "my" : "a b", "aps" : { "alert" : { "title" : "T \" x", "body" : "\#(text)" } , "badge" : 1 } }"#,
  ]
  for payload in payloads {
    let whole = try #require(try sent(payload, limit: 4096))
    let spokenWhole = try spoken(whole)
    var last = -1
    for limit in 1...whole.utf8.count + 1 {
      guard let trimmed = try sent(payload, #""trim":true,"#, limit: limit) else {
        #expect(last == -1, "nothing fits at \(limit), but something did at less")
        continue
      }
      let words = try spoken(trimmed)
      #expect(trimmed.utf8.count <= limit)
      #expect(trimmed.utf8.count >= last)
      last = trimmed.utf8.count
      guard limit < whole.utf8.count else {
        #expect(trimmed == whole)
        continue
      }
      #expect(words.hasSuffix("…"))
      let kept = words.dropLast()
      #expect(!kept.isEmpty)
      // A prefix in whole characters, and valid JSON.
      #expect(spokenWhole.hasPrefix(kept), "\(words)")
      #expect(spokenWhole.count > kept.count)
      #expect(!kept.hasSuffix(" "))
      // All other members are unchanged.
      var others = try object(trimmed)
      var wholeOthers = try object(whole)
      others["aps"] = nil
      wholeOthers["aps"] = nil
      #expect(others as NSDictionary == wholeOthers as NSDictionary)
    }
    #expect(last == whole.utf8.count)
  }
}

@Test(
  arguments: [
    // {"aps":{"alert":""}} has 20 bytes, an ellipsis 3.
    ("abcdef", 26, "abcdef"), ("abcdef", 25, "ab…"), ("abcdef", 24, "a…"), ("abcdef", 23, nil),
    ("ab cdef", 26, "ab…"), ("ab  cdef", 27, "ab…"), ("ab  cdef", 24, "a…"),
    ("äöüß", 27, "äö…"), ("äöüß", 26, "ä…"), ("äöüß", 25, "ä…"), ("äöüß", 24, nil),
    ("😀😁😂", 31, "😀😁…"), ("😀😁😂", 30, "😀…"),
    (#"\uD83D\uDE00\uD83D\uDE01"#, 43, #"\uD83D\uDE00…"#), (#"\uD83D\uDE00\uD83D\uDE01"#, 34, nil),
    (#"a\\\\\\"#, 26, #"a\\…"#), (#"a\\\\\\"#, 25, #"a…"#), (#"a\nbcd"#, 25, "a…"),
    ("e\u{301}e\u{301}e\u{301}", 28, "e\u{301}…"), ("e\u{301}e\u{301}e\u{301}", 25, nil),
    (#"e\u0301xxxx"#, 30, #"e\u0301…"#), (#"e\u0301xxxx"#, 29, nil),
    ("👩‍👧👩‍👧", 41, "👩‍👧…"), ("👩‍👧👩‍👧", 33, nil), ("🇩🇪🇫🇷", 35, "🇩🇪…"), ("🇩🇪🇫🇷", 30, nil),
    ("👍🏽👍🏽", 31, "👍🏽…"), ("👍🏽👍🏽", 29, nil), ("1️⃣2️⃣", 30, "1️⃣…"), ("1️⃣2️⃣", 29, nil),
  ] as [(String, Int, String?)])
func `trim cuts a text at the right place for each limit`(
  text: String, limit: Int, expected: String?
) throws {
  let trimmed = try sent(#"{"aps":{"alert":"\#(text)"}}"#, #""trim":true,"#, limit: limit)
  #expect(trimmed == expected.map { #"{"aps":{"alert":"\#($0)"}}"# })
}

@Test func `trim shortens only an alert text that does not fit`() throws {
  let payload = #"{"aps":{"alert":"abcdef"}}"#
  #expect(try sent(payload, limit: 25) == nil)
  #expect(try sent(payload, #""trim":false,"#, limit: 25) == nil)
  #expect(try sent(payload, #""trim":true,"#, limit: 26) == payload)
  // Only the alert's text is shortened.
  let other = #"{"aps":{"badge":1},"my":"abcdefghijkl"}"#
  #expect(try sent(other, #""trim":true,"#, limit: other.utf8.count - 1) == nil)
  let title = #"{"aps":{"alert":{"title":"abcdefghijkl"}}}"#
  #expect(try sent(title, #""trim":true,"#, limit: title.utf8.count - 1) == nil)
}

@Test(arguments: [FrameFormat.items, .enhanced, .simple])
func `an alert in a language replaces the payload's own or is inserted`(
  format: FrameFormat
) throws {
  let localized =
    #""localized":{ "fr" : { "body" : "Il \"pleut\"" , "title" : "a b" } , "en":"x" },"#
  let french = #"{"body":"Il \"pleut\"","title":"a b"}"#
  for (payload, expected) in [
    (#"{"aps":{"alert":"own"}}"#, #"{"aps":{"alert":\#(french)}}"#),
    (
      #"{"aps":{"badge" : 1,"alert" : "own" },"x":[1]}"#,
      #"{"aps":{"badge":1,"alert":\#(french)},"x":[1]}"#
    ),
    (#"{"aps":{}}"#, #"{"aps":{"alert":\#(french)}}"#),
    (#"{"aps" : { } }"#, #"{"aps":{"alert":\#(french)}}"#),
    (#"{"aps":{"badge":1}}"#, #"{"aps":{"alert":\#(french),"badge":1}}"#),
    (
      #"{"x":{"aps":{}},"aps":{ "badge":1}}"#,
      #"{"x":{"aps":{}},"aps":{"alert":\#(french),"badge":1}}"#
    ),
  ] {
    #expect(
      try sent(payload, localized, limit: 2048, language: "fr-CA", format: format) == expected)
    #expect(
      try sent(payload, localized, limit: 2048, format: format)
        == expected.replacing(french, with: #""x""#))
  }
}

@Test func `trim also shortens an alert in a language`() throws {
  let members =
    #""trim":true,"localized":{"fr":{"title":"T","body":"Le réservoir est vide"},"en":"x"},"#
  let payload = #"{"aps":{"badge":1}}"#
  let whole = #"{"aps":{"alert":{"title":"T","body":"Le réservoir est vide"},"badge":1}}"#
  let bytes = whole.utf8.count
  #expect(try sent(payload, members, limit: bytes, language: "fr") == whole)
  #expect(
    try sent(payload, members, limit: bytes - 1, language: "fr")
      == whole.replacing("est vide", with: "est…"))
  #expect(
    try sent(payload, members, limit: bytes - 17, language: "fr")
      == whole.replacing("Le réservoir est vide", with: "Le…"))
  #expect(
    try sent(payload, members, limit: bytes - 17)
      == #"{"aps":{"alert":"x","badge":1}}"#)
}

// MARK: - Recipients and collapse keys

private func notification(_ text: String) -> TinyPush.Notification? {
  let bytes = text.bytes
  var reader = NotificationReader()
  var findings = Findings()
  guard
    case .notification(let notification) = reader.next(
      in: bytes.span, isWhole: true, Rules(), &findings)
  else { return nil }
  return notification
}

private func lists(_ text: String) throws -> [String] {
  let bytes = text.bytes
  let found = notification(text)
  let notification = try #require(found)
  var name = notification.firstList
  return (0..<notification.lists).map { index in
    if index > 0 { name = notification.nextString(after: name.upperBound, in: bytes.span) }
    return String(decoding: bytes[name], as: UTF8.self)
  }
}

@Test func `recipients files are read from a string, from an array and beside tokens`() throws {
  let payload = #""payload":{"aps":{"alert":"x"}}"#
  #expect(try lists(#"{"to":"family",\#(payload)}"#) == ["family"])
  #expect(
    try lists(#"{"to":[ "a" , "b.c@d+e-f_g","0"],\#(payload)}"#) == ["a", "b.c@d+e-f_g", "0"])
  let both = #"{"to":"family",\#(payload),"tokens":["\#(token)","\#(token)"]}"#
  #expect(try lists(both) == ["family"])
  #expect(notification(both)?.tokens == 2)
}

@Test(arguments: [
  #"{"aps":{"alert":"x"}}"#, #"{"my":{"token":1},"aps":{"alert":"x"},"id2":"to"}"#,
  #"{ "\u0061ps" : {"content-available":1} }"#,
])
func `an object with aps at the top level is a payload for the default recipients`(text: String)
  throws
{
  let found = try #require(notification(text))
  #expect(found.isBare)
  #expect(found.lists == 1)
  #expect(found.tokens == 0)
  #expect(found.payload.range == 0..<text.utf8.count)
  #expect(found.object == found.payload.range)
  #expect(found.priority == (text.contains("content") ? 5 : 10))
}

@Test
func `collapse keys are equal exactly for equal collapse IDs and recipients`()
  throws
{
  func key(_ members: String) throws -> UInt64 {
    try #require(notification(#"{\#(members),"payload":{"aps":{"alert":"x"}}}"#)).collapseKey
  }
  let other = String(token.reversed())
  let one = try key(#""collapse-id":"tank","token":"\#(token)""#)
  #expect(one != 0)
  for same in [
    #""token":"\#(token)","collapse-id":"tank""#, #""collapse-id":"t\u0061nk","token":"\#(token)""#,
    #""tokens":["\#(token)"],"collapse-id":"tank","ttl":5"#,
    #""collapse-id":"tank","token":"\#(token.uppercased())""#,
  ] { #expect(try key(same) == one, "\(same)") }
  let all = try [
    #""collapse-id":"tank2","token":"\#(token)""#, #""collapse-id":"tank","token":"\#(other)""#,
    #""collapse-id":"tank","tokens":["\#(token)","\#(token)"]"#,
    #""collapse-id":"tank","tokens":["\#(token)","\#(other)"]"#,
    #""collapse-id":"tank","tokens":["\#(other)","\#(token)"]"#,
    #""collapse-id":"tank","to":"family""#, #""collapse-id":"tank","to":"Family""#,
    #""collapse-id":"tank","to":["family","neighbours"]"#,
    #""collapse-id":"tank","to":"family","token":"\#(token)""#,
  ].map(key)
  #expect(Set(all + [one]).count == all.count + 1)
  #expect(try key(#""token":"\#(token)""#) == 0)
}

// MARK: - Recipients files

private func line(_ text: String) -> String {
  let bytes = text.bytes
  switch RecipientsFile.read(bytes.span, for: .binary) {
  case .nothing: return "nothing"
  case .recipient(let recipient):
    let digits = token.bytes
    let expected = DeviceToken(hex: digits.span)
    #expect(expected == recipient.token)
    let language = recipient.language.map { language in
      " " + TinyPushTests.text { language.append(to: &$0) }
    }
    return "recipient" + (language ?? "")
      + (recipient.registered > 0 ? " \(recipient.registered)" : "")
  case .wrong(let problem, let at): return "\(at) \(problem.code): \(problem.text)"
  }
}

@Test(arguments: [
  ("", "nothing"), ("  \t\r", "nothing"), ("# the family", "nothing"), ("\t#", "nothing"),
  (token, "recipient"), ("  \(token)\r", "recipient"),
  ("\(token.uppercased())\t# Ann", "recipient"),
  ("\(token) lang=fr_CA", "recipient fr-ca"), ("\(token) lang=de # Ben", "recipient de"),
  ("\(token) registered=1795591391", "recipient 1795591391"),
  ("\(token) registered=4294967295 lang=de # Ben", "recipient de 4294967295"),
  (
    " 12",
    "1 token-size: over the binary protocol a device token has 64 hex digits; this one has a different number: only protocol = http2 can send to it"
  ),
  (
    "\(token)#",
    "0 token-size: a device token has an even number of hex digits, from 2 to 200; this one has a different number"
  ),
  (
    "\t\(token.dropLast())z",
    "64 token-not-hex: a device token is written in hex digits (0-9, a-f) or in base64"
  ),
  (
    "\(token) fr",
    "65 recipient-word: only lang=LANGUAGE, registered=SECONDS or a # comment may follow the token"
  ),
  (
    "\(token) lang=",
    "65 recipient-word: only lang=LANGUAGE, registered=SECONDS or a # comment may follow the token"
  ),
  (
    "\(token) lang=fr lang=de",
    "73 recipient-word: only lang=LANGUAGE, registered=SECONDS or a # comment may follow the token"
  ),
  ("\(token)  lang=f!", "71 recipient-language: not a language: write lang=fr or lang=fr-CA"),
])
func `a line of a recipients file gives a recipient or an error with its place`(
  text: String, expected: String
) {
  #expect(line(text) == expected)
}

@Test func `names that leave the directory or are hidden are refused`() {
  for name in ["", ".", "..", ".x", "a/b", "/", "a b", "ü", "a\0", token, token + "00"] {
    let bytes = name.bytes
    let isName = RecipientsFile.isName(bytes.span)
    #expect(!isName, "\(name)")
  }
  for name in ["a", "family", "a..", "A-z_0.9@x+y", String(repeating: "x", count: 64)] {
    let bytes = name.bytes
    let isName = RecipientsFile.isName(bytes.span)
    #expect(isName, "\(name)")
  }
}
