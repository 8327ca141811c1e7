import CommandArguments
import TinyPush
import TinyPushAgent

@main
struct Main {
  static func main() {
    PagedMemory.use()
    StandardStreams.prepare()
    Program(
      "tinypush",
      "Delivers notification files from a spool directory to Apple's push service.",
      notes: """
        Every command but sandbox takes --config FILE (default: the file that
        TINYPUSH_CONFIG names, or else /etc/tinypush/tinypush.conf), -o KEY=VALUE to
        override a setting of the file, and --help. `tinypush help COMMAND` prints the
        same help, `tinypush help settings` each KEY, and `tinypush --version` the
        version.
        """, settings: Config.table, in: Config.defaultFile,
      [
        SetupCommand.command, RunCommand.command, SendCommand.command, CheckCommand.command,
        FeedbackCommand.command,
        TokenCommand.command, RecipientCommand.command, QueueCommand.command, TraceCommand.command,
        StatusCommand.command, SandboxCommand.command,
      ]
    ).run()
  }
}
