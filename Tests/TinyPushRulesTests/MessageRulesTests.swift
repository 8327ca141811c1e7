import Testing
import TinyPush
import TinyPushRules

/// The notification that rules make of a message; nil: no rule is met.
private func notification(
  _ rules: [(filter: String, keys: [(String, String)])], topic: String, payload: String,
  packetID: UInt16? = nil
) throws -> String? {
  var table = MessageRules(of: .topics)
  for rule in rules {
    try table.begin(Array(rule.filter.utf8).span)
    for (name, value) in rule.keys {
      let key = RuleKey(Array(name.utf8).span)
      try table.set(#require(key), to: Array(value.utf8).span)
    }
    try table.finish()
  }
  let (topic, payload) = (Array(topic.utf8), Array(payload.utf8))
  var line = Text(capacity: 8192)
  let outcome = table.append(
    address: topic.span, payload: payload.span, packetID: packetID, to: &line)
  guard case .rule = outcome else { return nil }
  return line.bytes.string
}

private let leak = [
  (
    filter: "zigbee/+/leak",
    keys: [
      ("when", "payload.water_leak = true"), ("to", "family"), ("title", "Leak"),
      ("alert", "{topic.2}: {payload.state}"),
      ("collapse-id", "leak-{topic.2}"), ("priority", "10"), ("ttl", "3600"),
    ]
  )
]

@Test func `a rule makes a notification of a message`() throws {
  let text = try notification(
    leak, topic: "zigbee/kitchen/leak", payload: #"{"water_leak":true,"state":"wet \"floor\""}"#)
  #expect(
    text
      == #"{"to":["family"],"collapse-id":"leak-kitchen","priority":10,"ttl":3600,"trim":true,"payload":{"aps":{"alert":{"title":"Leak","body":"kitchen: wet \"floor\""}}}}"#
      + "\n")
}

@Test func `a message that does not meet the conditions makes no notification`() throws {
  #expect(
    try notification(leak, topic: "zigbee/kitchen/leak", payload: #"{"water_leak":false}"#) == nil)
  #expect(
    try notification(leak, topic: "zigbee/kitchen/door", payload: #"{"water_leak":true}"#) == nil)
  #expect(try notification(leak, topic: "zigbee/kitchen/leak", payload: "wet") == nil)
}

@Test func `the first rule that is met makes the notification`() throws {
  let rules = [
    (filter: "t/#", keys: [("when", "payload > 30"), ("alert", "hot")]),
    (filter: "t/+", keys: [("alert", "warm"), ("to", "a"), ("to", "b")]),
  ]
  #expect(
    try notification(rules, topic: "t/x", payload: "31.5")
      == "{\"to\":\"default\",\"trim\":true,\"payload\":{\"aps\":{\"alert\":\"hot\"}}}\n")
  #expect(
    try notification(rules, topic: "t/x", payload: "30")
      == "{\"to\":[\"a\",\"b\"],\"trim\":true,\"payload\":{\"aps\":{\"alert\":\"warm\"}}}\n")
}

@Test func `a message with a packet identifier gets the same identity at each repetition`() throws {
  let rules = [(filter: "#", keys: [("alert", "{payload}")])]
  let first = try notification(rules, topic: "a", payload: "x", packetID: 7)
  #expect(first == (try notification(rules, topic: "a", payload: "x", packetID: 7)))
  #expect(first != (try notification(rules, topic: "a", payload: "x", packetID: 8)))
  #expect(first?.contains(#""id":"#) == true && first?.contains(#""collapse-id":"#) == true)
}

@Test func `again-after works without a collapse ID, by the payload of the notification`() throws {
  let keys = [("alert", "wet"), ("again-after", "3600")]
  let quiet = [(filter: "#", keys: keys)]
  let text = try notification(quiet, topic: "a", payload: "x", packetID: 7)
  #expect(text?.contains("collapse-id") == false)
  let named = [(filter: "#", keys: keys + [("collapse-id", "{topic}")])]
  let other = try notification(named, topic: "a", payload: "x", packetID: 7)
  #expect(other?.contains(#""collapse-id":"a""#) == true)
}

/// What becomes of a message of the topic `a`, if there is a rule for the topic `r`.
private func outcome(_ topic: String, _ payload: String) throws -> MessageRules.Outcome {
  var table = MessageRules(of: .topics)
  try table.begin(Array("r".utf8).span)
  for name in ["alert", "title"] {
    let key = RuleKey(Array(name.utf8).span)
    try table.set(#require(key), to: Array("{payload}".utf8).span)
  }
  var line = Text(capacity: 256 * 1024)
  line.append("before\n")
  let (topic, payload) = (Array(topic.utf8), Array(payload.utf8))
  let outcome = table.append(address: topic.span, payload: payload.span, packetID: 1, to: &line)
  // What is not sent leaves nothing behind.
  #expect(line.bytes.string.hasPrefix("before\n"))
  if outcome == .ignored || outcome == .tooLarge(rule: outcome.rule) { #expect(line.count == 7) }
  return outcome
}

@Test(arguments: [
  (#"{"payload":{"aps":{"alert":"x"}},"to":"a"}"#, MessageRules.Outcome.notification),
  (#" {"aps":{"alert":"x"}} "#, .notification),
  (#"{"to":"a","payload":{"mdm":"x"}}"#, .notification),
  // Packets of other programs have an object with this name, too.
  (#"{"payload":{"temperature":21}}"#, .ignored),
  (#"{"payload":"text"}"#, .ignored), (#"{"payload":{"aps":{}}"#, .ignored),
  (#"{"aps":1}"#, .ignored), (#"["aps"]"#, .ignored), ("on", .ignored), ("", .ignored),
])
func `a payload that is a notification goes as it is`(
  payload: String, expected: MessageRules.Outcome
) throws {
  #expect(try outcome("a", payload) == expected)
  #expect(try outcome("r", payload) == (payload.isEmpty ? .ignored : .rule(0)))
}

@Test func `a notification in a message that a rule is for is not sent as it is`() throws {
  var table = MessageRules(of: .topics)
  try table.begin(Array("a".utf8).span)
  try table.set(.when, to: Array("payload.x = 1".utf8).span)
  try table.set(.alert, to: Array("x".utf8).span)
  var line = Text(capacity: 1024)
  let payload = Array(#"{"aps":{"alert":"x"}}"#.utf8)
  for (topic, expected) in [("a", MessageRules.Outcome.ignored), ("b", .notification)] {
    let topic = Array(topic.utf8)
    let outcome = table.append(
      address: topic.span, payload: payload.span, packetID: 1, to: &line)
    #expect(outcome == expected)
  }
}

@Test func `a retained message may be old, and makes a notification only if its rule says so`()
  throws
{
  var table = MessageRules(of: .topics)
  for (filter, word) in [("a/#", "no"), ("a/b", "yes")] {
    try table.begin(Array(filter.utf8).span)
    try table.set(.alert, to: Array("{payload}".utf8).span)
    try table.set(.retained, to: Array(word.utf8).span)
  }
  func outcome(_ topic: String, _ payload: String = "wet", isRetained: Bool = true)
    -> MessageRules.Outcome
  {
    var line = Text(capacity: 1024)
    let (topic, payload) = (Array(topic.utf8), Array(payload.utf8))
    let outcome = table.append(
      address: topic.span, payload: payload.span, packetID: 1, isRetained: isRetained, to: &line)
    if case .rule = outcome { #expect(line.count > 0) } else { #expect(line.count == 0) }
    return outcome
  }
  #expect(outcome("a/x") == .retained)
  #expect(outcome("a/x", isRetained: false) == .rule(0))
  #expect(outcome("a/b") == .rule(1))
  #expect(outcome("c") == .ignored)
  #expect(outcome("c", #"{"aps":{"alert":"x"}}"#) == .retained)
}

@Test func `a rule may let the rules behind it make notifications, each with its identity`() throws
{
  var table = MessageRules(of: .topics)
  let rules = [
    ("payload.leak = true", "wet", "yes"), ("payload.battery < 15", "low", "no"),
    ("payload.battery < 20", "never", "no"),
  ]
  for (condition, alert, goOn) in rules {
    try table.begin(Array("#".utf8).span)
    try table.set(.when, to: Array(condition.utf8).span)
    try table.set(.alert, to: Array(alert.utf8).span)
    try table.set(.goOn, to: Array(goOn.utf8).span)
  }
  let topic = Array("a".utf8)
  let payload = Array(#"{"leak":true,"battery":10}"#.utf8)
  var line = Text(capacity: 4096)
  var made: [MessageRules.Outcome] = []
  var first = 0
  while true {
    let outcome = table.append(
      address: topic.span, payload: payload.span, packetID: 7, from: first, to: &line)
    made.append(outcome)
    guard case .rule(let rule) = outcome, table.goesOn(rule) else { break }
    first = rule + 1
  }
  #expect(made == [.rule(0), .rule(1)])
  let identifiers = line.bytes.string.matches(of: #/"id":"([^"]+)"/#).map { String($0.1) }
  #expect(Set(identifiers).count == 2)
}

@Test func `a notification that the agent would refuse for its size is left out`() throws {
  let frame = #"{"to":"a","payload":{"aps":{"alert":""}}}"#
  let text = String(repeating: "x", count: 65_536 - frame.utf8.count)
  #expect(try outcome("a", frame.replacing("\"\"", with: "\"\(text)\"")) == .notification)
  #expect(try outcome("a", frame.replacing("\"\"", with: "\"\(text)x\"")) == .tooLarge(rule: nil))
  // The text is shortened, the title is not.
  #expect(try outcome("r", String(repeating: "x", count: 50_000)) == .rule(0))
  #expect(try outcome("r", String(repeating: "x", count: 60_000)) == .tooLarge(rule: 0))
  // Each byte takes six in JSON: more than the room.
  #expect(try outcome("r", String(repeating: "\u{1}", count: 60_000)) == .tooLarge(rule: 0))
}

@Test(arguments: [
  ("payload.a = 1", #"{"a":1}"#, true), ("payload.a = 1", #"{"a":1.0}"#, true),
  ("payload.a = 1", #"{"a":"1"}"#, true),
  ("payload.a=on", #"{"a":"on"}"#, true), ("payload.a = \"on\"", #"{"a":"on"}"#, true),
  ("payload.a = on", #"{"a":"off"}"#, false),
  ("payload.a != on", #"{"a":"off"}"#, true), ("payload.a != on", #"{}"#, true),
  ("payload.a = on", "{}", false),
  ("payload.a < -1.5", #"{"a":-2}"#, true), ("payload.a <= 2", #"{"a":2}"#, true),
  ("payload.a >= 2", #"{"a":1.99}"#, false),
  ("payload.a > 1", #"{"a":"many"}"#, false),
  ("payload.a > 21", #"{"a":21.299999999999997}"#, true),
  ("payload.a = 0.3", #"{"a":0.30000000000000004}"#, false),
  ("payload.a < 0.4", #"{"a":0.30000000000000004}"#, true),
  ("payload.a < 1", #"{"a":1e-05}"#, true), ("payload.a = 1500", #"{"a":1.5E+3}"#, true),
  ("payload.a > 1", #"{"a":123456789012345678901234567890}"#, true),
  ("payload.a < 1", #"{"a":1e-999999999999999999999}"#, true),
  ("payload.a > 1", #"{"a":9e999}"#, true), ("payload.a = 0", #"{"a":0e999}"#, true),
  ("payload.a = 12E45678", #"{"a":"99E12345"}"#, false),
  ("payload.a != 0E45678", #"{"a":"0E12345"}"#, true),
  ("payload.a = 12E456", #"{"a":"99E789"}"#, false), ("payload.a = 1e3", #"{"a":1000}"#, true),
  ("payload.a = 89490200001234567890", #"{"a":"89490200001234567891"}"#, false),
  ("payload.a = 89490200001234567890", #"{"a":89490200001234567890}"#, true),
  ("payload > 1", "2 W", false), ("payload > 1", "2e", false), ("payload > 1", ".5e1", false),
  ("payload.a.1.b = null", #"{"a":[0,{"b":null}]}"#, true),
  ("payload.a = x", #"{"\u0061":"x"}"#, true), ("payload = ON", "ON", true),
  ("topic.1 = t", "x", true), ("topic = t/u", "x", true),
  ("payload.a = 1", #"{"a":1"#, false),
  ("payload.a = 1 or payload.b = 2", #"{"b":2}"#, true),
  ("payload.a = 1 or payload.b = 2 or payload.c = x", #"{"c":"x"}"#, true),
  ("payload.a = 1 or payload.b = 2", #"{"a":2,"b":1}"#, false),
  (#"payload.a = "this or that""#, #"{"a":"this or that"}"#, true),
  ("payload.for = or", #"{"for":"or"}"#, true),
  ("payload contains fire", "a fire in the attic", true), ("payload contains fire", "fir", false),
  (#"payload.a contains " = ""#, #"{"a":"x = y"}"#, true), ("payload.a contains x", "{}", false),
  ("payload.t > payload.max", #"{"t":31,"max":30.5}"#, true),
  ("payload.t > payload.max", #"{"t":30,"max":30.5}"#, false),
  ("payload.t > payload.max", #"{"t":30}"#, false),
  ("payload.t != payload.max", #"{"t":30}"#, true),
  ("payload.t = payload.max", #"{"t":30}"#, false),
  ("payload.name = topic.2", #"{"name":"u"}"#, true),
  ("payload.*.battery < 15", #"{"a":{"battery":80},"b":{"battery":14}}"#, true),
  ("payload.*.battery < 15", #"{"a":{"battery":80},"b":3,"c":[]}"#, false),
  (
    "payload.events.*.event = single_push", #"{"events":[{"event":"a"},{"event":"single_push"}]}"#,
    true
  ),
  ("payload.*.*.t > 5", #"{"a":[{"t":1},{"t":6}]}"#, true), ("payload.* = 3", "[1,2,3]", true),
  ("payload.a.*.b != 1", "{}", true), ("payload.a.*.b != 1", #"{"a":[{"b":1}]}"#, false),
])
func `a condition compares a value of the message`(condition: String, payload: String, holds: Bool)
  throws
{
  let rules = [(filter: "#", keys: [("when", condition), ("alert", "x")])]
  #expect((try notification(rules, topic: "t/u", payload: payload) != nil) == holds)
}

@Test(arguments: [
  ("{topic}", "a/b"), ("{topic.2}{topic.3}", "b"), ("{payload.n}", "21.5"), ("{payload.s}", "ü\n"),
  ("{payload.o}", #"{"x": 1}"#),
  ("{payload.n:.0f}", "22"), ("{payload.n:.2f}", "21.50"), ("{payload.m:.1f}", "-0.1"),
  ("{payload.m:.0f}", "0"), ("{payload.s:.1f}", "ü\n"), ("{payload.none:.1f}", ""),
  ("{payload.e:.1f}", "1e300"), ("{payload.a:b}", "colon"), ("{payload.l.*}", "S"),
  ("{payload.y:true=open,false=closed}", "open"), ("{payload.z:true=open,false=closed}", "closed"),
  ("{payload.n:true=open,false=closed}", "21.5"), ("{topic.1:a=,b=x}", ""),
  ("{payload.none}!", "!"), ("{{topic}}", "{topic}"), ("a{payload.l.1}b", "aTb"), ("", ""),
])
func `a template is filled with values of the message`(template: String, expected: String) throws {
  let rules = [(filter: "#", keys: [("alert", template)])]
  let payload =
    #"{"n":21.5,"s":"\u00fc\n","o":{"x": 1},"l":["S","T"],"m":-0.05,"e":1e300,"a:b":"colon","y":true,"z":false}"#
  var text = Text(capacity: 256)
  text.append(json: Array(expected.utf8).span)
  #expect(
    try notification(rules, topic: "a/b", payload: payload)
      == "{\"to\":\"default\",\"trim\":true,\"payload\":{\"aps\":{\"alert\":\(text.bytes.string)}}}\n"
  )
}

@Test(arguments: [
  ("alert", "{topic", RuleProblem.braces), ("alert", "a}", .braces),
  ("alert", "{topik}", .expression), ("title", "{topic.0}", .expression),
  ("when", "payload.a", .condition), ("when", "foo = 1", .condition), ("data", "x", .data),
  ("when", "payload.a = 1 or b = 2", .condition), ("when", "payload.a = 1 or ", .condition),
  ("when", "payload.a = 1 and payload.b = 2", .condition),
  ("when", "payload.a > payload.", .condition), ("alert", "{payload.a:}", nil),
])
func `a mistake in a rule is found`(key: String, value: String, problem: RuleProblem?) {
  #expect(mistake(filter: "a/#", key, value) == problem)
}

@Test func `a rule without content, or without a topic filter, is refused`() {
  #expect(mistake(filter: "a", "to", "x") == .empty)
  #expect(mistake(filter: "a#", "alert", "x") == .filter)
  #expect(mistake(filter: "a", "alert", "x") == nil)
}

/// The mistake in a rule with one key.
private func mistake(filter: String, _ key: String, _ value: String) -> RuleProblem? {
  var rules = MessageRules(of: .topics)
  guard let key = RuleKey(Array(key.utf8).span) else { return nil }
  do throws(RuleProblem) {
    try rules.begin(Array(filter.utf8).span)
    try rules.set(key, to: Array(value.utf8).span)
    try rules.finish()
    return nil
  } catch {
    return error
  }
}

@Test func `a collapse ID of more than 64 bytes is replaced by its hash`() throws {
  let rules = [(filter: "#", keys: [("alert", "x"), ("collapse-id", "{payload}")])]
  let text = try notification(rules, topic: "a", payload: String(repeating: "y", count: 65))
  #expect(text?.contains(#/"collapse-id":"[0-9a-f]{16}"/#) == true)
}

@Test func `sound, badge, level and data go into the payload`() throws {
  let rules = [
    (
      filter: "#",
      keys: [
        ("alert", "x"), ("sound", "{topic}.caf"), ("badge", "{payload}"),
        ("level", "time-sensitive"), ("data", "where = {topic}"),
        ("urgent", "true"),
      ]
    )
  ]
  #expect(
    try notification(rules, topic: "drip", payload: "3")
      == #"{"to":"default","urgent":true,"trim":true,"payload":{"aps":{"alert":"x","sound":"drip.caf","badge":3,"interruption-level":"time-sensitive"},"where":"drip"}}"#
      + "\n")
}
