import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The notification that `tinypush send` composes from its options.
struct Composition: ~Copyable {
  var draft = Draft()
  /// The names of the recipients files.
  private let lists: FixedBuffer<UnsafePointer<CChar>>
  private var listCount = 0
  /// The values of `--lang`, each `LANGUAGE=TEXT`.
  private let languages: FixedBuffer<UnsafePointer<CChar>>
  private var languageCount = 0
  /// Whether a text that is too long is refused, and not shortened.
  var isUntrimmed = false
  /// The value of `--payload`: a path, `-`, or the JSON itself.
  var payloadPath: UnsafePointer<CChar>?
  /// The payload: one byte more than allowed, to detect one that was cut.
  private var payload = Text(capacity: NotificationReader.objectBytesMax + 1)

  /// Creates an empty composition for at most this many arguments.
  init(arguments: Int) {
    lists = FixedBuffer(capacity: arguments)
    languages = FixedBuffer(capacity: arguments)
  }

  /// Takes the text, without white space at its end.
  mutating func take(_ text: Span<UInt8>) {
    var end = text.count
    while end > 0, text[end - 1] <= .space { end -= 1 }
    var line = Text(capacity: end)
    // No device shows a NUL.
    for index in 0..<end { line.append(byte: text[index] == 0 ? .space : text[index]) }
    draft.set(.alert, to: line.bytes)
  }

  mutating func add(list: UnsafePointer<CChar>) {
    lists[listCount] = list
    listCount += 1
  }

  mutating func add(language: UnsafePointer<CChar>) {
    languages[languageCount] = language
    languageCount += 1
  }

  /// Adds a member to the payload from `KEY=TEXT` or `KEY:=JSON`; false: the argument is neither.
  @inline(never)
  mutating func add(data argument: Span<UInt8>) -> Bool {
    var equals = 0
    while equals < argument.count, argument[equals] != .equals { equals += 1 }
    guard equals > 0, equals < argument.count else { return false }
    let isJSON = argument[equals - 1] == .colon
    let key = argument.extracting(0..<(isJSON ? equals - 1 : equals))
    var value = argument.extracting(equals + 1..<argument.count)
    if isJSON {
      var scanner = JSONScanner()
      guard key.count > 0, let range = try? scanner.onlyValue(value) else { return false }
      value = value.extracting(range)
    }
    if isJSON { draft.add(data: key, json: value) } else { draft.add(data: key, text: value) }
    return true
  }

  /// Returns the notification's text, after the checks that the agent would do.
  ///
  /// Prints what is wrong, and throws the exit status.
  @inline(never)
  mutating func compose(
    _ config: borrowing Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> Text {
    if let payloadPath {
      guard !draft.hasContent else {
        throw arguments.fail(
          .usage, "give either --payload or a text with its options, not both: --payload ",
          CString.span(payloadPath))
      }
      try readPayload(payloadPath, arguments)
    } else if languageCount == 0, !draft.hasContent {
      throw arguments.fail(
        .usage,
        "nothing to send: give a text, --title, --badge, --sound, --content-available or --payload",
        nil)
    }
    try addRecipients(config.recipients, arguments)
    try addLanguages(arguments)
    var text = object()
    let isTooLarge = Self.isTooLarge(text, config.courier.rules)
    // The agent may encrypt, and then shorten more.
    if payloadPath == nil, !isUntrimmed, isTooLarge || config.isUnread {
      draft.set(.trim, to: ("true" as StaticString).span)
      text = object()
      if isTooLarge {
        arguments.warn("the text was shortened to what a notification can hold")
      }
    }
    let notification = try check(text, config.courier.rules, arguments)
    for index in 0..<listCount {
      let presence = RecipientsFile.presence(
        of: CString.span(lists[index]), in: config.recipients.span)
      guard presence != .present else { continue }
      var text = Text()
      text.append(presence == .missing ? "no recipients file " : "no recipient in the file ")
      text.append(printable: CString.span(lists[index]))
      text.append(" in ", printable: config.recipients.span)
      text.append(": add one with tinypush recipient add ")
      text.append(printable: CString.span(lists[index]))
      text.append(
        presence == .missing
          ? " RECIPIENT" : " RECIPIENT; tinypush check shows lines that are wrong")
      throw arguments.fail(.dataRefused, text)
    }
    var warnings = SuppressionWarnings(config)
    warnings.look(at: notification, in: text.bytes, arguments)
    warnings.end(arguments)
    return text
  }

  /// Returns the notification as a line.
  private borrowing func object() -> Text {
    var text = Text(capacity: 4 * NotificationReader.objectBytesMax)
    if payloadPath != nil {
      draft.append(payload: payload.bytes, to: &text)
    } else {
      draft.append(to: &text)
    }
    return text
  }

  /// Whether a notification would be refused for its size alone.
  private static func isTooLarge(_ text: borrowing Text, _ rules: Rules) -> Bool {
    var findings = Findings()
    var reader = NotificationReader()
    guard
      case .refused(let finding, _) = reader.next(in: text.bytes, isWhole: true, rules, &findings)
    else { return false }
    return finding.reason == .payloadTooLarge
  }

  /// Reads the payload from a file or standard input, or takes the argument itself.
  private mutating func readPayload(
    _ path: UnsafePointer<CChar>, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    if path[0] == CChar(UInt8.openBrace) {
      payload.append(cString: path)
      payloadPath = ("--payload" as StaticString).cString
    } else {
      do throws(InputFile.Problem) {
        try InputFile.read(path, to: &payload, bytesMax: NotificationReader.objectBytesMax)
      } catch {
        throw arguments.fail(error.status, error.text(path))
      }
    }
    if Payload.isNotification(payload.bytes) {
      throw SendMistakes.refuse(notificationIn: path, arguments)
    }
  }

  @inline(never)
  private mutating func addRecipients(
    _ directory: borrowing CString, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    if listCount == 0, !draft.hasTokens {
      add(list: Notification.defaultList.cString)
      if !RecipientsFile.mayExist(Notification.defaultList.span, in: directory.span) {
        var text = Text()
        text.append("no recipients: give --to NAME or --token HEX, or add a recipient to ")
        text.append(printable: directory.span)
        text.append("/default with tinypush recipient add default RECIPIENT")
        if access(arguments.configPath, F_OK) != 0 {
          text.append("; there is no configuration ", printable: CString.span(arguments.configPath))
          text.append(": name one with --config FILE")
        }
        throw arguments.fail(.usage, text)
      }
    }
    for index in 0..<listCount { draft.add(list: CString.span(lists[index])) }
  }

  @inline(never)
  private mutating func addLanguages(_ arguments: borrowing Arguments) throws(ExitStatus) {
    for index in 0..<languageCount {
      let value = CString.span(languages[index])
      var equals = 0
      while equals < value.count, value[equals] != .equals { equals += 1 }
      guard equals + 1 < value.count else {
        throw arguments.fail(.usage, "--lang takes LANGUAGE=TEXT, not ", value)
      }
      draft.add(
        language: value.extracting(0..<equals),
        alert: value.extracting(equals + 1..<value.count))
    }
  }

  // MARK: - Checks

  @inline(never)
  private func check(
    _ text: borrowing Text, _ rules: Rules, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> Notification {
    var finding = Finding(.objectTooLarge, at: 0, limit: NotificationReader.objectBytesMax)
    // The text ends with the payload, a closing brace and a line end.
    let payloadEnd = text.count - 2
    if !draft.isCut, text.count <= NotificationReader.objectBytesMax {
      var findings = Findings()
      var reader = NotificationReader()
      switch reader.next(in: text.bytes, isWhole: true, rules, &findings) {
      case .refused(let refusal, _): finding = refusal
      case .notification(let notification):
        // The JSON in --payload must not close the object around it, and continue behind it.
        var scanner = JSONScanner(at: notification.payload.range.upperBound)
        scanner.skipSpace(text.bytes)
        if scanner.index < payloadEnd {
          throw arguments.fail(
            .dataRefused, "--payload must hold a single JSON object, but more follows it in ",
            CString.span(payloadPath!))
        }
        return notification
      case .more, .end: break
      }
    }
    let payloadStart = payloadEnd - payload.count
    if payloadPath != nil, finding.offset >= payloadStart {
      finding.offset = min(finding.offset - payloadStart, payload.count)
      Self.report(finding, SourceText(payloadPath, holding: payload.bytes))
    } else {
      Self.report(finding, SourceText(nil, holding: text.bytes))
    }
    throw .dataRefused
  }

  @inline(never)
  private static func report(_ finding: Finding, _ source: consuming SourceText) {
    var report = CheckReport(to: STDERR_FILENO)
    report.take(finding)
    report.report(&source, finding.offset, isWarning: false)
    report.flush()
  }
}
