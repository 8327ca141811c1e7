import TinyPush
import TinyPushHTTP2

/// The HTTP/2 link and a simulated service.
///
/// This type performs the link's own steps, so the courier and its world see only a link.
struct SimulatedHTTP2: ~Copyable, Link {
  private var link: HTTP2Link
  private let service: HTTP2Service
  private let settings: Courier.Settings
  private let usesProviderToken: Bool
  private var now: Time
  private var wire: HTTP2Wire?
  private var aside: HTTP2Wire?
  private var dialedAt: Instant?
  /// The last instants at which it dialed.
  private var dials: [Instant] = []
  /// Whether the last connection was cut with open requests.
  private var mustStartSmall = false
  private struct OpenMessage {
    var message: MessageNumber
    var number: Int
    var key: String?
    var order: UInt64
    /// Whether a newer notification with the key was accepted before this one was taken.
    var isLate: Bool
  }
  /// Notifications that were taken and have no outcome.
  private var open: [OpenMessage] = []
  /// The order of the newest accepted notification, by device and collapse ID.
  private var shown: [String: UInt64] = [:]
  private var traffic = LinkTraffic()

  init(
    _ settings: Courier.Settings, _ service: HTTP2Service, usesProviderToken: Bool, seed: UInt64
  ) {
    self.settings = settings
    self.service = service
    self.usesProviderToken = usesProviderToken
    now = service.timeline.time
    link = HTTP2Link(
      settings,
      HTTP2Link.Service(
        authority: "api.push.apple.com".utf8.span, topic: "com.example.app".utf8.span,
        usesProviderToken: usesProviderToken), seed: seed)
  }

  /// Connects at once, as after the clock was set.
  mutating func dialAtOnce() { link.dialAtOnce() }

  /// Returns the next agent's link.
  ///
  /// What is on its way still arrives.
  consuming func restarted(seed: UInt64) -> SimulatedHTTP2 {
    wire?.closedByClient()
    aside?.closedByClient()
    service.waits = [:]
    return SimulatedHTTP2(settings, service, usesProviderToken: usesProviderToken, seed: seed)
  }

  // MARK: - Notifications

  var isOpen: Bool { link.isOpen }
  func obstacle(payloadBytes: Int) -> Obstacle? { link.obstacle(payloadBytes: payloadBytes) }

  mutating func take(
    _ message: borrowing Message, in text: Span<UInt8>, to subscription: Span<UInt8>
  ) {
    let token = World.number(message.token)
    let payload = String(text.extracting(message.payload.range))
    let number = World.number(token, serial: World.serial(in: payload))
    let (order, wasSent) = (message.order, message.wasSent)
    service.say("    take \(number) order \(order) \(wasSent)")
    service.ledger.takes(number)
    let until = service.waits.removeValue(forKey: number)
    service.ledger.checkPatience(number, until: until, at: now.now)
    traffic.sent += 1
    if message.wasSent { traffic.repeated += 1 }
    let key =
      message.collapseID.isEmpty
      ? nil : "\(token) " + String(text.extracting(message.collapseID))
    let isLate = order > 0 && key.map { shown[$0, default: 0] > order } ?? false
    open.append(
      OpenMessage(
        message: message.number, number: number, key: key, order: order, isLate: isLate))
    link.take(message, in: text, to: subscription)
  }

  mutating func takeOutcome() -> (message: MessageNumber, outcome: LinkOutcome)? {
    guard let (message, outcome) = link.takeOutcome() else { return nil }
    guard let index = open.firstIndex(where: { $0.message == message }) else {
      service.ledger.complain("an outcome of a notification that was not taken: \(message)")
      return (message, outcome)
    }
    let taken = open.remove(at: index)
    let number = taken.number
    service.say("    \(number): \(outcome)")
    switch outcome {
    case .accepted:
      if service.gateway.acceptances[number] == nil {
        service.ledger.complain("\(number) counts as accepted, and is not")
      }
      if let key = taken.key {
        if taken.isLate { service.ledger.complain("\(number) replaces a newer one") }
        shown[key] = max(shown[key, default: 0], taken.order)
      }
      service.ledger.proves(number)
    case .rejected(let rejection):
      service.ledger.rejects(number, rejection)
      check(number, rejection)
    case .returned(let wasSent, let notBefore):
      if let notBefore { service.waits[number] = notBefore }
      if !wasSent { service.ledger.life.framed.remove(number) }
    case .superseded:
      service.ledger.supersededNumbers.insert(number)
      service.ledger.life.superseded += 1
    case .dropped: service.ledger.dropped.insert(number)
    }
    return (message, outcome)
  }

  /// Checks that the service refused the notification, or that three connections ended by it.
  private func check(_ number: Int, _ rejection: Rejection) {
    guard rejection.reason != .endsConnections else {
      service.ledger.life.inferredRejections += 1
      return
    }
    let status = Int(rejection.code)
    let least = [401, 403, 404, 405].contains(status) ? 3 : 1
    if service.answers[number]?[status] ?? 0 < least {
      service.ledger.complain("\(number) is rejected with \(status), and was not \(least) times")
    }
  }

  mutating func takeProved() -> UInt64? { link.takeProved() }

  mutating func resetPoisonSearch() { link.resetPoisonSearch() }

  // MARK: - Work

  mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step? {
    now = time
    listen()
    if !link.isBusy { wire?.waitAnew() }
    if let overdue = wire?.overdue, aside == nil {
      service.ledger.complain(
        "a dead connection is kept for \(overdue.milliseconds) ms")
    }
    for _ in 0..<Self.stepsMax {
      guard let step = link.advance(to: time, isStopping: isStopping) else { return nil }
      perform(step)
    }
    service.ledger.complain("the link does not come to rest")
    return nil
  }

  mutating func nextStep(_ supply: Supply) -> Courier.Step? {
    for _ in 0..<Self.stepsMax {
      guard let step = link.nextStep(supply) else { return nil }
      perform(step)
      _ = link.advance(to: now, isStopping: supply.isStopping).map { perform($0) }
      // The courier first takes the returned notifications.
      if link.hasAnswers { return .listen }
    }
    service.ledger.complain("the link does not come to rest")
    return nil
  }

  private static let stepsMax = 1000

  private mutating func perform(_ step: Courier.Step) {
    service.say("    \(step)")
    switch step {
    case .dial:
      dialedAt = now.now + .milliseconds(2 * service.latency + 1)
      dials = dials.filter { now.now < $0 + .seconds(60) } + [now.now]
      if dials.count > 20 { service.ledger.complain("it dials \(dials.count) times in a minute") }
    case .write:
      guard let wire else { return service.ledger.complain("writes without a connection") }
      wire.write([UInt8](link.batchContents()))
      link.wrote(wireEnd: UInt64(wire.written))
    case .listen:
      listen()
      link.heard(until: now.now)
    case .sample:
      guard let wire else { return service.ledger.complain("samples without a connection") }
      link.sampled(
        unacknowledged: wire.written - wire.acknowledged, since: .milliseconds(0),
        roundTrip: .milliseconds(2 * service.latency))
    case .authorize:
      if let token = service.token() {
        link.authorized(token.text.utf8.span, issuedAt: token.issuedAt)
      } else {
        link.notAuthorized(until: now.now + .seconds(30))
      }
    case .disconnect(.current):
      wire?.closedByClient()
      wire = nil
    case .setAside:
      if aside != nil { service.ledger.complain("two connections are set aside") }
      aside = wire
      wire = nil
    case .disconnect(.aside):
      aside?.closedByClient()
      aside = nil
    default: service.ledger.complain("the link returns a step that only the courier may return")
    }
  }

  /// Lets a router drop or hold back everything on the present connection.
  ///
  /// - Parameter milliseconds: how long the router holds everything back; nil: it drops everything.
  func swallow(for milliseconds: UInt64?) { wire?.swallow(for: milliseconds) }

  /// Notes that the machine slept.
  mutating func suspended(until now: Instant) {
    link.suspended(until: now)
    wire?.waitAnew()
  }

  /// Takes in everything that has come.
  private mutating func listen() {
    if let at = dialedAt, at <= now.now {
      dialedAt = nil
      if service.canDial() {
        wire = HTTP2Wire(service)
        if mustStartSmall { wire?.startMax = max(settings.streams / 16, 1) }
        mustStartSmall = false
        link.connected()
      } else {
        link.disconnected(at: now.now, byPeer: false)
      }
    }
    while let wire, !wire.arrived.isEmpty {
      let bytes = wire.arrived.removeFirst()
      wire.isAlive()
      link.received(bytes.span)
    }
    if let wire, wire.isCutForClient {
      mustStartSmall = wire.hasOpenRequests && !wire.isLeaving && aside == nil
      self.wire = nil
      link.disconnected(at: now.now, byPeer: true)
    }
    while let aside, !aside.arrived.isEmpty {
      let bytes = aside.arrived.removeFirst()
      link.receivedAside(bytes.span)
    }
    if let aside, aside.isCutForClient {
      self.aside = nil
      link.asideEnded()
    }
  }

  var deadline: Instant? { [link.deadline, dialedAt].compactMap { $0 }.min() }

  // MARK: - State

  var isBusy: Bool { link.isBusy }
  /// The failures in a row, after ten of which `run --once` gives up.
  var failures: Int { mutating get { link.failures } }
  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) { link.forEachBuffer(body) }

  mutating func takeTraffic() -> LinkTraffic {
    var taken = link.takeTraffic()
    taken.sent = traffic.sent
    taken.repeated = traffic.repeated
    traffic = LinkTraffic()
    return taken
  }

  mutating func takeReport() -> Report? { link.takeReport() }
}
