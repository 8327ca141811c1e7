import Testing

@testable import Simulation
@testable import TinyPush

private let token = String(repeating: "0123456789abcdef", count: 4)
private let rules = Rules(.http2, payloadLimit: nil)
private let uuid = "123e4567-e89b-42d3-a456-426614174000"

/// Returns a notification with a token, these members and this value of `aps`.
private func with(_ members: String, aps: String = #"{"alert":"x"}"#) -> String {
  #"{"token":"\#(token)",\#(members)"payload":{"aps":\#(aps)}}"#
}
private func aps(_ value: String) -> String { with("", aps: value) }
/// Returns a live activity with these members in `aps` besides the required ones.
private func activity(_ members: String, _ event: String = "update") -> String {
  aps(#"{"timestamp":1700000000,"event":"\#(event)","content-state":{}\#(members)}"#)
}

// MARK: - Messages

private let topicWords =
  "topic: topic must be the bundle ID of the app: 1 to 255 visible ASCII characters, without spaces and escapes"
private let idWords = "id: id must be a UUID, such as 123e4567-e89b-42d3-a456-426614174000"
private let typeWords =
  "push-type: unknown push type: use alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk, widgets or controls"
private let collapseWords =
  "collapse-id-characters: collapse-id must have no control characters, and no space at its start or end"
private let silentWords =
  "priority-silent: with only content-available, priority must be 5, or 1 over HTTP/2: the service refuses 10 when nothing is shown or heard"
private let alertWords =
  "push-type-alert: with only content-available nothing is shown or heard: push-type must be background, or left out"
private let backgroundWords =
  "push-type-background: a background push has content-available in aps, and no alert, badge or sound: correct aps, or leave push-type out"
private let activityWords =
  "live-activity: a live activity needs timestamp, event and content-state in aps (to end it, content-state may be missing)"
private let startWords =
  "live-activity-start: to start a live activity, aps needs attributes-type and attributes as well"
private let soundWords =
  #"sound: sound must be a string, "default" or the name of a file in the app, or for a critical alert {"critical": 1, "name": "default", "volume": 1}"#
private let levelWords =
  #"interruption-level: interruption-level must be "passive", "active", "time-sensitive" or "critical""#
private let scoreWords =
  "relevance-score: relevance-score must be a number from 0 to 1, without quotes (for a live activity, any number)"
private let apsWords = #"missing-aps: the payload has no aps: add "aps": {"alert": "..."} to it"#
private let emptyWords =
  "aps-empty: aps is empty: give it an alert, a badge, a sound or content-available"

private func suffixWords(_ type: String) -> String {
  "topic-suffix: a topic with this ending is for push-type \(type): set this push type, or give only the bundle ID"
}
private func endingWords(_ type: String) -> String {
  "topic-ending: a topic with this ending is usually for push-type \(type): set this push type, unless your bundle ID has this ending"
}
private func stringWords(_ key: String) -> String {
  "not-string: \(key) must be a string: put it in double quotes"
}

// MARK: - Findings with HTTP/2

private let ofFields: [Remarked] = [
  Remarked(with(#""priority":1,"#)),
  Remarked(
    with(#""priority":▸2,"#),
    "priority: priority must be 10 (at once), 5 (when it saves the device's power) or 1 (without waking the device)"
  ),
  Remarked(with(#""topic":"org.example.tank-2","#)),
  Remarked(with(#""topic":"\#(String(repeating: "x", count: 255))","#)),
  Remarked(with(#""topic":▸"","#), topicWords),
  Remarked(with(#""topic":▸"\#(String(repeating: "x", count: 256))","#), topicWords),
  Remarked(with(#""topic":▸"org example","#), topicWords),
  Remarked(with(#""topic":▸"org.exämple","#), topicWords),
  Remarked(with(#""topic":▸"org\u002eexample","#), topicWords),
  Remarked(with("\"topic\":▸\"org.example\u{7F}\","), topicWords),
  Remarked(with(#""topic":▸1,"#), stringWords("topic")),
  Remarked(with(#""id":"\#(uuid)","#)),
  Remarked(with(#""id":"\#(uuid.uppercased())","#)),
  Remarked(with(#""id":▸"","#), idWords),
  Remarked(with(#""id":▸"\#(uuid.dropLast())","#), idWords),
  Remarked(with(#""id":▸"\#(uuid)0","#), idWords),
  Remarked(with(#""id":▸"\#(uuid.replacing("-", with: "0"))","#), idWords),
  Remarked(with(#""id":▸"\#(uuid.dropLast())g","#), idWords),
  Remarked(with(#""id":▸"123e4567e-89b-42d3-a456-426614174000","#), idWords),
  Remarked(with(#""push-type":▸"alrt","#), "push-type: unknown push type; did you mean alert?"),
  Remarked(
    with(#""push-type":▸"live-activity","#),
    "push-type: unknown push type; did you mean liveactivity?"),
  Remarked(with(#""push-type":▸"telephone","#), typeWords),
  Remarked(with(#""push-type":▸"","#), typeWords),
  Remarked(with(#""push-type":▸null,"#), stringWords("push-type")),
  Remarked(with(#""collapse-id":"tank of the cellar ü","#)),
  Remarked(with(#""collapse-id":▸"a\nb","#), collapseWords),
  Remarked(with(#""collapse-id":▸"a\u007f","#), collapseWords),
  Remarked(with(#""collapse-id":▸" a","#), collapseWords),
  Remarked(with(#""collapse-id":▸"a ","#), collapseWords),
  Remarked(with(#""collapse-id":▸"\u0020a","#), collapseWords),
  Remarked(with(#""collapse-id":▸"a\u0020","#), collapseWords),
  Remarked(with(#""collapse-id":"\"a \\ b\"","#)),
  Remarked(with(#""collapse-id":"\#(String(repeating: #"\u044f"#, count: 32))","#)),
  Remarked(
    with(#""collapse-id":▸"\#(String(repeating: #"\u044f"#, count: 33))","#),
    "collapse-id: collapse-id must have 1 to 64 bytes; this one has 66"),
]

private let ofContradictions: [Remarked] = [
  // Background
  Remarked(with(#""push-type":"background","#, aps: #"{"content-available":1}"#)),
  Remarked(with(#""push-type":"background","priority":5,"#, aps: #"{"content-available":1}"#)),
  Remarked(with(#""push-type":"background","priority":1,"#, aps: #"{"content-available":1}"#)),
  Remarked(
    with(#""push-type":"background","priority":▸10,"#, aps: #"{"content-available":1}"#),
    silentWords),
  Remarked(with(#""priority":▸10,"#, aps: #"{"content-available":1}"#), silentWords),
  Remarked(with(#""push-type":▸"background","#), backgroundWords),
  Remarked(
    with(#""push-type":▸"background","#, aps: #"{"content-available":1,"badge":1}"#),
    backgroundWords),
  Remarked(
    with(#""push-type":▸"background","#, aps: #"{"content-available":1,"sound":"default"}"#),
    backgroundWords),
  Remarked(with(#""push-type":▸"background","#, aps: #"{"category":"x"}"#), backgroundWords),
  Remarked(
    #"{"token":"\#(token)","payload":{"aps":{"alert":"x"}},"push-type":▸"background"}"#,
    backgroundWords),
  Remarked(
    with(
      #""push-type":▸"background","localized":{"en":"x"},"#, aps: #"{"content-available":1}"#),
    backgroundWords),
  Remarked(with(#""localized":{"en":"x"},"priority":10,"#, aps: #"{"content-available":1}"#)),
  // Alert
  Remarked(with(#""push-type":"alert","#)),
  Remarked(with(#""push-type":"alert","#, aps: #"{"badge":0,"content-available":1}"#)),
  Remarked(with(#""push-type":▸"alert","#, aps: #"{"content-available":1}"#), alertWords),
  Remarked(
    with(#""push-type":▸"alert","priority":10,"#, aps: #"{"content-available":1,"thread-id":"x"}"#),
    alertWords),
  // Live activities
  Remarked(activity("")),
  Remarked(
    activity(#","alert":{"title":"x","body":"x","sound":"default"},"stale-date":1800000000"#)),
  Remarked(
    aps(
      #"{"timestamp":1,"event":"update","content-state":{},"alert":{"title":{"loc-key":"A"},"body":{"loc-key":"B","loc-args":["C"]}}}"#
    )),
  Remarked(aps(#"{"alert":{"title":▸{"loc-key":"A"}}}"#), stringWords("title")),
  Remarked(aps(#"{"alert":{"title":"x","body":▸{"loc-key":"A"}}}"#), stringWords("body")),
  Remarked(aps(#"{"alert":{"title":▸["A"]}}"#), stringWords("title")),
  Remarked(activity(#","relevance-score":100"#)),
  Remarked(
    aps(#"▸{"event":"end","timestamp":1,"dismissal-date":2}"#),
    "shows-nothing: nothing is shown or heard: give aps an alert with a text, a badge or a sound, or only content-available for a background push"
  ),
  Remarked(with(#""push-type":"liveactivity","#, aps: #"{"event":"end","timestamp":1}"#)),
  Remarked(
    #"{"token":"\#(token)","payload":▸{"aps":{"event":"update","content-state":{}}}}"#,
    activityWords),
  Remarked(with(#""push-type":▸"liveactivity","#), activityWords),
  Remarked(
    with(#""push-type":▸"liveactivity","#, aps: #"{"timestamp":1,"content-state":{}}"#),
    activityWords),
  Remarked(
    with(#""push-type":▸"liveactivity","#, aps: #"{"timestamp":1,"event":"update"}"#),
    activityWords),
  Remarked(
    with(
      #""push-type":▸"liveactivity","#, aps: #"{"timestamp":1,"event":"start","content-state":{}}"#),
    startWords),
  Remarked(activity(#","attributes-type":"Tank","attributes":{"x":1}"#, "start")),
  // Push types whose payload has no fixed form
  Remarked(#"{"token":"\#(token)","push-type":"mdm","payload":{"mdm":"x"}}"#),
  Remarked(
    #"{"token":"\#(token)","payload":{"container-identifier":"x"},"push-type":"fileprovider"}"#),
  Remarked(with(#""push-type":"pushtotalk","#, aps: "{}")),
  Remarked(with(#""push-type":"voip","priority":10,"#, aps: #"{"content-available":1}"#)),
  Remarked(with(#""push-type":"location","priority":10,"#, aps: #"{"content-available":1}"#)),
  Remarked(with(#""push-type":"widgets","#, aps: #"{"content-changed":true}"#)),
  Remarked(#"{"token":"\#(token)","payload":▸{"mdm":"x"}}"#, apsWords),
  Remarked(#"{"token":"\#(token)","push-type":"alert","payload":▸{"x":1}}"#, apsWords),
  Remarked(
    #"{"token":"\#(token)","push-type":"voip","localized":{"en":"x"},"payload":▸{"x":1}}"#, apsWords
  ),
  Remarked(aps("▸{}"), emptyWords),
  Remarked(with(#""push-type":"alert","#, aps: "▸{}"), emptyWords),
  // Topics
  Remarked(with(#""push-type":"voip","topic":"a.b","#)),
  Remarked(with(#""push-type":"voip","topic":"a.b.voip","#)),
  Remarked(with(#""push-type":"voip","topic":▸"a.b.voip-ptt","#), suffixWords("pushtotalk")),
  Remarked(
    with(#""topic":▸"a.b.push-type.liveactivity","#), suffixWords("liveactivity")),
  Remarked(
    with(#""topic":▸"a.b.pushkit.fileprovider","push-type":"alert","#),
    suffixWords("fileprovider")),
  Remarked(with(#""topic":▸"a.b.location-query","#), suffixWords("location")),
  Remarked(with(#""topic":▸"a.b.push-type.widgets","#), suffixWords("widgets")),
  Remarked(with(#""topic":▸"a.b.push-type.controls","#), suffixWords("controls")),
  Remarked(with(#""topic":▸"a.b.voip","#), endingWords("voip")),
  Remarked(
    with(#""push-type":"voip","topic":▸"a.b.complication","#), endingWords("complication")),
  Remarked(with(#""topic":".voip","#)),
]

private let ofKeys: [Remarked] = {
  var all: [Remarked] = [
    Remarked(
      aps(
        #"{"alert":{"title":"x","subtitle":"x","subtitle-loc-key":"x","subtitle-loc-args":["x"]}}"#)
    ),
    Remarked(
      aps(#"{"alert":{"title":"x","subtitle-loc-args":["x",▸1]}}"#),
      "not-strings: subtitle-loc-args must be an array of strings: put numbers in quotes"),
    // Critical alerts
    Remarked(aps(#"{"sound":{"critical":1,"name":"default","volume":0.5}}"#)),
    Remarked(aps(#"{"sound":{"critical":0,"mine":2}}"#)),
    Remarked(aps(#"{"sound":▸{}}"#), soundWords),
    Remarked(aps(#"{"sound":▸1}"#), soundWords),
    Remarked(aps(#"{"sound":▸["x"]}"#), soundWords),
    Remarked(aps(#"{"sound":{"critical":▸true}}"#), "critical: critical must be 1 or 0"),
    Remarked(
      aps(#"{"sound":{"critical":▸2,"name":▸1}}"#), "critical: critical must be 1 or 0",
      stringWords("name")),
    Remarked(
      aps(#"{"sound":{"critical":1,"volume":▸1.5}}"#),
      "volume: volume must be a number from 0 to 1, without quotes"),
    Remarked(
      aps(#"{"sound":{"critical":1,"volume":▸"1"}}"#),
      "volume: volume must be a number from 0 to 1, without quotes"),
    Remarked(
      aps(#"{"sound":{"critical":1,▸"critical":1}}"#),
      "duplicate-key: duplicate key: remove one"),
    Remarked(
      aps(#"{"sound":{"critical":1,▸"volum":1}}"#),
      "strange-key: the service does not know this key; did you mean volume?"),
    // Misspelt keys
    Remarked(
      aps(#"{"alert":"x",▸"thread_id":"x"}"#),
      "strange-key: the service does not know this key; did you mean thread-id?"),
    Remarked(
      aps(#"{"alert":"x",▸"mutable_content":1}"#),
      "strange-key: the service does not know this key; did you mean mutable-content?"),
    Remarked(
      aps(#"{"alert":"x","thread-id":"a",▸"thread-id":"b"}"#),
      "duplicate-key: duplicate key: remove one"),
  ]
  func row(_ key: String, right: [String], wrong: [String], _ words: String) {
    for value in right {
      all.append(Remarked(aps(#"{"alert":"x","\#(key)":\#(value)}"#)))
    }
    for value in wrong {
      all.append(Remarked(aps(#"{"alert":"x","\#(key)":▸\#(value)}"#), words))
    }
  }
  for key in ["thread-id", "target-content-id", "filter-criteria", "attributes-type"] {
    row(key, right: [#""x""#, #""""#], wrong: ["1", "null", "{}"], stringWords(key))
  }
  for key in ["attributes", "content-state"] {
    row(
      key, right: ["{}", #"{"x":1}"#], wrong: ["1", #""{}""#, "[]"],
      "not-object: \(key) must be an object")
  }
  for key in ["timestamp", "stale-date", "dismissal-date"] {
    row(
      key, right: ["1700000000", "1700000000.25", "1.7e9"], wrong: [#""1700000000""#, "null"],
      "date: \(key) must be UNIX seconds, without quotes")
    row(
      key, right: [], wrong: ["1700000000000"],
      "date: \(key) must be UNIX seconds, without quotes; these look like milliseconds: divide by 1000"
    )
  }
  row(
    "mutable-content", right: ["1"], wrong: ["0", "true", #""1""#],
    "mutable-content: mutable-content must be 1, or left out")
  row(
    "interruption-level",
    right: ["passive", "active", "time-sensitive", "critical"].map { "\"\($0)\"" },
    wrong: [#""time-senstive""#, #""""#, "1"], levelWords)
  row(
    "relevance-score",
    right: ["0", "1", "0.5", "1.0", "1.000", "-0", "0.0e9", "10e-1", "5E-1", "0.01e2", "1e0"],
    wrong: [
      "1.1", "1.0001", "2", "-0.5", "10", "0.02e2", "1e1", "11e-1", "1e99999999", #""1""#, "true",
    ],
    scoreWords)
  row(
    "event", right: [#""start""#, #""update""#, #""end""#], wrong: [#""stop""#, "1"],
    #"event: event must be "start", "update" or "end""#)
  return all
}()

let ofHTTP2 = ofFields + ofContradictions + ofKeys

@Test(arguments: ofHTTP2)
func `with HTTP/2 each finding has its code, words, place and advice`(_ case: Remarked) {
  #expect(remarks(`case`.text, rules) == `case`.lines)
}

@Test(arguments: ofHTTP2.filter { !$0.text.contains("priority") && !$0.text.contains("collapse") })
func `the binary protocol accepts the fields and keys of HTTP/2 unchecked`(_ case: Remarked) {
  // Findings that do not depend on the protocol.
  let known = [
    "not-string: topic", "not-string: push-type", "not-string: sound", "not-string: title",
    "not-string: body", "missing-aps", "aps-empty", "duplicate-key", "strange-key",
    "sound-name", "shows-nothing", "arguments-without-key",
  ]
  for line in remarks(`case`.text, Rules()) {
    let words = line.drop { $0 != " " }.dropFirst()
    #expect(known.contains { words.hasPrefix($0) }, "\(line)")
  }
}

// MARK: - Fields

private func notification(_ text: String, _ rules: Rules = rules) -> TinyPush.Notification? {
  let bytes = text.bytes
  var reader = NotificationReader()
  var findings = Findings()
  guard
    case .notification(let notification) = reader.next(
      in: bytes.span, isWhole: true, rules, &findings)
  else { return nil }
  return notification
}

@Test func `the reader finds topic, id, collapse-id and push-type`() throws {
  let text = with(
    #""topic":"org.example.tank","id":"\#(uuid)","push-type":"voip","collapse-id":"t\u0061nk","#)
  let bytes = text.bytes
  for rules in [rules, Rules()] {
    let found = try #require(notification(text, rules))
    #expect(String(decoding: bytes[found.topic], as: UTF8.self) == "org.example.tank")
    #expect(String(decoding: bytes[found.identifier], as: UTF8.self) == uuid)
    #expect(String(decoding: bytes[found.collapseID], as: UTF8.self) == #"t\u0061nk"#)
    #expect(found.pushType == .voip)
  }
  let plain = try #require(notification(with("")))
  #expect(plain.topic.isEmpty && plain.identifier.isEmpty && plain.collapseID.isEmpty)
}

@Test(
  arguments: [
    (with(""), .alert, 10), (aps(#"{"badge":1}"#), .alert, 10),
    (aps(#"{"content-available":1,"alert":"x"}"#), .alert, 10),
    (aps(#"{"content-available":1}"#), .background, 5),
    (#"{"aps":{"content-available":1}}"#, .background, 5),
    (with(#""localized":{"en":"x"},"#, aps: #"{"content-available":1}"#), .alert, 10),
    (with(#""priority":1,"#, aps: #"{"content-available":1}"#), .background, 1),
    (activity(""), .liveactivity, 10), (activity(#","alert":"x""#), .liveactivity, 10),
    (with(#""push-type":"widgets","#, aps: #"{"content-available":1}"#), .widgets, 10),
    (with(#""push-type":"controls","priority":5,"#), .controls, 5),
  ] as [(String, PushType, UInt8)])
func `the push type is given or follows from the payload`(
  text: String, type: PushType, priority: UInt8
) throws {
  let found = try #require(notification(text))
  #expect(found.pushType == type)
  #expect(found.priority == priority)
}

@Test func `each push type is found by its name`() {
  for type in PushType.allCases {
    let name = "\(type.name)".bytes
    #expect(PushType(name: name.span) == type)
    #expect(PushType.nearest(to: ("\(type.name)".dropLast() + "x").bytes.span) == type)
    let found = notification(
      with(#""push-type":"\#(type.name)","#, aps: #"{"content-available":1}"#), Rules())
    #expect(found?.pushType == type)
  }
}

// MARK: - Topics

@Test func `a topic gets the ending that its push type requires, unless it has that ending`() throws
{
  let endings: [(PushType, String)] = [
    (.alert, ""), (.background, ""), (.mdm, ""), (.location, ".location-query"), (.voip, ".voip"),
    (.complication, ".complication"), (.fileprovider, ".pushkit.fileprovider"),
    (.liveactivity, ".push-type.liveactivity"), (.pushtotalk, ".voip-ptt"),
    (.widgets, ".push-type.widgets"), (.controls, ".push-type.controls"),
  ]
  #expect(endings.count == PushType.allCases.count)
  for (type, ending) in endings {
    for topic in ["org.example.tank", "org.example.tank" + ending] {
      let sent = text { type.appendTopic(topic.bytes.span, to: &$0) }
      #expect(sent == "org.example.tank" + ending)
    }
  }
  // The ending alone is not a topic with that ending.
  #expect(text { PushType.voip.appendTopic(".voip".bytes.span, to: &$0) } == ".voip.voip")
}

// MARK: - Sizes

@Test(arguments: [
  (Rules(), PushType.alert, 2048), (Rules(), .voip, 2048), (Rules(payloadLimit: 4096), .voip, 4096),
  (rules, .alert, 4096), (rules, .background, 4096), (rules, .voip, 5120),
  (Rules(.http2, payloadLimit: 5000), .alert, 4096),
  (Rules(.http2, payloadLimit: 5000), .voip, 5000),
  (Rules(.http2, payloadLimit: 512), .alert, 512), (Rules(.http2, payloadLimit: 512), .voip, 512),
])
func `push type and configuration limit the size of a payload`(
  rules: Rules, type: PushType, limit: Int
) throws {
  #expect(rules.payloadLimit(for: type) == limit)
  guard type != .background else { return }
  for bytes in [limit, limit + 1] {
    // {"aps":{"alert":"…"}}
    let alert = String(repeating: "x", count: bytes - 20)
    let members = #""push-type":"\#(type.name)","#
    let found = notification(with(members, aps: #"{"alert":"\#(alert)"}"#), rules)
    #expect((found != nil) == (bytes == limit))
    #expect(found == nil || found!.payload.bytes == limit)
    let text = with(members + #""trim":true,"#, aps: #"{"alert":"\#(alert)"}"#).bytes
    let trimmed = try #require(notification(String(decoding: text, as: UTF8.self), rules))
    let rendition = Rendition(trimmed, for: nil, in: text.span, rules)
    #expect(rendition.bytes == limit)
  }
}
