import TinyPush
import TinyPushMQTT
import TinyPushRules

/// An event of a session with a broker, with copies of its parts.
private enum EventRead: Equatable {
  case connected(hasSession: Bool)
  case subscribed(UInt8, isLast: Bool)
  case message(topic: [UInt8], payload: [UInt8], packetID: UInt16?, isRepeated: Bool)
  case published(UInt8)
}

/// Reads what a broker sends behind its answer to the connection, in pieces with these ends.
///
/// Returns the events and the problem that stops the session.
private func read(
  _ stream: [UInt8], ends: [Int]
) -> (events: [EventRead], problem: BrokerProblem?) {
  var settings = BrokerSession.Settings()
  settings.packetBytesMax = 1024
  var session = BrokerSession(settings)
  let now = Instant(milliseconds: 0)
  session.connect(BrokerSession.Login(), at: now)
  var events: [EventRead] = []
  do throws(BrokerProblem) {
    try give([0x20, 0x03, 0x00, 0x00, 0x00], to: &session, &events, at: now)
    _ = session.subscribe(("a/#" as StaticString).span, isState: false, at: now)
    var given = 0
    for end in ends {
      try give(Array(stream[given..<end]), to: &session, &events, at: now)
      given = end
    }
  } catch {
    return (events, error)
  }
  return (events, nil)
}

private func give(
  _ bytes: [UInt8], to session: inout BrokerSession, _ events: inout [EventRead], at now: Instant
) throws(BrokerProblem) {
  let room = session.makeRoom()
  for index in bytes.indices { room[index] = bytes[index] }
  session.take(bytes.count)
  while let event = try session.next(at: now) {
    switch event {
    case .connected(let hasSession): events.append(.connected(hasSession: hasSession))
    case .subscribed(let answer):
      events.append(.subscribed(answer.reason, isLast: answer.isLast))
    case .message(let message):
      events.append(
        .message(
          topic: copy(session.bytes(message.topic)), payload: copy(session.bytes(message.payload)),
          packetID: message.packetID, isRepeated: message.isRepeated))
      session.acknowledge(session.openCount, at: now)
    case .published(let reason): events.append(.published(reason))
    case .unsubscribed: break
    }
    session.written(session.output.count, at: now)
  }
}

private func copy(_ span: Span<UInt8>) -> [UInt8] { span.indices.map { span[$0] } }

/// Checks that the way a broker's stream is cut into pieces does not change its events.
func mqttViolation(_ stream: [UInt8], cut: Int) -> String? {
  let whole = read(stream, ends: [stream.count])
  for ends in pieces(of: stream.count, cut: cut) {
    let part = read(stream, ends: ends)
    if part != whole { return "\(whole), but \(part) at \(ends)" }
  }
  return nil
}

/// Checks that rules make one line of valid JSON of any message.
///
/// - Parameter text: a topic, a line end, and a payload.
func rulesViolation(_ text: [UInt8]) -> String? {
  let end = text.firstIndex(of: 10) ?? text.count
  let topic = Array(text[..<end])
  let payload = Array(text[min(end + 1, text.count)...])
  _ = TopicFilter.isValid(topic.span) && TopicFilter.matches(topic.span, payload.span)
  var rules = MessageRules(of: .topics)
  do throws(RuleProblem) {
    try rules.begin(("#" as StaticString).span)
    try rules.set(.to, to: ("{payload.to}" as StaticString).span)
    try rules.set(.title, to: ("{topic.2}" as StaticString).span)
    try rules.set(.alert, to: ("{payload}: {payload.a.0}" as StaticString).span)
    try rules.set(.badge, to: ("{payload.badge}" as StaticString).span)
    try rules.set(.data, to: ("key = {topic}" as StaticString).span)
    try rules.set(.collapseID, to: ("{payload.id}" as StaticString).span)
  } catch {
    return "the rule is refused"
  }
  var line = Text(capacity: 65_536)
  let outcome = rules.append(address: topic.span, payload: payload.span, packetID: 1, to: &line)
  let made = copy(line.bytes)
  switch outcome {
  case .rule: break
  case .tooLarge: return made.isEmpty ? nil : "\(made) is too large, but was appended"
  // Wildcards do not match topics that begin with `$`.
  case .ignored:
    return (topic.first == 36 || payload.isEmpty) && made.isEmpty ? nil : "no rule is met"
  case .retained, .unchanged, .heard: return "no such rule is there"
  case .notification: return topic.first == 36 && made == payload + [10] ? nil : "no rule is met"
  }
  guard made.last == 10, !made.dropLast().contains(10),
    Reference.validity(Array(made.dropLast()), depthMax: 8) == .valid
  else { return "\(made) is no line of JSON" }
  return nil
}
