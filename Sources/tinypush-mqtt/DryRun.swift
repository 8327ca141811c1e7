import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushMQTT
import TinyPushRules

/// Tries rules on the messages of a file, and prints what they make of each.
struct DryRun: ~Copyable {
  /// The largest message that a broker is allowed to send.
  private static let messageBytesMax = 1024 * 1024

  private var config: BridgeConfig
  private var trial: RuleTrial
  private let path: UnsafePointer<CChar>
  private var lines: InputLines
  /// The number of the line, from 1.
  private var line: Int64 = 0
  private var isTooLong = false
  private let isJSON: Bool
  private var output = Text(capacity: 512 * 1024)
  private var sent = 0
  private var ignored = 0
  private var refused = 0

  /// What becomes of a line.
  private enum Outcome {
    case message(MessageRules.Outcome)
    case malformed(StaticString)
  }

  /// - Parameters:
  ///   - rules: the name of the file with the rules.
  ///   - agent: the agent's configuration.
  ///   - path: the name of the file with the messages.
  init(
    _ config: consuming BridgeConfig, rules: UnsafePointer<CChar>, _ agent: borrowing Config,
    _ path: UnsafePointer<CChar>, _ lines: consuming InputLines, isJSON: Bool
  ) {
    self.config = config
    trial = RuleTrial(rules, agent)
    self.path = path
    self.lines = lines
    self.isJSON = isJSON
  }

  deinit {}

  /// Whether a notification would be refused, or a line is no message.
  var hasErrors: Bool { refused > 0 }

  /// Tries all messages; returns 0, or the error number with which reading ended.
  mutating func run() -> Int32 {
    while let text = lines.next() {
      line += 1
      let hasReturn = text.count > 0 && text[text.count - 1] == .carriageReturn
      let message = text.extracting(0..<text.count - (hasReturn ? 1 : 0))
      if message.count == 0 { continue }
      isTooLong = message.count > Self.messageBytesMax
      take(isTooLong ? message.extracting(0..<80) : message)
      output.flush()
    }
    if !isJSON, lines.error == 0 { printSum() }
    return lines.error
  }

  private mutating func take(_ line: Span<UInt8>) {
    var space = 0
    while space < line.count, line[space] != .space { space += 1 }
    let topic = line.extracting(0..<space)
    let payload = line.extracting(min(space + 1, line.count)..<line.count)
    var next: Int? = 0
    while let first = next { next = take(topic, payload, from: first) }
  }

  /// Tries the rules from the first one given; returns the rule to go on with.
  private mutating func take(
    _ topic: Span<UInt8>, _ payload: Span<UInt8>, from first: Int
  ) -> Int? {
    let outcome = outcome(topic, payload, from: first)
    var next: Int?
    if case .message(let made) = outcome, let rule = made.rule, config.rules.goesOn(rule) {
      next = rule + 1
    }
    if case .message(.ignored) = outcome, first > 0 { return nil }
    var isRefused = trial.isRefused
    switch outcome {
    case .message(.ignored), .message(.retained), .message(.unchanged), .message(.heard):
      ignored += 1
    case .malformed: isRefused = true
    case .message(.rule), .message(.notification), .message(.tooLarge):
      if !isRefused { sent += 1 }
    }
    if isRefused { refused += 1 }
    if isJSON {
      printJSON(topic, outcome, isRefused)
    } else {
      printText(topic, payload, outcome)
    }
    return next
  }

  private mutating func outcome(
    _ topic: Span<UInt8>, _ payload: Span<UInt8>, from first: Int
  ) -> Outcome {
    trial.clear()
    if isTooLong { return .malformed("the line is longer than a message may be") }
    if topic.count == 0 {
      return .malformed("expected TOPIC PAYLOAD, as mosquitto_sub -v prints them")
    }
    guard TopicFilter.isTopic(topic) else {
      return .malformed(
        "a topic has no + and #: expected TOPIC PAYLOAD, as mosquitto_sub -v prints them")
    }
    // The broker numbers its messages. Any number gives an `id` of the same form.
    let packetID = UInt16(truncatingIfNeeded: line % 65_535 + 1)
    return .message(
      trial.make(
        &config.rules, address: topic, payload: payload, packetID: packetID, from: first))
  }

  // MARK: - Output

  private mutating func printText(
    _ topic: Span<UInt8>, _ payload: Span<UInt8>, _ outcome: Outcome
  ) {
    output.append(printable: CString.span(path))
    output.append(":", line, ": ")
    output.append(printable: topic)
    switch outcome {
    case .message(let made):
      output.append(":")
      trial.append(made, of: config.rules, address: topic, payload: payload, to: &output)
    case .malformed(let problem):
      output.append("\n  error: ", problem, "\n")
      return
    }
    output.append("\n")
    if !config.subscriptions.mayReceive(topic) {
      output.append("  warning: no subscription matches this topic: the message would not come\n")
    }
    trial.appendNotification(to: &output)
  }

  private mutating func printJSON(_ topic: Span<UInt8>, _ outcome: Outcome, _ isRefused: Bool) {
    output.beginObject()
    output.member("file", string: CString.span(path))
    output.member("line", number: line)
    output.member("topic", string: topic)
    switch outcome {
    case .message(.ignored), .message(.retained), .message(.unchanged), .message(.heard):
      output.member("state", word: "ignored")
    case .message(.rule(let rule)):
      output.member("state", word: isRefused ? "refused" : "sent")
      output.member("rule", string: config.rules.filter(rule))
      output.member("rule_line", number: config.rules.line(of: rule))
      output.member("notification", compacting: trial.json())
    case .message(.notification):
      output.member("state", word: isRefused ? "refused" : "sent")
      output.member("notification", compacting: trial.json())
    case .malformed, .message(.tooLarge): output.member("state", word: "refused")
    }
    output.key("findings")
    output.beginArray()
    var text = Text(capacity: 2048)
    if case .malformed(let problem) = outcome {
      appendFinding("error", ("not-a-message" as StaticString).span, problem.span)
    } else if !config.subscriptions.mayReceive(topic) {
      appendFinding(
        "warning", ("not-subscribed" as StaticString).span,
        ("no subscription matches this topic: the message would not come" as StaticString).span)
    }
    for index in 0..<trial.findings.count {
      var code = Text(capacity: 64)
      trial.findings[index].appendCode(to: &code)
      text.clear()
      trial.findings[index].describe(in: &text)
      appendFinding(trial.findings[index].isWarning ? "warning" : "error", code.bytes, text.bytes)
    }
    output.endArray()
    output.endLine()
  }

  private mutating func appendFinding(
    _ severity: StaticString, _ code: Span<UInt8>, _ message: Span<UInt8>
  ) {
    output.beginObject()
    output.member("severity", word: severity)
    output.member("code", string: code)
    output.member("message", string: message)
    output.endObject()
  }

  private mutating func printSum() {
    output.append(printable: CString.span(path))
    output.append(": ", sent)
    output.append(sent == 1 ? " notification, " : " notifications, ")
    output.append(ignored)
    output.append(" ignored, ", refused, " refused\n")
    output.write(to: STDOUT_FILENO)
  }
}
