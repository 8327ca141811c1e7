import TinyPush

/// When and with which version of MQTT the next connection is tried.
struct Attempts {
  /// The wait after a problem that only a person can solve.
  private static let pause = Duration.seconds(30)
  /// A connection that ends before this time is no progress.
  private static let shortTime = Duration.seconds(60)

  private var backoff: Backoff
  /// When to connect; nil: there is a connection.
  private(set) var dueAt: Instant?
  private(set) var version = BrokerSession.Version.v5
  /// When the broker accepted the connection.
  private var acceptedAt: Instant?
  /// The connections one after the other that ended within ``shortTime``.
  private(set) var shortCount = 0
  /// Whether the broker has accepted a connection with these settings.
  private(set) var hasConnected = false
  /// Whether the broker is known to speak the version.
  private(set) var knowsVersion = false
  /// Whether the version was chosen since connections with the other one ended without an answer.
  ///
  /// The broker may have been starting, so the next connection begins with MQTT 5 again.
  private var isGuessed = false

  init(seed: UInt64, at now: Instant) {
    backoff = Backoff(seed: seed)
    dueAt = now
  }

  mutating func began() { dueAt = nil }

  mutating func accepted(at now: Instant) {
    acceptedAt = now
    hasConnected = true
    knowsVersion = true
  }

  /// - Parameter needsPerson: whether only a person can solve the problem.
  mutating func ended(needsPerson: Bool, at now: Instant) {
    let wasConnected = acceptedAt != nil
    if let start = acceptedAt.take() {
      let isShort = now < start + Self.shortTime
      shortCount = isShort ? shortCount + 1 : 0
      if !isShort { backoff.reset() }
      if isGuessed { (version, isGuessed, knowsVersion) = (.v5, false, false) }
    }
    dueAt = now + (needsPerson ? Self.pause : backoff.fail(wasConnected: wasConnected))
  }

  /// Chooses the other version of MQTT, and returns it.
  ///
  /// - Parameter isGuess: whether the broker has not said that it lacks the version.
  mutating func tryOtherVersion(isGuess: Bool) -> BrokerSession.Version {
    version = version == .v5 ? .v3 : .v5
    isGuessed = isGuess && version == .v3
    return version
  }

  /// Connects at once, with other settings.
  mutating func beginAnew(at now: Instant) {
    backoff.reset()
    version = .v5
    acceptedAt = nil
    hasConnected = false
    knowsVersion = false
    isGuessed = false
    dueAt = now
  }
}
