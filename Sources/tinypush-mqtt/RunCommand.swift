import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// `tinypush-mqtt run`: takes messages from the broker.
enum RunCommand {
  static let command = Command(
    "run", "take messages, as long as it runs", options: "rules=",
    usage: """
      Usage: tinypush-mqtt run [OPTION]...
      Takes messages from the broker, and writes notification files into the spool, as
      long as it runs. A message is acknowledged once its file is on disk.

        --rules FILE          the broker and the rules (/etc/tinypush/mqtt.conf)
      \t\

      SIGTERM stops it; the broker keeps what comes meanwhile. In a service without a
      terminal, SIGHUP makes it read FILE again; a mistake there changes nothing.

      """, run)

  private static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var path = BridgeConfig.defaultFile.cString
    while try arguments.next() != nil { path = clinux_option_argument() }
    try arguments.refuseOperands()
    return try work(&arguments, rules: path)
  }

  /// Reads both configurations, and takes messages.
  ///
  /// - Parameter lostBox: the client ID of the box whose messages are taken over; nil: this box's.
  static func work(
    _ arguments: inout Arguments, rules path: UnsafePointer<CChar>,
    lostBox: UnsafePointer<CChar>? = nil
  ) throws(ExitStatus) -> ExitStatus {
    var config = Config()
    try arguments.readConfig(into: &config, for: .command)
    clinux_hide_memory()
    var bridge = BridgeConfig()
    try arguments.attempt { message throws(ExitStatus) in
      try BridgeConfig.read(path, into: &bridge, message: &message)
    }
    try checkFiles(&bridge, arguments)
    if config.status.isEmpty { config.status = CString(Config.packagedStatus) }
    if let lostBox {
      bridge.login.clientID.clear()
      bridge.login.clientID.append(cString: lostBox)
      // The other box's state is its own.
      bridge.fleet = CString("")
    }
    var work = BridgeLoop(
      bridge, rules: path, spool: config.spool.span, page: config.status.span,
      isTakeover: lostBox != nil)
    return work.run()
  }

  /// Ends the program if a file that the settings name cannot be read.
  private static func checkFiles(
    _ bridge: inout BridgeConfig, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    var text = Text(capacity: 2048)
    if (try? bridge.readPassword(message: &text)) != nil, bridge.isEncrypted {
      for path in [bridge.tls.ca.pointer, bridge.tls.certificate.pointer, bridge.tls.key.pointer]
      where text.count == 0 && path.pointee != 0 && access(path, R_OK) != 0 {
        text.append(printable: CString.span(path))
        text.append(": ", cString: clinux_error_text(clinux_errno()))
      }
    }
    bridge.forgetPassword()
    guard text.count > 0 else { return }
    if EnvironmentVariable.notifySocket.pointer != nil {
      text.append(
        "; the service reads files that are in /etc/tinypush/mqtt-credentials, by the name mqtt-credentials/NAME: put the file there, and restart the service"
      )
    }
    throw arguments.fail(.config, text)
  }
}
