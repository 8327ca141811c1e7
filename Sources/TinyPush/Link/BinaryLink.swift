/// The binary provider protocol as a ``Link``: one connection, frames in batches, and a gateway that speaks only of what it
/// refuses.
///
/// Notifications are numbered in the order in which they are written, so that an answer settles all before the one that it
/// names, and what follows goes again. What no answer speaks of is settled by a barrier (a frame that the gateway must
/// refuse, whose answer proves all before it) or by time. Three parts are in files of their own: what is written
/// (BinaryLinkWriting), what answers and silence mean (BinaryLinkSettling), and how a connection ends (BinaryLinkEnding).
public struct BinaryLink: ~Copyable, Link {
  enum State: Equatable {
    case down(dialAt: Instant)
    case dialing
    case up
    /// The shell is to close the connection.
    case closing
  }

  let settings: Courier.Settings
  var time = Time(now: Instant(milliseconds: 0), wallSeconds: nil)
  var supply = Supply()
  var traffic = LinkTraffic()
  var reports = Reports()

  // The connection.
  var state = State.down(dialAt: Instant(milliseconds: 0))
  var upSince: Instant?
  /// Whether the present connection, or the last one, settled anything.
  public internal(set) var hasProgressed = false
  var backoff: Backoff
  public internal(set) var endings: UInt32 = 0

  // What was taken.
  /// In the order of sending.
  var window: StretchQueue
  var pending = PendingOutcomes()
  var kept = Kept.nothing
  /// The identifier of the first notification in the window, of the next one to take, and of the last one written.
  var headID: UInt32 = 1
  var nextID: UInt32 = 1
  var lastWrittenID: UInt32 = 0
  var recipients: Recipients
  var batch: Batch
  var barrier = Barrier()

  // What the other end does.
  var stream = ByteStream()
  var acknowledgements: Acknowledgements
  var answer = ErrorResponseReader()
  var poisonSearch = PoisonSearch()
  /// One notification was found to end connections, and the gateway has taken nothing since.
  var isGatewayUnproven = false
  private let pinned = Pinned()

  /// A connection that lasted so long was no failure, even if there was nothing to settle on it.
  private static let lasting = Duration.seconds(60)

  /// - Parameters:
  ///   - seed: for the jitter of connecting again.
  ///   - isUsed: without, the link has no memory, and takes nothing.
  public init(_ settings: Courier.Settings, seed: UInt64, isUsed: Bool = true) {
    self.settings = settings
    window = StretchQueue(capacity: isUsed ? settings.window + Courier.slack : 0)
    recipients = Recipients(capacity: isUsed ? Recipients.capacity : 0)
    batch = Batch(capacity: isUsed ? Courier.batchBytesMax : 0)
    acknowledgements = Acknowledgements(settle: settings.settle)
    backoff = Backoff(seed: seed)
  }

  // MARK: - Work

  public mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step? {
    self.time = time
    supply.isStopping = isStopping
    stream.begin()
    if let step = settleByTime() ?? endProbe() { return step }
    return state == .closing ? hangUp() : nil
  }

  public mutating func nextStep(_ supply: Supply) -> Courier.Step? {
    self.supply = supply
    switch state {
    case .down(let dialAt):
      guard time.now >= dialAt, supply.wantsConnection else { return nil }
      state = .dialing
      return .dial
    case .dialing, .closing: return nil
    case .up:
      if let step = transmit() { return step }
      if state == .closing { return hangUp() }
      return acknowledgements.mustAsk(at: time.now) ? .sample : nil
    }
  }

  private mutating func hangUp() -> Courier.Step {
    state = .down(dialAt: dialAt())
    return .disconnect
  }

  /// When to connect again: at once after a connection that settled something, by the backoff otherwise; and that begins
  /// anew after a connection which lasted.
  private mutating func dialAt() -> Instant {
    if hasProgressed { return time.now }
    if let upSince, upSince + Self.lasting < time.now {
      backoff.reset()
      // The cause may be over.
      barrier.unanswered = min(barrier.unanswered, Barrier.unansweredBeforeBarrierOnly)
    }
    return time.now + backoff.fail()
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
    consider(acknowledgements.deadline)
    consider(probeEnd)
    consider(isolationEnd)
    return earliest
  }

  // MARK: - What the shell tells

  /// The connection is up, and the peer verified.
  public mutating func connected() {
    traffic.connections += 1
    state = .up
    upSince = time.now
    hasProgressed = false
  }

  /// There is no connection: it could not be made, or it ended. Whatever could still be read from it has been
  /// ``received(_:)``.
  ///
  /// - Parameter byPeer: whether the other end closed or reset it; otherwise the way there is broken.
  public mutating func disconnected(at now: Instant, byPeer: Bool) {
    time.now = now
    switch state {
    case .up:
      // While the cause is looked for, connections that end are no pending.
      let isNews = !poisonSearch.isNarrowed
      let uncertain = end(byPeer ? .died : .unanswered)
      if uncertain > 0, isNews { reports.add(.cut(uncertain: uncertain)) }
      state = .down(dialAt: dialAt())
    case .dialing: state = .down(dialAt: now + backoff.fail())
    case .down, .closing: break
    }
  }

  /// Everything has been read that came from the gateway until `instant`.
  public mutating func heard(until instant: Instant) {
    stream.heard(until: instant)
  }

  /// What kept the agent from connecting is over.
  public mutating func dialAtOnce() {
    guard case .down = state else { return }
    backoff.reset()
    state = .down(dialAt: time.now)
  }

  /// The machine slept. What came meanwhile is sent once more by the peer's kernel, whenever that will be: what waits for an
  /// answer waits anew.
  public mutating func suspended(until now: Instant) {
    acknowledgements.restart(at: now)
    stream.movedAt = now
    if upSince != nil { upSince = now }
  }

  // MARK: - Looking

  public var stretchCount: Int { window.count }
  public var notificationCount: Int { window.notifications }
  public var isBusy: Bool { kept == .nothing && !window.isEmpty || !batch.isEmpty }

  public func forEachStretch(_ body: (Stretch) -> Void) {
    for index in 0..<window.count { body(window[index]) }
  }

  public func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    window.forEachBuffer(body)
    body(recipients.tokens.bytes)
  }

  /// Whether there is a connection that may be written to.
  public var isUp: Bool { state == .up }

  /// When the agent will connect; nil while it is connected, or has nothing to send.
  public var nextDialAt: Instant? {
    if case .down(let instant) = state, supply.wantsConnection { return instant }
    return nil
  }

  /// Connections that failed or settled nothing, one after the other.
  public var failures: Int { backoff.failures }

  /// Whether only the end of the connection was waited for.
  public var isAwaitingEnd: Bool {
    !isBusy && (supply.isStopping || settings.isOnce) && supply.isAllSent
  }

  public mutating func takeTraffic() -> LinkTraffic {
    let taken = traffic
    traffic = LinkTraffic()
    return taken
  }

  public mutating func takeReport() -> Report? { reports.take() }
}
