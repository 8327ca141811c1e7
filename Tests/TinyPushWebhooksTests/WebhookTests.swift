import Testing
import TinyPush
import TinyPushWebhooks

/// Returns the notifications that a webhook makes.
private func notifications(
  _ body: String, to list: String = "ops", _ query: String = "", limit: Int = 4096
) throws -> Text {
  var options = MessageOptions()
  try options.read(Array(query.utf8).span)
  var lines = Text(capacity: 2_000_000)
  try Webhook.append(
    Array(body.utf8).span, to: Array(list.utf8).span, &options, limit: limit, in: &lines)
  return lines
}

/// An alert in a webhook of Alertmanager's version 4.
private func alert(_ status: String, _ labels: String, _ annotations: String) -> String {
  #"{"version":"4","status":"\#(status)","alerts":[{"status":"\#(status)","labels":{\#(labels)},"#
    + #""annotations":{\#(annotations)},"startsAt":"2026-11-01T00:00:00Z","#
    + #""generatorURL":"http://prometheus/graph","fingerprint":"c3f0a2b1"}]}"#
}

@Test func `a firing alert has a sound and its fingerprint`() throws {
  let lines = try notifications(
    alert("firing", #""alertname":"DiskFull","instance":"nas""#, #""summary":"95 % used""#))
  #expect(
    lines.string
      == #"{"to":["ops"],"collapse-id":"c3f0a2b1","trim":true,"payload":{"aps":{"alert":{"title":"DiskFull","subtitle":"nas","body":"95 % used"},"sound":"default"},"url":"http://prometheus/graph"}}"#
      + "\n")
  #expect(refusal(of: lines) == nil)
}

@Test func `a resolved alert replaces the firing one without a sound`() throws {
  let lines = try notifications(
    alert(
      "resolved", #""alertname":"DiskFull","severity":"critical""#, #""summary":"95 % used""#),
    "sound=a.caf&level=critical&again-after=4h")
  #expect(
    lines.string
      == #"{"to":["ops"],"collapse-id":"c3f0a2b1","trim":true,"payload":{"aps":{"alert":{"title":"Resolved: DiskFull","body":"95 % used"},"interruption-level":"passive"},"url":"http://prometheus/graph"}}"#
      + "\n")
  #expect(refusal(of: lines) == nil)
}

@Test(arguments: [
  (#""summary":"S","description":"D""#, #""body":"S\nD""#), (#""description":"D""#, #""body":"D""#),
  (#""message":"M""#, #""body":"M""#), (#""summary":"S","message":"M""#, #""body":"S""#),
  (#""summary":"a \"b\" \\ \u00e9\n""#, #""body":"a \"b\" \\ \u00e9\n""#),
  ("", #""body":"job = node, severity = critical""#),
])
func `the body comes from the annotations or else the labels`(
  annotations: String, body: String
) throws {
  let labels = #""alertname":"A","__name__":"up","job":"node","severity":"critical""#
  let lines = try notifications(alert("firing", labels, annotations))
  #expect(lines.string.contains(body))
  #expect(refusal(of: lines) == nil)
}

@Test(arguments: [
  ("", #""sound":"default","interruption-level":"time-sensitive""#),
  ("sound=a.caf", #""sound":"a.caf","interruption-level":"time-sensitive""#),
  ("level=active&ttl=60&priority=5", #""priority":5,"ttl":60,"#),
  ("level=active", #""sound":"default","interruption-level":"active""#),
])
func `parameters decide sound, level and delivery`(query: String, part: String) throws {
  let lines = try notifications(
    alert("firing", #""alertname":"A","severity":"critical""#, ""), query)
  #expect(lines.string.contains(part))
  #expect(refusal(of: lines) == nil)
}

@Test(arguments: [
  (#""panelURL":"http://panel","dashboardURL":"http://dashboard""#, "http://panel"),
  (#""panelURL":"","dashboardURL":"http://dashboard""#, "http://dashboard"),
  (#""dashboardURL":null"#, "http://rule"),
])
func `the link is that of Grafana's panel`(links: String, link: String) throws {
  let lines = try notifications(
    #"{"alerts":[{"status":"firing","labels":{"alertname":"A"},\#(links),"generatorURL":"http://rule"}]}"#
  )
  #expect(lines.string.contains(#""url":"\#(link)""#))
  #expect(refusal(of: lines) == nil)
}

@Test func `what Alertmanager 0.25 sends makes notifications`() throws {
  let lines = try notifications(
    #"""
    {"receiver":"phones","status":"firing","alerts":[{"status":"firing","labels":{"alertname":"DiskFull","instance":"box:9100","job":"node"},"annotations":{},"startsAt":"2026-11-23T11:09:01.633085259Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":"","fingerprint":"d648df9a560fa0ad"}],"groupLabels":{},"commonLabels":{"alertname":"DiskFull","instance":"box:9100","job":"node"},"commonAnnotations":{},"externalURL":"http://vm:19093","version":"4","groupKey":"{}:{}","truncatedAlerts":1}

    """#)
  #expect(
    lines.string == """
      {"to":["ops"],"collapse-id":"d648df9a560fa0ad","trim":true,"payload":{"aps":{"alert":{"title":"DiskFull","subtitle":"box:9100","body":"job = node"},"sound":"default"}}}
      {"to":["ops"],"collapse-id":"{}:{}","trim":true,"payload":{"aps":{"alert":{"title":"More alerts","body":"Not shown here: 1"},"sound":"default"}}}

      """)
  #expect(refusal(of: lines) == nil)
}

@Test func `each alert makes a notification`() throws {
  let lines = try notifications(#"{"alerts":[{},{"status":3,"labels":[],"fingerprint":null}]}"#)
  #expect(
    lines.string
      == String(
        repeating:
          #"{"to":["ops"],"trim":true,"payload":{"aps":{"alert":{"title":"Alert","body":""},"sound":"default"}}}"#
          + "\n", count: 2))
}

@Test(arguments: ["a b", #"{}:{alertname=\"A\"}"#, "é"])
func `a fingerprint that is a collapse-id stays`(fingerprint: String) throws {
  let lines = try notifications(
    #"{"alerts":[{"labels":{"alertname":"A"},"fingerprint":"\#(fingerprint)"}]}"#)
  #expect(refusal(of: lines) == nil)
  #expect(lines.string.contains(#""collapse-id":"\#(fingerprint)""#))
}

@Test(arguments: [String(repeating: "f", count: 65), "a\u{7F}", #"a\u0001b"#])
func `a fingerprint that is no collapse-id is replaced by its hash`(fingerprint: String) throws {
  let lines = try notifications(
    #"{"alerts":[{"labels":{"alertname":"A"},"fingerprint":"\#(fingerprint)"}]}"#)
  #expect(refusal(of: lines) == nil)
  #expect(lines.string.contains(#/"collapse-id":"[0-9a-f]{16}"/#))
}

/// Long texts of characters, each of which must be kept whole.
private let long = ["x", "é", "😀", #"\""#, #"\u00e9"#, #"\ud83d\ude00"#, "e\u{301}", "👍🏽"].map {
  String(repeating: $0, count: 100_000 / $0.utf8.count)
}

@Test(arguments: long, [256, 2048, 4096])
func `texts of any length are shortened rather than refused`(text: String, limit: Int) throws {
  let part = String(text.prefix(12_000))
  let lines = try notifications(
    #"""
    {"alerts":[
      {"labels":{"alertname":"\#(part)","instance":"\#(part)"},"generatorURL":"http://\#(part)",
        "annotations":{"summary":"\#(part)","description":"\#(part)"}},
      {"labels":{"alertname":"A","instance":"i","\#(part)":"\#(part)","b":"c"}}]}
    """#, limit: limit)
  #expect(refusal(of: lines, limit: limit) == nil)
  #expect(lines.count < 16 * limit)
  #expect(lines.string.contains("…"))
  #expect(!lines.string.contains("http:"))
}

@Test(arguments: [("0", 1), ("12", 2), ("1234567890", 1), ("-3", 1), (#""5""#, 1), ("null", 1)])
func `alerts that the sender left out are counted`(number: String, count: Int) throws {
  let lines = try notifications(
    #"{"alerts":[{}],"groupKey":"{}:{a=\"b\"}","truncatedAlerts":\#(number)}"#)
  #expect(lines.string.split(separator: "\n").count == count)
  #expect(refusal(of: lines) == nil)
  if count == 2 {
    #expect(
      lines.string.hasSuffix(
        #""trim":true,"payload":{"aps":{"alert":{"title":"More alerts","body":"Not shown here: 12"},"sound":"default"}}}"#
          + "\n"))
  }
}

@Test(arguments: ["[]", "{}", #"{"alerts":{}}"#, #"{"alerts":[]}"#, #"{"alerts":[3]}"#])
func `other JSON is refused`(body: String) throws {
  #expect(throws: Webhook.NoAlerts.self) { _ = try notifications(body) }
}
