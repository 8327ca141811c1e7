import CLinux
import TinyPush
import TinyPushAgent
import TinyPushRules

/// Tries rules on messages, and says what they make of each.
public struct RuleTrial: ~Copyable {
  private static let findingsMax = 100

  /// The file of the rules.
  private let file: UnsafePointer<CChar>
  private let agent: Rules
  /// The directory of the recipients files.
  private let recipients: CString
  private var notification = Text(capacity: 512 * 1024)
  /// What is wrong with the notification.
  public private(set) var findings = Findings(capacity: RuleTrial.findingsMax)

  /// - Parameters:
  ///   - file: the name of the file with the rules.
  ///   - agent: the agent's configuration.
  public init(_ file: UnsafePointer<CChar>, _ agent: borrowing Config) {
    self.file = file
    self.agent = agent.courier.rules
    recipients = CString(agent.recipients.span)
  }

  deinit {}

  /// Whether the agent would refuse the notification.
  public var isRefused: Bool { findings.refusals > 0 }

  /// Forgets the last notification.
  public mutating func clear() {
    notification.clear()
    findings = Findings(capacity: Self.findingsMax)
  }

  /// Makes the notification of a message, and checks it as the agent does.
  ///
  /// - Parameters:
  ///   - address: the topic, or the path.
  ///   - first: the first rule to look at.
  public mutating func make(
    _ rules: inout MessageRules, address: Span<UInt8>, payload: Span<UInt8>, packetID: UInt16?,
    from first: Int
  ) -> MessageRules.Outcome {
    clear()
    let outcome = rules.append(
      address: address, payload: payload, packetID: packetID, from: first, to: &notification)
    switch outcome {
    case .tooLarge:
      findings.add(Finding(.objectTooLarge, at: 0, limit: NotificationReader.objectBytesMax))
    case .rule, .notification:
      var reader = NotificationReader()
      let text = notification.unsafeBytes
      if case .notification(let made) = reader.next(in: text, isWhole: true, agent, &findings) {
        lookForLists(of: made)
      }
    case .ignored, .retained, .unchanged, .heard: break
    }
    return outcome
  }

  /// Adds a finding if a recipients file of the notification is missing.
  ///
  /// Rules may be tried on another machine, which has no recipients files at all.
  private mutating func lookForLists(of made: Notification) {
    guard access(recipients.pointer, F_OK) == 0,
      let finding = RecipientsFile.missing(
        made, of: notification.unsafeBytes, in: recipients.span)
    else { return }
    findings.add(finding)
  }

  /// The notification as JSON, without a line end.
  @_lifetime(immortal)
  public func json() -> Span<UInt8> {
    let bytes = notification.unsafeBytes
    let hasLineEnd = bytes.count > 0 && bytes[bytes.count - 1] == .lineFeed
    return _overrideLifetime(
      bytes.extracting(0..<(hasLineEnd ? bytes.count - 1 : bytes.count)), copying: ())
  }

  /// Whether a payload begins as a JSON object or array, and is not valid JSON.
  public static func isBrokenJSON(_ payload: Span<UInt8>) -> Bool {
    guard payload.count > 0, payload[0] == .openBrace || payload[0] == UInt8(ascii: "[") else {
      return false
    }
    return Finding.inJSON(payload) != nil
  }

  // MARK: - For people

  /// Appends what became of the message: ` rule FILE:LINE [FILTER]`, or why there is nothing.
  public func append(
    _ outcome: MessageRules.Outcome, of rules: borrowing MessageRules, address: Span<UInt8>,
    payload: Span<UInt8>, to text: inout Text
  ) {
    switch outcome {
    case .rule(let rule):
      text.append(" rule ")
      appendPlace(of: rule, rules, to: &text)
    case .notification: text.append(" no rule; the payload is a notification")
    case .tooLarge: text.append(" refused")
    case .unchanged: text.append(" ignored: the notification is the same as the one before")
    case .heard:
      text.append(" heard: a rule with silent-for rings when no more messages come")
    case .ignored, .retained:
      text.append(" ignored: ")
      if payload.count == 0, rules.source == .topics {
        text.append("it is empty, which clears a retained message")
      } else if let rule = rules.first(for: address) {
        text.append("the conditions of this rule do not hold: ")
        appendPlace(of: rule, rules, to: &text)
        if Self.isBrokenJSON(payload) { text.append("; the payload is not valid JSON") }
      } else {
        text.append("no rule matches the ", rules.source.word)
        if rules.source == .paths {
          text.append(
            "; without one the body is taken as it is, and NAME in /NAME is a recipients file")
        }
      }
    }
  }

  private func appendPlace(
    of rule: Int, _ rules: borrowing MessageRules, to text: inout Text
  ) {
    text.append(printable: CString.span(file))
    text.append(":", rules.line(of: rule), " [")
    text.append(printable: rules.filter(rule))
    text.append("]")
  }

  /// Appends a line with the notification, if there is one, and a line for each finding.
  public func appendNotification(to text: inout Text) {
    if notification.count > 0 {
      text.append("  ")
      text.append(shown: json())
      text.append("\n")
    }
    for index in 0..<findings.count {
      text.append("  ", findings[index].isWarning ? "warning: " : "error: ")
      findings[index].describe(in: &text)
      text.append("\n")
    }
  }

  /// Calls `body` with a warning for each recipients file of the rules that is missing, and the line
  /// of its rule.
  ///
  /// Rules may be tried on another machine, which has no recipients files at all.
  public static func forEachMissingList(
    of rules: borrowing MessageRules, in directory: Span<UInt8>,
    _ body: (Int32, borrowing Text) -> Void
  ) {
    let path = CString(directory)
    guard access(path.pointer, F_OK) == 0 else { return }
    var message = Text(capacity: 1024)
    for rule in 0..<rules.count {
      let line = rules.line(of: rule)
      rules.forEachFixedRecipient(of: rule) { name in
        guard !RecipientsFile.mayExist(name, in: directory) else { return }
        message.clear()
        message.append("there is no recipients file ", printable: name)
        message.append(" in ", printable: directory)
        body(line, message)
      }
    }
  }
}
