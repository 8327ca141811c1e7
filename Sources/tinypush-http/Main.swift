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
    recipients file, the webhooks of Grafana and Alertmanager, and by rules those of
    any other program.

      --listen ADDRESS      where to listen: HOST:PORT with a numeric host, or the
                            path of a UNIX socket; repeatable. Without it: the
                            sockets that systemd passes, or else 127.0.0.1:8077
                            and [::1]:8077
      --settings FILE       the settings and rules (/etc/tinypush/http.conf);
                            `tinypush-http help settings` lists the settings
      --try PATH            check them, print what the rules make of a request to
                            PATH whose body is on standard input, and send nothing
      --version             print the version
    \t\

    The configuration is the agent's: it names the spool and the recipients files.
    If other machines can reach an address, token-file must be set in the settings;
    tinypush-http(1) explains it, and the rules.

    Exit status of --try: 0 no mistakes; 65 the request or a notification would be
    refused; 66 a file is missing; 78 the settings or the rules have a mistake.

    """

  static func main() {
    PagedMemory.use()
    StandardStreams.prepare()
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
        "tinypush-http", of: "", count, values, options: "listen= settings= try=", usage: usage
      ) { (arguments) throws(ExitStatus) in
        try run(&arguments)
      })
  }

  private static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var listeners = Listeners()
    var path: UnsafePointer<CChar>?
    var tried: UnsafePointer<CChar>?
    while let option = try arguments.next() {
      switch option {
      case 0:
        var problem = Text()
        guard listeners.add(arguments.value(), &problem) else {
          throw arguments.fail(.unavailable, problem)
        }
      case 1: path = clinux_option_argument()
      default: tried = clinux_option_argument()
      }
    }
    try arguments.refuseOperands()
    var config = Config()
    try arguments.readConfig(into: &config, for: .command)
    var settings = ServiceSettings()
    let file = path ?? ServiceSettings.defaultFile.cString
    var mistakes = Mistakes()
    var message = Text(capacity: 2048)
    do throws(ExitStatus) {
      try settings.read(path, needsTokens: tried == nil, &mistakes)
    } catch {
      for index in 0..<mistakes.count {
        message.clear()
        mistakes.append(index, file: CString.span(file), to: &message)
        arguments.warn(message)
      }
      throw error
    }
    if let tried { return try Trial.run(tried, &settings.rules, of: file, config, arguments) }
    guard listeners.complete(&message) else { throw arguments.fail(.unavailable, message) }
    guard !listeners.isReachable || !settings.tokens.isEmpty else {
      throw arguments.fail(
        .config,
        "other machines can reach this service: set token-file in the file of settings, or listen only on 127.0.0.1 and [::1]"
      )
    }
    let idle = settings.idle
    let inbox = Inbox(settings, config)
    var server = Server(listeners, inbox, idle: idle)
    return server.run()
  }
}
