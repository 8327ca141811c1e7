import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushWebhooks

@main
struct Main {
  private static let usage: StaticString = """
    Usage: tinypush-http [OPTION]...
    Takes notifications over HTTP, and puts them into the spool: JSON, a text for a
    recipients file, and the webhooks of Grafana and Alertmanager.

      --listen ADDRESS      where to listen: HOST:PORT with a numeric host, or the
                            path of a UNIX socket; repeatable. Without it: the
                            sockets that systemd passes, or else 127.0.0.1:8077
                            and [::1]:8077
      --settings FILE       the settings of this program (/etc/tinypush/http.conf);
                            `tinypush-http help settings` lists them
      --version             print the version
    \t\

    The configuration is the agent's: it names the spool and the recipients files.
    If other machines can reach an address, token-file must be set in the settings;
    tinypush-http(1) explains it.

    """

  static func main() {
    PagedMemory.use()
    let count = clinux_argument_count()
    guard let values = clinux_arguments() else { exit(ExitStatus.usage.rawValue) }
    if count == 2, let word = values[1], Version.isAsked(CString.span(word)) {
      Version.print(of: "tinypush-http")
      exit(ExitStatus.ok.rawValue)
    }
    if count > 1 {
      ServiceSettings.table.printHelp(
        ifAsked: values, at: 1, of: ServiceSettings.defaultFile)
    }
    exit(
      Arguments.handle(
        "tinypush-http", of: "", count, values, options: "listen= settings=", usage: usage
      ) { (arguments) throws(ExitStatus) in
        try run(&arguments)
      })
  }

  private static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var listeners = Listeners()
    var path: UnsafePointer<CChar>?
    while let option = try arguments.next() {
      if option == 0 {
        var problem = Text()
        guard listeners.add(arguments.value(), &problem) else {
          throw arguments.fail(.unavailable, problem)
        }
      } else {
        path = clinux_option_argument()
      }
    }
    try arguments.refuseOperands()
    var config = Config()
    try arguments.readConfig(into: &config, for: .command)
    var settings = ServiceSettings()
    var message = Text(capacity: 2048)
    do throws(ExitStatus) {
      try settings.read(path, message: &message)
    } catch {
      throw arguments.fail(error, message)
    }
    guard listeners.complete(&message) else { throw arguments.fail(.unavailable, message) }
    guard !listeners.isReachable || !settings.tokens.isEmpty else {
      throw arguments.fail(
        .config,
        "other machines can reach this service: set token-file in /etc/tinypush/http.conf, or listen only on 127.0.0.1 and [::1]"
      )
    }
    let idle = settings.idle
    let inbox = Inbox(settings, config)
    var server = Server(listeners, inbox, idle: idle)
    return server.run()
  }
}
