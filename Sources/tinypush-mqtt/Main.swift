import CommandArguments
import TinyPush
import TinyPushAgent

@main
struct Main {
  static func main() {
    PagedMemory.use()
    StandardStreams.prepare()
    Program(
      "tinypush-mqtt", "Takes messages from an MQTT broker and makes notification files of them.",
      notes: """
        Every command takes --rules FILE (the broker and the rules; otherwise
        /etc/tinypush/mqtt.conf), --config FILE (the agent's configuration, for the
        spool), -o KEY=VALUE over it, and --help. `tinypush-mqtt help COMMAND` prints
        the same help, `tinypush-mqtt help settings` the settings of the file of
        --rules, and `tinypush-mqtt --version` the version.
        """, settings: BridgeConfig.table, in: BridgeConfig.defaultFile,
      [RunCommand.command, CheckCommand.command, FleetCommand.command, TakeoverCommand.command]
    ).run()
  }
}
