import Foundation
import Testing

@testable import TinyPush

/// Returns the payload that a device with Bark gets; nil: the notification is refused.
private func sent(
  _ payload: String, _ members: String = "", language: StaticString? = nil, limit: Int? = nil
) throws -> String? {
  var bytes = Array(#"{"payload":{"aps":{"badge":0}}} {\#(members)"payload":\#(payload)}"#.utf8)
  var rules = Rules(.http2, payloadLimit: limit)
  rules.app = .bark
  var reader = NotificationReader()
  var findings = Findings()
  _ = reader.next(in: bytes.span, isWhole: true, rules, &findings)
  guard
    case .notification(let read) = reader.next(in: bytes.span, isWhole: true, rules, &findings)
  else { return nil }
  // The outbox keeps a notification without what stands before it in the file.
  var notification = read
  notification.move(by: read.object.lowerBound)
  bytes.removeFirst(read.object.lowerBound)
  let rendition = Rendition(
    notification, for: language.map { LanguageTag($0) }, in: bytes.span, rules)
  let buffer = FixedBuffer<UInt8>(capacity: 8192)
  let end = notification.payload.write(rendition, in: bytes.span, to: buffer)
  #expect(end == rendition.bytes)
  let text = String(decoding: (0..<end).map { buffer[$0] }, as: UTF8.self)
  #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
  if notification.payload.isVerbatim(rendition) { #expect(text == payload) }
  return text
}

private let both = #""mutable-content":1,"category":"myNotificationCategory","#

@Test(arguments: [
  (#"{"aps":{"alert":"x"}}"#, #"{"aps":{\#(both)"alert":"x"}}"#),
  (#"{ "a" : 1, "aps" : { "badge" : 1 } }"#, #"{"a":1,"aps":{\#(both)"badge":1}}"#),
  (
    #"{"aps":{"alert":"x","mutable-content":1}}"#,
    #"{"aps":{"category":"myNotificationCategory","alert":"x","mutable-content":1}}"#
  ),
  (
    #"{"aps":{"category":"c","alert":"x"}}"#,
    #"{"aps":{"mutable-content":1,"category":"c","alert":"x"}}"#
  ),
  (
    #"{"aps":{"category":"c","mutable-content":1,"alert":"x"}}"#,
    #"{"aps":{"category":"c","mutable-content":1,"alert":"x"}}"#
  ),
  (
    #"{"aps":{"sound":"bell","alert":{"body":"x"}},"url":"u"}"#,
    #"{"aps":{\#(both)"sound":"bell.caf","alert":{"body":"x"}},"url":"u"}"#
  ),
  (
    #"{"aps" : {"alert":"a b", "sound" : "my bell" } , "b c":"d e"}"#,
    #"{"aps":{\#(both)"alert":"a b","sound":"my bell.caf"},"b c":"d e"}"#
  ),
  (
    #"{"aps":{"mutable-content":1,"category":"c","alert":"x","sound":"bell"}}"#,
    #"{"aps":{"mutable-content":1,"category":"c","alert":"x","sound":"bell.caf"}}"#
  ),
  (#"{"aps":{"alert":"x","sound":"a.wav"}}"#, #"{"aps":{\#(both)"alert":"x","sound":"a.wav"}}"#),
  (
    #"{"aps":{"alert":"x","sound":"default"}}"#,
    #"{"aps":{\#(both)"alert":"x","sound":"default"}}"#
  ),
  (#"{"aps":{"content-available":1}}"#, #"{"aps":{"content-available":1}}"#),
])
func `a payload for Bark gets what the app needs`(payload: String, expected: String) throws {
  #expect(try sent(payload) == expected)
}

@Test func `an alert for Bark is in the device's language, and shortened`() throws {
  let members = #""localized":{"fr":"Cuve vide"},"trim":true,"#
  let payload = #"{"aps":{"sound":"bell","badge":1},"url":"u"}"#
  let french = #"{"aps":{\#(both)"alert":"Cuve vide","sound":"bell.caf","badge":1},"url":"u"}"#
  let withDefault = #""localized":{"fr":"Cuve vide","en":"Tank empty"},"trim":true,"#
  #expect(try sent(payload, withDefault, language: "fr") == french)
  #expect(
    try sent(#"{"aps":{}}"#, withDefault, language: "fr")
      == #"{"aps":{\#(both)"alert":"Cuve vide"}}"#)
  #expect(try sent(payload, members) == nil)
  let long = #"{"aps":{"alert":"Tank empty","sound":"bell"}}"#
  let whole = #"{"aps":{\#(both)"alert":"Tank empty","sound":"bell.caf"}}"#
  #expect(try sent(long, limit: whole.utf8.count) == whole)
  #expect(try sent(long, limit: whole.utf8.count - 1) == nil, "the additions count")
  #expect(
    try sent(long, #""trim":true,"#, limit: whole.utf8.count - 3)
      == whole.replacing("Tank empty", with: "Tank…"))
}

@Test func `a notification for another app is sent as it is`() throws {
  let payload = #"{"aps":{"alert":"x","sound":"bell"}}"#
  #expect(try sent(payload, #""topic":"com.example.app","#) == payload)
}

// MARK: - Encryption

/// Returns the content that Bark decrypts, and the size of the payload; nil: it is refused.
private func content(
  _ payload: String, _ members: String = "", language: StaticString? = nil
) throws -> (content: String, bytes: Int)? {
  var bytes = Array(#"{"payload":{"aps":{"badge":0}}} {\#(members)"payload":\#(payload)}"#.utf8)
  var rules = Rules(.http2, payloadLimit: nil)
  rules.app = .bark
  rules.isEncrypted = true
  var reader = NotificationReader()
  var findings = Findings()
  _ = reader.next(in: bytes.span, isWhole: true, rules, &findings)
  guard
    case .notification(let read) = reader.next(in: bytes.span, isWhole: true, rules, &findings)
  else { return nil }
  var notification = read
  notification.move(by: read.object.lowerBound)
  bytes.removeFirst(read.object.lowerBound)
  let rendition = Rendition(
    notification, for: language.map { LanguageTag($0) }, in: bytes.span, rules)
  #expect(notification.payload.isSealed && !notification.payload.isVerbatim(rendition))
  final class Given { var content: [UInt8] = [] }
  let given = Given()
  // As long as base64 of the longest encryption.
  let seal = Bark.Seal(ivCount: 16) { content, sealed, iv in
    given.content = Array(content)
    let count = (content.count / 16 * 16 + 16 + 2) / 3 * 4
    for index in 0..<count { sealed[index] = UInt8(ascii: "A") }
    for index in 0..<16 { iv[index] = UInt8(ascii: "i") }
    return count
  }
  let buffer = FixedBuffer<UInt8>(capacity: 8192)
  guard
    let end = notification.payload.writeSealed(rendition, in: bytes.span, by: seal, to: buffer)
  else {
    Issue.record("the payload has no room")
    return nil
  }
  #expect(end <= 4096 && given.content.count <= rendition.bytes + Bark.contentBytes)
  let outside = try JSONSerialization.jsonObject(with: Data((0..<end).map { buffer[$0] }))
  let aps = try #require((outside as? [String: Any])?["aps"] as? [String: Any])
  #expect(aps["alert"] as? String == "Encrypted" && aps["mutable-content"] as? Int == 1)
  #expect((outside as? [String: Any])?["iv"] as? String == String(repeating: "i", count: 16))
  return (String(decoding: given.content, as: UTF8.self), end)
}

@Test(arguments: [
  (#"{"aps":{"alert":"x"}}"#, #"{"body":"x"}"#),
  (
    #"{ "url" : "u", "aps" : { "alert" : { "title":"T", "subtitle":"S", "body":"a b" } } }"#,
    #"{"title":"T","subtitle":"S","body":"a b","url":"u"}"#
  ),
  (
    #"{"aps":{"sound":"bell","badge":3,"thread-id":"t","alert":"x"},"n":[1, 2]}"#,
    #"{"body":"x","sound":"bell","badge":3,"n":[1,2],"group":"t"}"#
  ),
  (
    #"{"aps":{"sound":"default","thread-id":"t","alert":"x"},"group":"g"}"#,
    #"{"body":"x","group":"g"}"#
  ),
  (#"{"aps":{"badge":1},"n":1}"#, #"{"body":"","badge":1,"n":1}"#),
  (#"{"aps":{"alert":{"title":"T"}},"body":"b"}"#, #"{"title":"T","body":""}"#),
  (
    #"{"aps":{"alert":"x","sound":{"critical":1,"name":"bell"}}}"#,
    #"{"body":"x","sound":"bell"}"#
  ),
  (#"{"aps":{"alert":"x","sound":{"critical":1}}}"#, #"{"body":"x"}"#),
])
func `the content for Bark has everything that the app shows`(
  payload: String, expected: String
) throws {
  #expect(try content(payload)?.content == expected)
}

@Test func `an encrypted alert is in the device's language, and shortened to what fits`() throws {
  let french = try content(
    #"{"aps":{"badge":1}}"#, #""localized":{"fr":"Cuve vide","en":"Tank empty"},"#, language: "fr")
  #expect(french?.content == #"{"body":"Cuve vide","badge":1}"#)
  func payload(_ bytes: Int) -> String {
    #"{"aps":{"alert":"\#(String(repeating: "x", count: bytes - 20))"}}"#
  }
  #expect(payload(2902).utf8.count == 2902)
  #expect(try content(payload(2902)) != nil)
  #expect(try content(payload(2903)) == nil)
  let trimmed = try content(payload(3000), #""trim":true,"#)
  #expect(trimmed?.content.hasSuffix(#"xx…"}"#) == true)
}

@Test func `the largest alert fits with all that stands beside its content`() throws {
  let rest = #""sound":"default","interruption-level":"time-sensitive"}}"#
  let text = String(
    repeating: "x", count: 2902 - #"{"aps":{"alert":"","#.utf8.count - rest.utf8.count)
  let sent = try content(#"{"aps":{"alert":"\#(text)",\#(rest)"#)
  #expect(sent.map { $0.bytes > 3900 } == true)
}

@Test(arguments: [
  (#"{"aps":{"alert":"x"}}"#, "", true), (#"{"aps":{"badge":1}}"#, "", false),
  (#"{"aps":{"badge":1},"n":1}"#, "", true), (#"{"aps":{"content-available":1},"n":1}"#, "", false),
  (#"{"aps":{"alert":"x"}}"#, #""topic":"me.fin.bark","#, true),
  (#"{"aps":{"alert":"x"}}"#, #""topic":"com.example.app","#, false),
  (#"{"aps":{}}"#, #""localized":{"en":"x"},"#, true),
])
func `what a person could read is encrypted`(payload: String, members: String, isSealed: Bool) {
  let bytes = Array(#"{\#(members)"payload":\#(payload)}"#.utf8)
  var rules = Rules(.http2, payloadLimit: nil)
  rules.app = .bark
  rules.isEncrypted = true
  var reader = NotificationReader()
  var findings = Findings()
  guard
    case .notification(let read) = reader.next(in: bytes.span, isWhole: true, rules, &findings)
  else {
    Issue.record("the notification is refused")
    return
  }
  #expect(read.payload.isSealed == isSealed)
}
