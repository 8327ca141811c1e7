import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush run`, which delivers the notification files of the spool.
enum RunCommand {
  static let command = Command(
    "run", "deliver the notification files in the spool", options: "once",
    usage: """
      Usage: tinypush run [--once] [OPTION]...
      Delivers the notification files of the spool until it is stopped.

        --once                deliver the files that are there, confirm them with the
                              gateway, and end. Exit status: 0 all were delivered; 65
                              a notification was refused (failed/ has it and the
                              reason); 75 try again later
      \t\

      SIGTERM stops it once the sent notifications are confirmed. Closing the terminal
      that it runs in does the same. In a service without a terminal, SIGHUP makes it
      read the configuration and scan the spool again; a configuration with a mistake
      changes nothing.

      """, run)

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var config = Config()
    while try arguments.next() != nil { config.courier.isOnce = true }
    try arguments.refuseOperands()
    let isOnce = config.courier.isOnce
    var message = Text()
    do throws(ExitStatus) {
      try arguments.readConfig(into: &config, for: .agent, message: &message)
      return try deliver(config, &message, arguments)
    } catch {
      if !isOnce { showFailure(message, arguments) }
      throw arguments.fail(error, message)
    }
  }

  /// Shows on the status page why the agent does not start.
  @inline(never)
  private static func showFailure(_ message: borrowing Text, _ arguments: borrowing Arguments) {
    var config = Config()
    var ignored = Text()
    guard (try? arguments.readConfig(into: &config, for: .command, message: &ignored)) != nil
    else { return }
    Agent.showFailedStart(message, at: config.status.pointer)
  }

  @inline(never)
  private static func deliver(
    _ config: consuming Config, _ message: inout Text, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    try Agent.deliver(config, message: &message) { (config, message) throws(ExitStatus) in
      try arguments.readConfig(into: &config, for: .agent, message: &message)
    }
  }
}
