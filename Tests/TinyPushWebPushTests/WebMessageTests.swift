import Foundation
import Testing

@testable import TinyPush
@testable import TinyPushWebPush

/// Returns the message for a payload, or the problem.
private func message(
  _ payload: String, page: String = "https://home.example/push/", tag: String = ""
) -> (text: String?, problem: WebMessage.Problem?) {
  let bytes = Array(payload.utf8)
  let message = WebMessage(bytes.span)
  if let problem = message.problem { return (nil, problem) }
  let (page, tag) = (Array(page.utf8), Array(tag.utf8))
  let buffer = FixedBuffer<UInt8>(capacity: WebMessage.bytesMax + 7)
  let count = message.write(bytes.span, page: page.span, tag: tag.span, to: buffer, at: 7)
  #expect(count <= WebMessage.bytesMax)
  return (String(decoding: (7..<7 + count).map { buffer[$0] }, as: UTF8.self), nil)
}

/// Returns the notification in the message for a payload.
private func shown(_ payload: String) throws -> NSDictionary {
  let text = try #require(message(payload).text)
  let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary
  #expect(object?["web_push"] as? Int == 8030)
  return try #require(object?["notification"] as? NSDictionary)
}

private func alert(_ alert: String) -> String { #"{"aps":{"sound":"default","alert":\#(alert)}}"# }

@Test(arguments: [
  (
    #"{"aps":{"alert":{"title":"Cellar","body":"Tank low"},"badge":3,"sound":"default"},"url":"https://home.example/tank"}"#,
    #"{"navigate":"https://home.example/tank","app_badge":"3","title":"Cellar","body":"Tank low"}"#
  ),
  (
    #"{ "aps" : { "alert" : "Tank low" } }"#,
    #"{"navigate":"https://home.example/push/","silent":true,"title":"Tank low"}"#
  ),
  (
    #"{"aps":{"sound":{"critical":1,"name":"a.caf"},"alert":"a \"b\" \u00e9 é \ud83d\ude00"}}"#,
    #"{"navigate":"https://home.example/push/","title":"a \"b\" \u00e9 é \ud83d\ude00"}"#
  ),
])
func `a browser gets the alert of a payload`(payload: String, expected: String) {
  #expect(message(payload).text == #"{"web_push":8030,"notification":\#(expected)}"#)
}

@Test(arguments: [
  (#"{"title":"T"}"#, "T", nil),
  (#"{"body":"B"}"#, "B", nil),
  (#"{"subtitle":"S"}"#, "S", nil),
  (#"{"title":"T","body":"B"}"#, "T", "B"),
  (#"{"body":"B","t\u0069tle":"T"}"#, "T", "B"),
  (#"{"title":"T","subtitle":"S"}"#, "T", "S"),
  (#"{"subtitle":"S","body":"B"}"#, "S", "B"),
  (#"{"title":"T","subtitle":"S","body":"B"}"#, "T", "S\nB"),
  (#"{"title":"","subtitle":"","body":"B"}"#, "B", nil),
  (#"{"title":{"loc-key":"k"},"body":"B"}"#, "B", nil),
  (#"{"title-loc-key":"k","body":"B"}"#, "B", nil),
  (#"{"title":"T","loc-key":"k"}"#, "T", nil),
  (#""Tank low\nFill it.\nToday.""#, "Tank low", "Fill it.\nToday."),
  (#""Tank low\r\n\u000a Fill it.""#, "Tank low", "Fill it."),
  (#""\n Tank low\n""#, "Tank low", nil),
  (#"" ""#, " ", nil),
  (
    #""1234567890 2234567890 3234567890 4234567""#, "1234567890 2234567890 3234567890 4234567",
    nil
  ),
  (
    #""1234567890 2234567890 3234567890 423456789 z""#, "1234567890 2234567890 3234567890…",
    "…423456789 z"
  ),
  (
    #""1234567890223456789032345678904234567890x""#, "1234567890223456789032345678904234567890…",
    "…x"
  ),
  (
    #""1234567890223456789032345678904234567890 ""#, "1234567890223456789032345678904234567890", nil
  ),
  (
    #""あいうえおかきくけこさしすせそたちつてとな""#, "あいうえおかきくけこさしすせそたちつてと…", "…な"
  ),
  (
    #""The tank in the cellar is nearly empty: fill it before the weekend""#,
    "The tank in the cellar is nearly empty:…", "…fill it before the weekend"
  ),
])
func `each alert has a title, and shows all of its text`(
  text: String, title: String, body: String?
) throws {
  let shown = try shown(alert(text))
  #expect(shown["title"] as? String == title)
  #expect(shown["body"] as? String == body)
}

@Test(arguments: [
  (#"{"aps":{"content-available":1}}"#, WebMessage.Problem.showsNothing),
  (#"{"aps":{"badge":3,"sound":"default"}}"#, .showsNothing),
  (#"{"aps":{"alert":""}}"#, .showsNothing),
  (#"{"aps":{"alert":{}}}"#, .showsNothing),
  (#"{"aps":{"alert":{"title":"","body":null}}}"#, .showsNothing),
  (#"{"aps":{}}"#, .showsNothing),
  (#"{"x":1}"#, .showsNothing),
  (#"{}"#, .showsNothing),
  (#"[]"#, .showsNothing),
  (#"{"aps":{"alert":{"loc-key":"LOW","loc-args":["8"]}}}"#, .hasOnlyKeys),
  (#"{"aps":{"alert":{"title-loc-key":"T","body":""}}}"#, .hasOnlyKeys),
  (#"{"aps":{"alert":"x"},"web":"x"}"#, .web),
  (#"{"aps":{"alert":"x"},"web":null}"#, .web),
  (#"{"aps":{"alert":"x"},"web":{}}"#, .web),
  (#"{"aps":{"alert":"x"},"web":{"title":""}}"#, .web),
  (#"{"aps":{"alert":"x"},"web":{"title":5}}"#, .web),
  (#"{"aps":{"alert":"x"},"web":{"title":"a","title":5}}"#, .web),
  (#"{"aps":{"alert":"x"},"web":{"title":"a","navigate":1}}"#, .web),
])
func `a notification that a browser cannot show is named`(
  payload: String, problem: WebMessage.Problem
) {
  #expect(message(payload).problem == problem)
}

@Test func `the words for each problem say what is wrong`() {
  #expect(
    text { $0.append(WebMessage(Array("{}".utf8).span).problem!.words) }.hasPrefix(
      "a browser shows only a text"))
}

@Test(arguments: [
  "https://home.example", "http://home.example/", "HTTPS://Home.Example:8443/a?b#c",
  "https://home:80?x", "http://192.168.1.5:8123/lovelace", "http://[fd00::5]:3000/",
  "https://bücher.example/", #"https:\/\/home.example\/a"#, "https://a_b.example/a b",
])
func `a click opens the payload's web address`(address: String) throws {
  let payload = #"{"aps":{"alert":"x"},"url":"\#(address)"}"#
  #expect(message(payload).text?.contains(#""navigate":"\#(address)""#) == true)
}

@Test(arguments: [
  "", "/tank", "home.example", "ftp://home.example/", "javascript:alert(1)", "https:home.example",
  "https://", "https:///a", "https://?a", "https://:80/", "https://a:b/", "https://a:65536/",
  "https://a:1:2/", "https://u:p@home.example/", "https://[fd00::5", "https://[fd00::5/",
  "https://]/",
  "https://a[b]/", "https://ho me/", "https://a%zz/", #"https://a\\b/"#, "shortcuts://run",
  "https://home.example/" + String(repeating: "x", count: 2048),
])
func `a click opens the page where the payload has no address that a browser takes`(
  address: String
) throws {
  let payload = #"{"aps":{"alert":"x"},"url":"\#(address)"}"#
  #expect(message(payload).text?.contains(#""navigate":"https://home.example/push/""#) == true)
  #expect(message(payload, page: "").text?.contains("navigate") == false)
}

@Test func `a url that is not a string opens the page`() {
  #expect(
    message(#"{"aps":{"alert":"x"},"url":{"a":1}}"#).text?.contains(#""navigate":"https://home"#)
      == true)
}

@Test(arguments: [
  ("0", "0"), ("42", "42"), ("999999999999999999", "999999999999999999"),
  ("1000000000000000000", nil), ("-1", nil), ("1.5", nil), ("1e2", nil), (#""3""#, nil),
])
func `only a badge that Safari reads is sent`(badge: String, sent: String?) throws {
  let shown = try shown(#"{"aps":{"alert":"x","badge":\#(badge)}}"#)
  #expect(shown["app_badge"] as? String == sent)
}

@Test(arguments: [
  (#""default""#, false), (#""bell.caf""#, false), (#"{"name":"default"}"#, false), (#""""#, true),
  ("null", true),
])
func `a notification without a sound is silent`(sound: String, isSilent: Bool) throws {
  #expect(
    try shown(#"{"aps":{"alert":"x","sound":\#(sound)}}"#)["silent"] as? Bool
      == (isSilent ? true : nil))
}

@Test func `the tag is that of the notification`() {
  let text = message(alert(#""Cuve vide""#), tag: #"tank \"1\""#).text
  #expect(
    text
      == #"{"web_push":8030,"notification":{"navigate":"https://home.example/push/","tag":"tank \"1\"","title":"Cuve vide"}}"#
  )
}

/// Safari drops a declarative message whose address is not absolute.
@Test(arguments: [
  (#"{"aps":{"alert":"x"}}"#, #"{"notification":{"silent":true,"title":"x"}}"#),
  (
    #"{"aps":{"alert":"x"},"url":"https://u.example/"}"#,
    #"{"web_push":8030,"notification":{"navigate":"https://u.example/","silent":true,"title":"x"}}"#
  ),
  (#"{"web":{"title":"x"}}"#, #"{"notification":{"title":"x"}}"#),
  (
    #"{"web":{"title":"x","navigate":"./"},"url":"https://u.example/"}"#,
    #"{"notification":{"title":"x","navigate":"./"}}"#
  ),
  (
    #"{"web":{"title":"x"},"url":"https://u.example/"}"#,
    #"{"web_push":8030,"notification":{"navigate":"https://u.example/","title":"x"}}"#
  ),
])
func `a message without an absolute address is left to the page's service worker`(
  payload: String, expected: String
) {
  #expect(message(payload, page: "").text == expected)
}

@Test(arguments: [
  (
    #"{"title":"T", "navigate":"https://a/", "x":[1, {"y":" z "}]}"#,
    #"{"title":"T","navigate":"https://a/","x":[1,{"y":" z "}]}"#
  ),
  (#"{ "title": "T" }"#, #"{"navigate":"https://u.example/","title":"T"}"#),
])
func `the member web is taken whole, and opens the address of the payload`(
  web: String, expected: String
) {
  let payload = #"{"aps":{"content-available":1},"url":"https://u.example/","web":\#(web)}"#
  #expect(message(payload).text == #"{"web_push":8030,"notification":\#(expected)}"#)
}

@Test func `the member web has room for 3993 bytes`() {
  for (more, problem) in [(0, nil), (1, WebMessage.Problem.webTooLarge)] {
    // Without its white space.
    let web = #"{"title": "#
    let end = #","navigate":"https://a/"}"#
    let room = WebMessage.bytesMax - #"{"web_push":8030,"notification":}"#.utf8.count
    let title = String(repeating: "x", count: room - web.utf8.count - end.utf8.count - 1 + more)
    let (text, found) = message("{\"web\":\(web)\"\(title)\"\(end)}")
    #expect(found == problem)
    if problem == nil { #expect(text?.utf8.count == WebMessage.bytesMax) }
  }
}

@Test func `the member web leaves room for the longest address of a page`() {
  let start = "https://home.example/"
  let page = start + String(repeating: "p", count: WebMessage.pageBytesMax - start.utf8.count)
  let frame = #"{"web_push":8030,"notification":{"navigate":"\#(page)","title":""}}"#
  let title = String(repeating: "x", count: WebMessage.bytesMax - frame.utf8.count)
  let (text, problem) = message(#"{"web":{"title":"\#(title)"}}"#, page: page)
  #expect(problem == nil && text?.utf8.count == WebMessage.bytesMax)
  #expect(message(#"{"web":{"title":"\#(title)x"}}"#, page: page).problem == .webTooLarge)
}

@Test func `a longer text is shortened between two characters`() throws {
  for count in 3780...4000 {
    let body = String(repeating: "é", count: count / 2)
    let text = try #require(message(alert(#"{"title":"T","body":"\#(body)"}"#)).text)
    let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary
    let shown = try #require((object?["notification"] as? NSDictionary)?["body"] as? String)
    if shown == body { continue }
    #expect(text.utf8.count > WebMessage.bytesMax - 2)
    #expect(shown.hasSuffix("é…") && body.hasPrefix(shown.dropLast()))
  }
  #expect(
    try shown(alert(#"{"title":"T","body":"\#(String(repeating: "x", count: 3800))"}"#))["body"]
      as? String
      == String(repeating: "x", count: 3800))
}

@Test func `a long title leaves half of the room to the body`() throws {
  let long = String(repeating: "word ", count: 780)
  let shown = try shown(alert(#"{"title":"\#(long)","subtitle":"S","body":"\#(long)"}"#))
  let title = try #require(shown["title"] as? String)
  let body = try #require(shown["body"] as? String)
  #expect(title.hasPrefix("word ") && title.hasSuffix("…") && title.utf8.count > 1900)
  #expect(body.hasPrefix("S\nword") && body.hasSuffix("…") && body.utf8.count > 1900)
}

@Test func `a subtitle that fills the body stands alone`() throws {
  let long = String(repeating: "x", count: 4000)
  let shown = try shown(alert(#"{"title":"T","subtitle":"\#(long)","body":"B"}"#))
  #expect((shown["body"] as? String)?.hasSuffix("x…") == true)
}

@Test func `a letter with too many marks is shortened, too`() throws {
  let marks = "a" + String(repeating: "\u{301}", count: 2000)
  let title = try #require(try shown(alert(#""\#(marks)""#))["title"] as? String)
  #expect(title.utf8.starts(with: "a\u{301}\u{301}".utf8) && title.unicodeScalars.last == "…")
}

@Test func `the longest address and tag leave room for the texts`() throws {
  let url = "https://a/" + String(repeating: "x", count: 2038)
  let long = String(repeating: "x", count: 1900)
  let text = try #require(
    message(
      #"{"aps":{"alert":{"title":"T","body":"\#(long)"},"badge":999999999999999999},"url":"\#(url)"}"#,
      tag: String(repeating: "t", count: WebMessage.tagBytesMax)
    ).text)
  #expect(text.utf8.count > WebMessage.bytesMax - 2)
  #expect(text.hasSuffix("xxx…\"}}"))
  #expect(text.contains(url))
}
