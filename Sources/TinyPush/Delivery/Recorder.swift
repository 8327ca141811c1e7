/// The record that the agent must write next.
///
/// A failure is a ``FailedLine`` in the file of `failed/` that has the name of the notification's
/// file. A notification for a later time is written to `later/` in the same way.
struct Recorder: ~Copyable {
  /// The properties of the record besides its ``text``.
  struct Pending {
    var task: Courier.RecordTask
    /// The file that it belongs to, if any.
    var file: FileNumber?
    /// The message that is settled with it.
    var message: MessageNumber?
    var settlement: Settlement
    /// The token and the topic's number of a limited alert; nil: no summary counts it.
    var limited: (token: DeviceToken, topic: UInt8)?
  }

  var text = Text(capacity: NotificationReader.objectBytesMax + 8192)
  var pending: Pending? { didSet { isPending = pending != nil } }
  /// Whether a record is pending: the question is asked for each notification.
  private(set) var isPending = false
  /// Whether a power cut might lose records.
  var isUnsynced = false

  /// The longest excerpt in a record, in bytes.
  private static let excerptBytesMax = 2048
  /// The most bytes of an unknown key that are shown.
  private static let keyBytesMax = 64

  /// The most refused notifications of one file that are recorded.
  ///
  /// More records would be much larger than the file.
  static let refusalsMax: UInt32 = 1000

  init() {}

  /// Prepares to find out whether a failure can be recorded.
  mutating func probe() {
    pending = Pending(task: .probe, settlement: Settlement(outcome: .postponed))
  }

  // MARK: - Records

  /// Prepares the record of a notification that waits for its time.
  mutating func postpone(_ number: UInt16, in outbox: borrowing Outbox) {
    text.clear()
    text.append(bytes: outbox.text(number))
    text.putInOneLine(from: 0)
    text.append("\n")
    pending = Pending(
      task: .postponed, file: outbox[text: number].file,
      settlement: Settlement(.postponed, of: outbox[text: number]))
  }

  /// Prepares the report of a settled notification, or message of it, that needs no record.
  @inline(never)
  mutating func settle(
    _ outcome: Settlement.Outcome, _ number: UInt16, _ message: MessageNumber? = nil,
    in outbox: borrowing Outbox
  ) {
    text.clear()
    let entry = message.map { outbox[$0] }
    pending = Pending(
      task: .report, file: outbox[text: number].file, message: message,
      settlement: Settlement(outcome, of: outbox[text: number], to: entry))
  }

  /// Prepares the record of a notification that was refused before it was sent.
  ///
  /// Returns whether the record shows all of it.
  mutating func refuse(
    _ finding: Finding, _ object: Range<Int>, in reader: borrowing FileReader, of file: FileNumber,
    _ files: borrowing TakenFiles
  ) -> Bool {
    let place = min(finding.offset, reader.count)
    let line = reader.line(at: place, in: object)
    let input = reader.text()
    var reason = Text(capacity: 512)
    if case .unknownKey = finding.reason {
      let rest = input.extracting(min(place + 1, reader.count)..<reader.count)
      let end = rest.indices.first { rest[$0] == .quote } ?? 0
      reason.append(printable: rest.extracting(0..<min(end, Self.keyBytesMax)))
      if end > 0 { reason.append(": ") }
    }
    finding.describe(in: &reason)
    var code = Text(capacity: 64)
    finding.appendCode(to: &code)
    FailedLine.begin(reason, code, file: files.name(file), to: &text)
    let offset = reader.cursor.offset + Int64(finding.offset)
    FailedLine.append("offset", offset, to: &text)
    FailedLine.append("line", line, to: &text)
    var isWhole = true
    switch finding.reason {
    case .json, .notAnObject, .nothing, .objectTooLarge:
      let end = min(object.upperBound, object.lowerBound + Self.excerptBytesMax)
      let goesOn = object.upperBound == reader.count && !reader.isWhole
      isWhole = end == object.upperBound && !goesOn
      FailedLine.end(text: input.extracting(object.lowerBound..<end), &text)
    default: FailedLine.end(object: input.extracting(object), &text)
    }
    let start = reader.cursor.offset + Int64(object.lowerBound)
    pending = Pending(
      task: .failure, file: file,
      settlement: Settlement(outcome: .failedCheck, offset: start, line: line))
    return isWhole
  }

  /// Prepares the record that replaces all further ones of a file.
  ///
  /// - Parameter offset: the place of the first notification that has no record.
  mutating func refuseMore(
    of file: FileNumber, _ files: borrowing TakenFiles, from offset: Int64
  ) {
    var reason = Text(capacity: 256)
    reason.append("more than ", Self.refusalsMax)
    reason.append(
      " problems in this file: the whole file is kept here as NAME.original; tinypush check lists them all"
    )
    begin(reason, "too-many", file, files)
    FailedLine.end(&text)
    pending = Pending(
      task: .failure, file: file, settlement: Settlement(outcome: .failedCheck, offset: offset))
  }

  /// Prepares the record of a long part of a file, from `offset` on, without a notification.
  mutating func refuseGarbage(
    of file: FileNumber, _ files: borrowing TakenFiles, from offset: Int64
  ) {
    var reason = Text(capacity: 256)
    reason.append(
      "no notification was found in 1 MB of the file, so the rest was not read: the whole file is kept here as NAME.original"
    )
    begin(reason, "no-notification", file, files)
    FailedLine.append("offset", offset, to: &text)
    FailedLine.end(&text)
    pending = Pending(
      task: .failure, file: file, settlement: Settlement(outcome: .failedCheck, offset: offset))
  }

  /// Prepares the record of a file that cannot be read on from an offset.
  mutating func refuseUnreadable(
    _ failure: OpenFailure, of file: FileNumber, _ files: borrowing TakenFiles, from offset: Int64
  ) {
    var reason = Text(capacity: 160)
    reason.append("the file")
    failure.describe(in: &reason)
    reason.append(", and move it back to new/")
    begin(reason, "unreadable", file, files)
    FailedLine.end(&text)
    pending = Pending(
      task: .failure, file: file, settlement: Settlement(outcome: .failedCheck, offset: offset))
  }

  /// Prepares the record of a notification that was sent and is not sent again.
  ///
  /// The service rejected it, or connections die when it is sent.
  ///
  /// - Parameters:
  ///   - isSpared: whether the token is not suppressed yet.
  mutating func reject(
    _ rejection: Rejection, _ notification: Notification, _ message: MessageNumber,
    in outbox: borrowing Outbox, _ files: borrowing TakenFiles, isSpared: Bool
  ) {
    let entry = outbox[message]
    let source = outbox[text: entry.text]
    var reason = Text(capacity: 1024)
    if rejection.reason == .endsConnections {
      reason.append(
        "the connection ended each time this notification was sent, without a valid answer, and stayed up without it: "
      )
      reason.append(rejection.advice)
    } else {
      reason.append(rejection.reason.isOfAgent ? "not sent: " : "the service refused it: ")
      rejection.appendText(to: &reason)
      reason.append("; ", rejection.advice)
      Self.appendSuppression(of: entry.token, rejection, isSpared: isSpared, &reason)
    }
    var code = Text(capacity: 64)
    code.append(bytes: rejection.reason.name)
    FailedLine.begin(reason, code, file: files.name(source.file), to: &text)
    if rejection.code > 0 { FailedLine.append("status", rejection.code, to: &text) }
    FailedLine.append("offset", source.offset, to: &text)
    FailedLine.end(
      notification, of: outbox.text(entry.text), for: entry.token, outbox.subscription(entry),
      entry.language, &text)
    pending = Pending(
      task: .failure, file: source.file, message: message,
      settlement: Settlement(.rejected(rejection), of: source, to: entry))
  }

  /// Appends what happens to the token, and how to register it again.
  private static func appendSuppression(
    of token: DeviceToken, _ rejection: Rejection, isSpared: Bool, _ reason: inout Text
  ) {
    guard rejection.suppressesToken else { return }
    if isSpared {
      return reason.append(
        "; the token was accepted before, and is not suppressed until the service refuses it again")
    }
    reason.append(". Nothing more is sent to it: correct this, then run tinypush token register ")
    reason.append(hex: token.bytes)
  }

  /// Prepares the record of a problem with a recipients file.
  ///
  /// The problem keeps the notification from a recipient. Returns whether the record shows all of
  /// the notification.
  mutating func refuse(
    _ problem: RecipientsReader.Problem, in recipientsReader: borrowing RecipientsReader,
    _ notification: Notification,
    _ number: UInt16, _ outbox: borrowing Outbox, _ files: borrowing TakenFiles
  ) -> Bool {
    let entry = outbox[text: number]
    var reason = Text(capacity: 512)
    let code = Self.describe(problem, in: recipientsReader, &reason)
    begin(reason, code, entry.file, files)
    FailedLine.append(list: recipientsReader.name(), to: &text)
    var list: Span<UInt8>? = recipientsReader.name()
    if case .line = problem {
      FailedLine.append("list_line", recipientsReader.line, to: &text)
      // The line's recipient is unknown, and the other recipients of the file get the notification.
      // So the record names no recipient.
      list = nil
    }
    FailedLine.append("offset", entry.offset, to: &text)
    FailedLine.append("line", entry.lineNumber, to: &text)
    // A long notification would be repeated in the record of each wrong line.
    let isWhole = notification.object.count <= Self.excerptBytesMax
    if isWhole {
      FailedLine.end(notification, of: outbox.text(number), forList: list, &text)
    } else {
      FailedLine.end(&text)
    }
    pending = Pending(
      task: .failure, file: entry.file, settlement: Settlement(.failedCheck, of: entry))
    return isWhole
  }

  /// Describes a problem with a recipients file, and returns its code.
  private static func describe(
    _ problem: RecipientsReader.Problem, in recipientsReader: borrowing RecipientsReader,
    _ reason: inout Text
  ) -> StaticString {
    reason.append("recipients file ", bytes: recipientsReader.name())
    switch problem {
    case .line(let problem):
      reason.append(", line ", recipientsReader.line, ": ")
      reason.append(problem.text)
      return problem.code
    case .empty:
      reason.append(
        " has no recipient, so nobody gets the notification: add one with tinypush recipient add")
      return "list-empty"
    case .unreadable(.vanished):
      reason.append(" does not exist: tinypush recipient add creates it")
      return "list-missing"
    case .unreadable(let failure): failure.describe(in: &reason)
    }
    return "list-unreadable"
  }

  // MARK: - Text

  mutating func begin(
    _ reason: borrowing Text, _ words: StaticString, _ file: FileNumber,
    _ files: borrowing TakenFiles
  ) {
    var code = Text(capacity: 64)
    code.append(words)
    FailedLine.begin(reason, code, file: files.name(file), to: &text)
  }
}
