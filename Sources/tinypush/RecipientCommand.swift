import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush recipient`, which lists and changes recipients files.
enum RecipientCommand {
  static let command = Command(
    "recipient", "list or change the recipients in recipients files",
    options: "json language= comment=",
    usage: """
      Usage: tinypush recipient add NAME RECIPIENT [--language TAG] [--comment TEXT]
             tinypush recipient remove NAME RECIPIENT
             tinypush recipient list [NAME...] [--json]
             tinypush recipient invite NAME [--json]
      Lists and changes recipients files. A notification that names a recipients file
      goes to all devices and browsers in the file. A running agent reads a changed
      file by itself.

        add                   the app or the page has registered the recipient: add
                              it, or change its language or comment, and send to it
                              again if it is suppressed
        remove                remove a recipient
        list                  print the recipients in the named files, or in all files
        invite                print the address, and on a terminal the QR code, with
                              which a browser registers for a file; it works once,
                              for an hour
        --language TAG        the language of the device, such as fr or fr-CA; empty:
                              none
        --comment TEXT        whose device it is, for people to read; empty: none
        --json                print a line of JSON for each recipient
      \t\

      RECIPIENT is a device token in hexadecimal digits, two for each byte, or the
      subscription of a browser: the JSON that the page shows. With - it is read from
      standard input. remove also takes the digits that list shows for a subscription.
      add creates the file if there is none. The file is on disk before the command
      ends. Its group, its mode and all other lines stay as they are.

      """, run)

  private enum Action: Int {
    case list, add, remove, invite
  }

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var config = Config()
    var isJSON = false
    var language = RecipientChange.Detail.kept
    var comment = RecipientChange.Detail.kept
    var hasDetails = false
    while let option = try arguments.next() {
      switch option {
      case 0: isJSON = true
      case 1:
        language = .set(try Self.language(arguments))
        hasDetails = true
      default:
        comment = .set(try Self.comment(arguments))
        hasDetails = true
      }
    }
    let action = Action(
      rawValue: try arguments.action(
        among: "list add remove invite", "add, remove, list or invite"))!
    if action != .add, hasDetails {
      throw arguments.fail(.usage, "--language and --comment are only for add")
    }
    // A member of the group may change recipients, but perhaps not read the configuration.
    try arguments.readConfig(into: &config, for: .command)
    if action == .list { return try list(config, isJSON: isJSON, arguments) }
    if action == .invite {
      if let operand = arguments.operand(1) { try name(operand, arguments) }
      try arguments.refuseOperands(from: 2)
      return try RecipientInvitation.run(config, isJSON: isJSON, arguments)
    }
    let recipient = try recipient(arguments, isNew: action == .add)
    let token = recipient.token
    guard action == .remove || recipient.canBeSent(by: config.courier.rules.pushProtocol) else {
      throw arguments.fail(.usage, RecipientsFile.Problem.tokenSizeOfBinary.text)
    }
    // A token of Apple's has 32 bytes or more, and half of one is soon pasted.
    if action == .add, token.count < 32 {
      var text = Text()
      text.append("this device token has only ", 2 * token.count)
      text.append(" digits, and those of Apple have 64 or more: is it whole?")
      arguments.warn(text)
    }
    var shown = Text()
    if isJSON { shown.append(hex: token.bytes) } else { recipient.append(to: &shown) }
    var change =
      action == .add
      ? recipient.addition(language: language, comment: comment)
      : RecipientChange(remove: token)
    return try make(
      &change, of: token, shown, isRemoval: action == .remove, config, isJSON: isJSON, arguments)
  }

  // MARK: - Arguments

  @inline(never)
  private static func language(_ arguments: borrowing Arguments) throws(ExitStatus) -> Text {
    var text = Text(capacity: LanguageTag.byteCountMax)
    guard arguments.value().count > 0 else { return text }
    guard LanguageTag(arguments.value()) != nil else {
      throw arguments.fail(
        .usage, "--language takes a language, such as fr or fr-CA, not ", arguments.value())
    }
    text.append(bytes: arguments.value())
    return text
  }

  @inline(never)
  private static func comment(_ arguments: borrowing Arguments) throws(ExitStatus) -> Text {
    let value = arguments.value()
    guard RecipientsFile.isComment(value) else {
      throw arguments.fail(
        .usage,
        "--comment takes a line of UTF-8 text of at most some 650 bytes, without control characters"
      )
    }
    return Text(value.trimmed())
  }

  @inline(never)
  private static func name(
    _ operand: UnsafePointer<CChar>, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    guard RecipientsFile.isName(CString.span(operand)) else {
      throw arguments.fail(
        .usage,
        "the name of a recipients file has only letters, digits and + - . @ _, does not begin with a dot, and is not a device token: unexpected name ",
        CString.span(operand))
    }
  }

  @inline(never)
  private static func recipient(
    _ arguments: borrowing Arguments, isNew: Bool
  ) throws(ExitStatus) -> NamedRecipient {
    guard let operand = arguments.operand(1), let word = arguments.operand(2) else {
      throw arguments.fail(
        .usage, "give the name of a recipients file, and a device token or a subscription")
    }
    try name(operand, arguments)
    try arguments.refuseOperands(
      from: 3, "takes one recipient at a time, and quotes around JSON: unexpected argument ")
    var text = Text(capacity: NamedRecipient.bytesMax)
    do throws(InputFile.Problem) {
      if CString.span(word).equals("-") {
        try InputFile.read(word, to: &text, bytesMax: NamedRecipient.bytesMax)
      } else {
        text.append(cString: word)
      }
    } catch {
      throw arguments.fail(error.status, error.text(word))
    }
    do throws(NamedRecipient.Problem) {
      return try NamedRecipient(text.bytes.extracting(pasted(text.bytes)), isNew: isNew)
    } catch {
      // A subscription is a secret, and is not printed.
      guard case .subscription(let problem) = error else {
        throw TokenReader.refuse(text.bytes.trimmed(), line: nil, arguments)
      }
      throw arguments.fail(.usage, problem.text)
    }
  }

  /// The subscription in a text without the quotes or words that were copied with it; or the text.
  private static func pasted(_ text: Span<UInt8>) -> Range<Int> {
    var (start, end) = (0, text.count)
    while start < end, text[start] != .openBrace { start += 1 }
    while end > start, text[end - 1] != .closeBrace { end -= 1 }
    let key: StaticString = "{\"endpoint\""
    let isSubscription = text.extracting(start..<end).begins(with: key.span)
    return isSubscription ? start..<end : 0..<text.count
  }

  // MARK: - Changing

  @inline(never)
  private static func make(
    _ change: inout RecipientChange, of token: DeviceToken, _ shown: borrowing Text,
    isRemoval: Bool, _ config: borrowing Config, isJSON: Bool, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    let name = CString.span(arguments.operand(1)!)
    let suppressed = isRemoval ? nil : suppression(of: token, config)
    // The clock may be behind, or not set.
    if let suppressed, change.registered <= suppressed.time {
      change.registered = suppressed.time &+ 1
    }
    var message = Text()
    do throws(ExitStatus) {
      let editor = try RecipientsEditor(config.recipients.span, name, message: &message)
      try editor.make(&change, message: &message)
    } catch {
      throw arguments.fail(error, message)
    }
    guard change.outcome != .ambiguous else {
      throw arguments.fail(
        .usage,
        "several subscriptions begin with these digits, and none was removed: give more of them, which tinypush recipient list --json prints"
      )
    }
    var line = Text(capacity: 2048)
    if isJSON {
      line.beginObject()
      line.member("name", string: name)
      line.member("token", string: shown.bytes)
      line.member("state", word: change.outcome.words)
      if let suppressed { line.member("suppressed", number: suppressed.time) }
      line.endLine()
    } else {
      line.append(printable: name)
      line.append(" ", shown)
      line.append("  ", change.outcome.words)
      if let suppressed {
        line.append("; it was suppressed since ")
        line.append(utc: suppressed.time)
        line.append(" (", suppressed.reason.text, ")")
      }
      line.append("\n")
    }
    line.write(to: STDOUT_FILENO)
    return .ok
  }

  /// Returns why nothing was sent to a token so far, as far as this user may read the list.
  @inline(never)
  private static func suppression(
    of token: DeviceToken, _ config: borrowing Config
  ) -> SuppressionRecord? {
    var recipients = SuppressedRecipients(config)
    return recipients.record(of: token.identity)
  }

  // MARK: - Listing

  @inline(never)
  private static func list(
    _ config: borrowing Config, isJSON: Bool, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    var index = 1
    while let operand = arguments.operand(index) {
      try name(operand, arguments)
      index += 1
    }
    let files = RecipientsFiles(config.recipients.span, config.courier.rules.pushProtocol)
    var lines = RecipientLines(isJSON: isJSON, config)
    var status = ExitStatus.ok
    if arguments.operand(1) == nil {
      let error = files.forEachName { name in
        status = list(name, files, &lines, arguments, config) ?? status
      }
      guard error == 0 else { throw fail(error, config.recipients.span, nil, arguments) }
    }
    index = 1
    while let operand = arguments.operand(index) {
      status = list(CString.span(operand), files, &lines, arguments, config) ?? status
      index += 1
    }
    return status
  }

  /// Lists one file; prints what is wrong, and returns the exit status of that.
  @inline(never)
  private static func list(
    _ name: Span<UInt8>, _ files: borrowing RecipientsFiles, _ lines: inout RecipientLines,
    _ arguments: borrowing Arguments, _ config: borrowing Config
  ) -> ExitStatus? {
    var status: ExitStatus?
    let error = files.forEachLine(in: name) { number, content, line in
      switch content {
      case .nothing: break
      case .recipient(let recipient): lines.print(name, number, recipient, line)
      case .wrong(let problem, _):
        lines.text.flush()
        var text = Text()
        text.append(printable: name)
        text.append(":", number)
        text.append(": ", problem.text)
        status = arguments.fail(.dataRefused, text)
      }
      return true
    }
    lines.text.flush()
    guard error == 0 else { return fail(error, config.recipients.span, name, arguments) }
    return status
  }

  @inline(never)
  private static func fail(
    _ error: Int32, _ directory: Span<UInt8>, _ name: Span<UInt8>?, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var text = Text()
    let status = RecipientsEditor.explain(error, directory, name, in: &text)
    return arguments.fail(status, text)
  }
}

/// Lines about recipients on standard output, for people or as JSON Lines.
struct RecipientLines: ~Copyable {
  private static let flushedBytes = 8192

  private let isJSON: Bool
  private let terminal = Terminal(STDOUT_FILENO)
  var text = Text(capacity: 2 * flushedBytes)
  /// What the agent tells of acceptances; nil if there is no status page.
  private var status: StatusReading?
  private var suppressed: SuppressedRecipients

  init(isJSON: Bool, _ config: borrowing Config) {
    self.isJSON = isJSON
    suppressed = SuppressedRecipients(config)
    do throws(StatusReading.Problem) {
      status = try StatusReading(config.status.pointer)
    } catch {
      status = nil
    }
  }

  deinit {}

  /// Prints a recipient: `NAME TOKEN lang=TAG registered=SECONDS # COMMENT`, or an object.
  ///
  /// The object has `name`, `line`, `token`, `service`, `language`, `registered`, `accepted`,
  /// `suppressed` and `comment`. On a terminal that is too narrow, the token has a line of its own, so that it can be copied. Of a
  /// subscription, which is a secret, only the service and the digits that stand for it are shown.
  @inline(never)
  mutating func print(
    _ name: Span<UInt8>, _ number: UInt64, _ recipient: RecipientsFile.Recipient,
    _ line: Span<UInt8>
  ) {
    let token = recipient.token
    let isSubscription = !recipient.subscription.isEmpty
    let language = RecipientsFile.language(in: line)
    let comment = RecipientsFile.comment(in: line)
    let accepted = status?.page.acceptances.seconds(of: token.identity)
    let suppressed = suppressed.record(of: token.identity, registered: recipient.registered)
    var service = Text(capacity: 1024)
    if isSubscription {
      Subscription.appendService(of: line.extracting(recipient.subscription), to: &service)
    }
    if isJSON {
      text.beginObject()
      text.member("name", string: name)
      text.member("line", number: number)
      text.member("token", hex: token.bytes)
      if isSubscription { text.member("service", string: service.bytes) }
      if language.count > 0 { text.member("language", string: language) }
      if recipient.registered > 0 { text.member("registered", number: recipient.registered) }
      if let accepted { text.member("accepted", number: accepted) }
      if let suppressed { text.member("suppressed", number: suppressed.time) }
      if comment.count > 0 { text.member("comment", string: comment) }
      text.endLine()
    } else {
      var rest = Text(capacity: Self.flushedBytes)
      if isSubscription {
        rest.append(" ", service)
        if recipient.registered > 0 {
          rest.append(", added ")
          rest.append(day: Int64(recipient.registered))
        }
      }
      if language.count > 0 {
        rest.append(" lang=", bytes: language)
      }
      if recipient.registered > 0, !isSubscription {
        rest.append(" registered=", recipient.registered)
      }
      if let accepted {
        rest.append(isSubscription ? ", accepted " : " accepted ")
        rest.append(utc: accepted)
      }
      if let suppressed {
        rest.append(isSubscription ? ", suppressed since " : " suppressed since ")
        rest.append(utc: suppressed.time)
        rest.append(" (", suppressed.reason.text, ")")
      }
      if comment.count > 0 {
        rest.append(" # ")
        rest.append(shown: comment)
      }
      var digits = Text(capacity: DeviceToken.digitCountMax)
      let shownBytes = isSubscription ? RecipientChange.digitBytesMin : token.count
      digits.append(hex: token.bytes.extracting(0..<shownBytes))
      let room = terminal.columns.map { $0 - name.count } ?? .max
      let isBelow = room < 1 + digits.count + rest.count && !isSubscription
      let restRoom = isSubscription ? room - 1 - digits.count : room
      text.append(printable: name)
      if !isBelow {
        text.append(" ", digits)
      }
      terminal.append(rest.bytes, cutTo: max(restRoom, 8), in: &text)
      if isBelow {
        text.append("\n  ", digits)
      }
      text.append("\n")
    }
    if text.count > Self.flushedBytes { text.flush() }
  }
}
