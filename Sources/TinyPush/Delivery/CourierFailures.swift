/// What goes to `failed/`: a ``FailedLine`` for each failure, in a file that bears the name of the one it came from.
extension Courier {
  /// What the shell is to record, besides ``failure``.
  struct PendingFailure {
    var claim: UInt32
    /// It was never sent.
    var isOurCheck = false
    var movesFile = false
    /// It is no failure, but a notification that waits for its time.
    var isPostponed = false
    /// What is not sent to any more, once that is on record.
    var invalidToken: DeviceToken?
    /// When somebody says that it was registered.
    var registered: UInt32 = 0
  }

  /// Bytes of text that is not JSON which a failure shows.
  private static let excerptBytesMax = 2048

  /// So many wrong notifications of one file are shown; a list of more would be much larger than the file.
  static let refusalsMax: UInt32 = 1000

  /// A notification was refused before it was sent.
  mutating func record(_ refusal: Finding, object: Range<Int>, of now: inout Reading) {
    guard isShown(now.claim) else { return }
    var reason = Text(capacity: 512)
    refusal.describe(in: &reason)
    var code = Text(capacity: 64)
    refusal.appendCode(to: &code)
    FailedLine.begin(reason, code, file: claims.name(now.claim), to: &failure)
    appendPlace(refusal.offset, of: &now)
    let text = input.looseSpan(0..<now.inputBytes)
    switch refusal.reason {
    case .json, .notAnObject, .objectTooLarge:
      let end = min(object.upperBound, object.lowerBound + Self.excerptBytesMax)
      let goesOn = object.upperBound == now.inputBytes && !now.isWhole
      if end < object.upperBound || goesOn { claims.setAside(now.claim) }
      FailedLine.end(text: text.extracting(object.lowerBound..<end), &failure)
    default: FailedLine.end(object: text.extracting(object), &failure)
    }
    pending = PendingFailure(claim: now.claim, isOurCheck: true)
  }

  /// Whether one more of a file is shown. Of those that are not the first is said.
  private mutating func isShown(_ claim: UInt32) -> Bool {
    let refusals = claims.noteRefusal(claim)
    if refusals <= Self.refusalsMax { return true }
    if refusals == Self.refusalsMax + 1 {
      recordMore(claim)
    } else {
      counters.failedCheck += 1
    }
    return false
  }

  /// Of one file there are more wrong notifications than are shown.
  private mutating func recordMore(_ claim: UInt32) {
    var reason = Text(capacity: 256)
    reason.append("more than ")
    reason.append(Self.refusalsMax)
    reason.append(
      " things are wrong in this file: it is here itself, as NAME.original; tinypush check shows them all"
    )
    begin(reason, "too-many", claim: claim)
    FailedLine.end(&failure)
    claims.setAside(claim)
    pending = PendingFailure(claim: claim, isOurCheck: true)
  }

  /// A long stretch of a file holds no notification.
  mutating func recordGarbage(_ now: Reading) {
    var reason = Text(capacity: 256)
    reason.append(
      "no notification was found in 1 MB of the file, so the rest of it was not read: the file is here itself, as NAME.original"
    )
    begin(reason, "no-notification", claim: now.claim)
    FailedLine.append("offset", max(now.objectEnd, now.passUntil), to: &failure)
    FailedLine.end(&failure)
    claims.setAside(now.claim)
    pending = PendingFailure(claim: now.claim, isOurCheck: true)
  }

  /// A notification was sent and is not sent again: the gateway refused it, or dies at it.
  ///
  /// - Parameter language: of the recipient, in which the notification is kept.
  mutating func refuse(
    _ notification: Notification, _ token: DeviceToken, _ language: LanguageTag?,
    _ verdict: Verdict, of now: Reading
  ) {
    var reason = Text(capacity: 512)
    switch verdict {
    case .refused(let status):
      reason.append("the gateway refused it: ")
      reason.append(status.text)
      reason.append("; ")
      reason.append(status.advice)
      begin(reason, status.text, claim: now.claim)
      FailedLine.append("status", status.rawValue, to: &failure)
    case .deadly:
      reason.append(
        "the connection ended each time that this one was sent, with no answer that names it, and lived without it: "
      )
      reason.append(
        settings.format == .simple
          ? "most likely its token is invalid (format 0 has no answers that say so)"
          : "look for what is unusual in it")
      begin(reason, "connection-ended", claim: now.claim)
    }
    FailedLine.append(
      "offset", now.inputOffset + Int64(notification.object.lowerBound), to: &failure)
    let text = input.looseSpan(0..<now.inputBytes)
    FailedLine.end(notification, of: text, for: token, language, &failure)
    pending = PendingFailure(
      claim: now.claim,
      invalidToken: verdict == .refused(.invalidToken) ? token : nil,
      registered: notification.registered)
  }

  /// Something is wrong with the recipients file that is next, so that somebody does not get it.
  mutating func record(
    _ problem: Roster.Problem, _ notification: Notification, of now: inout Reading
  ) {
    var reason = Text(capacity: 512)
    reason.append("recipients file ")
    reason.append(bytes: roster.name())
    let code: StaticString
    switch problem {
    case .line(let problem):
      code = problem.code
      reason.append(", line ")
      reason.append(roster.line)
      reason.append(": ")
      reason.append(problem.text)
    case .empty:
      code = "list-empty"
      reason.append(": no token is in it, so it goes to nobody: add one, on a line of its own")
    case .unreadable(.vanished):
      code = "list-missing"
      reason.append(": there is none of this name: make it, a device token a line")
    case .unreadable(.unreadable(let error)):
      code = "list-unreadable"
      reason.append(" cannot be read (errno ")
      reason.append(error)
      reason.append("): make it readable for the agent's user")
    case .unreadable:
      code = "list-unreadable"
      reason.append(": must be a regular file")
    }
    now.isAtStart = false
    now.recipientIsLeft = true
    guard isShown(now.claim) else { return }
    begin(reason, code, claim: now.claim)
    FailedLine.append(list: roster.name(), to: &failure)
    var list: Span<UInt8>? = roster.name()
    if case .line = problem {
      FailedLine.append("list_line", roster.line, to: &failure)
      // Who the line is for nobody knows, and the others in the list get it.
      list = nil
    }
    appendPlace(notification.object.lowerBound, of: &now)
    if notification.object.count <= Self.excerptBytesMax {
      let text = input.looseSpan(0..<now.inputBytes)
      FailedLine.end(notification, of: text, forList: list, &failure)
    } else {
      // One that many recipients do not get would take its length for each.
      claims.setAside(now.claim)
      FailedLine.end(&failure)
    }
    pending = PendingFailure(claim: now.claim, isOurCheck: true)
  }

  private mutating func appendPlace(_ offset: Int, of now: inout Reading) {
    countLines(upTo: min(offset, now.inputBytes), of: &now)
    FailedLine.append("offset", now.inputOffset + Int64(offset), to: &failure)
    FailedLine.append("line", now.lines + 1, to: &failure)
    FailedLine.append("column", now.lineCharacters + 1, to: &failure)
  }

  /// A file cannot be read at all; the shell moves it beside the failure, so that its place is free.
  mutating func record(reasonCode: Int32, claim: UInt32) {
    var reason = Text(capacity: 128)
    reason.append(
      "the file cannot be read (errno ")
    reason.append(reasonCode)
    reason.append("): make it readable for the agent's user, and move it back to new/")
    begin(reason, "unreadable", claim: claim)
    FailedLine.end(&failure)
    pending = PendingFailure(claim: claim, isOurCheck: true, movesFile: true)
    claims.keep(claim)
  }

  private mutating func begin(_ reason: borrowing Text, _ words: StaticString, claim: UInt32) {
    var code = Text(capacity: 64)
    code.append(words)
    FailedLine.begin(reason, code, file: claims.name(claim), to: &failure)
  }

  /// Counts what is let go of the input: the lines of it, which the reader has counted, unless it was looking for an object.
  func passLines(upTo end: Int, of now: inout Reading) {
    if now.counted == 0, now.reader.lineEnds > 0, !now.reader.isSkipping {
      now.lines += Int64(now.reader.lineEnds)
      now.lineCharacters = 0
      now.counted = min(now.reader.lineStart, end)
    }
    countLines(upTo: end, of: &now)
    now.counted -= end
  }

  /// Counts on the lines that end in the input, and the characters of the line that goes on behind.
  func countLines(upTo end: Int, of now: inout Reading) {
    while now.counted < end {
      if input[now.counted] == 0x0A {
        now.lines += 1
        now.lineCharacters = 0
      } else if input[now.counted] & 0xC0 != 0x80 {
        now.lineCharacters += 1
      }
      now.counted += 1
    }
  }
}
