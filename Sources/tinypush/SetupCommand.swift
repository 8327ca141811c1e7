import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush setup`, which asks for the settings, writes them, and sends an alert.
enum SetupCommand {
  static let command = Command(
    "setup", "ask for the settings, write them, and send an alert", options: "answers= no-test",
    usage: """
      Usage: tinypush setup [--answers FILE] [--no-test]
      Asks which app shows the alerts, which key and which phone, and writes the
      answers to the configuration and to a recipients file. Other lines stay as they
      are. Then restarts the agent, tests the settings, and sends an alert. The
      command may run again: an empty answer keeps what is set.

        --answers FILE        take the answers from the lines KEY = VALUE of a file,
                              and ask nothing: app (bark, own, gateway, browser or
                              sandbox), token, name (of the recipients file); for
                              bark and own signing-key; for own team-id, topic,
                              key-id and environment; for gateway gateway, feedback,
                              ca, certificate, key and environment; for browser
                              contact and web-page, but no token
        --no-test             only write the settings
        -c, --config FILE     the configuration file (/etc/tinypush/tinypush.conf)
        -h, --help            print this help

      Exit status: that of `tinypush check`, or else of `tinypush send --wait`.

      """, run)

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var answersPath: UnsafePointer<CChar>?
    var isTested = true
    while let option = try arguments.next() {
      if option == 0 { answersPath = clinux_option_argument() } else { isTested = false }
    }
    try arguments.refuseOperands()
    guard !arguments.hasSettings else {
      throw arguments.fail(.usage, "-o cannot be given: what setup writes is what counts")
    }
    var answers = SetupAnswers(current: arguments.configPath)
    if let answersPath {
      try answers.read(answersPath, arguments)
    } else {
      warnIfForbidden(arguments)
      try answers.ask(arguments)
    }
    if answers.app == .sandbox { return explainSandbox() }
    try write(answers, arguments)
    guard isTested else {
      if answers.app == .browser { try RecipientInvitation.ensureKey(arguments) }
      return .ok
    }
    if answers.app == .browser { return invite(answers, arguments) }
    return test(answers, arguments)
  }

  /// Warns before the questions if this user cannot write the configuration.
  private static func warnIfForbidden(_ arguments: borrowing Arguments) {
    let path = arguments.configPath
    let directory = ConfigFile.directory(of: path)
    let parent: StaticString = "."
    let place =
      access(path, F_OK) == 0
      ? path : directory.isEmpty ? parent.cString : directory.pointer
    let isForbidden = access(place, W_OK) != 0 && clinux_errno() == EACCES
    extendLifetime(directory)
    guard isForbidden else { return }
    var text = Text()
    text.append("this user cannot write ", printable: CString.span(path))
    text.append(": run the command as root (sudo)")
    arguments.warn(text)
  }

  /// Says how to try TinyPush without a phone, for which nothing needs to be set.
  private static func explainSandbox() -> ExitStatus {
    var text = Text(capacity: 1024)
    text.append(
      """
      Nothing is set: the sandbox has settings of its own. In three terminals, in the
      same directory, run:
        tinypush sandbox
        tinypush run --config tinypush-sandbox/tinypush.conf
        tinypush send "Tank low" --config tinypush-sandbox/tinypush.conf
      The alert appears in the first. The sandbox is in the package tinypush-sandbox.
      When you have a phone, run tinypush setup again.

      """)
    text.write(to: STDOUT_FILENO)
    return .ok
  }

  // MARK: - Writing

  @inline(never)
  private static func write(
    _ answers: borrowing SetupAnswers, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    let path = arguments.configPath
    let app = answers.app
    var wanted = Text(capacity: 16_384)
    if app == .gateway {
      wanted.append("protocol = binary\n")
    } else if app == .browser {
      if !answers.hasBrowserKey { wanted.append("vapid-key = credentials/vapid.pem\n") }
    } else {
      wanted.append("app = ", bytes: answers[.app], "\n")
    }
    for question in SetupAnswers.Question.settings where answers.isWanted(question) {
      guard answers[question].count > 0 else { continue }
      wanted.append(bytes: question.name)
      wanted.append(" = ", bytes: answers[question], "\n")
    }
    // Bark is in the App Store, and Xcode has not installed it.
    let environment = answers[.environment]
    if app == .bark, environment.equals("development") || environment.equals("sandbox") {
      wanted.append("environment = production\n")
    }
    for question in SetupAnswers.Question.files where answers.isWanted(question) {
      guard answers[question].count > 0 else { continue }
      wanted.append(bytes: question.name)
      wanted.append(" = ")
      try keep(question, of: answers, beside: path, in: &wanted, arguments)
      wanted.append("\n")
    }
    let outcome = ConfigEditor.change(path, wanted, without: contradicting(answers))
    var text = Text(capacity: 1024)
    text.append(printable: CString.span(path))
    switch outcome {
    case .unchanged: text.append("  unchanged\n")
    case .written: text.append("  written\n")
    case .failed(let error):
      throw fail(error, &text, arguments)
    }
    text.write(to: STDOUT_FILENO)
    guard answers[.token].count > 0 else { return }
    try addRecipient(answers, arguments)
  }

  /// The settings that contradict the answers, whose lines become comments.
  private static func contradicting(_ answers: borrowing SetupAnswers) -> [WordList] {
    let ofBinary: WordList =
      "certificate key key-password protocol feedback settle confirm format feedback-timeout"
    var lists: [WordList]
    switch answers.app {
    case .bark: lists = [ofBinary, "key-id team-id topic"]
    case .own:
      lists = [ofBinary, "encryption-key encryption-mode"]
      if !answers.isWanted(.keyID) { lists.append("key-id") }
    // Browsers get alerts beside devices.
    case .browser: return []
    case .gateway, .sandbox:
      return [
        "app signing-key key-id team-id topic encryption-key encryption-mode",
        "streams answer-timeout ping repeats",
      ]
    }
    // Another gateway than Apple's may speak HTTP/2, but not this one.
    if answers.isPresentOfGateway { lists.append("gateway ca") }
    return lists
  }

  /// Copies a file to `credentials/` beside the configuration, where only root can read it, and
  /// appends its path there.
  ///
  /// A renewed certificate takes the place of the present one. A signing key does not: its name has
  /// its ID, and Apple gives out a key only once.
  @inline(never)
  private static func keep(
    _ question: SetupAnswers.Question, of answers: borrowing SetupAnswers,
    beside config: UnsafePointer<CChar>, in wanted: inout Text, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    let directory: StaticString = "credentials/"
    let file = SetupAnswers.fileName(answers[question])
    var target = Text(capacity: 8192)
    target.append(bytes: ConfigFile.directory(of: config).span)
    target.append(directory)
    var error: Int32 = 0
    let made = target.withCString { mkdir($0, 0o700) }
    if made != 0, clinux_errno() != EEXIST { error = clinux_errno() }
    target.append(bytes: file)
    if error == 0 {
      let path = CString(answers[question])
      let isRenewed = question == .signingKey ? false : answers.isPresent(question, target.bytes)
      error = target.withCString { CredentialCopy.copy(path.pointer, to: $0, replacing: isRenewed) }
      extendLifetime(path)
    }
    guard error == 0 else {
      var text = Text()
      text.append(printable: target)
      throw fail(error, &text, arguments)
    }
    wanted.append(directory)
    wanted.append(bytes: file)
  }

  /// Prints why a file cannot be written, and returns the exit status to throw.
  private static func fail(
    _ error: Int32, _ text: inout Text, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    text.append(": ", cString: clinux_error_text(error))
    switch error {
    case EACCES, EPERM: text.append(": run the command as root (sudo)")
    case EEXIST: text.append(", and is another file: remove it first")
    case ENOSPC, EDQUOT: text.append(": free some space there")
    default: break
    }
    let status: ExitStatus =
      switch error {
      case EACCES, EPERM: .noPermission
      case ENOSPC, EDQUOT, EIO: .inputOutput
      default: .cannotCreate
      }
    return arguments.fail(status, text)
  }

  @inline(never)
  private static func addRecipient(
    _ answers: borrowing SetupAnswers, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    guard let token = DeviceToken(printed: answers[.token]) else { return }
    var config = Config()
    try arguments.readConfig(into: &config, for: .command)
    let now = UInt32(clamping: Clock.time().wallSeconds ?? 0)
    var change = RecipientChange(add: token, registered: now, language: .kept, comment: .kept)
    var message = Text()
    do throws(ExitStatus) {
      let editor = try RecipientsEditor(
        config.recipients.span, answers[.name], message: &message)
      try editor.make(&change, message: &message)
    } catch {
      throw arguments.fail(error, message)
    }
    var text = Text()
    text.append(printable: config.recipients.span)
    text.append("/", printable: answers[.name], "  written\n")
    text.write(to: STDOUT_FILENO)
  }

  // MARK: - Testing

  /// Restarts the agent, checks the settings and sends an alert; returns the exit status.
  @inline(never)
  private static func test(
    _ answers: borrowing SetupAnswers, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    let path = CString.span(arguments.configPath)
    // An agent that runs must not be stopped by a mistake in the file.
    var status = run("exec /proc/$PPID/exe check --settings >/dev/null --config ") {
      $0.append(shell: path)
    }
    guard status == 0 else { return ExitStatus(rawValue: status) ?? .config }
    restartAgent(of: path)
    status = run("exec /proc/$PPID/exe check --config ") { $0.append(shell: path) }
    guard status == 0 else { return ExitStatus(rawValue: status) ?? .config }
    var text = Text()
    text.append("\nNow look at the phone.\n")
    text.write(to: STDOUT_FILENO)
    // Another phone in the recipients file need not show the alert.
    let token = DeviceToken(printed: answers[.token])
    status = run("exec /proc/$PPID/exe send 'The alerts of this box arrive' --wait ") {
      if let token {
        $0.append("--token ")
        $0.append(hex: token.bytes)
      } else {
        $0.append("--to ")
        $0.append(shell: answers[.name])
      }
      $0.append(" --config ")
      $0.append(shell: path)
    }
    return ExitStatus(rawValue: status) ?? .tryLater
  }

  private static func restartAgent(of config: Span<UInt8>) {
    let systemd: StaticString = "/run/systemd/system"
    if config.equals(Config.defaultFile), access(systemd.cString, F_OK) == 0 {
      _ = run("systemctl restart tinypush") { _ in }
    } else {
      var text = Text()
      text.append("restart the agent that has this configuration, if it runs\n")
      text.write(to: STDOUT_FILENO)
    }
  }

  /// Makes the key, and prints an invitation for the first browser; returns the exit status.
  @inline(never)
  private static func invite(
    _ answers: borrowing SetupAnswers, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    let path = CString.span(arguments.configPath)
    let status = run("exec /proc/$PPID/exe recipient invite ") {
      $0.append(shell: answers[.name])
      $0.append(" --config ")
      $0.append(shell: path)
    }
    guard status == 0 else { return ExitStatus(rawValue: status) ?? .config }
    restartAgent(of: path)
    var text = Text()
    text.append("Now open the address in the browser that shall show the alerts.\n")
    text.write(to: STDOUT_FILENO)
    return .ok
  }

  /// Runs a shell command, and returns its exit status.
  private static func run(_ words: StaticString, _ append: (inout Text) -> Void) -> Int32 {
    var command = Text(capacity: 4096)
    command.append(words)
    append(&command)
    let result = command.withCString { system($0) }
    return result < 0 || result & 0x7F != 0 ? ExitStatus.tryLater.rawValue : result >> 8 & 0xFF
  }
}
