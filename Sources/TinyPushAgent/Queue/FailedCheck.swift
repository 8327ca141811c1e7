import CLinux
import TinyPush

/// Checks whether the lines of files in `failed/` can be sent now.
struct FailedCheck: ~Copyable {
  /// The longest line that the agent writes: a notification, and its reason.
  static let lineBytesMax = NotificationReader.objectBytesMax + 16_384

  private let rules: Rules
  private let lists: RecipientsFiles
  private var suppressed: SuppressionLists
  private var findings = Findings()
  /// Why the line stays.
  private var why = Text(capacity: 2048)
  /// Whether the file that the agent could not read can be read now.
  var hasUnread = false

  init(_ config: borrowing Config) {
    rules = config.courier.rules
    lists = RecipientsFiles(config.recipients.span, rules.pushProtocol)
    suppressed = SuppressionLists(state: config.state.pointer)
  }

  deinit {}

  /// What happens to a line.
  enum Decision {
    case send
    case stay
    /// The next piece of a line that stays, and is longer than any line of the agent's.
    case stayMore
    /// The line is dropped, because the whole file that it is about is sent.
    case drop
  }

  /// Calls `body` with each line of a file.
  ///
  /// - Parameters:
  ///   - isChecked: whether to check the lines; otherwise all are sent.
  ///   - body: takes the decision, the text to send or keep, and why it stays.
  /// - Returns: the bytes of the file.
  @inline(never)
  mutating func forEach(
    in file: Int32, isChecked: Bool = true,
    _ body: (Decision, Span<UInt8>, borrowing Text) throws(Retry.Problem) -> Void
  ) throws(Retry.Problem) -> Int64 {
    var lines = FileLines(file, capacity: Self.lineBytesMax)
    while true {
      let count = lines.next()
      guard count >= 0 else { throw Retry.Problem(Int32(-count)) }
      if count == 0 { return lines.place }
      let decision = isChecked ? decide(lines) : .send
      try body(decision, lines.line, why)
    }
  }

  private mutating func decide(_ lines: borrowing FileLines) -> Decision {
    why.clear()
    guard lines.isBeginning else { return .stayMore }
    guard lines.isEnd else {
      why.append("the agent did not write this line")
      return .stay
    }
    let text = lines.line
    let line = FailedLine(text)
    if let line, !line.hasNotification {
      if !line.hasPlace, hasUnread { return .drop }
      why.append(
        line.hasPlace
          ? "the line has no notification: correct the text that tinypush queue show prints, or the file that ends in .original if there is one, and send it again"
          : "see the reason: correct NAME.original or NAME.unread, and move it to new/ yourself"
      )
      return .stay
    }
    return canSend(text, line) ? .send : .stay
  }

  /// Whether a notification can be sent; otherwise ``why`` contains the reason.
  ///
  /// - Parameter line: the line of `failed/` that the text is, if it is one.
  @inline(never)
  private mutating func canSend(_ text: Span<UInt8>, _ line: FailedLine?) -> Bool {
    var reader = NotificationReader()
    switch reader.next(in: text, isWhole: true, rules, &findings) {
    case .notification(let notification):
      guard case .end = reader.next(in: text, isWhole: true, rules, &findings) else { break }
      guard canSend(notification, text) else { return false }
      guard let line, line.list(in: text).count > 0, notification.lists > 0 else { return true }
      return isGood(line.list(in: text))
    case .refused(let refusal, _):
      if let line, line.listLine > 0, refusal.reason == .missingRecipient {
        why.append("recipients file ", printable: line.list(in: text), ", line ")
        why.append(line.listLine)
        why.append(
          " was wrong, so the token is unknown: add the token to the notification, or send it yourself"
        )
      } else {
        refusal.describe(in: &why)
      }
      return false
    case .more, .end: break
    }
    why.append("the agent did not write this line")
    return false
  }

  /// Whether a correct notification would reach a device: it has not expired, and its token is not
  /// suppressed.
  private mutating func canSend(_ notification: Notification, _ text: Span<UInt8>) -> Bool {
    if case .until(let date) = notification.lifetime, date > 0, let now = Clock.time().wallSeconds,
      Int64(date) <= now
    {
      why.append("it expired at ")
      why.append(utc: date)
      return false
    }
    let recipient = text.extracting(notification.firstToken)
    guard notification.tokens == 1, notification.lists == 0,
      let token = DeviceToken(ofRecipient: recipient),
      let record = suppressed.find(token.identity),
      record.forbids(registered: notification.registered)
    else { return true }
    if record.reason.needsInvitation(isBrowser: Subscription.isMeant(recipient)) {
      why.append(
        "its browser has ended the subscription, so the alert can never be sent: tinypush queue drop removes the alert; the browser needs a new invitation: tinypush recipient invite NAME"
      )
    } else {
      why.append("its token is suppressed: if it is valid, run tinypush token register ")
      why.append(hex: token.bytes)
    }
    return false
  }

  /// Whether the recipients file for which a notification was refused is correct now.
  private mutating func isGood(_ list: Span<UInt8>) -> Bool {
    let found = lists.look(into: list)
    if found.error == 0, found.hasRecipients { return true }
    why.append("recipients file ", printable: list, ": ")
    if found.error == 0 {
      why.append("has no recipient: add one with tinypush recipient add")
    } else {
      why.append(cString: clinux_error_text(found.error))
    }
    return false
  }
}
