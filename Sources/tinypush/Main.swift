import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// A subcommand: its name, what it does in a line, and its code.
struct Command {
  let name: StaticString
  let summary: StaticString
  let run: (Int32, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
}

@main
struct Main {
  static var commands: InlineArray<10, Command> {
    [
      Command(name: "run", summary: "deliver the spool", run: RunCommand.run),
      Command(name: "send", summary: "put a notification into the spool", run: SendCommand.run),
      Command(
        name: "check", summary: "check notification files, or the configuration",
        run: CheckCommand.run),
      Command(
        name: "feedback", summary: "ask which devices are gone, and send to them no more",
        run: FeedbackCommand.run),
      Command(
        name: "token", summary: "list device tokens that are not sent to, or change that",
        run: TokenCommand.run),
      Command(
        name: "recipient", summary: "list the devices that recipients files name, or change that",
        run: RecipientCommand.run),
      Command(
        name: "queue", summary: "list what is in the spool; show it, drop it, or send it again",
        run: QueueCommand.run),
      Command(
        name: "trace", summary: "say where a notification is, or how it ended",
        run: TraceCommand.run),
      Command(name: "status", summary: "say how delivery goes", run: StatusCommand.run),
      Command(
        name: "sandbox", summary: "run the service on this machine, for trying and testing",
        run: SandboxCommand.run),
    ]
  }

  static func main() {
    let count = Int(clinux_argument_count())
    guard let arguments = clinux_arguments() else { exit(ExitStatus.usage.rawValue) }
    let place = commandPlace(arguments, count)
    guard place < count else {
      printUsage(to: STDERR_FILENO)
      exit(ExitStatus.usage.rawValue)
    }
    if CString.span(arguments[place]!).equals("help"), place + 1 < count {
      // `help COMMAND` is `COMMAND --help`.
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
    let commands = commands
    var names: InlineArray<12, StaticString> = .init(repeating: "")
    for index in commands.indices { names[index] = commands[index].name }
    names[commands.count] = "help"
    names[commands.count + 1] = "version"
    if let index = Choice.index(name, among: names.span) {
      // Options that stand before the command go behind it.
      let command = arguments[place]
      for index in 0..<place - 1 { arguments[place - index] = arguments[place - index - 1] }
      arguments[1] = command
      exit(commands[index].run(Int32(count - 1), arguments + 1))
    }
    var text = Text()
    Choice.refuse(name, among: names.span, "tinypush: there is no command ", in: &text)
    exit(fail(&text))
  }

  private static func isHelp(_ word: Span<UInt8>) -> Bool {
    word.equals("--help") || word.equals("-h") || word.equals("help")
  }

  /// Where the command stands: behind options that every command takes.
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
          text.append("tinypush: ")
          text.append(printable: option)
          text.append(" needs a value")
          exit(fail(&text))
        }
      }
      place += 1
    }
    return place
  }

  private static func refuse(_ option: Span<UInt8>) -> Never {
    let known: InlineArray<3, StaticString> = ["--config", "--help", "--version"]
    var text = Text()
    text.append("tinypush: unknown option ")
    text.append(printable: option)
    if Nearest.match(option, among: known.span) == nil {
      text.append(": before the command stand only --config FILE and -o KEY=VALUE")
    }
    Choice.suggest(option, among: known.span, "; did you mean ", in: &text)
    exit(fail(&text))
  }

  private static func fail(_ text: inout Text) -> Int32 {
    text.append("\nTry `tinypush --help`.\n")
    text.write(to: STDERR_FILENO)
    return ExitStatus.usage.rawValue
  }

  private static func printUsage(to descriptor: Int32) {
    var text = Text(capacity: 2048)
    text.append(
      "Usage: tinypush COMMAND [OPTION]...\nDelivers notification files to Apple's push gateway, and loses none.\n\n"
    )
    let commands = commands
    for index in commands.indices {
      text.append("  ")
      text.append(commands[index].name)
      for _ in commands[index].name.utf8CodeUnitCount..<11 { text.append(" ") }
      text.append(commands[index].summary)
      text.append("\n")
    }
    text.append(
      """

      Every command takes --config FILE (the file that TINYPUSH_CONFIG names, or
      /etc/tinypush/tinypush.conf), -o KEY=VALUE over it, and --help, which
      `tinypush help COMMAND` prints as well; tinypush itself takes --version.

      """)
    text.write(to: descriptor)
  }
}
