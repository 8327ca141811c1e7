import TinyPush

/// The link for the binary provider protocol.
///
/// There is one connection, and notifications are written as frames with increasing identifiers.
/// The gateway answers only errors. An error response names one notification: everything before it
/// is delivered, and everything after it was discarded and is sent again. Then the gateway closes
/// the connection.
///
/// Without an answer there are two ways to settle notifications. A barrier, a frame that the
/// gateway must refuse, proves by its answer that everything before it was delivered. And a
/// notification counts as delivered when the peer acknowledged its bytes and no answer came during
/// `settle`.
///
/// Extensions are in files of their own: writing (BinaryLinkWriting), answers and waits
/// (BinaryLinkSettling), and the end of a connection (BinaryLinkEnding).
public struct BinaryLink: ~Copyable, Link {
  enum State: Equatable {
    case down(dialAt: Instant)
    case dialing
    case up
    /// The agent must close the connection.
    case closing
  }

  let settings: Settings
  let shared: Courier.Settings
  var time = Time(now: Instant(milliseconds: 0), wallSeconds: nil)
  var supply = Supply()
  var traffic = LinkTraffic()
  var reports = Reports()

  // The connection.
  var state = State.down(dialAt: Instant(milliseconds: 0))
  var upSince: Instant?
  /// Whether the present or last connection settled anything.
  public internal(set) var hasProgressed = false
  /// How many notifications the present or last connection settled.
  var settledCount = 0
  var backoff: Backoff
  /// The limit on connections, also where each one settles something.
  ///
  /// Each refused notification ends its connection. So a few of them must not cost a wait, and many
  /// of them must not delay the notifications between them for long: 300 take a quarter of an hour.
  var rate: ConnectionRate

  // Notifications.
  /// The notifications without an outcome, in the order of sending.
  var window: Window
  /// The known outcomes of notifications in the window.
  var pending = PendingOutcomes()
  var kept = Kept.nothing
  /// The identifier of the first notification in the window.
  var headID: UInt32 = 1
  /// The identifier of the next notification or barrier.
  var nextID: UInt32 = 1
  /// The identifier of the last frame that was written.
  var lastWrittenID: UInt32 = 0
  var recent: Recent
  var oversized: Oversized
  var batch: Batch
  var barrier = Barrier()

  // The gateway.
  var stream = ByteStream()
  var acknowledgements: Acknowledgements
  var answer = ErrorResponseReader()
  /// Whether the gateway has answered "no error" on this connection.
  var saysNoError = false
  /// Whether the gateway has answered "no error" on any connection.
  var hasSaidNoError = false
  var poisonSearch = PoisonSearch()
  /// The last notification that was taken while no other had no outcome, and its hash.
  var lone: (message: MessageNumber, key: UInt64)?
  /// Whether the gateway has accepted nothing since a poison notification was isolated.
  var isGatewayUnproven = false
  private let pinned = Pinned()

  /// How long a connection must last to count as a success without settling anything.
  private static let lasting = Duration.seconds(60)
  /// How many notifications a connection must settle to cost nothing of ``rate``.
  private static let productive = 1024

  /// Creates a link without a connection.
  ///
  /// - Parameters:
  ///   - shared: the settings of the courier and of every link.
  ///   - seed: for the random backoff.
  ///   - isUsed: if false, the link allocates no memory and takes nothing.
  public init(
    _ shared: Courier.Settings, _ settings: Settings, seed: UInt64, isUsed: Bool = true
  ) {
    self.shared = shared
    self.settings = settings
    window = Window(capacity: isUsed ? shared.window + Courier.slack : 0)
    recent = Recent(capacity: isUsed ? Recent.capacity : 0)
    oversized = Oversized(capacity: isUsed ? Oversized.capacity : 0)
    batch = Batch(capacity: isUsed ? Courier.batchBytesMax : 0)
    acknowledgements = Acknowledgements(settle: settings.settle)
    backoff = Backoff(seed: seed)
    rate = ConnectionRate(burst: 8, interval: .seconds(2), seed: seed &* 3)
  }

  // MARK: - Work

  /// Takes the time, and returns a step if a wait is over or the connection must be closed.
  public mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step? {
    self.time = time
    supply.isStopping = isStopping
    stream.begin()
    if let step = settleByTime() ?? endProbe() { return step }
    return state == .closing ? hangUp() : nil
  }

  /// Returns the step that connects, writes, or asks for acknowledgements.
  public mutating func nextStep(_ supply: Supply) -> Courier.Step? {
    self.supply = supply
    switch state {
    case .down(let dialAt):
      guard time.now >= max(dialAt, rate.nextAt), supply.wantsConnection else { return nil }
      state = .dialing
      rate.connect(at: time.now)
      return .dial
    case .dialing, .closing: return nil
    case .up:
      // The courier takes these outcomes after the next step.
      if !oversized.queue.isEmpty { return .listen }
      if let step = transmit() { return step }
      if state == .closing { return hangUp() }
      return acknowledgements.mustAsk(at: time.now) ? .sample : nil
    }
  }

  private mutating func hangUp() -> Courier.Step {
    state = .down(dialAt: dialAt())
    return .disconnect(.current)
  }

  /// Returns when to connect again: as soon as ``rate`` allows after progress, else after the
  /// backoff.
  ///
  /// A connection that lasted resets the backoff.
  private mutating func dialAt() -> Instant {
    if hasProgressed {
      if settledCount >= Self.productive { rate.forgive() }
      return time.now
    }
    if let upSince, upSince + Self.lasting < time.now {
      backoff.reset()
      // What kept barriers from being answered may have ended.
      barrier.unanswered = min(barrier.unanswered, Barrier.unansweredBeforeBarrierOnly)
    }
    return time.now + backoff.fail()
  }

  /// When a wait is over or the next connection is due.
  public var deadline: Instant? {
    let now = time.now
    var earliest: Instant?
    earliest.include(nextDialAt, after: now)
    if case .up = state, !batch.isBlocked, !batch.isEmpty {
      earliest.include(batch.flushAt, after: now)
    }
    earliest.include(acknowledgements.deadline, after: now)
    earliest.include(probeEnd, after: now)
    earliest.include(isolationEnd, after: now)
    if state == .up { earliest.include(nextBarrierAt, after: now) }
    return earliest
  }

  // MARK: - Events from the agent

  /// Records that the connection is up and the peer verified.
  public mutating func connected() {
    traffic.connections += 1
    state = .up
    upSince = time.now
    hasProgressed = false
    settledCount = 0
  }

  /// Records that the connection failed or ended.
  ///
  /// Everything that could still be read was passed to ``received(_:)``.
  ///
  /// - Parameter byPeer: whether the gateway closed or reset it; otherwise the network failed.
  public mutating func disconnected(at now: Instant, byPeer: Bool) {
    time.now = now
    switch state {
    case .up:
      // During a search for a poison notification, a connection that ends is not logged.
      let isNews = !poisonSearch.isNarrowed
      let uncertain = end(byPeer ? .died : .unanswered)
      if uncertain > 0, isNews { reports.add(.cut(uncertain: uncertain)) }
      state = .down(dialAt: dialAt())
    case .dialing: state = .down(dialAt: now + backoff.fail(wasConnected: false))
    case .down, .closing: break
    }
  }

  /// Records that everything from the gateway was read until `instant`.
  public mutating func heard(until instant: Instant) {
    stream.heard(until: instant)
  }

  /// Connects as soon as ``rate`` allows, since the cause of a failure is gone.
  public mutating func dialAtOnce() {
    guard case .down = state else { return }
    backoff.reset()
    rate.forget()
    state = .down(dialAt: time.now)
  }

  /// Restarts all waits after the machine was suspended.
  ///
  /// The peer's kernel retransmits answers of that time, but it is unknown when.
  public mutating func suspended(until now: Instant) {
    acknowledgements.restart(at: now)
    stream.movedAt = now
    if upSince != nil { upSince = now }
  }

  // MARK: - State

  /// Whether a notification has no outcome, or there are bytes to write.
  public var isBusy: Bool {
    kept == .nothing && !window.isEmpty || !batch.isEmpty || !oversized.queue.isEmpty
  }

  /// Calls `body` with each large buffer.
  public func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    window.forEachBuffer(body)
    recent.forEachBuffer(body)
    oversized.queue.forEachBuffer(body)
  }

  /// Whether there is a connection.
  public var isUp: Bool { state == .up }

  /// When the agent will connect; nil: it is connected, or has nothing to send.
  public var nextDialAt: Instant? {
    guard case .down(let dialAt) = state, supply.wantsConnection else { return nil }
    return max(dialAt, rate.nextAt)
  }

  /// The number of connections in a row that failed or settled nothing.
  public var failures: Int { backoff.failures }

  /// Whether the link only waits for the connection to end.
  public var isAwaitingEnd: Bool {
    !isBusy && (supply.isStopping || shared.isOnce) && supply.isAllSent
  }

  /// Returns the counts since the last call.
  public mutating func takeTraffic() -> LinkTraffic { traffic.take() }

  /// Returns the next event for the log.
  public mutating func takeReport() -> Report? { reports.take() }
}
