import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush status`, which prints the agent's status page.
enum StatusCommand {
  static let command = Command(
    "status", "show what the agent does and has done", options: "watch json prometheus",
    usage: """
      Usage: tinypush status [--watch|--json|--prometheus] [OPTION]...
      Prints whether the agent runs, its connection or why there is none, the outcomes
      of the notifications since it started, how fast they are sent, and the last
      problems. Reads a page that the agent keeps up to date, and does not wake the
      agent.

        --watch               refresh once a second on a terminal, until q is pressed
        --json                print a line of JSON
        --prometheus          print metrics for a textfile collector of Prometheus
      \t\

      Exit status: 0 the agent is connected; 75 it is not connected; 78 a service
      refuses the configuration; 69 the agent does not run. With --watch and
      --prometheus: 0; the metrics show the same.

      """, run)

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
        throw arguments.fail(.usage, "give only one of --watch, --json and --prometheus")
      }
      form = Form(rawValue: option)
    }
    try arguments.refuseOperands()
    try arguments.readConfig(into: &config, for: .command)
    // Without a configuration, the user probably means the agent that the package installs.
    if access(arguments.configPath, R_OK) != 0, config.status.isEmpty {
      config.status = CString(Config.packagedStatus)
    }
    guard !config.status.isEmpty else {
      throw arguments.fail(
        .config,
        "the setting status is missing: set it to a file, for the agent and for this command"
      )
    }
    if form == .watch { return try watch(config, arguments) }
    var text = Text(capacity: 49_152)
    let reading: StatusReading
    do throws(StatusReading.Problem) {
      reading = try StatusReading(config.status.pointer)
    } catch {
      let isMissing = if case .cannotOpen(ENOENT) = error { true } else { false }
      if form == .prometheus {
        StatusMetrics.writeDown(in: &text)
        text.flush()
        explain(error, config, in: &text)
        // Before the agent's first start there is no page: that is no error for a collector.
        if !isMissing { arguments.warn(text) }
        return .ok
      }
      explain(error, config, in: &text)
      if isMissing, access(arguments.configPath, F_OK) != 0 {
        text.append(" There is no configuration ", printable: CString.span(arguments.configPath))
        text.append(": name one with --config FILE, or the page with -o status=FILE")
      }
      guard form == .json else { throw arguments.fail(.unavailable, text) }
      StatusJSON.write(notRunning: text)
      return .unavailable
    }
    switch form {
    case .json: StatusJSON.write(reading.page, BridgeState(beside: config), in: &text)
    case .prometheus: StatusMetrics.write(reading.page, in: &text)
    case .watch, nil:
      var screen = StatusScreen(to: STDOUT_FILENO)
      screen.bridge = BridgeState(beside: config)
      screen.show(reading.page, in: &text)
    }
    text.write(to: STDOUT_FILENO)
    if form == .prometheus { return .ok }
    guard reading.page.isAlive else { return .unavailable }
    guard reading.page.refusedConfiguration == nil else { return .config }
    return reading.page.connectivity == .up ? .ok : .tryLater
  }

  @inline(never)
  private static func watch(
    _ config: borrowing Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
      throw arguments.fail(
        .usage, "--watch needs a terminal: leave it out, or use --json")
    }
    guard Terminal(STDOUT_FILENO).isCapable else {
      throw arguments.fail(
        .usage,
        "--watch needs a terminal that can move the cursor, unlike the one in TERM: leave it out")
    }
    StatusWatch.run(config)
    return .ok
  }

  /// Appends why the page cannot be read.
  @inline(never)
  static func explain(
    _ reason: StatusReading.Problem, _ config: borrowing Config, in text: inout Text
  ) {
    text.append(printable: config.status.span)
    switch reason {
    case .cannotOpen(let number):
      text.append(": ", cString: clinux_error_text(number))
      text.append(": has the agent been started with this configuration?")
    case .notAPage: text.append(": not a status page of this version: restart the agent")
    }
  }
}
