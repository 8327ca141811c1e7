/// What goes to `failed/`: a ``FailedLine`` for each failure, in a file that bears the name of the one it came from. What waits for its `not-before` is recorded the same way, in `later/`.
struct Recorder: ~Copyable {
  enum Kind {
    /// The service rejected a notification, or connections die at it.
    case rejected
    /// A notification was refused before it was sent.
    case refused
    /// A file cannot be read, and is moved to `failed/` itself.
    case unreadable
    /// No failure, but a notification that waits for its time.
    case postponed
    /// Nothing is recorded: how a notification was settled is only told.
    case settled
    /// An alert is over a limit.
    case limited
    /// No failure either, but a summary of such alerts, which belongs to no file.
    case summary
  }

  /// What the shell is to record, besides ``text``.
  struct Pending {
    var claim: ClaimNumber
    var kind: Kind
    var settlement: Settlement
    /// A token that is not sent to any more, once that is on record.
    var invalidToken: DeviceToken?
    /// It was accepted before, and is sent to all the same.
    var isSpared = false
    /// When somebody says that it was registered.
    var registered: UInt32 = 0
    /// To whom an alert would have gone that is over a limit, and the number of its topic; nil: no summary counts it.
    var limited: (token: DeviceToken, topic: UInt8)?
  }

  var text = Text(capacity: NotificationReader.objectBytesMax + 8192)
  var pending: Pending?
  /// Records were written that a power cut might take.
  var isUnsynced = false

  /// Bytes of a text that a failure shows where it does not show it whole.
  private static let excerptBytesMax = 2048

  /// So many wrong notifications of one file are shown; a list of more would be much larger than the file.
  static let refusalsMax: UInt32 = 1000

  init() {}

  /// The shell has recorded it, or could not.
  mutating func takePending() -> Pending? {
    defer { pending = nil }
    return pending
  }

  // MARK: - Records

  /// A notification waits for its time.
  mutating func postpone(
    _ notification: Notification, of now: Reading, in input: borrowing FixedBuffer<UInt8>
  ) {
    text.clear()
    text.append(bytes: now.text(in: input).extracting(notification.object))
    text.putInOneLine(from: 0)
    text.append("\n")
    let offset = now.inputOffset + Int64(notification.object.lowerBound)
    pending = Pending(
      claim: now.claim, kind: .postponed,
      settlement: Settlement(outcome: .postponed, offset: offset))
  }

  /// A notification is settled, and nothing of it is to be recorded.
  mutating func settle(
    _ outcome: Settlement.Outcome, _ notification: Notification, _ token: DeviceToken?,
    of now: inout Reading, in input: borrowing FixedBuffer<UInt8>
  ) {
    text.clear()
    let start = notification.object.lowerBound
    var settlement = Settlement(
      outcome: outcome, token: token, offset: now.inputOffset + Int64(start))
    if now.isFirst {
      now.lines.count(upTo: start, in: now.text(in: input))
      settlement.line = now.lines.lines + 1
    }
    pending = Pending(claim: now.claim, kind: .settled, settlement: settlement)
  }

  /// A notification was refused before it was sent. Returns whether the record shows all of it.
  mutating func refuse(
    _ finding: Finding, _ object: Range<Int>, of now: inout Reading,
    in input: borrowing FixedBuffer<UInt8>, _ claims: borrowing Claims
  ) -> Bool {
    let input = now.text(in: input)
    var reason = Text(capacity: 512)
    finding.describe(in: &reason)
    var code = Text(capacity: 64)
    finding.appendCode(to: &code)
    FailedLine.begin(reason, code, file: claims.name(now.claim), to: &text)
    appendPlace(finding.offset, of: &now, in: input)
    var isWhole = true
    switch finding.reason {
    case .json, .notAnObject, .objectTooLarge:
      let end = min(object.upperBound, object.lowerBound + Self.excerptBytesMax)
      let goesOn = object.upperBound == now.inputBytes && !now.isWhole
      isWhole = end == object.upperBound && !goesOn
      FailedLine.end(text: input.extracting(object.lowerBound..<end), &text)
    default: FailedLine.end(object: input.extracting(object), &text)
    }
    pending = Pending(
      claim: now.claim, kind: .refused,
      settlement: Settlement(outcome: .refused, line: now.lines.lines + 1))
    return isWhole
  }

  /// Of one file there are more wrong notifications than are shown.
  mutating func refuseMore(of claim: ClaimNumber, _ claims: borrowing Claims) {
    var reason = Text(capacity: 256)
    reason.append("more than ")
    reason.append(Self.refusalsMax)
    reason.append(
      " things are wrong in this file: it is here itself, as NAME.original; tinypush check shows them all"
    )
    begin(reason, "too-many", claim, claims)
    FailedLine.end(&text)
    pending = Pending(claim: claim, kind: .refused, settlement: Settlement(outcome: .refused))
  }

  /// A long stretch of a file, from `offset` on, holds no notification.
  mutating func refuseGarbage(of claim: ClaimNumber, from offset: Int64, _ claims: borrowing Claims)
  {
    var reason = Text(capacity: 256)
    reason.append(
      "no notification was found in 1 MB of the file, so the rest of it was not read: the file is here itself, as NAME.original"
    )
    begin(reason, "no-notification", claim, claims)
    FailedLine.append("offset", offset, to: &text)
    FailedLine.end(&text)
    pending = Pending(claim: claim, kind: .refused, settlement: Settlement(outcome: .refused))
  }

  /// A file cannot be read at all; the shell moves it beside the failure, so that its place is free.
  mutating func refuseUnreadable(_ claim: ClaimNumber, _ error: Int32, _ claims: borrowing Claims) {
    var reason = Text(capacity: 128)
    reason.append("the file cannot be read (errno ")
    reason.append(error)
    reason.append("): make it readable for the agent's user, and move it back to new/")
    begin(reason, "unreadable", claim, claims)
    FailedLine.end(&text)
    pending = Pending(claim: claim, kind: .unreadable, settlement: Settlement(outcome: .refused))
  }

  /// A notification was sent and is not sent again: the service rejected it, or connections die at it.
  ///
  /// - Parameters:
  ///   - language: of the recipient, in which the notification is kept.
  ///   - isSilent: whether the service names nothing that it rejects.
  ///   - isSpared: whether the token is sent to all the same.
  mutating func reject(
    _ rejection: Rejection, _ notification: Notification, _ token: DeviceToken,
    _ language: LanguageTag?, of now: Reading, in input: borrowing FixedBuffer<UInt8>,
    _ claims: borrowing Claims, isSilent: Bool, isSpared: Bool
  ) {
    var reason = Text(capacity: 512)
    if rejection.reason == .endsConnections {
      reason.append(
        "the connection ended each time that this one was sent, with no answer that names it, and lived without it: "
      )
      reason.append(
        isSilent
          ? "most likely its token is invalid (format 0 has no answers that say so)"
          : rejection.advice)
    } else {
      reason.append("the gateway refused it: ")
      reason.append(rejection.text)
      reason.append("; ")
      reason.append(rejection.advice)
      Self.appendSuppression(of: token, rejection, isSpared: isSpared, &reason)
    }
    begin(reason, rejection.text, now.claim, claims)
    if rejection.code > 0 { FailedLine.append("status", rejection.code, to: &text) }
    FailedLine.append(
      "offset", now.inputOffset + Int64(notification.object.lowerBound), to: &text)
    FailedLine.end(notification, of: now.text(in: input), for: token, language, &text)
    pending = Pending(
      claim: now.claim, kind: .rejected,
      settlement: Settlement(
        outcome: .rejected(rejection), token: token,
        offset: now.inputOffset + Int64(notification.object.lowerBound)))
    if rejection.suppressesToken {
      pending?.invalidToken = token
      pending?.registered = notification.registered
      pending?.isSpared = isSpared
    }
  }

  /// Says what becomes of the token, and how it comes back.
  private static func appendSuppression(
    of token: DeviceToken, _ rejection: Rejection, isSpared: Bool, _ reason: inout Text
  ) {
    guard rejection.suppressesToken else { return }
    if isSpared {
      return reason.append(
        "; it was accepted before, and is not suppressed until the gateway refuses it again")
    }
    reason.append(". Nothing more is sent to it: when that is mended, tinypush token register ")
    reason.append(hex: token.bytes.span)
  }

  /// Something is wrong with the recipients file that is next, so that somebody does not get a notification. Returns whether
  /// the record shows all of the notification.
  mutating func refuse(
    _ problem: Roster.Problem, in roster: borrowing Roster, _ notification: Notification,
    of now: inout Reading, in input: borrowing FixedBuffer<UInt8>, _ claims: borrowing Claims
  ) -> Bool {
    let input = now.text(in: input)
    var reason = Text(capacity: 512)
    let code = Self.describe(problem, in: roster, &reason)
    begin(reason, code, now.claim, claims)
    FailedLine.append(list: roster.name(), to: &text)
    var list: Span<UInt8>? = roster.name()
    if case .line = problem {
      FailedLine.append("list_line", roster.line, to: &text)
      // Who the line is for nobody knows, and the others in the list get it.
      list = nil
    }
    appendPlace(notification.object.lowerBound, of: &now, in: input)
    // One that many recipients do not get would take its length for each.
    let isWhole = notification.object.count <= Self.excerptBytesMax
    if isWhole {
      FailedLine.end(notification, of: input, forList: list, &text)
    } else {
      FailedLine.end(&text)
    }
    pending = Pending(
      claim: now.claim, kind: .refused,
      settlement: Settlement(outcome: .refused, line: now.lines.lines + 1))
    return isWhole
  }

  /// Says what is wrong with a recipients file. Returns the code of it.
  private static func describe(
    _ problem: Roster.Problem, in roster: borrowing Roster, _ reason: inout Text
  ) -> StaticString {
    reason.append("recipients file ")
    reason.append(bytes: roster.name())
    switch problem {
    case .line(let problem):
      reason.append(", line ")
      reason.append(roster.line)
      reason.append(": ")
      reason.append(problem.text)
      return problem.code
    case .empty:
      reason.append(": no token is in it, so it goes to nobody: add one, on a line of its own")
      return "list-empty"
    case .unreadable(.vanished):
      reason.append(": there is none of this name: make it, a device token a line")
      return "list-missing"
    case .unreadable(.unreadable(let error)):
      reason.append(" cannot be read (errno ")
      reason.append(error)
      reason.append("): make it readable for the agent's user")
    case .unreadable: reason.append(": must be a regular file")
    }
    return "list-unreadable"
  }

  // MARK: - Text

  mutating func begin(
    _ reason: borrowing Text, _ words: StaticString, _ claim: ClaimNumber,
    _ claims: borrowing Claims
  ) {
    var code = Text(capacity: 64)
    code.append(words)
    FailedLine.begin(reason, code, file: claims.name(claim), to: &text)
  }

  private mutating func appendPlace(
    _ offset: Int, of now: inout Reading, in input: Span<UInt8>
  ) {
    now.lines.count(upTo: min(offset, now.inputBytes), in: input)
    FailedLine.append("offset", now.inputOffset + Int64(offset), to: &text)
    FailedLine.append("line", now.lines.lines + 1, to: &text)
    FailedLine.append("column", now.lines.characters + 1, to: &text)
  }
}
