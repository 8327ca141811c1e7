import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// `tinypush-mqtt run`: takes messages from the broker.
enum RunCommand {
  static let usage: StaticString = """
    Usage: tinypush-mqtt run [OPTION]...
    Takes messages from the broker, and writes notification files into the spool, as
    long as it runs. A message is acknowledged once its file is on disk.

      --rules FILE          the broker and the rules (/etc/tinypush/mqtt.conf)
    \t\

    SIGTERM stops it; the broker keeps what comes meanwhile. In a service without a
    terminal, SIGHUP makes it read FILE again; a mistake there changes nothing.

    """

  static func handle(
    _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    Arguments.handle(
      "run", of: "tinypush-mqtt ", count, values, options: "rules=", usage: usage
    ) { (arguments) throws(ExitStatus) in
      var path = BridgeConfig.defaultFile.cString
      while try arguments.next() != nil { path = clinux_option_argument() }
      try arguments.refuseOperands()
      var config = Config()
      try arguments.readConfig(into: &config, mayBeClosed: true)
      var bridge = BridgeConfig()
      var message = Text(capacity: 2048)
      do throws(ExitStatus) {
        try BridgeConfig.read(path, into: &bridge, message: &message)
      } catch {
        throw arguments.fail(error, message)
      }
      if config.status.isEmpty { config.status = CString(Config.packagedStatus) }
      var work = Bridge(
        bridge, rules: path, spool: config.spool.span, state: config.state.span,
        page: config.status.span)
      return work.run()
    }
  }
}
