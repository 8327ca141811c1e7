import TinyPush

/// What the agent knows of its connection, besides what TLS does: whether it lasts, and whether more can be read.
struct ConnectionState {
  /// More has come than was read at once.
  var isUnread = false
  /// The last connection could not be made, or ended, because of our certificate or key.
  private(set) var isConfigBroken = false
  /// Bytes of the gateway's have come on this connection.
  private(set) var isHeard = false
  /// The last connection was ended by the gateway, which had neither said nor taken anything.
  private(set) var wasCutOff = false
  /// When the connection, which follows on such a one, has lasted long enough to be written to.
  private(set) var provenAt: Instant?

  /// In TLS 1.3 a gateway that refuses our certificate does so after the handshake, and others close then without a word. After a
  /// connection that ended so nothing is written to the next one before it has lasted for so long, besides two round trips:
  /// otherwise nobody could tell whether it is the gateway or a notification at which connections end.
  private static let probation = Duration.milliseconds(300)

  /// It is up, and has to last before anything is written to it.
  mutating func beginProbation(at now: Instant, roundTrip: Duration) {
    provenAt = now + Self.probation + roundTrip + roundTrip
  }

  var isOnProbation: Bool { provenAt != nil }

  /// Whether it has lasted.
  func hasLasted(at now: Instant) -> Bool { provenAt.map { now >= $0 } ?? false }

  mutating func connected() {
    provenAt = nil
    wasCutOff = false
    isHeard = false
  }

  /// It could not be made.
  ///
  /// - Parameter wasUp: it could, and ended on probation.
  mutating func failed(isOurFault: Bool, wasUp: Bool) {
    isConfigBroken = isOurFault
    wasCutOff = wasUp
    provenAt = nil
  }

  mutating func heard() { isHeard = true }

  /// It has ended.
  ///
  /// - Parameter isProgress: whether anything that was sent on it has been settled.
  mutating func ended(isOurFault: Bool, wasUp: Bool, isProgress: Bool) {
    wasCutOff = wasUp && !isHeard && !isProgress
    isConfigBroken = isOurFault
  }
}
