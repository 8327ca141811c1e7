import CLinux
import TinyPush

/// Whether and until when the agent is stopping, and whether it stops to reload the configuration.
struct AgentEnding: ~Copyable {
  /// The time that a stop may take in addition to the wait for answers.
  static let patience = Duration.seconds(5)

  /// When the agent stops even if answers are missing; nil while it is not stopping.
  private(set) var deadline: Instant?
  var isReloadWanted = false
  /// The configuration of the next agent, if this one stops to reload.
  var next: Config?

  init() {}

  deinit {}

  /// Whether the agent stops and no other follows.
  var isFinal: Bool { deadline != nil && next == nil }

  /// Returns whether the time limit of the stop is over.
  func isOver(at now: Instant) -> Bool { deadline.map { now >= $0 } ?? false }

  /// Starts the time limit of a stop.
  ///
  /// - Parameter wait: the longest wait for answers to what was sent.
  mutating func begin(at now: Instant, wait: Duration) { deadline = now + wait + Self.patience }
}
