import CLinux
import TinyPush

/// Checks lines of files in `failed/`, with what the agent goes by.
struct FailedCheck: ~Copyable {
  /// The longest line of the agent's: a notification, and what is said of it.
  static let lineBytesMax = NotificationReader.objectBytesMax + 16_384

  private let rules: Rules
  private let lists: RecipientsLookup
  private var suppressed: SuppressionLists
  private var findings = Findings()
  /// A line of version 0.1.0, as it is written now.
  private var draft = Text(capacity: lineBytesMax)
  /// Why the line stays.
  private var why = Text(capacity: 2048)
  /// The whole file can be read by now that the agent could not read.
  var hasUnread = false

  init(_ config: borrowing Config) {
    rules = config.courier.rules
    lists = RecipientsLookup(config.recipients.span)
    suppressed = SuppressionLists(state: config.state.pointer)
  }

  deinit {}

  /// What becomes of a line.
  enum Verdict {
    case goes
    /// As it is in the ``draft``.
    case goesAnew
    case stays
    /// More of a line that stays, and is longer than any of the agent's.
    case goesOn
    /// It says nothing more once the whole file goes.
    case isDone
  }

  /// Goes over the lines of a file.
  ///
  /// - Parameters:
  ///   - isJudged: else all of them go.
  ///   - body: is given what becomes of a line, the line as it goes or stays, and why it stays.
  /// - Returns: the bytes of the file.
  @inline(never)
  mutating func forEach(
    in file: Int32, isJudged: Bool = true,
    _ body: (Verdict, Span<UInt8>, borrowing Text) throws(Retry.Problem) -> Void
  ) throws(Retry.Problem) -> Int64 {
    var lines = FileLines(file, capacity: Self.lineBytesMax)
    while true {
      let count = lines.next()
      guard count >= 0 else { throw Retry.Problem(Int32(-count)) }
      if count == 0 { return lines.place }
      let verdict = isJudged ? judge(lines) : .goes
      try body(verdict, verdict == .goesAnew ? draft.looseBytes : lines.line, why)
    }
  }

  private mutating func judge(_ lines: borrowing FileLines) -> Verdict {
    why.clear()
    guard lines.isBeginning else { return .goesOn }
    guard lines.isEnd else {
      why.append("is no line of the agent's")
      return .stays
    }
    let text = lines.line
    let line = FailedLine(text)
    if let line, !line.hasNotification {
      if !line.hasPlace, hasUnread { return .isDone }
      why.append(
        line.hasPlace
          ? "it is not here as JSON: mend it, from NAME.original where there is one, and send it anew"
          : "see the reason: what is in NAME.original or NAME.unread, mend and move to new/ yourself"
      )
      return .stays
    }
    guard let line, !line.wrapped.isEmpty else { return mayGo(text, line, text) ? .goes : .stays }
    unwrap(line, text)
    return mayGo(draft.looseBytes, line, text) ? .goesAnew : .stays
  }

  /// Puts a line of version 0.1.0 into the draft as one is written now.
  @inline(never)
  private mutating func unwrap(_ line: FailedLine, _ text: Span<UInt8>) {
    var reason = Text(capacity: 2048)
    line.appendReason(of: text, to: &reason)
    FailedLine.begin(reason, Text(capacity: 0), file: text.extracting(0..<0), to: &draft)
    let object = text.extracting(line.wrapped)
    let list = line.list(in: text)
    var reader = NotificationReader()
    guard case .notification(let found) = reader.next(in: object, isWhole: true, rules, &findings)
    else { return FailedLine.end(object: object, &draft) }
    if let token = DeviceToken(hex: line.recipient(in: text)) {
      FailedLine.end(found, of: object, for: token, nil, &draft)
    } else if list.count > 0 {
      FailedLine.end(found, of: object, forList: line.listLine > 0 ? nil : list, &draft)
    } else {
      FailedLine.end(object: object, &draft)
    }
  }

  /// Whether a notification may be sent; else ``why`` says why not.
  ///
  /// - Parameter line: what is said of it, in `said`.
  @inline(never)
  private mutating func mayGo(_ text: Span<UInt8>, _ line: FailedLine?, _ said: Span<UInt8>) -> Bool
  {
    var reader = NotificationReader()
    switch reader.next(in: text, isWhole: true, rules, &findings) {
    case .notification(let notification):
      guard case .end = reader.next(in: text, isWhole: true, rules, &findings) else { break }
      guard mayGo(notification, text) else { return false }
      guard let line, line.list(in: said).count > 0, notification.lists > 0 else { return true }
      return isGood(line.list(in: said))
    case .refused(let refusal, _):
      if let line, line.listLine > 0, refusal.reason == .missingRecipient {
        why.append("recipients file ")
        why.append(printable: line.list(in: said))
        why.append(", line ")
        why.append(line.listLine)
        why.append(
          " was wrong, and did not say who it is for: give it that token, or send it yourself")
      } else {
        refusal.describe(in: &why)
      }
      return false
    case .more, .end: break
    }
    why.append("is no line of the agent's")
    return false
  }

  /// Whether a notification that the check lets pass would come to somebody.
  private mutating func mayGo(_ notification: Notification, _ text: Span<UInt8>) -> Bool {
    if case .until(let date) = notification.lifetime, date > 0, let now = Clock.time().wallSeconds,
      Int64(date) <= now
    {
      why.append("it has expired: its expiration was ")
      why.append(utc: date)
      return false
    }
    let end = notification.firstToken + DeviceToken.digitCount
    guard notification.tokens == 1, notification.lists == 0,
      let token = DeviceToken(hex: text.extracting(notification.firstToken..<end)),
      suppressed.find(token)?.forbids(registered: notification.registered) == true
    else { return true }
    why.append("nothing is sent to its token: when it is a good one, say tinypush token register ")
    why.append(hex: token.bytes.span)
    return false
  }

  /// Whether the recipients file, for the sake of which a notification was refused, is right by now.
  private mutating func isGood(_ list: Span<UInt8>) -> Bool {
    let found = lists.look(into: list)
    if found.error == 0, found.hasRecipients { return true }
    why.append("recipients file ")
    why.append(printable: list)
    why.append(": ")
    if found.error == 0 {
      why.append("no token is in it")
    } else {
      why.append(cString: clinux_error_text(found.error))
    }
    return false
  }
}
