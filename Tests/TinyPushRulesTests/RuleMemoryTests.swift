import Testing
import TinyPush
import TinyPushRules

/// Rules, and the alerts that they make of messages.
private final class Ringing {
  var rules = MessageRules(of: .topics)

  init(_ text: [(filter: String, keys: KeyValuePairs<String, String>)]) throws {
    for rule in text {
      try rules.begin(Array(rule.filter.utf8).span)
      for (name, value) in rule.keys {
        let key = RuleKey(Array(name.utf8).span)
        try rules.set(#require(key), to: Array(value.utf8).span)
      }
      try rules.finish()
    }
  }

  /// The alerts of a message, with a plus sign where a rule goes on.
  func alerts(_ topic: String, _ payload: String, isRetained: Bool = false) -> [String] {
    let (topic, payload) = (Array(topic.utf8), Array(payload.utf8))
    var alerts: [String] = []
    var first = 0
    while true {
      var line = Text(capacity: 8192)
      let outcome = rules.append(
        address: topic.span, payload: payload.span, packetID: 1, isRetained: isRetained,
        from: first,
        to: &line)
      guard case .rule(let rule) = outcome else { return alerts }
      alerts.append(alert(line.bytes.string))
      guard rules.goesOn(rule) else { return alerts }
      first = rule + 1
    }
  }

  func hears(
    _ topic: String, _ payload: String = "x", isRetained: Bool = false, at seconds: UInt64
  ) -> Bool {
    let (topic, payload) = (Array(topic.utf8), Array(payload.utf8))
    return rules.note(
      topic: topic.span, payload: payload.span, isRetained: isRetained, at: instant(seconds))
  }

  /// The alerts for silence at an instant.
  func silent(at seconds: UInt64, isKept: Bool = true) -> [String] {
    var alerts: [String] = []
    var line = Text(capacity: 8192)
    while rules.appendSilence(at: instant(seconds), to: &line) != nil {
      alerts.append(alert(line.bytes.string))
      line.clear()
    }
    rules.silencesTold(isKept: isKept)
    return alerts
  }
}

private func instant(_ seconds: UInt64) -> Instant { Instant(milliseconds: 1000 * seconds) }

private func alert(_ line: String) -> String {
  String(line.split(separator: #""alert":""#)[1].prefix { $0 != "\"" })
}

// MARK: - Changes

private let doors: [(filter: String, keys: KeyValuePairs<String, String>)] = [
  ("door/+", ["when": "payload = open", "alert": "{topic.2} open", "on-change": "yes"]),
  ("door/+", ["when": "payload = shut", "alert": "{topic.2} shut", "on-change": "yes"]),
]

@Test func `a rule for changes rings for the same state once`() throws {
  let ringing = try Ringing(doors)
  var alerts: [String] = []
  for (topic, payload) in [
    ("door/a", "open"), ("door/a", "open"), ("door/b", "open"), ("door/a", "shut"),
    ("door/a", "shut"), ("door/a", "open"), ("door/b", "open"), ("door/b", "ajar"),
    ("door/b", "open"),
  ] {
    alerts += ringing.alerts(topic, payload)
  }
  #expect(alerts == ["a open", "b open", "a shut", "a open", "b open"])
}

@Test func `a state counts as new behind another rule that rang`() throws {
  let ringing = try Ringing([
    ("t", ["when": "payload > 30", "alert": "hot"]),
    ("t", ["alert": "{payload}", "on-change": "yes"]),
  ])
  var alerts: [String] = []
  for payload in ["20", "20", "31", "20"] { alerts += ringing.alerts("t", payload) }
  #expect(alerts == ["20", "hot", "20"])
}

@Test func `changes are told apart by their collapse ID`() throws {
  let ringing = try Ringing([
    (
      "t",
      [
        "alert": "{payload.id} {payload.s}", "collapse-id": "{payload.id}", "on-change": "yes",
        "continue": "yes",
      ]
    ), ("t", ["alert": "each"]),
  ])
  var alerts: [String] = []
  for payload in [
    #"{"id":1,"s":"on"}"#, #"{"id":2,"s":"on"}"#, #"{"id":1,"s":"on"}"#, #"{"id":1,"s":"off"}"#,
  ] {
    alerts += ringing.alerts("t", payload)
  }
  #expect(alerts == ["1 on", "each", "2 on", "each", "each", "1 off", "each"])
}

@Test func `what is not in the spool rings again, and a retained state is none to compare with`()
  throws
{
  let ringing = try Ringing(doors)
  #expect(ringing.alerts("door/a", "open", isRetained: true) == [])
  #expect(ringing.alerts("door/a", "open") == ["a open"])
  ringing.rules.forgetChanges()
  #expect(ringing.alerts("door/a", "open") == ["a open"])
}

@Test func `of too many states, the oldest rings once more`() throws {
  let ringing = try Ringing(doors)
  for number in 0..<1025 { #expect(ringing.alerts("door/\(number)", "open").count == 1) }
  for number in [1024, 1, 0] {
    #expect(ringing.alerts("door/\(number)", "open").count == (number == 0 ? 1 : 0))
  }
}

// MARK: - Silence

private let sensors: [(filter: String, keys: KeyValuePairs<String, String>)] = [
  ("sensor/+", ["silent-for": "100", "alert": "{topic.2} silent"]),
  ("pump", ["when": "payload != off", "silent-for": "50", "alert": "pump silent"]),
  ("#", ["alert": "{payload}"]),
]

@Test func `a topic that is silent for too long rings once, until a message comes`() throws {
  let ringing = try Ringing(sensors)
  ringing.rules.connected(at: instant(0))
  #expect(ringing.rules.silentAt == instant(50))
  #expect(ringing.hears("sensor/a", at: 10))
  #expect(ringing.hears("sensor/b", at: 20))
  #expect(ringing.silent(at: 49) == [])
  #expect(ringing.rules.silentAt == instant(50))
  // A topic filter without wildcards is listened to from the start.
  #expect(ringing.silent(at: 50) == ["pump silent"])
  #expect(ringing.silent(at: 109) == [])
  #expect(ringing.hears("sensor/b", at: 109))
  #expect(ringing.silent(at: 110) == ["a silent"])
  #expect(ringing.silent(at: 1000) == ["b silent"])
  #expect(ringing.rules.silentAt == nil)
  #expect(ringing.hears("sensor/a", at: 1000))
  #expect(ringing.hears("pump", "off", at: 1000))
  #expect(ringing.silent(at: 1100) == ["a silent"])
}

@Test func `a retained message that comes again is no sign of life`() throws {
  let ringing = try Ringing(sensors)
  ringing.rules.connected(at: instant(0))
  #expect(ringing.hears("sensor/a", isRetained: true, at: 10))
  #expect(ringing.hears("sensor/a", isRetained: true, at: 60))
  #expect(ringing.silent(at: 110) == ["pump silent", "a silent"])
  #expect(ringing.hears("sensor/a", isRetained: true, at: 200))
  #expect(ringing.silent(at: 1000) == [])
}

@Test func `silence counts only while there is a connection, and is told until it is kept`() throws
{
  let ringing = try Ringing(sensors)
  ringing.rules.connected(at: instant(0))
  #expect(ringing.hears("sensor/a", at: 10))
  ringing.rules.disconnected(at: instant(30))
  ringing.rules.connected(at: instant(500))
  #expect(ringing.silent(at: 519) == [])
  #expect(ringing.silent(at: 520, isKept: false) == ["pump silent"])
  ringing.rules.disconnected(at: instant(520))
  ringing.rules.connected(at: instant(1000))
  #expect(ringing.silent(at: 1000) == ["pump silent"])
  #expect(ringing.silent(at: 1059) == [])
  #expect(ringing.silent(at: 1060) == ["a silent"])
}

@Test func `a rule for silence makes nothing of messages, and lets the rules behind it ring`()
  throws
{
  let ringing = try Ringing(sensors)
  #expect(ringing.alerts("sensor/a", "21") == ["21"])
  let alone = try Ringing([("pump", ["silent-for": "50", "alert": "silent"])])
  #expect(alone.alerts("pump", #"{"aps":{"alert":"x"}}"#) == [])
}

@Test func `of too many topics, the last ones are not listened to`() throws {
  let ringing = try Ringing(sensors)
  var heard = 0
  for number in 0..<1100 where ringing.hears("sensor/\(number)", at: 1) { heard += 1 }
  #expect(heard == 1024)
  #expect(ringing.silent(at: 200).count == 1024)
}

@Test(arguments: [
  ["silent-for": "9", "alert": "{payload}"], ["silent-for": "9", "alert": "x {payload.a}"],
  ["alert": "x", "silent-for": "9", "retained": "yes"],
  ["alert": "x", "on-change": "yes", "silent-for": "9"],
  ["alert": "x", "silent-for": "9", "collapse-id": "{payload.id}"],
])
func `a rule for silence takes nothing of messages`(keys: [String: String]) throws {
  #expect(throws: RuleProblem.silence) {
    var rules = MessageRules(of: .topics)
    try rules.begin(Array("a".utf8).span)
    for (name, value) in keys {
      let key = RuleKey(Array(name.utf8).span)
      try rules.set(key!, to: Array(value.utf8).span)
    }
    try rules.finish()
  }
}
