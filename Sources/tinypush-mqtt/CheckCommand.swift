import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushMQTT
import TinyPushRules

/// `tinypush-mqtt check`: checks the rules, and tries them on messages.
enum CheckCommand {
  static let command = Command(
    "check", "check the rules, and try them on messages", options: "rules= broker json",
    usage: """
      Usage: tinypush-mqtt check [OPTION]... [FILE|-]
      Checks the file of the broker and the rules, and prints each mistake with its
      line. With FILE, tries the rules on messages, and sends nothing: prints for each
      message the rule that it meets, the notification, and what is wrong with it.
      FILE has one message a line, a topic and a payload with a space between, as
      mosquitto_sub -v prints them.

        --rules FILE          the broker and the rules (/etc/tinypush/mqtt.conf)
        --broker              ask the broker, too, whether it takes the login and the
                              subscriptions
        --json                print JSON Lines: for a mistake file, line, severity and
                              message; for a message file, line, topic, state (sent,
                              refused or ignored), rule, rule_line, notification and
                              findings; without FILE and mistakes nothing
      \t\

      Exit status: 0 no mistakes; 65 a notification would be refused; 66 a file is
      missing; 69 the broker does not answer; 77 a permission is missing, or the
      broker refuses a subscription; 78 the configuration has a mistake.

      """, run)

  private static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var path = BridgeConfig.defaultFile.cString
    var isJSON = false
    var asksBroker = false
    while let option = try arguments.next() {
      switch option {
      case 0: path = clinux_option_argument()
      case 1: asksBroker = true
      default: isJSON = true
      }
    }
    guard arguments.operand(1) == nil else {
      throw arguments.fail(.usage, "takes one file of messages, or - for standard input")
    }
    var agent = Config()
    try arguments.readConfig(into: &agent, for: .command)
    var config = BridgeConfig()
    var mistakes = Mistakes()
    do throws(ExitStatus) {
      try BridgeConfig.read(path, into: &config, &mistakes)
    } catch {
      print(mistakes, path, isJSON: isJSON)
      throw error
    }
    warn(config, agent.recipients.span, path, isJSON: isJSON)
    if asksBroker { try ask(&config, path, arguments, isJSON: isJSON) }
    guard let file = arguments.operand(0) else {
      if !isJSON { printSum(config, path) }
      return .ok
    }
    var failure = Text()
    do throws(InputFile.Problem) {
      guard let lines = InputLines(file) else { throw .cannotRead(clinux_errno()) }
      var trial = DryRun(config, rules: path, agent, file, lines, isJSON: isJSON)
      let error = trial.run()
      if error != 0 { throw .cannotRead(error) }
      return trial.hasErrors ? .dataRefused : .ok
    } catch {
      failure.append(error.text(file))
      throw arguments.fail(error.status, failure)
    }
  }

  /// Asks the broker, and prints what it refuses.
  private static func ask(
    _ config: inout BridgeConfig, _ path: UnsafePointer<CChar>, _ arguments: borrowing Arguments,
    isJSON: Bool
  ) throws(ExitStatus) {
    try arguments.attempt { message throws(ExitStatus) in
      try config.readPassword(message: &message)
    }
    var visit = BrokerVisit(config)
    var trial = BrokerTrial()
    var isRefused = false
    let hasAnswered = trial.run(config, &visit) { text, isWarning in
      if !isWarning { isRefused = true }
      print(text, path, line: 0, isWarning ? "warning" : "error", isJSON: isJSON)
    }
    guard hasAnswered else { throw arguments.fail(.unavailable, visit.problem) }
    if isRefused { throw .noPermission }
  }

  private static func print(
    _ mistakes: borrowing Mistakes, _ path: UnsafePointer<CChar>, isJSON: Bool
  ) {
    var text = Text(capacity: 32 * 1024)
    for index in 0..<mistakes.count {
      if isJSON {
        printJSON(
          mistakes.text(index), path, line: mistakes.line(index), severity: "error", in: &text)
      } else {
        mistakes.append(index, file: CString.span(path), to: &text)
        text.append("\n")
      }
    }
    text.write(to: isJSON ? STDOUT_FILENO : STDERR_FILENO)
  }

  private static func printJSON(
    _ message: Span<UInt8>, _ path: UnsafePointer<CChar>, line: Int32, severity: StaticString,
    in text: inout Text
  ) {
    text.beginObject()
    text.member("file", string: CString.span(path))
    if line > 0 { text.member("line", number: line) }
    text.member("severity", word: severity)
    text.member("message", string: message)
    text.endLine()
  }

  /// Warns of rules that no message can meet, of recipients files that are missing, and of
  /// subscriptions that overlap.
  private static func warn(
    _ config: borrowing BridgeConfig, _ recipients: Span<UInt8>, _ path: UnsafePointer<CChar>,
    isJSON: Bool
  ) {
    var message = Text(capacity: 1024)
    RuleTrial.forEachMissingList(of: config.rules, in: recipients) { line, message in
      print(message, path, line: line, "warning", isJSON: isJSON)
    }
    if !config.isEncrypted, !config.tls.certificate.isEmpty || !config.tls.key.isEmpty {
      message.append("the connection is not encrypted: add tls = yes, or remove certificate")
      message.append(" and key")
      print(message, path, line: 0, "warning", isJSON: isJSON)
    }
    for rule in 0..<config.rules.count {
      let line = config.rules.line(of: rule)
      guard !config.subscriptions.mayReceive(config.rules.filter(rule)) else { continue }
      message.clear()
      message.append("no message comes for this rule: add subscribe = ")
      message.append(printable: config.rules.filter(rule))
      print(message, path, line: line, "warning", isJSON: isJSON)
    }
    config.subscriptions.forEachOverlap { one, other in
      message.clear()
      config.subscriptions.appendOverlap(one, other, to: &message)
      print(message, path, line: 0, "warning", isJSON: isJSON)
    }
  }

  private static func print(
    _ message: borrowing Text, _ path: UnsafePointer<CChar>, line: Int32, _ severity: StaticString,
    isJSON: Bool
  ) {
    var text = Text(capacity: 4096)
    if isJSON {
      printJSON(message.bytes, path, line: line, severity: severity, in: &text)
    } else {
      text.append(printable: CString.span(path))
      if line > 0 { text.append(":", line) }
      text.append(": ", severity, ": ")
      text.append(message)
      text.append("\n")
    }
    text.write(to: STDOUT_FILENO)
  }

  private static func printSum(_ config: borrowing BridgeConfig, _ path: UnsafePointer<CChar>) {
    var text = Text()
    text.append(printable: CString.span(path))
    text.append(": ", config.rules.count, config.rules.count == 1 ? " rule, " : " rules, ")
    text.append(config.subscriptions.count)
    text.append(config.subscriptions.count == 1 ? " subscription" : " subscriptions")
    text.append(" at ", cString: config.broker.pointer)
    text.append("\n")
    text.write(to: STDOUT_FILENO)
  }
}
