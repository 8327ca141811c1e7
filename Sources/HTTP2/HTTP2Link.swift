import CHTTP2
import TinyPush

/// Apple's service of today as a ``Link``: HTTP/2 requests, each of which is answered by itself, in any order.
///
/// Besides the connection to which requests go there may be one that is leaving: it goes on until its answers are there.
/// Three parts are in files of their own: what is requested (HTTP2LinkRequests), what the answers mean (HTTP2LinkAnswers),
/// and how connections end (HTTP2LinkEnding).
public struct HTTP2Link: ~Copyable, Link {
  enum State: Equatable {
    case down(dialAt: Instant)
    case dialing
    case up
    /// The shell is to set the connection aside, and then to connect at an instant.
    case leaving(dialAt: Instant)
    /// The shell is to close the connection.
    case closing(dialAt: Instant)
  }

  let settings: Courier.Settings
  let service: Service
  /// Whom the notification went to that was told last to be accepted.
  var proved: UInt64?
  var time = Time(now: Instant(milliseconds: 0), wallSeconds: nil)
  var supply = Supply()
  var traffic = LinkTraffic()
  var reports = Reports()

  // The connections.
  var state = State.down(dialAt: Instant(milliseconds: 0))
  var session: Session?
  /// The one that is leaving, whose bytes nobody writes any more; and whether the shell is to close it.
  var aside: Session?
  var mustCloseAside = false
  var upSince: Instant?
  public internal(set) var hasProgressed = false
  var backoff: Backoff
  public internal(set) var endings: UInt32 = 0

  // The requests.
  var requests: Requests
  let answers: FixedBuffer<chttp2_answer>
  var batch: Batch
  var scratch: HeaderText

  // What the other end does.
  var stream = ByteStream()
  var liveness = Liveness()
  var pace: Pace
  var overloaded = Overloaded()
  var overtaken: Overtaken
  var hold = Hold()
  var authorization = Authorization()
  private let pinned = Pinned()

  /// A connection that lasted so long was no failure, even if there was nothing to send on it.
  private static let lasting = Duration.seconds(60)

  /// - Parameters:
  ///   - seed: for the jitter of trying again.
  ///   - isUsed: without, the link has no memory, and takes nothing.
  public init(
    _ settings: Courier.Settings, _ service: consuming Service, seed: UInt64, isUsed: Bool = true
  ) {
    self.settings = settings
    self.service = service
    requests = Requests(capacity: isUsed ? settings.streams : 0)
    answers = FixedBuffer(capacity: isUsed ? settings.streams : 0)
    batch = Batch(capacity: isUsed ? Courier.batchBytesMax + 8192 : 0)
    scratch = HeaderText(isUsed: isUsed)
    overtaken = Overtaken(capacity: isUsed ? Overtaken.capacity : 0)
    backoff = Backoff(seed: seed)
    pace = Pace(seed: seed &* 3)
  }

  deinit {
    session?.free()
    aside?.free()
  }

  // MARK: - Work

  public mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step? {
    self.time = time
    supply.isStopping = isStopping
    stream.begin()
    takeAnswers()
    if aside != nil, requests.leavingCount == 0 { mustCloseAside = true }
    if mustCloseAside { return closeAside() }
    if let step = checkDeadlines() { return step }
    switch state {
    case .leaving(let dialAt): return setAside(dialAt)
    case .closing(let dialAt): return hangUp(dialAt)
    default: return nil
    }
  }

  public mutating func nextStep(_ supply: Supply) -> Courier.Step? {
    self.supply = supply
    switch state {
    case .down(let dialAt):
      guard time.now >= dialAt, supply.wantsConnection else { return nil }
      if service.usesProviderToken, !authorization.isGood(time.wallSeconds) { return .authorize }
      state = .dialing
      return .dial
    case .dialing: return nil
    case .leaving(let dialAt): return setAside(dialAt)
    case .closing(let dialAt): return hangUp(dialAt)
    case .up:
      if mustRenewToken { return .authorize }
      return transmit()
    }
  }

  public var deadline: Instant? {
    var earliest: Instant?
    // What is overdue could not be done just now, and is done when something changes: no timer helps.
    func consider(_ instant: Instant?) {
      guard let instant, instant > time.now else { return }
      if earliest == nil || instant < earliest! { earliest = instant }
    }
    if case .down(let dialAt) = state, supply.wantsConnection { consider(dialAt) }
    if case .up = state, !batch.isBlocked, !batch.isEmpty { consider(batch.flushAt) }
    consider(answerDue)
    if state == .up {
      consider(settingsDue)
      consider(pingDue)
      consider(liveness.pongDue)
      consider(liveness.probe?.due)
      consider(pace.pausedUntil)
      consider(authorization.askAgainAt)
    }
    return earliest
  }

  // MARK: - What the shell tells

  /// The connection is up, and the peer verified.
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
    liveness = Liveness()
    liveness.quietSince = time.now
    pace.connected(isTrying: service.usesProviderToken || hold.isHeld)
    collect()
  }

  /// There is no connection: it could not be made, or it ended. Whatever could still be read from it has been
  /// ``received(_:)``.
  public mutating func disconnected(at now: Instant, byPeer: Bool) {
    time.now = now
    takeAnswers()
    switch state {
    case .up:
      let uncertain = end()
      if uncertain > 0 { reports.add(.cut(uncertain: uncertain)) }
      state = .down(dialAt: dialAt())
    case .dialing: state = .down(dialAt: now + backoff.fail())
    case .leaving(let dialAt):
      end()
      state = .down(dialAt: dialAt)
    case .closing(let dialAt): state = .down(dialAt: dialAt)
    case .down: break
    }
  }

  /// The connection that was set aside has ended.
  public mutating func asideEnded() {
    takeAnswers()
    let uncertain = endAside()
    if uncertain > 0 { reports.add(.cut(uncertain: uncertain)) }
  }

  /// Everything has been read that came from the service until `instant`.
  public mutating func heard(until instant: Instant) { stream.heard(until: instant) }

  /// What kept the agent from connecting is over.
  public mutating func dialAtOnce() {
    hold = Hold()
    guard case .down = state else { return }
    backoff.reset()
    state = .down(dialAt: time.now)
  }

  /// The machine slept: what waits for an answer waits anew. A router may have forgotten the connection meanwhile, so the
  /// sleep counts as silence.
  public mutating func suspended(until now: Instant) {
    requests.restart(at: now)
    stream.movedAt = now
    // What was written before tells nothing: a ping comes next where answers are awaited.
    liveness.probe = nil
    if liveness.pongDue != nil { liveness.pongDue = now + Liveness.pongPatience }
    if session?.hasSettings == false { upSince = now }
  }

  /// The token by which the service knows us, and when it was issued, in UNIX seconds. Requests with a new one go on a new
  /// connection.
  public mutating func authorized(_ token: Span<UInt8>, issuedAt: Int64) {
    let isNew = authorization.set(token, issuedAt: issuedAt)
    if isNew, state == .up { leave(dialAt: time.now) }
  }

  /// There is no token; it is asked for again at an instant.
  public mutating func notAuthorized(until instant: Instant) {
    switch state {
    case .down: state = .down(dialAt: instant)
    // What there is goes on as long as it can.
    case .up: authorization.askAgainAt = instant
    default: break
    }
  }

  /// When the present token was made, in UNIX seconds, if the service has refused it.
  public var refusedTokenIssuedAt: Int64? { authorization.refusedIssuedAt }

  // MARK: - Looking

  public var stretchCount: Int { requests.count }
  public var notificationCount: Int { requests.count }
  public var isBusy: Bool { requests.openCount > 0 || !batch.isEmpty }
  public var isUp: Bool { if case .up = state { true } else { false } }

  /// What the service has against our configuration.
  public var refusedConfiguration: Rejection? { hold.rejection }

  /// When the agent will connect; nil while it is connected, or has nothing to send.
  public var nextDialAt: Instant? {
    if case .down(let instant) = state, supply.wantsConnection { return instant }
    return nil
  }

  /// Connections that failed, one after the other.
  public var failures: Int { backoff.failures }

  /// Whether only the end of the connection was waited for.
  public var isAwaitingEnd: Bool {
    !isBusy && (supply.isStopping || settings.isOnce) && supply.isAllSent
  }

  public func forEachStretch(_ body: (Stretch) -> Void) { requests.visit { body($0.stretch) } }

  public var hasAnswers: Bool { requests.decidedCount > 0 }

  /// What was accepted since the courier heard of it last.
  public func forEachAccepted(_ body: (Stretch) -> Void) {
    requests.visitDecided {
      if case .accepted = $0.outcome { body($0.stretch) }
    }
  }

  public func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    requests.forEachBuffer(body)
    body(answers.bytes)
  }

  public mutating func takeTraffic() -> LinkTraffic {
    let taken = traffic
    traffic = LinkTraffic()
    return taken
  }

  public mutating func takeReport() -> Report? { reports.take() }

  public mutating func resetPoisonSearch() {}

  // MARK: - Connections

  var hasLasted: Bool { upSince.map { $0 + Self.lasting < time.now } ?? false }

  /// When to connect again: at once after a connection on which something was answered, by the backoff otherwise; and that
  /// begins anew after a connection which lasted.
  mutating func dialAt() -> Instant {
    if hasProgressed { return time.now }
    if hasLasted { backoff.reset() }
    return time.now + backoff.fail()
  }

  private mutating func hangUp(_ dialAt: Instant) -> Courier.Step {
    end()
    state = .down(dialAt: dialAt)
    return .disconnect
  }

  private mutating func closeAside() -> Courier.Step {
    endAside()
    return .closeAside
  }
}
