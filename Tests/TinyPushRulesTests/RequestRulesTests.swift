import Testing
import TinyPush
import TinyPushRules

/// The notification that one rule makes of a request; nil: none.
private func notification(
  _ filter: String, _ keys: KeyValuePairs<String, String>, path: String, body: String
) throws -> String? {
  var rules = MessageRules(of: .paths)
  try rules.begin(Array(filter.utf8).span)
  for (name, value) in keys {
    let key = RuleKey(Array(name.utf8).span)
    try rules.set(#require(key), to: Array(value.utf8).span)
  }
  try rules.finish()
  let (path, body) = (Array(path.utf8), Array(body.utf8))
  var line = Text(capacity: 8192)
  let outcome = rules.append(address: path.span, payload: body.span, packetID: nil, to: &line)
  guard case .rule = outcome else {
    #expect(line.count == 0)
    return nil
  }
  return line.bytes.string
}

@Test(arguments: [
  ("{path}", "/hooks/north", "", "/hooks/north"), ("{path.1}", "/hooks/north", "", "hooks"),
  ("{path.2}", "/hooks/north", "", "north"), ("{path.3}", "/hooks/north", "", ""),
  ("{payload}", "/hooks", "Tank low", "Tank low"),
  ("{payload.a.1.b}", "/hooks", #"{"a": [0, {"b": "x"}]}"#, "x"),
  ("{payload.level:.1f}", "/hooks", #"{"level": 4.26}"#, "4.3"),
  ("{payload.a}", "/hooks", "no JSON", ""),
])
func `a text has parts of the path and of the body`(
  template: String, path: String, body: String, alert: String
) throws {
  #expect(
    try notification("/hooks/#", ["alert": template], path: path, body: body)
      == #"{"to":"default","trim":true,"payload":{"aps":{"alert":"\#(alert)"}}}"# + "\n")
}

@Test(arguments: [
  ("/github", "/github", true), ("/github", "/github/x", false), ("/github", "/", false),
  ("/+", "/github", true), ("/+", "/a/b", false), ("/hooks/#", "/hooks/a/b", true),
  ("/#", "/", true), ("/+/alarm", "/door/alarm", true), ("/$x", "/$x", true), ("/+", "/$x", true),
])
func `a rule is for its path`(filter: String, path: String, isMet: Bool) throws {
  let made = try notification(filter, ["alert": "x"], path: path, body: "{}")
  #expect((made != nil) == isMet)
}

@Test(arguments: [
  ("payload.state = down", #"{"state": "down"}"#, true),
  ("payload.state = down", #"{"state": "up"}"#, false),
  (
    "payload.alerts.*.status = firing", #"{"alerts": [{"status": "ok"}, {"status": "firing"}]}"#,
    true
  ),
  ("path.1 = github", "{}", true), ("path.2 = github", "{}", false),
  ("path contains git", "{}", true), ("payload.state != up", "", true),
])
func `a condition looks at the path and the body`(when: String, body: String, holds: Bool) throws {
  let made = try notification(
    "/github", ["when": when, "alert": "x"], path: "/github", body: body)
  #expect((made != nil) == holds)
}

@Test func `a condition sees a long body to its end`() throws {
  let text = String(repeating: "x", count: 1_000_000)
  for (when, body) in [
    ("payload.text contains needle", #"{"text": "\#(text) needle"}"#),
    ("payload contains needle", text + " needle"),
    (
      "payload.a = payload.b",
      #"{"a": "\#(text.prefix(400_000))", "b": "\#(text.prefix(400_000))"}"#
    ),
  ] {
    #expect(
      try notification("/a", ["when": when, "alert": "x"], path: "/a", body: body) != nil,
      "\(when)")
  }
}

@Test(arguments: [
  ("badge", "{payload.none}", ""), ("badge", "{payload.null}", ""), ("sound", "{payload.none}", ""),
  ("badge", "{payload.n}", #","badge":3"#), ("subtitle", "{payload.none}", ""),
  ("sound", "{payload.word}", #","sound":"null""#),
])
func `a key without a value is left out`(key: String, template: String, member: String) throws {
  let made = try notification(
    "/a", ["alert": "x", key: template], path: "/a",
    body: #"{"null": null, "n": 3, "word": "null"}"#)
  #expect(
    made == #"{"to":"default","trim":true,"payload":{"aps":{"alert":"x"\#(member)}}}"# + "\n")
}

@Test(arguments: [
  ("{payload.null}!", "!"), ("{payload.null:.1f}", ""), ("{payload.null:null=nothing}", "nothing"),
  ("{payload.null:x=y}", ""), ("{payload.word}", "null"), ("{payload.word:x=y}", "null"),
])
func `null stands for nothing in a text`(template: String, alert: String) throws {
  let made = try notification(
    "/a", ["alert": template], path: "/a", body: #"{"null": null, "word": "null"}"#)
  #expect(made?.contains(#""alert":"\#(alert)""#) == true, "\(made ?? "")")
}

@Test(arguments: [
  ("{payload.a} {payload.none}", "A"), (" {payload.a}{payload.none} ", "A"),
  ("{payload.none} ", nil), ("{payload.null}", nil),
])
func `a collapse ID has no space at its ends`(template: String, name: String?) throws {
  let made = try notification(
    "/a", ["alert": "x", "collapse-id": template], path: "/a", body: #"{"a": "A", "null": null}"#)
  let member = name.map { #""collapse-id":"\#($0)","# } ?? ""
  #expect(made == #"{"to":"default",\#(member)"trim":true,"payload":{"aps":{"alert":"x"}}}"# + "\n")
}

@Test func `a collapse ID with control characters is replaced by its hash`() throws {
  let made = try notification(
    "/a", ["alert": "x", "collapse-id": "{payload.a}"], path: "/a", body: #"{"a": "A\nB"}"#)
  #expect(made?.contains(#/"collapse-id":"[0-9a-f]{16}"/#) == true, "\(made ?? "")")
}

@Test(arguments: [
  "", "/", "github", "+", "#", "/a#", "/a/#/b", "/a/", "/+/", "/a%20b", "/a?token=x",
])
func `a rule for requests needs a path`(filter: String) {
  var rules = MessageRules(of: .paths)
  var found: RuleProblem?
  do throws(RuleProblem) {
    try rules.begin(Array(filter.utf8).span)
  } catch {
    found = error
  }
  #expect(found == .filter)
}

@Test(arguments: [
  ("alert", "{topic}", RuleProblem.expression), ("alert", "{path.0}", .expression),
  ("when", "topic = x", .condition), ("when", "payload.a = path.x", .condition),
  ("retained", "yes", .broker), ("on-change", "yes", .broker), ("silent-for", "60", .broker),
])
func `a rule for requests has no topic and no state of a broker`(
  name: String, value: String, problem: RuleProblem
) throws {
  var rules = MessageRules(of: .paths)
  try rules.begin(("/a" as StaticString).span)
  let named = RuleKey(Array(name.utf8).span)
  let key = try #require(named)
  var found: RuleProblem?
  do throws(RuleProblem) {
    try rules.set(key, to: Array(value.utf8).span)
  } catch {
    found = error
  }
  #expect(found == problem)
}

@Test func `the messages of a broker have no path`() throws {
  var rules = MessageRules(of: .topics)
  try rules.begin(("/a" as StaticString).span)
  var found: RuleProblem?
  do throws(RuleProblem) {
    try rules.set(.alert, to: ("{path}" as StaticString).span)
  } catch {
    found = error
  }
  #expect(found == .expression)
}
