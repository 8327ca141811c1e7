import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushMail

@main
struct Main {
  private static let name: StaticString = "tinypush-sendmail"

  private static let usage: StaticString = """
    Usage: tinypush-sendmail [OPTION]... [ADDRESS]...
    Makes an alert of the mail on standard input, and puts the alert into the spool.
    Programs that send mail call this program as sendmail: cron, smartd, mdadm.

    The subject becomes the title, and the first lines become the text. A mail to
    family, or to family@HOST, goes to the recipients file "family" if there is one.
    All other mail goes to the recipients file "default".

      -t                    take addresses from To, Cc and Bcc as well
      -i, -oi               a line with only a dot does not end the mail
      --config FILE         the configuration file (/etc/tinypush/tinypush.conf)
      --help                print this help
      --version             print the version

    The other options of sendmail(8) are accepted without effect.

    """

  static func main() {
    PagedMemory.use()
    StandardStreams.prepare()
    let count = clinux_argument_count()
    guard let values = clinux_arguments(), count > 0, let program = values[0] else {
      exit(ExitStatus.usage.rawValue)
    }
    // There are no aliases to prepare.
    if CString.span(program).isPath(of: "newaliases") { exit(ExitStatus.ok.rawValue) }
    if count > 1, let word = values[1] {
      let word = CString.span(word)
      if word.equals("--version") {
        Version.print(of: name)
        exit(ExitStatus.ok.rawValue)
      }
      if word.equals("--help") {
        var text = Text(capacity: 2048)
        text.append(usage)
        text.write(to: STDOUT_FILENO)
        exit(ExitStatus.ok.rawValue)
      }
    }
    // Options such as `-o` have another meaning here than in the other programs.
    let options = Options(count, values)
    exit(
      Arguments.handle(name, of: "", 1, values, options: "", usage: usage) {
        (arguments) throws(ExitStatus) in
        try deliver(options, arguments)
      })
  }

  private static func deliver(
    _ options: borrowing Options, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    if options.isOfAliases { return .ok }
    if let mode = options.refusedMode {
      var text = Text()
      text.append("only a mail on standard input can be sent, and there is no option -b")
      var letter = Text(capacity: 1)
      letter.append(byte: mode)
      text.append(printable: letter)
      throw fail(.usage, text, arguments)
    }
    var config = Config()
    var message = Text(capacity: 2048)
    do throws(ExitStatus) {
      try arguments.readConfig(into: &config, for: .command, message: &message)
    } catch {
      throw fail(error, message, arguments)
    }
    var mail = Text(capacity: MailSource.bytesMax)
    let error = MailSource.read(isEndedByDot: !options.ignoresDot, to: &mail)
    guard error == 0 else {
      message.clear()
      message.append("cannot read the mail: ", cString: clinux_error_text(error))
      throw fail(.inputOutput, message, arguments)
    }
    return try queue(mail.bytes, options, config, arguments)
  }

  private static func queue(
    _ source: Span<UInt8>, _ options: borrowing Options, _ config: borrowing Config,
    _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    var message = Text()
    var names = names(options, source, config.recipients.span)
    guard names.complete() else {
      message.append("no recipients: add one to ", printable: config.recipients.span)
      message.append("/default with tinypush recipient add default RECIPIENT")
      throw fail(.dataRefused, message, arguments)
    }
    let mail = Mail(
      source, payloadMax: config.courier.rules.payloadLimit(for: .alert), SystemConverter())
    return try deliver(mail, names, config, arguments)
  }

  /// Puts a notification of the mail into the spool, or several for many recipients files.
  private static func deliver(
    _ mail: borrowing Mail, _ names: borrowing RecipientNames, _ config: borrowing Config,
    _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    guard !mail.isEmpty else {
      var message = Text()
      message.append("the mail is empty")
      throw fail(.dataRefused, message, arguments)
    }
    do throws(DropBox.Problem) {
      var box = try DropBox(config.spool.pointer)
      var notification = Text(capacity: 2 * NotificationReader.objectBytesMax)
      var first = 0
      while compose(mail, names, from: first, to: &notification) {
        try box.write(notification.bytes)
        notification.clear()
        first += Envelope.listsMax
      }
      _ = try box.drop(isSynced: true)
      return .ok
    } catch {
      throw fail(error.status, error.text(config.spool.pointer), arguments)
    }
  }

  /// Makes the notification for the recipients files from a number on; false: there are none.
  private static func compose(
    _ mail: borrowing Mail, _ names: borrowing RecipientNames, from first: Int,
    to notification: inout Text
  ) -> Bool {
    var draft = Draft()
    guard names.add(to: &draft, from: first) else { return false }
    if mail.text.count > 0 {
      if mail.subject.count > 0 { draft.set(.title, to: mail.subject.bytes) }
      draft.set(.alert, to: mail.text.bytes)
    } else {
      draft.set(.alert, to: mail.subject.bytes)
    }
    draft.set(.sound, to: ("default" as StaticString).span)
    // The programs that send mail do not look at a refusal.
    draft.set(.trim, to: ("true" as StaticString).span)
    draft.append(to: &notification)
    return true
  }

  /// Returns the recipients files that the addresses name.
  private static func names(
    _ options: borrowing Options, _ mail: Span<UInt8>, _ directory: Span<UInt8>
  ) -> RecipientNames {
    var names = RecipientNames(directory)
    for index in 0..<options.operandCount {
      let operand = options.operand(index)
      var addresses = AddressReader(0..<operand.count)
      while let place = addresses.next(in: operand) { names.add(operand.extracting(place)) }
    }
    if options.readsHeader {
      Mail.forEachRecipient(of: mail) { names.add($0) }
    }
    return names
  }

  /// Says on standard error and in the system's log why a mail was not taken.
  ///
  /// Those who send mail often show neither the message nor the status.
  private static func fail(
    _ status: ExitStatus, _ message: borrowing Text, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    message.withCString { clinux_log_mail_error(name.cString, $0) }
    return arguments.fail(status, message)
  }
}

extension Span<UInt8> {
  /// Whether this is the path of a file with this name.
  fileprivate func isPath(of name: StaticString) -> Bool {
    var start = count
    while start > 0, self[start - 1] != .slash { start -= 1 }
    return extracting(start..<count).equals(name)
  }
}
