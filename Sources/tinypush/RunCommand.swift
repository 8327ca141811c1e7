import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush run`, which delivers the notification files of the spool.
enum RunCommand {
  static let usage: StaticString = """
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

    """

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var config = Config()
    while try arguments.next() != nil { config.courier.isOnce = true }
    try arguments.refuseOperands()
    try arguments.readConfig(into: &config)
    return try deliver(config, arguments)
  }

  @inline(never)
  private static func deliver(
    _ config: consuming Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    var message = Text()
    do throws(ExitStatus) {
      return try Agent.deliver(config, message: &message) { (config, message) throws(ExitStatus) in
        try arguments.readConfig(into: &config, message: &message)
      }
    } catch {
      throw arguments.fail(error, message)
    }
  }
}
