import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

@main
struct Main {
  /// The commands, followed by the other words that may stand in a command's place.
  private static var names: WordList {
    "run send check feedback token recipient queue trace status sandbox help version"
  }
  private static let sandbox = 9

  private static let usage: StaticString = """
    Usage: tinypush COMMAND [OPTION]...
    Delivers notification files from a spool directory to Apple's push service.

      run        deliver the notification files in the spool
      send       put a notification into the spool
      check      check notification files, or the configuration
      feedback   ask which devices are gone, and suppress their tokens
      token      list or change the suppressed device tokens
      recipient  list or change the device tokens in recipients files
      queue      list, show, drop or resend the files in the spool
      trace      show where a notification is, or how it ended
      status     show what the agent does and has done
      sandbox    run a push service on this machine, to try and test with

    Every command takes --config FILE (default: the file that TINYPUSH_CONFIG
    names, or else /etc/tinypush/tinypush.conf), -o KEY=VALUE to override a
    setting of the file, and --help. `tinypush help COMMAND` prints the same help,
    `tinypush help settings` each KEY, and `tinypush --version` the version.

    """

  private static func perform(
    _ command: Int, _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    switch command {
    case 0:
      Arguments.handle(
        "run", count, values, options: "once", usage: RunCommand.usage, RunCommand.run)
    case 1:
      Arguments.handle(
        "send", count, values, options: SendCommand.options, usage: SendCommand.usage,
        SendCommand.run)
    case 2:
      Arguments.handle(
        "check", count, values, options: "json recipients settings", usage: CheckCommand.usage,
        CheckCommand.run)
    case 3:
      Arguments.handle(
        "feedback", count, values, options: "json quiet", usage: FeedbackCommand.usage,
        FeedbackCommand.run)
    case 4:
      Arguments.handle(
        "token", count, values, options: "json all at=", usage: TokenCommand.usage,
        TokenCommand.run)
    case 5:
      Arguments.handle(
        "recipient", count, values, options: "json language= comment=",
        usage: RecipientCommand.usage, RecipientCommand.run)
    case 6:
      Arguments.handle(
        "queue", count, values, options: "waiting later failed all null json",
        usage: QueueCommand.usage, QueueCommand.run)
    case 7:
      Arguments.handle(
        "trace", count, values, options: "log=", usage: TraceCommand.usage, TraceCommand.run)
    case 8:
      Arguments.handle(
        "status", count, values, options: "watch json prometheus", usage: StatusCommand.usage,
        StatusCommand.run)
    default: SandboxCommand.run(count, values)
    }
  }

  static func main() {
    PagedMemory.use()
    let count = Int(clinux_argument_count())
    guard let arguments = clinux_arguments() else { exit(ExitStatus.usage.rawValue) }
    let place = commandPlace(arguments, count)
    guard place < count else {
      printUsage(to: STDERR_FILENO)
      exit(ExitStatus.usage.rawValue)
    }
    Config.table.printHelp(ifAsked: arguments, at: place, of: Config.defaultFile)
    if CString.span(arguments[place]!).equals("help"), place + 1 < count {
      // Turn `help COMMAND` into `COMMAND --help`.
      for index in place..<count - 1 { arguments[index] = arguments[index + 1] }
      arguments[count - 1] = UnsafeMutablePointer(mutating: ("--help" as StaticString).cString)
    }
    let name = CString.span(arguments[place]!)
    if isHelp(name) {
      printUsage(to: STDOUT_FILENO)
      exit(ExitStatus.ok.rawValue)
    }
    if Version.isAsked(name) || name.equals("version") {
      Version.print(of: "tinypush")
      exit(ExitStatus.ok.rawValue)
    }
    guard let command = names.index(of: name), command <= sandbox else {
      var text = Text()
      text.append("tinypush: unknown command ", printable: name)
      text.suggest(names.nearest(to: name), of: names, "; did you mean ")
      exit(fail(&text))
    }
    // Move options that stand before the command behind it.
    let word = arguments[place]
    for index in 0..<place - 1 { arguments[place - index] = arguments[place - index - 1] }
    arguments[1] = word
    exit(perform(command, Int32(count - 1), arguments + 1))
  }

  private static func isHelp(_ word: Span<UInt8>) -> Bool {
    word.equals("--help") || word.equals("-h") || word.equals("help")
  }

  /// Returns the index of the command, which may follow options that every command takes.
  private static func commandPlace(
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, _ count: Int
  ) -> Int {
    var place = 1
    while place < count, let argument = arguments[place] {
      let word = CString.span(argument)
      guard word.count > 1, word[0] == .hyphen, !isHelp(word), !Version.isAsked(word) else {
        break
      }
      var end = 2
      if word[1] == .hyphen { while end < word.count, word[end] != .equals { end += 1 } }
      let option = word.extracting(0..<end)
      guard
        option.equals("-c") || option.equals("-o") || option.equals("--config")
          || option.equals("--option")
      else { refuse(option) }
      // The value stands in the same argument, or is the next.
      if end == word.count {
        place += 1
        guard place < count else {
          var text = Text()
          text.append("tinypush: ", printable: option, " needs a value")
          exit(fail(&text))
        }
      }
      place += 1
    }
    return place
  }

  private static func refuse(_ option: Span<UInt8>) -> Never {
    let known: WordList = "--config --help --version"
    var text = Text()
    text.append("tinypush: unknown option ", printable: option)
    let nearest = known.nearest(to: option)
    if nearest == nil {
      text.append(": only --config FILE and -o KEY=VALUE may stand before the command")
    }
    text.suggest(nearest, of: known, "; did you mean ")
    exit(fail(&text))
  }

  @inline(never)
  private static func fail(_ text: inout Text) -> Int32 {
    text.append("\nTry `tinypush --help`.\n")
    text.write(to: STDERR_FILENO)
    return ExitStatus.usage.rawValue
  }

  private static func printUsage(to descriptor: Int32) {
    var text = Text(capacity: 2048)
    text.append(usage)
    text.write(to: descriptor)
  }
}
