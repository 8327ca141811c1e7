import CHTTP2
import TinyPush

/// A ``Link`` to a push service of Apple or of browsers: HTTP/2 requests, each with its own answer, in any order.
///
/// There is one current connection, which takes requests. A second connection may be set aside: it
/// takes no requests and only waits for its remaining answers. Four parts have their own files:
/// sending requests (HTTP2LinkRequests), what browsers need (HTTP2LinkBrowsers), handling answers and
/// deadlines (HTTP2LinkAnswers), and ending connections (HTTP2LinkEnding).
public struct HTTP2Link: ~Copyable, Link {
  enum State: Equatable {
    case down(dialAt: Instant)
    case dialing
    case up
    /// The agent must set the connection aside, and then connect at `dialAt`.
    case leaving(dialAt: Instant)
    /// The agent must close the connection, and then connect at `dialAt`.
    case closing(dialAt: Instant)
  }

  /// The connection that is set aside: nothing more is written to it.
  struct Aside {
    var session: Session
    /// Whether only one request was unanswered when the connection was set aside.
    let isForOne: Bool
    /// Whether another connection had more answers.
    let isShort: Bool
    /// Whether the service violated HTTP/2.
    var isUnsound = false
  }

  let settings: Courier.Settings
  let service: Service
  /// The hash of the device token of the last accepted notification, until ``takeProved()``.
  var proved: UInt64?
  var time = Time(now: Instant(milliseconds: 0), wallSeconds: nil)
  var supply = Supply()
  var traffic = LinkTraffic()
  var reports = Reports()

  // The connections.
  var state = State.down(dialAt: Instant(milliseconds: 0))
  var session: Session?
  var aside: Aside?
  var upSince: Instant?
  /// Whether the service has answered a request of the current connection about its notification.
  public internal(set) var hasProgressed = false
  /// Whether a notification counts as the cause of the end of the current connection.
  var hasBlamed = false
  var backoff: Backoff
  private var rate: ConnectionRate

  // The requests.
  var requests: Requests
  let answers: FixedBuffer<chttp2_answer>
  var batch: Batch
  var scratch: HeaderText

  // The state of the service and of the connection.
  var stream = ByteStream()
  var liveness = Liveness()
  var pace: Pace
  var waits = Waits()
  /// The number of notifications that the service has accepted.
  var accepted: UInt64 = 0
  var newest = Newest()
  var hold = Hold()
  var authorization: Authorization
  private let pinned = Pinned()

  /// A connection that lasted this long does not count as failed, even if nothing was sent on it.
  private static let lasting = Duration.seconds(60)

  /// Creates a link without a connection.
  ///
  /// - Parameter seed: the seed for the random part of the waits before connecting and sending again.
  public init(_ settings: Courier.Settings, _ service: consuming Service, seed: UInt64) {
    self.settings = settings
    authorization = Authorization(service.tokenSchedule)
    let isOfBrowsers = service.isOfBrowsers
    self.service = service
    // The connection that is set aside may have as many requests as the current one.
    let capacity = 2 * settings.streams
    requests = Requests(capacity: capacity)
    answers = FixedBuffer(capacity: capacity)
    batch = Batch(capacity: Courier.batchBytesMax + 8192)
    scratch = HeaderText(isOfBrowsers: isOfBrowsers)
    backoff = Backoff(seed: seed)
    rate = ConnectionRate(seed: seed)
    pace = Pace(seed: seed &* 3)
  }

  deinit {
    session?.free()
    aside?.session.free()
  }

  // MARK: - Work

  /// Sets the time, handles finished requests and checks deadlines.
  @inline(never)
  public mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step? {
    self.time = time
    supply.isStopping = isStopping
    stream.begin()
    takeAnswers()
    if let aside, aside.isUnsound || requests.asideCount == 0 { return closeAside() }
    if let step = checkDeadlines() { return step }
    switch state {
    case .leaving(let dialAt): return setAside(dialAt)
    case .closing(let dialAt): return hangUp(dialAt)
    default: return nil
    }
  }

  /// Returns the link's next step: dial, ask for a provider token, write or close.
  public mutating func nextStep(_ supply: Supply) -> Courier.Step? {
    self.supply = supply
    switch state {
    case .down:
      guard let nextDialAt, time.now >= nextDialAt else { return nil }
      if service.usesProviderToken, !authorization.isGood(time.wallSeconds) { return .authorize }
      rate.connect(at: time.now)
      state = .dialing
      return .dial
    case .dialing: return nil
    case .leaving(let dialAt): return setAside(dialAt)
    case .closing(let dialAt): return hangUp(dialAt)
    case .up:
      // The courier takes a notification back that was not sent.
      if requests.decidedCount > 0 { return .listen }
      if mustRenewToken { return .authorize }
      return transmit()
    }
  }

  /// The earliest instant at which something is due, if any.
  public var deadline: Instant? {
    let now = time.now
    var earliest: Instant?
    earliest.include(nextDialAt, after: now)
    if case .up = state, !batch.isBlocked, !batch.isEmpty {
      earliest.include(batch.flushAt, after: now)
    }
    earliest.include(answerDue, after: now)
    if state == .up {
      earliest.include(settingsDue, after: now)
      earliest.include(pingDue, after: now)
      earliest.include(idleDue, after: now)
      earliest.include(streamsDue, after: now)
      earliest.include(liveness.pongDue, after: now)
      earliest.include(liveness.probe?.due, after: now)
      earliest.include(pace.pausedUntil, after: now)
      earliest.include(authorization.askAgainAt, after: now)
    }
    return earliest
  }

  // MARK: - Events

  /// Starts an HTTP/2 session on the connection, which is up and whose peer is verified.
  public mutating func connected() {
    guard let session = Session(answers) else {
      state = .closing(dialAt: time.now + backoff.fail())
      return
    }
    self.session = session
    traffic.connections += 1
    state = .up
    upSince = time.now
    hasProgressed = false
    hasBlamed = false
    liveness = Liveness()
    liveness.quietSince = time.now
    waits.connected()
    pace.connected(sendsOneAtATime: service.usesProviderToken || hold.isHeld)
    collect()
  }

  /// Handles a connection that could not be made, or that has ended.
  ///
  /// The agent passes everything that it can still read to ``received(_:)`` first.
  public mutating func disconnected(at now: Instant, byPeer: Bool) {
    time.now = now
    takeAnswers()
    switch state {
    case .up:
      let uncertain = end(byPeer: byPeer)
      if uncertain > 0 { reports.add(.cut(uncertain: uncertain)) }
      state = .down(dialAt: dialAt())
    case .dialing: state = .down(dialAt: now + backoff.fail(wasConnected: false))
    case .leaving(let dialAt):
      end(byPeer: byPeer)
      state = .down(dialAt: dialAt)
    case .closing(let dialAt): state = .down(dialAt: dialAt)
    case .down: break
    }
  }

  /// Handles the end of the connection that was set aside.
  public mutating func asideEnded() {
    takeAnswers()
    let uncertain = endAside(byPeer: true)
    if uncertain > 0 { reports.add(.cut(uncertain: uncertain)) }
  }

  /// Notes that everything that the service sent until `instant` has been read.
  public mutating func heard(until instant: Instant) { stream.heard(until: instant) }

  /// Ends all waits before connecting, since their reason is gone (for example an unset clock).
  public mutating func dialAtOnce() {
    hold = Hold()
    authorization.askAgainAt = nil
    guard case .down = state else { return }
    backoff.reset()
    rate.forget()
    state = .down(dialAt: time.now)
  }

  /// Restarts the waits for answers after the machine was suspended.
  ///
  /// A router may have forgotten the connection meanwhile, so the sleep counts as silence.
  public mutating func suspended(until now: Instant) {
    requests.restart(at: now)
    stream.movedAt = now
    // Bytes written before the sleep prove nothing. A ping follows if answers are awaited.
    liveness.probe = nil
    if liveness.pongDue != nil { liveness.pongDue = now + Liveness.pongPatience }
    if session?.hasSettings == false { upSince = now }
  }

  /// Sets the provider token and its time of issue in UNIX seconds.
  ///
  /// Requests to Apple's service with a new token go on a new connection.
  public mutating func authorized(_ token: Span<UInt8>, issuedAt: Int64) {
    let isNew = authorization.set(token, issuedAt: issuedAt)
    if isNew, state == .up, !service.isOfBrowsers { leave(dialAt: time.now) }
  }

  /// Notes that no provider token could be made, and when to ask for one again.
  public mutating func notAuthorized(until instant: Instant) {
    switch state {
    case .down: state = .down(dialAt: instant)
    // The connection stays, and takes requests again once there is a token.
    case .up: authorization.askAgainAt = instant
    default: break
    }
  }

  // MARK: - State

  /// The host of the service, with its port if that is not 443; valid as long as the link.
  public var authority: Span<UInt8> {
    @_lifetime(immortal) get { service.authority.unsafeBytes }
  }

  /// Whether requests wait for answers, or bytes wait to be written.
  public var isBusy: Bool { requests.openCount > 0 || !batch.isEmpty }
  /// Whether the connection is up.
  public var isUp: Bool { if case .up = state { true } else { false } }

  /// The reason why the service refuses the configuration, if it does.
  public var refusedConfiguration: Rejection? { hold.rejection }

  /// When the agent connects next; nil if it is connected or has nothing to send.
  public var nextDialAt: Instant? {
    guard case .down(let instant) = state, supply.wantsConnection else { return nil }
    return max(instant, rate.nextAt)
  }

  /// Until when nothing is sent: a connection is not made yet, or the service is in trouble.
  public var waitsUntil: Instant? {
    isUp ? pace.pausedUntil.flatMap { $0 > time.now ? $0 : nil } : nextDialAt
  }

  /// The number of connections, or of notifications, that failed in a row.
  public var failures: Int { max(backoff.failures, pace.failures) }

  /// Whether everything is sent and answered, and the agent stops (or sends only once).
  public var isAwaitingEnd: Bool {
    !isBusy && (supply.isStopping || settings.isOnce) && supply.isAllSent
  }

  /// Whether outcomes wait for ``takeOutcome()``.
  public var hasAnswers: Bool { requests.decidedCount > 0 }

  /// Calls `body` with each accepted notification whose outcome was not taken yet.
  public func forEachAccepted(_ body: (MessageNumber, _ device: UInt64) -> Void) {
    requests.visitDecided {
      if case .accepted = $0.outcome { body($0.message, $0.device) }
    }
  }

  /// Calls `body` with each of the link's large buffers, and frees nghttp2's unused memory.
  public func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    requests.forEachBuffer(body)
    body(answers.bytes)
    session?.trim()
  }

  /// Returns the traffic since the last call.
  public mutating func takeTraffic() -> LinkTraffic { traffic.take() }

  /// Returns the next event for the log, if any.
  public mutating func takeReport() -> Report? { reports.take() }

  /// Does nothing: each notification has its own failures here.
  public mutating func resetPoisonSearch() {}

  // MARK: - Connections

  var hasLasted: Bool { upSince.map { $0 + Self.lasting < time.now } ?? false }

  /// Returns when to connect again.
  ///
  /// That is at once if the connection brought an answer, and after the backoff's wait otherwise. A
  /// connection that lasted resets the backoff.
  mutating func dialAt() -> Instant {
    if hasProgressed { return time.now }
    if hasLasted { backoff.reset() }
    return time.now + backoff.fail()
  }

  private mutating func hangUp(_ dialAt: Instant) -> Courier.Step {
    end()
    state = .down(dialAt: dialAt)
    return .disconnect(.current)
  }

  mutating func closeAside() -> Courier.Step {
    endAside()
    return .disconnect(.aside)
  }
}
