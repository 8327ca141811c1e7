import Testing

@testable import TinyPush

private func text(of draft: borrowing Draft) -> String {
  text(capacity: 200_000) { draft.append(to: &$0) }
}

private func span(_ text: StaticString) -> Span<UInt8> { text.span }

@Test(arguments: [
  (["alert": "Hi \"you\""], #""payload":{"aps":{"alert":"Hi \"you\""}}"#),
  (
    ["title": "T", "sound": "a.caf"], #""payload":{"aps":{"alert":{"title":"T"},"sound":"a.caf"}}"#
  ),
  (
    ["alert": "x", "subtitle": "S", "level": "active", "thread": "t", "category": "c"],
    #"{"subtitle":"S","body":"x"},"category":"c","thread-id":"t","interruption-level":"active"}"#
  ),
  (
    ["alert": "x", "url": "http://u", "icon": "i", "image": "m", "group": "g", "copy": "c"],
    #"{"aps":{"alert":"x","thread-id":"g"},"url":"http://u","icon":"i","image":"m","group":"g","copy":"c"}"#
  ),
  (
    ["alert": "x", "thread": "t", "group": "g"],
    #"{"aps":{"alert":"x","thread-id":"t"},"group":"g"}"#
  ),
  (["badge": "0", "content-available": "1"], #"{"aps":{"badge":0,"content-available":1}}"#),
  // The check refuses these with their reasons.
  (["badge": "007"], #""badge":"007""#), (["badge": ""], #""badge":"""#),
  (["priority": "high"], #""priority":"high""#), (["ttl": "1w"], #""ttl":"1w""#),
  (["urgent": "yes"], #""urgent":"yes""#),
  (["urgent": "true", "trim": "false"], #""urgent":true,"trim":false"#),
  (
    ["again-after": "90", "ttl": "2d", "not-before": "1700000000"],
    #""ttl":172800,"not-before":1700000000,"again-after":90"#
  ),
  (
    ["collapse-id": "c", "id": "i", "topic": "t", "push-type": "alert"],
    #"{"to":"default","id":"i","topic":"t","push-type":"alert","collapse-id":"c","payload""#
  ),
])
func `a draft writes each value in its form`(values: [String: String], part: String) throws {
  var draft = Draft()
  for (name, value) in values {
    let key = Draft.Key(Array(name.utf8).span)
    try draft.set(#require(key), to: Array(value.utf8).span)
  }
  #expect(text(of: draft).contains(part))
}

@Test func `a draft has lists, tokens, languages and data`() {
  var draft = Draft()
  let isEmpty = draft.isEmpty
  #expect(isEmpty)
  draft.add(list: span("family"))
  draft.add(list: span("a\"b"))
  draft.add(token: span("<0A0b0c0d>"))
  draft.set(.title, to: span("T"))
  draft.add(language: span("de"), alert: span("Leck"))
  draft.add(data: span("url"), text: span("http://x"))
  draft.add(data: span("n"), json: span("[1]"))
  let whole =
    #"{"to":["family","a\"b"],"tokens":["0a0b0c0d"],"localized":{"de":{"title":"T","body":"Leck"}},"payload":{"aps":{},"url":"http://x","n":[1]}}"#
  #expect(text(of: draft) == whole + "\n")
  var other = Draft()
  other.set(.alert, to: span("gone"))
  other.copy(draft)
  #expect(text(of: other) == whole + "\n")
  other.clear()
  let isCleared = other.isEmpty
  #expect(isCleared)
}

@Test func `a draft keeps what a payload can hold of an alert, and says when more does not fit`() {
  var draft = Draft()
  draft.set(.alert, to: Array(String(repeating: "ö", count: 50_000).utf8).span)
  let text = text(of: draft)
  #expect(text.contains("\"" + String(repeating: "ö", count: 4096) + "\""))
  draft.set(.title, to: Array(String(repeating: "x", count: 70_000).utf8).span)
  let isCut = draft.isCut
  #expect(isCut)
}
