import TinyPush
import TinyPushBinary
import TinyPushHTTP2
import TinyPushWebPush

/// The links to all push services: that of devices, and those of browsers.
///
/// One type for all links lets the program contain the courier's generic code only once. Everything
/// concerns the link of the selected lane, unless its name says otherwise.
struct PushLink: ~Copyable, Link {
  /// The protocol of the service of devices.
  let pushProtocol: PushProtocol
  private var binary: BinaryLink
  /// The links over HTTP/2.
  private var links = PerLane<HTTP2Link>()
  private let messageSeal: MessageSeal?
  /// The page that a click on an alert opens in a browser.
  private let page: CString
  /// The settings of links to browsers.
  private let browserSettings: Courier.Settings
  private var seed: UInt64
  /// The selected lane, which is the one of the present step.
  private(set) var lane = Lane.devices
  /// The lanes that were given to another host, and may have a connection to the former one.
  private var reassigned: InlineArray<9, Bool> = .init(repeating: false)
  /// The lane of the last report.
  private(set) var reportLane = Lane.devices
  private let pinned = Pinned()

  /// The most requests to one service of browsers that wait for answers.
  private static let browserStreams = 32

  /// Creates the link to devices, if they are served.
  ///
  /// - Parameters:
  ///   - messageSeal: encrypts messages to browsers; nil: none are sent.
  ///   - page: the page that a click on an alert opens in a browser; empty: it is not known.
  init(
    _ settings: Courier.Settings, _ binary: BinaryLink.Settings,
    _ http2: consuming HTTP2Link.Service, _ messageSeal: MessageSeal?, page: Span<UInt8>,
    seed: UInt64
  ) {
    self.page = CString(page)
    pushProtocol = settings.rules.pushProtocol
    self.messageSeal = messageSeal
    self.seed = seed
    var browserSettings = settings
    browserSettings.streams = min(settings.streams, Self.browserStreams)
    self.browserSettings = browserSettings
    self.binary = BinaryLink(
      settings, binary, seed: seed,
      isUsed: settings.hasDevices && settings.rules.pushProtocol == .binary)
    if settings.hasDevices, settings.rules.pushProtocol == .http2 {
      links.set(.devices, HTTP2Link(settings, http2, seed: seed))
    }
  }

  deinit {}

  // MARK: - Lanes

  var lanes: Int { messageSeal == nil ? 1 : Lane.count }

  mutating func select(_ lane: Lane) { self.lane = lane }

  mutating func assign(to authority: Span<UInt8>) {
    reassigned[lane.index] = true
    seed = seed &* 6_364_136_223_846_793_005 &+ 1
    links.set(
      lane,
      HTTP2Link(
        browserSettings,
        HTTP2Link.Service(ofBrowsers: authority, messageSeal!, page: page.span), seed: seed))
  }

  /// Returns a lane that was given to another host since the last call.
  mutating func takeReassigned() -> Lane? {
    for number in 1..<Lane.count where reassigned[number] {
      reassigned[number] = false
      return Lane(number)
    }
    return nil
  }

  /// Whether the selected lane has a link.
  var hasLink: Bool { isBinary || links.has(lane) }

  /// The host of the selected service, with its port if that is not 443; valid as long as the link.
  var authority: Span<UInt8> { @_lifetime(immortal) get { http2.authority } }

  private var isBinary: Bool { lane == .devices && pushProtocol == .binary }

  private var http2: HTTP2Link {
    _read { yield links[lane] }
    nonmutating _modify { yield &links[lane] }
  }

  // MARK: - All lanes

  mutating func takeOutcome() -> (message: MessageNumber, outcome: LinkOutcome)? {
    if pushProtocol == .binary, let outcome = binary.takeOutcome() { return outcome }
    for number in 0..<lanes where links.has(Lane(number)) {
      if let outcome = links[Lane(number)].takeOutcome() { return outcome }
    }
    return nil
  }

  mutating func takeProved() -> UInt64? {
    if pushProtocol == .binary, let proved = binary.takeProved() { return proved }
    for number in 0..<lanes where links.has(Lane(number)) {
      if let proved = links[Lane(number)].takeProved() { return proved }
    }
    return nil
  }

  mutating func resetPoisonSearch() { binary.resetPoisonSearch() }

  var deadline: Instant? {
    var earliest = pushProtocol == .binary ? binary.deadline : nil
    for number in 0..<lanes where links.has(Lane(number)) {
      earliest.include(links[Lane(number)].deadline)
    }
    return earliest
  }

  var isBusy: Bool { pushProtocol == .binary && binary.isBusy || isAny { $0.isBusy } }

  /// Whether any connection is up.
  var isAnyUp: Bool { pushProtocol == .binary && binary.isUp || isAny { $0.isUp } }

  /// Whether there are answers that the courier has not yet received as outcomes.
  var hasAnswers: Bool { isAny { $0.hasAnswers } }

  /// Whether something holds for a link over HTTP/2.
  private func isAny(_ condition: (borrowing HTTP2Link) -> Bool) -> Bool {
    for number in 0..<lanes where links.has(Lane(number)) && condition(links[Lane(number)]) {
      return true
    }
    return false
  }

  /// Whether deliveries over the binary protocol need time, since no answer proves them.
  var isSettling: Bool { pushProtocol == .binary && binary.isUp && binary.failures == 0 }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    binary.forEachBuffer(body)
    for number in 0..<lanes where links.has(Lane(number)) {
      links[Lane(number)].forEachBuffer(body)
    }
  }

  mutating func takeTraffic() -> LinkTraffic {
    var traffic = binary.takeTraffic()
    for number in 0..<lanes where links.has(Lane(number)) {
      traffic.add(links[Lane(number)].takeTraffic())
    }
    return traffic
  }

  mutating func takeReport() -> Report? {
    reportLane = .devices
    if pushProtocol == .binary, let report = binary.takeReport() { return report }
    for number in 0..<lanes where links.has(Lane(number)) {
      reportLane = Lane(number)
      if let report = links[Lane(number)].takeReport() { return report }
    }
    return nil
  }

  /// Tells all links that the machine was suspended.
  mutating func allSuspended(until now: Instant) {
    if pushProtocol == .binary { binary.suspended(until: now) }
    for number in 0..<lanes where links.has(Lane(number)) {
      links[Lane(number)].suspended(until: now)
    }
  }

  /// Ends the waits of all links before connecting.
  mutating func allDialAtOnce() {
    if pushProtocol == .binary { binary.dialAtOnce() }
    for number in 0..<lanes where links.has(Lane(number)) { links[Lane(number)].dialAtOnce() }
  }

  /// Calls `body` with the notifications to count now.
  ///
  /// - Parameters:
  ///   - areWritten: those in the binary link's batch that are sent for the first time. If not, those
  ///     that a service has just accepted.
  ///   - body: takes also the hash of the device token that a service has accepted.
  func forEachCounted(areWritten: Bool, _ body: (MessageNumber, _ device: UInt64?) -> Void) {
    if areWritten { return binary.forEachFirst { body($0, nil) } }
    for number in 0..<lanes where links.has(Lane(number)) {
      links[Lane(number)].forEachAccepted { body($0, $1) }
    }
  }

  /// Until when the link of a lane waits before it connects or sends again; nil if it does not.
  func waitsUntil(_ lane: Lane) -> Instant? {
    if pushProtocol == .binary, lane == .devices { return binary.nextDialAt }
    return links.has(lane) ? links[lane].waitsUntil : nil
  }

  /// The reason for which the service of a lane refuses the configuration; nil if it does not.
  func refusedConfiguration(in lane: Lane) -> Rejection? {
    links.has(lane) ? links[lane].refusedConfiguration : nil
  }

  /// The reason for which a service refuses the configuration; nil if none does.
  var refusedConfiguration: Rejection? {
    for number in 0..<lanes {
      if let refused = refusedConfiguration(in: Lane(number)) { return refused }
    }
    return nil
  }

  // MARK: - The selected lane

  var isOpen: Bool { isBinary ? binary.isOpen : hasLink && http2.isOpen }
  var isUp: Bool { isBinary ? binary.isUp : hasLink && http2.isUp }
  var hasProgressed: Bool { isBinary ? binary.hasProgressed : http2.hasProgressed }
  var failures: Int { isBinary ? binary.failures : http2.failures }
  var isAwaitingEnd: Bool { isBinary ? binary.isAwaitingEnd : http2.isAwaitingEnd }
  /// Whether the selected service refuses the configuration.
  var isRefused: Bool { !isBinary && http2.refusedConfiguration != nil }

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
  mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step? {
    if isBinary { return binary.advance(to: time, isStopping: isStopping) }
    return hasLink ? http2.advance(to: time, isStopping: isStopping) : nil
  }
  mutating func nextStep(_ supply: Supply) -> Courier.Step? {
    if isBinary { return binary.nextStep(supply) }
    return hasLink ? http2.nextStep(supply) : nil
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

  // MARK: - Only for HTTP/2

  mutating func authorized(_ token: Span<UInt8>, issuedAt: Int64) {
    http2.authorized(token, issuedAt: issuedAt)
  }
  mutating func notAuthorized(until instant: Instant) { http2.notAuthorized(until: instant) }
  mutating func receivedAside(_ bytes: Span<UInt8>) { http2.receivedAside(bytes) }
  mutating func asideEnded() { http2.asideEnded() }
}
