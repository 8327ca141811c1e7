/// The record that the agent must write next.
///
/// A failure is a ``FailedLine`` in the file of `failed/` that has the name of the notification's
/// file. A notification for a later time is written to `later/` in the same way.
struct Recorder: ~Copyable {
  enum Kind {
    /// The service rejected a notification, or connections die when it is sent.
    case rejected
    /// A notification was refused before it was sent.
    case refused
    /// A file cannot be read, and is itself moved to `failed/`.
    case unreadable
    /// A notification waits for its time; this is no failure.
    case postponed
    /// A notification was settled, which is only reported.
    case settled
    /// An alert is over a limit.
    case limited
    /// A summary of alerts over a limit, which belongs to no file; this is no failure.
    case summary
  }

  /// The properties of the record besides its ``text``.
  struct Pending {
    var claim: ClaimNumber
    var kind: Kind
    var settlement: Settlement
    /// A token to suppress once the record is written.
    var invalidToken: DeviceToken?
    /// Whether the token was accepted before, so that it is not suppressed yet.
    var isSpared = false
    /// When the token was registered, in UNIX seconds, as the notification says.
    var registered: UInt32 = 0
    /// The token and the topic's number of a limited alert; nil: no summary counts it.
    var limited: (token: DeviceToken, topic: UInt8)?
  }

  var text = Text(capacity: NotificationReader.objectBytesMax + 8192)
  var pending: Pending?
  /// Whether a power cut might lose records.
  var isUnsynced = false

  /// The longest excerpt in a record, in bytes.
  private static let excerptBytesMax = 2048

  /// The most refused notifications of one file that are recorded.
  ///
  /// More records would be much larger than the file.
  static let refusalsMax: UInt32 = 1000

  init() {}

  /// Returns the pending record, which was written or could not be.
  mutating func takePending() -> Pending? {
    defer { pending = nil }
    return pending
  }

  // MARK: - Records

  /// Prepares the record of a notification that waits for its time.
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

  /// Prepares the report of a settled notification that needs no record.
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

  /// Prepares the record of a notification that was refused before it was sent.
  ///
  /// Returns whether the record shows all of it.
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

  /// Prepares the record that replaces all further ones of a file.
  mutating func refuseMore(of claim: ClaimNumber, _ claims: borrowing Claims) {
    var reason = Text(capacity: 256)
    reason.append("more than ")
    reason.append(Self.refusalsMax)
    reason.append(
      " problems in this file: the whole file is kept here as NAME.original; tinypush check lists them all"
    )
    begin(reason, "too-many", claim, claims)
    FailedLine.end(&text)
    pending = Pending(claim: claim, kind: .refused, settlement: Settlement(outcome: .refused))
  }

  /// Prepares the record of a long part of a file, from `offset` on, without a notification.
  mutating func refuseGarbage(of claim: ClaimNumber, from offset: Int64, _ claims: borrowing Claims)
  {
    var reason = Text(capacity: 256)
    reason.append(
      "no notification was found in 1 MB of the file, so the rest was not read: the whole file is kept here as NAME.original"
    )
    begin(reason, "no-notification", claim, claims)
    FailedLine.append("offset", offset, to: &text)
    FailedLine.end(&text)
    pending = Pending(claim: claim, kind: .refused, settlement: Settlement(outcome: .refused))
  }

  /// Prepares the record of a file that cannot be read.
  ///
  /// The agent moves the file to `failed/`, next to the record.
  mutating func refuseUnreadable(_ claim: ClaimNumber, _ error: Int32, _ claims: borrowing Claims) {
    var reason = Text(capacity: 128)
    reason.append("the file cannot be read (errno ")
    reason.append(error)
    reason.append("): make it readable for the agent's user, and move it back to new/")
    begin(reason, "unreadable", claim, claims)
    FailedLine.end(&text)
    pending = Pending(claim: claim, kind: .unreadable, settlement: Settlement(outcome: .refused))
  }

  /// Prepares the record of a notification that was sent and is not sent again.
  ///
  /// The service rejected it, or connections die when it is sent.
  ///
  /// - Parameters:
  ///   - language: the language of the recipient, in which the record shows the notification.
  ///   - isSilent: whether the service never names what it rejects.
  ///   - isSpared: whether the token is not suppressed yet.
  mutating func reject(
    _ rejection: Rejection, _ notification: Notification, _ token: DeviceToken,
    _ language: LanguageTag?, of now: Reading, in input: borrowing FixedBuffer<UInt8>,
    _ claims: borrowing Claims, isSilent: Bool, isSpared: Bool
  ) {
    var reason = Text(capacity: 1024)
    if rejection.reason == .endsConnections {
      reason.append(
        "the connection ended each time this notification was sent, without a valid answer, and stayed up without it: "
      )
      reason.append(
        isSilent
          ? "most likely its token is invalid (format 0 has no error responses)"
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

  /// Appends what happens to the token, and how to register it again.
  private static func appendSuppression(
    of token: DeviceToken, _ rejection: Rejection, isSpared: Bool, _ reason: inout Text
  ) {
    guard rejection.suppressesToken else { return }
    if isSpared {
      return reason.append(
        "; the token was accepted before, and is not suppressed until the gateway refuses it again")
    }
    reason.append(". Nothing more is sent to it: correct this, then run tinypush token register ")
    reason.append(hex: token.bytes)
  }

  /// Prepares the record of a problem with a recipients file.
  ///
  /// The problem keeps the notification from a recipient. Returns whether the record shows all of
  /// the notification.
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
      // The line's recipient is unknown, and the other recipients of the file get the notification.
      // So the record names no recipient.
      list = nil
    }
    appendPlace(notification.object.lowerBound, of: &now, in: input)
    // A long notification would be repeated in the record of each wrong line.
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

  /// Describes a problem with a recipients file, and returns its code.
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
      reason.append(
        " has no token, so nobody gets the notification: add a token on a line of its own")
      return "list-empty"
    case .unreadable(.vanished):
      reason.append(" does not exist: create it, with one device token per line")
      return "list-missing"
    case .unreadable(.unreadable(let error)):
      reason.append(" cannot be read (errno ")
      reason.append(error)
      reason.append("): make it readable for the agent's user")
    case .unreadable: reason.append(" is not a regular file: replace it by one")
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
