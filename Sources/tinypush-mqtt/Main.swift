import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

@main
struct Main {
  private static let usage: StaticString = """
    Usage: tinypush-mqtt COMMAND [OPTION]...
    Takes messages from an MQTT broker and makes notification files of them.

      run        take messages, as long as it runs
      check      check the rules, and try them on messages
      fleet      list the boxes that share the broker
      takeover   take the messages that wait for a box that is gone

    Every command takes --rules FILE (the broker and the rules; otherwise
    /etc/tinypush/mqtt.conf), --config FILE (the agent's configuration, for the
    spool), -o KEY=VALUE over it, and --help. `tinypush-mqtt help settings` lists the
    settings of FILE; `tinypush-mqtt --version` prints the version.

    """

  static func main() {
    PagedMemory.use()
    let count = clinux_argument_count()
    guard let values = clinux_arguments() else { exit(ExitStatus.usage.rawValue) }
    guard count > 1, let word = values[1] else { exit(fail()) }
    BridgeConfig.table.printHelp(ifAsked: values, at: 1, of: BridgeConfig.defaultFile)
    let name = CString.span(word)
    if name.equals("run") { exit(RunCommand.handle(count - 1, values + 1)) }
    if name.equals("check") { exit(CheckCommand.handle(count - 1, values + 1)) }
    if name.equals("fleet") { exit(FleetCommand.handle(count - 1, values + 1)) }
    if name.equals("takeover") { exit(TakeoverCommand.handle(count - 1, values + 1)) }
    if Version.isAsked(name) {
      Version.print(of: "tinypush-mqtt")
      exit(ExitStatus.ok.rawValue)
    }
    if name.equals("--help") || name.equals("help") || name.equals("-h") {
      var text = Text(capacity: 2048)
      text.append(usage)
      text.write(to: STDOUT_FILENO)
      exit(ExitStatus.ok.rawValue)
    }
    exit(fail())
  }

  private static func fail() -> Int32 {
    var text = Text()
    text.append("tinypush-mqtt: use run, check, fleet or takeover; see tinypush-mqtt --help\n")
    text.write(to: STDERR_FILENO)
    return ExitStatus.usage.rawValue
  }
}
