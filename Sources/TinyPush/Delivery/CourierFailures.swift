/// What goes to `failed/`: a line of JSON a failure, in a file that bears the name of the one it came from.
///
/// ```json
/// {"reason":"…","file":"NAME","offset":0,"line":1,"column":14,"notification":{…}}
/// ```
extension Courier {
  /// Bytes of text that is not JSON which a failure shows.
  private static let excerptBytesMax = 2048

  /// A notification was refused before it was sent.
  mutating func record(_ refusal: Refusal, object: Range<Int>, of now: Reading) {
    var reason = Text(capacity: 512)
    refusal.describe(in: &reason)
    begin(reason, claim: now.claim)
    let lineEnds = now.reader.lineEnds
    let place = place(of: refusal.offset, in: now)
    failure.append(",\"offset\":")
    failure.append(now.inputOffset + Int64(refusal.offset))
    failure.append(",\"line\":")
    failure.append(now.lines + min(lineEnds, place.lines) + 1)
    failure.append(",\"column\":")
    failure.append(place.column + 1)
    let text = input.looseSpan(0..<now.inputBytes)
    switch refusal.reason {
    case .json, .notAnObject, .objectTooLarge:
      let end = min(object.upperBound, object.lowerBound + Self.excerptBytesMax)
      failure.append(",\"text\":")
      failure.append(json: text.extracting(object.lowerBound..<end))
    default:
      failure.append(",\"notification\":")
      appendInOneLine(text.extracting(object))
    }
    failure.append("}\n")
    failureClaim = now.claim
  }

  /// The gateway refused a notification.
  mutating func refuse(
    _ notification: Notification, digits: Span<UInt8>, status: Status, of now: Reading
  ) {
    var reason = Text(capacity: 512)
    reason.append("the gateway refused it: ")
    reason.append(status.text)
    reason.append("; ")
    reason.append(status.advice)
    begin(reason, claim: now.claim)
    failure.append(",\"status\":")
    failure.append(status.rawValue)
    failure.append(",\"token\":")
    failure.append(json: digits)
    failure.append(",\"offset\":")
    failure.append(now.inputOffset + Int64(notification.object.lowerBound))
    failure.append(",\"notification\":")
    appendInOneLine(input.looseSpan(notification.object))
    failure.append("}\n")
    failureClaim = now.claim
    if status == .invalidToken, let token = DeviceToken(hex: digits) { invalidTokens.insert(token) }
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
    failureClaim = claim
    failureMovesFile = true
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
  private mutating func appendInOneLine(_ text: Span<UInt8>) {
    for index in text.indices {
      let byte = text[index]
      failure.append(byte: byte == 0x0A || byte == 0x0D ? 0x20 : byte)
    }
  }

  /// Lines that end before `offset` in the input, and how many characters into its line it stands, both counted from 0.
  private func place(of offset: Int, in now: Reading) -> (lines: Int, column: Int64) {
    var lines = 0
    var column = now.lineOffset
    column = now.inputOffset - column
    let text = input.looseSpan(0..<now.inputBytes)
    for index in 0..<min(offset, text.count) {
      if text[index] == 0x0A {
        lines += 1
        column = 0
      } else if text[index] & 0xC0 != 0x80 {
        column += 1
      }
    }
    return (lines, column)
  }
}
