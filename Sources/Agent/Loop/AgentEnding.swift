import CLinux
import TinyPush

/// Whether, and until when, the agent is about to stop, and for what: for good, or for another configuration.
struct AgentEnding: ~Copyable {
  /// How long a stop may take besides the wait for what was sent.
  static let patience = Duration.seconds(5)

  /// When it stops, whatever is not confirmed by then; nil: it goes on.
  private(set) var by: Instant?
  var isReloadWanted = false
  /// SIGHUP says that the terminal is gone, and not, as to a service, that the configuration is to be read.
  let endsWithTerminal =
    getenv(("NOTIFY_SOCKET" as StaticString).cString) == nil
    && (isatty(STDIN_FILENO) == 1 || isatty(STDERR_FILENO) == 1)
  /// With what another agent goes on when this one has stopped.
  var next: Config?

  init() {}

  deinit {}

  /// It stops, and no other goes on.
  var isForGood: Bool { by != nil && next == nil }

  func isOver(at now: Instant) -> Bool { by.map { now >= $0 } ?? false }

  /// - Parameter wait: for what was sent.
  mutating func begin(at now: Instant, wait: Duration) { by = now + wait + Self.patience }
}
