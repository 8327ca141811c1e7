import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// `tinypush status`: what the agent says of itself.
enum StatusCommand {
  static let usage: StaticString = """
    Usage: tinypush status [--watch|--json|--prometheus] [OPTION]...
    Says whether the agent runs, to whom it is connected or why it is not, what
    became of the notifications since it started, how fast they are sent, and what
    went wrong last. It reads a page that the agent keeps up to date, and does not
    wake it.

      --watch               on a terminal, once a second until q is pressed
      --json                as a line of JSON
      --prometheus          as metrics for a textfile collector of Prometheus
    \t\

    Ends with 0 when the agent is connected, with 75 when it is not, and with 69
    when it does not run; --watch, and --prometheus, which has a metric for each of
    these, with 0.

    """

  private enum Form: Int {
    case watch
    case json
    case prometheus
  }

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var config = Config()
    var form: Form?
    while let option = try arguments.next() {
      guard form == nil || form?.rawValue == option else {
        throw arguments.fail(.usage, "takes one of --watch, --json and --prometheus")
      }
      form = Form(rawValue: option)
    }
    try arguments.refuseOperands()
    try arguments.readConfig(into: &config, mayBeClosed: true)
    // Without a configuration, the package's agent is the one that is asked for.
    if access(arguments.configPath, R_OK) != 0, config.status.isEmpty {
      config.status = CString(Config.packagedStatus)
    }
    guard !config.status.isEmpty else {
      throw arguments.fail(
        .config,
        "needs the setting status, the file of the agent's page: set it for the agent and for this command"
      )
    }
    if form == .watch { return try watch(config, arguments) }
    var text = Text(capacity: 16384)
    let reading: StatusReading
    do throws(StatusReading.Problem) {
      reading = try StatusReading(config.status.pointer)
    } catch {
      let isMissing = if case .cannotOpen(ENOENT) = error { true } else { false }
      if form == .prometheus {
        StatusMetrics.writeDown(in: &text)
        text.write(to: STDOUT_FILENO)
        text.clear()
        explain(error, config, in: &text)
        // Before its first start, that is all there is to say.
        return isMissing ? .ok : arguments.fail(.ok, text)
      }
      explain(error, config, in: &text)
      if isMissing, access(arguments.configPath, F_OK) != 0 {
        text.append(" There is no configuration ", printable: CString.span(arguments.configPath))
        text.append(": name one with --config FILE, or the page with -o status=FILE")
      }
      throw arguments.fail(.unavailable, text)
    }
    switch form {
    case .json: StatusJSON.write(reading.page, in: &text)
    case .prometheus: StatusMetrics.write(reading.page, in: &text)
    case .watch, nil:
      var screen = StatusScreen(to: STDOUT_FILENO)
      screen.show(reading.page, in: &text)
    }
    text.write(to: STDOUT_FILENO)
    if form == .prometheus { return .ok }
    guard reading.page.isAlive else { return .unavailable }
    return reading.page.connectivity == .up ? .ok : .tryLater
  }

  @inline(never)
  private static func watch(
    _ config: borrowing Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
      throw arguments.fail(
        .usage, "--watch is for a terminal, and this is none: leave it out, or use --json")
    }
    guard Terminal(STDOUT_FILENO).isCapable else {
      throw arguments.fail(
        .usage,
        "--watch moves the cursor, which this terminal cannot, as TERM says: leave --watch out")
    }
    StatusWatch.run(config)
    return .ok
  }

  /// Why there is no page.
  @inline(never)
  static func explain(
    _ reason: StatusReading.Problem, _ config: borrowing Config, in text: inout Text
  ) {
    text.append(printable: config.status.span)
    switch reason {
    case .cannotOpen(let number):
      text.append(": ", cString: clinux_error_text(number))
      text.append(": has the agent been started with this configuration?")
    case .notAPage: text.append(": is not the status page of this version: restart the agent")
    }
  }

  @inline(never)
  static func state(_ page: borrowing StatusPage) -> StaticString {
    switch page.connectivity {
    case .up: "connected"
    case .connecting: "connecting"
    case .down: "not connected"
    case nil: "not running"
    }
  }
}
