import Testing
import TinyPush
import TinyPushWebhooks

private let token = String(repeating: "0a", count: 32)

/// Returns the notification that a text and a query make.
private func notification(_ body: String, to list: String = "", _ query: String = "") throws -> Text
{
  var options = MessageOptions()
  try options.read(Array(query.utf8).span)
  var line = Text(capacity: 100_000)
  TextMessage.append(Array(body.utf8).span, to: Array(list.utf8).span, &options, in: &line)
  return line
}

@Test(arguments: [
  (
    "Tank low", "family", "",
    #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":"Tank low"}}}"#
  ),
  (
    "Tank low\r\n\n", "", "",
    #"{"to":"default","trim":true,"payload":{"aps":{"alert":"Tank low"}}}"#
  ),
  (
    "say \"hi\"\n\u{1}", "", "",
    #"{"to":"default","trim":true,"payload":{"aps":{"alert":"say \"hi\"\n\u0001"}}}"#
  ),
  (
    "Tank low", "family", "title=Cellar&subtitle=S",
    #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":{"title":"Cellar","subtitle":"S","body":"Tank low"}}}}"#
  ),
  (
    "", "family", "title=T",
    #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":{"title":"T"}}}}"#
  ),
  ("", "f", "badge=0", #"{"to":["f"],"trim":true,"payload":{"aps":{"badge":0}}}"#),
  (
    "", "f", "message=Hi+there", #"{"to":["f"],"trim":true,"payload":{"aps":{"alert":"Hi there"}}}"#
  ),
  (
    "x", "f", "sound=a.caf&badge=3&level=passive&collapse-id=c1&ttl=60&priority=5",
    #"{"to":["f"],"collapse-id":"c1","priority":5,"ttl":60,"trim":true,"payload":{"aps":{"alert":"x","sound":"a.caf","badge":3,"interruption-level":"passive"}}}"#
  ),
  (
    "x", "", "token=\(token)&token=\(token)",
    #"{"tokens":["\#(token)","\#(token)"],"trim":true,"payload":{"aps":{"alert":"x"}}}"#
  ),
])
func `a text makes a notification`(body: String, list: String, query: String, line: String) throws {
  let text = try notification(body, to: list, query)
  #expect(text.string == line + "\n")
  #expect(refusal(of: text) == nil)
}

@Test(arguments: [
  ("x", "badge=many", "badge"), ("x", "badge=007", "badge"), ("x", "ttl=1w", "ttl"),
  ("x", "priority=high", "priority"), ("x", "level=loud", "interruption-level"),
  ("x", "collapse-id=", "collapse-id"),
  ("x", "token=123", "token-size"), ("", "", "aps-empty"),
  ("x", "title=" + String(repeating: "x", count: 5000), "trim-too-large"),
])
func `the check names what is wrong with a value`(
  body: String, query: String, code: String
) throws {
  #expect(refusal(of: try notification(body, to: "", query)) == code)
}

@Test(arguments: ["x", "é", "\u{1}", "\""])
func `a text of any length is shortened rather than refused`(character: String) throws {
  for count in [4000, 8191, 8192, 1_000_000] {
    let text = try notification(String(repeating: character, count: count))
    #expect(refusal(of: text) == nil)
  }
}

/// Returns the notification that a message in JSON makes.
private func sent(_ message: String) throws -> Text {
  var options = MessageOptions()
  var list = Text()
  try SenderMessage.read(Array(message.utf8).span, .gotify, into: &options, list: &list)
  var line = Text(capacity: 100_000)
  TextMessage.append(Span(), to: Span(), &options, in: &line)
  return line
}

@Test(arguments: ["x": "x", "é": "é", #"\n"#: #"\n"#, #"\ud83d\ude00"#: "😀"])
func `a text of any length in JSON is shortened rather than refused`(
  character: String, shown: String
) throws {
  for count in [1, 1365, 4096, 8192, 8193, 160_000] {
    let line = try sent(
      #"{"title": "t", "message": "\#(String(repeating: character, count: count))"}"#)
    #expect(refusal(of: line) == nil)
    #expect(line.string.contains(shown))
  }
}

@Test func `escapes of letters take no room of a text`() throws {
  let line = try sent(#"{"message": "\#(String(repeating: #"\u0411"#, count: 1900))"}"#)
  #expect(line.string.contains(String(repeating: "Б", count: 1900)))
}

@Test func `a long title and long tags in JSON are shortened, and a long link is left out`() throws
{
  let long = String(repeating: "😀", count: 300)
  let line = try sent(#"{"message":"x","title":"\#(long)","tags":["\#(long)"],"url":"\#(long)"}"#)
  #expect(refusal(of: line) == nil)
  let short = String(repeating: "😀", count: 204) + "…"
  #expect(line.string.contains(#""title":"\#(short)""#))
  #expect(line.string.contains(#""subtitle":"\#(short)""#))
  #expect(!line.string.contains("url"))
}

@Test func `a text of any length in a form is shortened rather than refused`() throws {
  var options = MessageOptions()
  let text = "title=t&message=" + String(repeating: "%C3%A9", count: 100_000)
  try options.read(Array(text.utf8).span, isForm: true)
  var line = Text(capacity: 100_000)
  TextMessage.append(Span(), to: Span(), &options, in: &line)
  #expect(refusal(of: line) == nil)
}

@Test func `a name with odd characters cannot leave its string`() throws {
  let text = try notification("x", to: #"a","payload":{}"#)
  #expect(text.string.hasPrefix(#"{"to":["a\",\"payload\":{}"],"#))
  #expect(refusal(of: text) == "list-name")
}

@Test(arguments: [
  (#"{"to":"family","payload":{"aps":{"alert":"x"}}}"#, true), (#" {"aps":{"alert":"x"}}"#, true),
  (#"{"temperature":30}"#, false), ("Tank low", false), ("{", false), ("", false),
])
func `a notification with another media type is noticed`(body: String, isNotification: Bool) {
  let bytes = Array(body.utf8)
  let found = TextMessage.isNotification(bytes.span)
  #expect(found == isNotification)
}
