/// What goes to `failed/`: a line of JSON a failure, in a file that bears the name of the one it came from.
///
/// ```json
/// {"reason":"…","file":"NAME","offset":0,"line":1,"column":14,"notification":{…}}
/// ```
///
/// What waits for its `not-before` is recorded the same way, in `later/`.
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
  }

  /// What the shell is to record, besides ``text``.
  struct Pending {
    var claim: ClaimNumber
    var kind: Kind
    /// A token that is not sent to any more, once that is on record.
    var invalidToken: DeviceToken?
    /// When somebody says that it was registered.
    var registered: UInt32 = 0
  }

  private(set) var text = Text(capacity: NotificationReader.objectBytesMax + 8192)
  private(set) var pending: Pending?
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
  mutating func postpone(_ object: Span<UInt8>, of claim: ClaimNumber) {
    text.clear()
    appendInOneLine(object)
    text.append("\n")
    pending = Pending(claim: claim, kind: .postponed)
  }

  /// A notification was refused before it was sent. Returns whether the record shows all of it.
  mutating func refuse(
    _ finding: Finding, _ object: Range<Int>, of now: inout Reading, in input: Span<UInt8>,
    _ claims: borrowing Claims
  ) -> Bool {
    var reason = Text(capacity: 512)
    finding.describe(in: &reason)
    begin(reason, now.claim, claims)
    appendPlace(finding.offset, of: &now, in: input)
    var isWhole = true
    switch finding.reason {
    case .json, .notAnObject, .objectTooLarge:
      let end = min(object.upperBound, object.lowerBound + Self.excerptBytesMax)
      let goesOn = object.upperBound == now.inputBytes && !now.isWhole
      isWhole = end == object.upperBound && !goesOn
      text.append(",\"text\":")
      text.append(json: input.extracting(object.lowerBound..<end))
    default:
      text.append(",\"notification\":")
      appendInOneLine(input.extracting(object))
    }
    finish(now.claim, .refused)
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
    begin(reason, claim, claims)
    finish(claim, .refused)
  }

  /// A long stretch of a file, from `offset` on, holds no notification.
  mutating func refuseGarbage(of claim: ClaimNumber, from offset: Int64, _ claims: borrowing Claims)
  {
    var reason = Text(capacity: 256)
    reason.append(
      "no notification was found in 1 MB of the file, so the rest of it was not read: the file is here itself, as NAME.original"
    )
    begin(reason, claim, claims)
    text.append(",\"offset\":")
    text.append(offset)
    finish(claim, .refused)
  }

  /// A file cannot be read at all; the shell moves it beside the failure, so that its place is free.
  mutating func refuseUnreadable(_ claim: ClaimNumber, _ error: Int32, _ claims: borrowing Claims) {
    var reason = Text(capacity: 128)
    reason.append("the file cannot be read (errno ")
    reason.append(error)
    reason.append("): make it readable for the agent's user, and move it back to new/")
    begin(reason, claim, claims)
    finish(claim, .unreadable)
  }

  /// A notification was sent and is not sent again: the service rejected it, or connections die at it.
  ///
  /// - Parameter isSilent: whether the service names nothing that it rejects.
  mutating func reject(
    _ rejection: Rejection, _ notification: Notification, _ token: DeviceToken, of now: Reading,
    in input: Span<UInt8>, _ claims: borrowing Claims, isSilent: Bool
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
      begin(reason, now.claim, claims)
    } else {
      reason.append("the gateway refused it: ")
      reason.append(rejection.text)
      reason.append("; ")
      reason.append(rejection.advice)
      begin(reason, now.claim, claims)
      text.append(",\"status\":")
      text.append(rejection.code)
    }
    text.append(",\"token\":\"")
    text.append(hex: token.bytes.span)
    text.append("\"")
    text.append(",\"offset\":")
    text.append(now.inputOffset + Int64(notification.object.lowerBound))
    text.append(",\"notification\":")
    appendInOneLine(input.extracting(notification.object))
    finish(now.claim, .rejected)
    if rejection.suppressesToken {
      pending?.invalidToken = token
      pending?.registered = notification.registered
    }
  }

  /// Something is wrong with the recipients file that is next, so that somebody does not get a notification. Returns whether
  /// the record shows all of the notification.
  mutating func refuse(
    _ problem: Roster.Problem, in roster: borrowing Roster, _ notification: Notification,
    of now: inout Reading, in input: Span<UInt8>, _ claims: borrowing Claims
  ) -> Bool {
    var reason = Text(capacity: 512)
    Self.describe(problem, in: roster, &reason)
    begin(reason, now.claim, claims)
    text.append(",\"list\":\"")
    text.append(bytes: roster.name())
    text.append("\"")
    if case .line = problem {
      text.append(",\"list_line\":")
      text.append(roster.line)
    }
    appendPlace(notification.object.lowerBound, of: &now, in: input)
    // One that many recipients do not get would take its length for each.
    let isWhole = notification.object.count <= Self.excerptBytesMax
    if isWhole {
      text.append(",\"notification\":")
      appendInOneLine(input.extracting(notification.object))
    }
    finish(now.claim, .refused)
    return isWhole
  }

  private static func describe(
    _ problem: Roster.Problem, in roster: borrowing Roster, _ reason: inout Text
  ) {
    reason.append("recipients file ")
    reason.append(bytes: roster.name())
    switch problem {
    case .line(let problem):
      reason.append(", line ")
      reason.append(roster.line)
      reason.append(": ")
      reason.append(problem.text)
    case .empty:
      reason.append(": no token is in it, so it goes to nobody: add one, on a line of its own")
    case .unreadable(.vanished):
      reason.append(": there is none of this name: make it, a device token a line")
    case .unreadable(.unreadable(let error)):
      reason.append(" cannot be read (errno ")
      reason.append(error)
      reason.append("): make it readable for the agent's user")
    case .unreadable: reason.append(": must be a regular file")
    }
  }

  // MARK: - Text

  private mutating func begin(
    _ reason: borrowing Text, _ claim: ClaimNumber, _ claims: borrowing Claims
  ) {
    text.clear()
    text.append("{\"reason\":")
    text.append(json: reason)
    text.append(",\"file\":")
    text.append(json: claims.name(claim))
  }

  private mutating func finish(_ claim: ClaimNumber, _ kind: Kind) {
    text.append("}\n")
    pending = Pending(claim: claim, kind: kind)
  }

  private mutating func appendPlace(
    _ offset: Int, of now: inout Reading, in input: Span<UInt8>
  ) {
    now.lines.count(upTo: min(offset, now.inputBytes), in: input)
    text.append(",\"offset\":")
    text.append(now.inputOffset + Int64(offset))
    text.append(",\"line\":")
    text.append(now.lines.lines + 1)
    text.append(",\"column\":")
    text.append(now.lines.characters + 1)
  }

  /// JSON text has line ends only where white space may stand.
  private mutating func appendInOneLine(_ json: Span<UInt8>) {
    for index in json.indices {
      let byte = json[index]
      let isLineEnd = byte == .lineFeed || byte == .carriageReturn
      text.append(byte: isLineEnd ? .space : byte)
    }
  }
}
