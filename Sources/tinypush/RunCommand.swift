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
      -c, --config FILE     the configuration (/etc/tinypush/tinypush.conf)
      -o KEY=VALUE          a setting over it; may be given several times
      -h, --help            print this

    SIGTERM ends it once what was sent is confirmed, and so does the end of the
    terminal that it runs in. As a service, without a terminal, SIGHUP has it read
    the configuration and look through the spool anew; a configuration with a
    mistake changes nothing.

    """

  static func run(
    _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    let options: InlineArray<1, Option> = [Option("once")]
    var arguments = Arguments("run", count, values, options: options.span, usage: usage)
    do throws(ExitStatus) {
      var config = Config()
      while try arguments.next() != nil { config.courier.isOnce = true }
      if let operand = arguments.operand(0) {
        throw arguments.fail(.usage, "takes no operands, but was given ", CString.span(operand))
      }
      try arguments.readConfig(into: &config)
      return try deliver(config, arguments).rawValue
    } catch {
      return error.rawValue
    }
  }

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
