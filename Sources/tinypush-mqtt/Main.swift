import CommandArguments
import TinyPush
import TinyPushAgent

@main
struct Main {
  static func main() {
    PagedMemory.use()
    Program(
      "tinypush-mqtt", "Takes messages from an MQTT broker and makes notification files of them.",
      notes: """
        Every command takes --rules FILE (the broker and the rules; otherwise
        /etc/tinypush/mqtt.conf), --config FILE (the agent's configuration, for the
        spool), -o KEY=VALUE over it, and --help. `tinypush-mqtt help settings` lists
        the settings of FILE; `tinypush-mqtt --version` prints the version.
        """, settings: BridgeConfig.table, in: BridgeConfig.defaultFile,
      [RunCommand.command, CheckCommand.command, FleetCommand.command, TakeoverCommand.command]
    ).run()
  }
}
