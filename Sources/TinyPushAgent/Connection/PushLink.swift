import TinyPush
import TinyPushBinary
import TinyPushHTTP2

/// The link for the configured protocol.
///
/// One type for both links lets the program contain the courier's generic code only once.
struct PushLink: ~Copyable, Link {
  let service: PushProtocol
  private(set) var binary: BinaryLink
  private(set) var http2: HTTP2Link
  private let pinned = Pinned()

  /// Creates both links; the unused one allocates no memory.
  init(
    _ settings: Courier.Settings, _ binary: BinaryLink.Settings,
    _ http2: consuming HTTP2Link.Service, seed: UInt64
  ) {
    service = settings.rules.service
    self.binary = BinaryLink(
      settings, binary, seed: seed, isUsed: settings.rules.service == .binary)
    self.http2 = HTTP2Link(
      settings, http2, seed: seed, isUsed: settings.rules.service == .http2)
  }

  private var isBinary: Bool { service == .binary }

  var isOpen: Bool { isBinary ? binary.isOpen : http2.isOpen }
  var deadline: Instant? { isBinary ? binary.deadline : http2.deadline }
  var isBusy: Bool { isBinary ? binary.isBusy : http2.isBusy }
  var isUp: Bool { isBinary ? binary.isUp : http2.isUp }
  var hasProgressed: Bool { isBinary ? binary.hasProgressed : http2.hasProgressed }
  var nextDialAt: Instant? { isBinary ? binary.nextDialAt : http2.nextDialAt }
  var failures: Int { isBinary ? binary.failures : http2.failures }
  var isAwaitingEnd: Bool { isBinary ? binary.isAwaitingEnd : http2.isAwaitingEnd }

  func obstacle(payloadBytes: Int) -> Obstacle? {
    if isBinary { return binary.obstacle(payloadBytes: payloadBytes) }
    return http2.obstacle(payloadBytes: payloadBytes)
  }
  mutating func take(
    _ message: borrowing Message, in text: Span<UInt8>, to subscription: Span<UInt8>
  ) {
    if isBinary {
      binary.take(message, in: text, to: subscription)
    } else {
      http2.take(message, in: text, to: subscription)
    }
  }
  mutating func takeOutcome() -> (message: MessageNumber, outcome: LinkOutcome)? {
    if isBinary { return binary.takeOutcome() }
    return http2.takeOutcome()
  }
  mutating func takeProved() -> UInt64? {
    if isBinary { return binary.takeProved() }
    return http2.takeProved()
  }
  mutating func resetPoisonSearch() {
    if isBinary { binary.resetPoisonSearch() } else { http2.resetPoisonSearch() }
  }
  mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step? {
    if isBinary { return binary.advance(to: time, isStopping: isStopping) }
    return http2.advance(to: time, isStopping: isStopping)
  }
  mutating func nextStep(_ supply: Supply) -> Courier.Step? {
    if isBinary { return binary.nextStep(supply) }
    return http2.nextStep(supply)
  }
  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    if isBinary { return binary.forEachBuffer(body) }
    return http2.forEachBuffer(body)
  }
  mutating func takeTraffic() -> LinkTraffic {
    if isBinary { return binary.takeTraffic() }
    return http2.takeTraffic()
  }
  mutating func takeReport() -> Report? {
    if isBinary { return binary.takeReport() }
    return http2.takeReport()
  }
  mutating func connected() {
    if isBinary { binary.connected() } else { http2.connected() }
  }
  mutating func disconnected(at now: Instant, byPeer: Bool) {
    if isBinary {
      binary.disconnected(at: now, byPeer: byPeer)
    } else {
      http2.disconnected(at: now, byPeer: byPeer)
    }
  }
  mutating func received(_ bytes: Span<UInt8>) {
    if isBinary { binary.received(bytes) } else { http2.received(bytes) }
  }
  mutating func heard(until instant: Instant) {
    if isBinary { binary.heard(until: instant) } else { http2.heard(until: instant) }
  }
  mutating func dialAtOnce() {
    if isBinary { binary.dialAtOnce() } else { http2.dialAtOnce() }
  }
  mutating func suspended(until now: Instant) {
    if isBinary { binary.suspended(until: now) } else { http2.suspended(until: now) }
  }
  mutating func wrote(wireEnd: UInt64) {
    if isBinary { binary.wrote(wireEnd: wireEnd) } else { http2.wrote(wireEnd: wireEnd) }
  }
  mutating func blocked() {
    if isBinary { binary.blocked() } else { http2.blocked() }
  }
  mutating func writable() {
    if isBinary { binary.writable() } else { http2.writable() }
  }
  mutating func sampled(unacknowledged: Int, since: Duration, roundTrip: Duration) {
    if isBinary {
      binary.sampled(unacknowledged: unacknowledged, since: since, roundTrip: roundTrip)
    } else {
      http2.sampled(unacknowledged: unacknowledged, since: since, roundTrip: roundTrip)
    }
  }

  /// Returns the bytes to write as one record.
  @_lifetime(borrow self)
  func batchContents() -> Span<UInt8> {
    if isBinary { return binary.batchContents() }
    return http2.batchContents()
  }

  /// Calls `body` with the notifications to count now.
  ///
  /// These are those in the binary link's batch that are sent for the first time, or those that the
  /// HTTP/2 service has just accepted.
  func forEachCounted(_ body: (MessageNumber) -> Void) {
    if isBinary { binary.forEachFirst(body) } else { http2.forEachAccepted(body) }
  }

  // MARK: - Only for HTTP/2

  /// Whether there are answers that the courier has not yet received as outcomes.
  var hasAnswers: Bool { isBinary ? false : http2.hasAnswers }

  mutating func authorized(_ token: Span<UInt8>, issuedAt: Int64, isStored: Bool) {
    http2.authorized(token, issuedAt: issuedAt, isStored: isStored)
  }
  mutating func notAuthorized(until instant: Instant) { http2.notAuthorized(until: instant) }
  /// When the token that the service refused was made.
  var refusedTokenIssuedAt: Int64? { isBinary ? nil : http2.refusedTokenIssuedAt }
  var isTokenInvalid: Bool { http2.isTokenInvalid }
  mutating func receivedAside(_ bytes: Span<UInt8>) { http2.receivedAside(bytes) }
  mutating func asideEnded() { http2.asideEnded() }
  /// The service's reason for refusing the configuration; nil if it does not.
  var refusedConfiguration: Rejection? { isBinary ? nil : http2.refusedConfiguration }
}
