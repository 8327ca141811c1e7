/// What goes to `failed/`: a line of JSON a failure, in a file that bears the name of the one it came from.
///
/// ```json
/// {"reason":"…","file":"NAME","offset":0,"line":1,"column":14,"notification":{…}}
/// ```
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
    begin(reason, claim: now.claim)
    appendPlace(refusal.offset, of: &now)
    let text = input.looseSpan(0..<now.inputBytes)
    switch refusal.reason {
    case .json, .notAnObject, .objectTooLarge:
      let end = min(object.upperBound, object.lowerBound + Self.excerptBytesMax)
      let goesOn = object.upperBound == now.inputBytes && !now.isWhole
      if end < object.upperBound || goesOn { claims.setAside(now.claim) }
      failure.append(",\"text\":")
      failure.append(json: text.extracting(object.lowerBound..<end))
    default:
      failure.append(",\"notification\":")
      appendInOneLine(text.extracting(object))
    }
    failure.append("}\n")
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
    begin(reason, claim: claim)
    failure.append("}\n")
    claims.setAside(claim)
    pending = PendingFailure(claim: claim, isOurCheck: true)
  }

  /// A long stretch of a file holds no notification.
  mutating func recordGarbage(_ now: Reading) {
    var reason = Text(capacity: 256)
    reason.append(
      "no notification was found in 1 MB of the file, so the rest of it was not read: the file is here itself, as NAME.original"
    )
    begin(reason, claim: now.claim)
    failure.append(",\"offset\":")
    failure.append(max(now.objectEnd, now.passUntil))
    failure.append("}\n")
    claims.setAside(now.claim)
    pending = PendingFailure(claim: now.claim, isOurCheck: true)
  }

  /// A notification was sent and is not sent again: the gateway refused it, or dies at it.
  mutating func refuse(
    _ notification: Notification, _ token: DeviceToken, _ verdict: Verdict, of now: Reading
  ) {
    var reason = Text(capacity: 512)
    switch verdict {
    case .refused(let status):
      reason.append("the gateway refused it: ")
      reason.append(status.text)
      reason.append("; ")
      reason.append(status.advice)
      begin(reason, claim: now.claim)
      failure.append(",\"status\":")
      failure.append(status.rawValue)
    case .deadly:
      reason.append(
        "the connection ended each time that this one was sent, with no answer that names it, and lived without it: "
      )
      reason.append(
        settings.format == .simple
          ? "most likely its token is invalid (format 0 has no answers that say so)"
          : "look for what is unusual in it")
      begin(reason, claim: now.claim)
    }
    failure.append(",\"token\":\"")
    failure.append(hex: token.bytes.span)
    failure.append("\"")
    failure.append(",\"offset\":")
    failure.append(now.inputOffset + Int64(notification.object.lowerBound))
    failure.append(",\"notification\":")
    appendInOneLine(input.looseSpan(notification.object))
    failure.append("}\n")
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
    now.isAtStart = false
    now.recipientIsLeft = true
    guard isShown(now.claim) else { return }
    begin(reason, claim: now.claim)
    failure.append(",\"list\":\"")
    failure.append(bytes: roster.name())
    failure.append("\"")
    if case .line = problem {
      failure.append(",\"list_line\":")
      failure.append(roster.line)
    }
    let start = notification.object.lowerBound
    appendPlace(start, of: &now)
    if notification.object.count <= Self.excerptBytesMax {
      failure.append(",\"notification\":")
      appendInOneLine(input.looseSpan(notification.object))
    } else {
      // One that many recipients do not get would take its length for each.
      claims.setAside(now.claim)
    }
    failure.append("}\n")
    pending = PendingFailure(claim: now.claim, isOurCheck: true)
  }

  private mutating func appendPlace(_ offset: Int, of now: inout Reading) {
    countLines(upTo: min(offset, now.inputBytes), of: &now)
    failure.append(",\"offset\":")
    failure.append(now.inputOffset + Int64(offset))
    failure.append(",\"line\":")
    failure.append(now.lines + 1)
    failure.append(",\"column\":")
    failure.append(now.lineCharacters + 1)
  }

  /// A file cannot be read at all; the shell moves it beside the failure, so that its place is free.
  mutating func record(reasonCode: Int32, claim: UInt32) {
    var reason = Text(capacity: 128)
    reason.append(
      "the file cannot be read (errno ")
    reason.append(reasonCode)
    reason.append("): make it readable for the agent's user, and move it back to new/")
    begin(reason, claim: claim)
    failure.append("}\n")
    pending = PendingFailure(claim: claim, isOurCheck: true, movesFile: true)
    claims.keep(claim)
  }

  private mutating func begin(_ reason: borrowing Text, claim: UInt32) {
    failure.clear()
    failure.append("{\"reason\":")
    failure.append(json: reason)
    failure.append(",\"file\":")
    failure.append(json: claims.name(claim))
  }

  /// JSON text has line ends only where white space may stand.
  mutating func appendInOneLine(_ text: Span<UInt8>) {
    for index in text.indices {
      let byte = text[index]
      failure.append(byte: byte == 0x0A || byte == 0x0D ? 0x20 : byte)
    }
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
