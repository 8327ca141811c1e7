import TinyPush

/// What the agent knows about its connection besides the TLS state.
struct ConnectionState {
  /// Whether something has happened to the socket, and whether it takes bytes again.
  var (isReady, isWritable) = (false, false)
  /// Whether unread bytes may be left after the last read.
  var isUnread = false
  /// Whether the last connection failed because of our certificate or key.
  private(set) var isConfigBroken = false
  /// Whether there is no token, so that nothing can be sent.
  var lacksToken = false
  /// Whether the gateway has sent bytes on this connection.
  private(set) var hasReceived = false
  /// Whether the gateway ended the last connection without sending or accepting anything.
  private(set) var wasCutOff = false
  /// When the quiet period of the connection ends; nil if absent.
  private(set) var quietUntil: Instant?

  /// The length of the quiet period, in addition to two round trips.
  ///
  /// In TLS 1.3 a gateway refuses our certificate after the handshake, and some then close without
  /// an alert. After such an end nothing is written to the next connection during a quiet period.
  /// Otherwise the agent could not tell a gateway that ends each connection from a notification
  /// that makes it do so.
  private static let quietPeriod = Duration.milliseconds(300)

  /// Starts the quiet period of a new connection.
  mutating func beginQuietPeriod(at now: Instant, roundTrip: Duration) {
    quietUntil = now + Self.quietPeriod + roundTrip + roundTrip
  }

  var isInQuietPeriod: Bool { quietUntil != nil }

  /// Whether the quiet period is over.
  func isQuietPeriodOver(at now: Instant) -> Bool { quietUntil.map { now >= $0 } ?? false }

  mutating func connected() {
    quietUntil = nil
    wasCutOff = false
    hasReceived = false
    isConfigBroken = false
    lacksToken = false
  }

  /// Records that our key could be used.
  mutating func configWorks() { isConfigBroken = false }

  /// Records that a dial failed.
  ///
  /// - Parameters:
  ///   - isOurFault: whether our certificate or key was refused.
  ///   - wasUp: whether the connection was up, and ended in its quiet period.
  mutating func failed(isOurFault: Bool, wasUp: Bool) {
    isConfigBroken = isOurFault
    wasCutOff = wasUp
    quietUntil = nil
  }

  mutating func received() { hasReceived = true }

  /// Records that the connection ended.
  ///
  /// - Parameters:
  ///   - isOurFault: whether our certificate or key was refused.
  ///   - wasUp: whether the connection was up.
  ///   - isProgress: whether anything sent on it was settled.
  mutating func ended(isOurFault: Bool, wasUp: Bool, isProgress: Bool) {
    wasCutOff = wasUp && !hasReceived && !isProgress
    isConfigBroken = isOurFault
  }
}
