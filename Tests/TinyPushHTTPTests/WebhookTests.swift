import Testing
import TinyPush
import TinyPushHTTP

/// Returns the notifications that a webhook makes.
private func notifications(
  _ body: String, _ format: WebhookFormat = .alertmanager, to list: String = "ops",
  _ query: String = ""
) throws -> Text {
  var options = MessageOptions()
  try options.read(Array(query.utf8).span)
  var lines = Text(capacity: 2_000_000)
  _ = try Webhook.append(
    Array(body.utf8).span, format, to: Array(list.utf8).span, options, in: &lines)
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
    .alertmanager, "sound=a.caf&level=critical")
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
  ("level=active&ttl=60&priority=5", #""ttl":60,"priority":5,"#),
  ("level=active", #""sound":"default","interruption-level":"active""#),
])
func `parameters decide sound, level and delivery`(query: String, part: String) throws {
  let lines = try notifications(
    alert("firing", #""alertname":"A","severity":"critical""#, ""), .alertmanager, query)
  #expect(lines.string.contains(part))
  #expect(refusal(of: lines) == nil)
}

@Test(arguments: [
  (WebhookFormat.grafana, "http://panel"), (.alertmanager, "http://rule"),
])
func `the link is that of Grafana's panel`(format: WebhookFormat, link: String) throws {
  let lines = try notifications(
    #"{"alerts":[{"status":"firing","labels":{"alertname":"A"},"panelURL":"http://panel","dashboardURL":"http://dashboard","generatorURL":"http://rule"}]}"#,
    format)
  #expect(lines.string.contains(#""url":"\#(link)""#))
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

@Test func `a long fingerprint is replaced by its hash`() throws {
  let lines = try notifications(
    #"{"alerts":[{"labels":{"alertname":"A"},"fingerprint":"\#(String(repeating: "f", count: 65))"}]}"#
  )
  #expect(refusal(of: lines) == nil)
  #expect(lines.string.contains(#""collapse-id":""#))
}

@Test func `a long text is trimmed rather than refused`() throws {
  let lines = try notifications(
    alert(
      "firing", #""alertname":"A""#, #""description":"\#(String(repeating: "x", count: 9000))""#))
  #expect(refusal(of: lines) == nil)
}

@Test(arguments: [
  ("", "json"), ("{", "json"), (#"{"alerts":[{}]} x"#, "json"), ("[]", "no-alerts"),
  ("{}", "no-alerts"), (#"{"alerts":{}}"#, "no-alerts"), (#"{"alerts":[]}"#, "no-alerts"),
  (#"{"alerts":[3]}"#, "no-alerts"),
  (#"{"alerts":[\#(String(repeating: "{},", count: 1000)){}]}"#, "too-many-alerts"),
])
func `other JSON is refused`(body: String, code: String) throws {
  do {
    _ = try notifications(body)
    Issue.record("accepted")
  } catch let problem as Webhook.Problem {
    let text = problem.code.description
    #expect((text.isEmpty ? "json" : text) == code)
  }
}
