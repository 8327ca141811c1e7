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
  static let version: StaticString = "0.1.0"

  static var commands: InlineArray<9, Command> {
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
      Command(name: "status", summary: "say how delivery goes", run: StatusCommand.run),
      Command(
        name: "sandbox", summary: "run the service on this machine, for trying and testing",
        run: SandboxCommand.run),
    ]
  }

  static func main() {
    let count = clinux_argument_count()
    guard let arguments = clinux_arguments(), count > 1, let first = arguments[1] else {
      printUsage(to: STDERR_FILENO)
      exit(ExitStatus.usage.rawValue)
    }
    let name = CString.span(first)
    if name.equals("--help") || name.equals("-h") || name.equals("help") {
      printUsage(to: STDOUT_FILENO)
      exit(ExitStatus.ok.rawValue)
    }
    if name.equals("--version") {
      var text = Text()
      text.append("tinypush ")
      text.append(version)
      text.append("\n")
      text.write(to: STDOUT_FILENO)
      exit(ExitStatus.ok.rawValue)
    }
    let commands = commands
    var names: InlineArray<9, StaticString> = .init(repeating: "")
    for index in commands.indices { names[index] = commands[index].name }
    if let index = Choice.index(name, among: names.span) {
      exit(commands[index].run(count - 1, arguments + 1))
    }
    var text = Text()
    Choice.refuse(name, among: names.span, "tinypush: there is no command ", in: &text)
    text.append("\nTry `tinypush --help`.\n")
    text.write(to: STDERR_FILENO)
    exit(ExitStatus.usage.rawValue)
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

      Every command takes --config FILE (/etc/tinypush/tinypush.conf), -o KEY=VALUE
      over it, and --help; tinypush itself --version.

      """)
    text.write(to: descriptor)
  }
}
