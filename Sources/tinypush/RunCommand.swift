import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// `tinypush run`: deliver the spool.
enum RunCommand {
  static let usage: StaticString = """
    Usage: tinypush run [--once] [OPTION]...
    Delivers the notification files of the spool, as long as it runs.

      --once                deliver what is there, confirm it with the gateway, and
                            end: 0 when all was delivered, 65 when something was
                            refused (failed/ says what and why), 75 when it must be
                            tried later
    \t\

    SIGTERM ends it once what was sent is confirmed, and so does the end of the
    terminal that it runs in. As a service, without a terminal, SIGHUP has it read
    the configuration and look through the spool anew; a configuration with a
    mistake changes nothing.

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
