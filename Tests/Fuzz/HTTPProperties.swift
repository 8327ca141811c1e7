import TinyPush
import TinyPushRules
import TinyPushWebhooks

/// Checks that a request makes lines of valid JSON, and that no alert of a webhook is refused.
///
/// - Parameter text: a target, a line end, and a body.
func requestViolation(_ text: [UInt8], cut: Int) -> String? {
  let end = text.firstIndex(of: 10) ?? text.count
  let target = Array(text[..<end])
  let body = Array(text[min(end + 1, text.count)...])
  var tokens = BearerTokens()
  if tokens.read(body.span) == nil, tokens.matches(target.span), tokens.isEmpty {
    return "a header matches no token"
  }
  _ = TextMessage.isNotification(body.span)
  var list = Text()
  switch Route(target.span, hasPage: cut.isMultiple(of: 3)) {
  case .list(let name), .publish(let name), .webhook(let name), .page(let name):
    _ = FormReader.decode(target.span.extracting(name), isPath: true, to: &list)
  case .root, .health, .gotify, .registration, .unknown: break
  }
  if let registration = registration(body) {
    let ranges = [registration.code, registration.recipient, registration.language]
    guard ranges.allSatisfy({ $0.isEmpty || body.indices.contains($0.upperBound - 1) }) else {
      return "a part of a registration is outside of it"
    }
  }
  var options = MessageOptions()
  do throws(MessageOptions.Problem) {
    try options.read(target.span.extracting(Route.query(of: target.span)))
    if MessageOptions.isForm(body.span) { try options.read(body.span, isForm: true) }
    var line = Text(capacity: 100_000)
    TextMessage.append(body.span, to: list.bytes, &options, in: &line)
    guard isLines(line) == 1 else { return "no line of JSON" }
  } catch {}
  return senderViolation(body, cut.isMultiple(of: 2) ? .gotify : nil)
    ?? webhookViolation(body, limit: 256 + cut * 2) ?? ruleViolation(target, body)
}

private func registration(_ body: [UInt8]) -> Registration? {
  do throws(Registration.Problem) { return try Registration(body.span) } catch { return nil }
}

/// Checks that rules make one line of valid JSON of any request.
private func ruleViolation(_ target: [UInt8], _ body: [UInt8]) -> String? {
  var path = Text(capacity: RuleRequest.pathBytesMax)
  guard Route.appendPath(of: target.span, to: &path) else { return nil }
  guard RuleRequest.mistake(in: body.span, isJSON: nil) == nil else { return nil }
  var rules = MessageRules(of: .paths)
  do throws(RuleProblem) {
    try rules.begin(("/#" as StaticString).span)
    try rules.set(.when, to: ("payload.*.b != path.1 or path contains a" as StaticString).span)
    try rules.set(.to, to: ("{path.2}" as StaticString).span)
    try rules.set(.title, to: ("{payload.title}" as StaticString).span)
    try rules.set(.alert, to: ("{path}: {payload} {payload.alerts.0.status}" as StaticString).span)
    try rules.set(.url, to: ("{payload.url}" as StaticString).span)
  } catch {
    return "the rule is refused"
  }
  var line = Text(capacity: 65_536)
  switch rules.append(address: path.bytes, payload: body.span, packetID: nil, to: &line) {
  case .rule: return isLines(line) == 1 ? nil : "no line of JSON"
  case .ignored, .tooLarge: return line.count == 0 ? nil : "an ignored request makes a line"
  case .notification, .retained, .unchanged, .heard: return "no such rule is there"
  }
}

private func senderViolation(_ body: [UInt8], _ scale: SenderMessage.Scale?) -> String? {
  guard SenderMessage.isMessage(body.span) else { return nil }
  var options = MessageOptions()
  var list = Text()
  do throws(MessageOptions.Problem) {
    try SenderMessage.read(body.span, scale, into: &options, list: &list)
  } catch {
    return nil
  }
  guard options.draft.has(.alert) else { return "the text is lost" }
  var line = Text(capacity: 100_000)
  TextMessage.append(("" as StaticString).span, to: list.bytes, &options, in: &line)
  return isLines(line) == 1 ? nil : "no line of JSON"
}

private func webhookViolation(_ body: [UInt8], limit: Int) -> String? {
  var lines = Text(capacity: 100_000)
  var options = MessageOptions()
  guard Finding.inJSON(body.span) == nil else { return nil }
  do throws(Webhook.NoAlerts) {
    try Webhook.append(
      body.span, to: ("ops" as StaticString).span, &options, limit: limit, in: &lines)
  } catch {
    return nil
  }
  guard let count = isLines(lines), count > 0 else { return "alerts are no lines of JSON" }
  var reader = NotificationReader()
  var findings = Findings()
  let rules = Rules(.http2, payloadLimit: limit)
  while true {
    switch reader.next(in: lines.bytes, isWhole: true, rules, &findings) {
    case .notification: break
    case .refused(let finding, _): return "an alert is refused: \(finding)"
    case .more, .end: return nil
    }
  }
}

/// Returns the number of lines, each with valid JSON; nil if one has not, or if they were cut off.
private func isLines(_ text: borrowing Text) -> Int? {
  // A text that is cut off is refused before it is checked.
  guard !text.isCut else { return 1 }
  var lines = 0
  var line: [UInt8] = []
  for index in text.bytes.indices {
    if text.bytes[index] != 10 {
      line.append(text.bytes[index])
    } else {
      guard Reference.validity(line, depthMax: 8) == .valid else { return nil }
      lines += 1
      line = []
    }
  }
  return line.isEmpty ? lines : nil
}
