import TinyPush

/// A link whose service answers each notification by itself, late, out of order or several at once.
///
/// Answers may return a notification "not before" an instant, or be missing because the connection
/// is cut. Link and service are one type, since the courier sees no difference.
struct ScatteredLink: Link {
  /// The service's response to a notification.
  enum Response {
    case accept
    case reject(Rejection)
    /// Not processed: the notification may be sent again after these milliseconds; nil: at once.
    case giveBack(UInt64?)
    /// Accepted, but the answer is lost.
    case loseAnswer
    /// The connection is cut for these milliseconds; everything unanswered is returned.
    case cut(UInt64)
  }

  private struct Open {
    var message: MessageNumber
    var number: Int
    var answerAt: Instant
    var response: Response
  }

  private let ledger: Ledger
  private let gateway: Gateway
  /// The most notifications that may be open at a time.
  private let limit: Int
  private let respond: (_ token: Int) -> (Response, after: UInt64)
  private var open: [Open] = []
  private var outcomes: [(message: MessageNumber, outcome: LinkOutcome)] = []
  private var now = Instant(milliseconds: 0)
  private var downUntil: Instant?
  private var traffic = LinkTraffic()
  /// The notifications that may not be sent again yet.
  private var waits: [Int: Instant] = [:]

  init(
    _ ledger: Ledger, _ gateway: Gateway, limit: Int,
    respond: @escaping (_ token: Int) -> (Response, after: UInt64)
  ) {
    self.ledger = ledger
    self.gateway = gateway
    self.limit = limit
    self.respond = respond
  }

  /// Returns the next agent's link.
  ///
  /// Unanswered notifications stay with the service.
  func restarted() -> ScatteredLink {
    for one in open {
      if case .accept = one.response { gateway.accepts(one.number) }
    }
    return ScatteredLink(ledger, gateway, limit: limit, respond: respond)
  }

  // MARK: - Notifications

  var isOpen: Bool { downUntil == nil }

  func obstacle(payloadBytes: Int) -> Obstacle? {
    guard isOpen else { return .closed }
    return open.count < limit ? nil : .windowFull
  }

  mutating func take(
    _ message: borrowing Message, in text: Span<UInt8>, to subscription: Span<UInt8>
  ) {
    let token = World.number(message.token)
    let payload = String(text.extracting(message.payload.range))
    let number = World.number(token, serial: World.serial(in: payload))
    ledger.takes(number)
    ledger.identifies(number, message.fingerprint)
    ledger.say("  take \(number)")
    ledger.checkPatience(number, until: waits.removeValue(forKey: number), at: now)
    traffic.sent += 1
    if message.wasSent { traffic.repeated += 1 }
    let (response, after) = respond(token)
    open.append(
      Open(
        message: message.number, number: number,
        answerAt: now + .milliseconds(after), response: response))
  }

  mutating func takeOutcome() -> (message: MessageNumber, outcome: LinkOutcome)? {
    outcomes.isEmpty ? nil : outcomes.removeFirst()
  }

  mutating func resetPoisonSearch() {}

  // MARK: - Work

  mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step? {
    now = time.now
    if let downUntil, downUntil <= now { self.downUntil = nil }
    for one in open.filter({ $0.answerAt <= now }).sorted(by: { $0.answerAt < $1.answerAt }) {
      // A cut in this loop may have removed it.
      guard let index = open.firstIndex(where: { $0.number == one.number && $0.answerAt <= now })
      else { continue }
      answer(open.remove(at: index))
    }
    return nil
  }

  private mutating func answer(_ one: Open) {
    ledger.say("  \(one.number): \(one.response)")
    switch one.response {
    case .accept:
      gateway.accepts(one.number)
      ledger.proves(one.number)
      outcomes.append((one.message, .accepted(isProved: true)))
    case .reject(let rejection):
      if rejection.isGone { ledger.suppressing.goneNumbers.insert(one.number) }
      ledger.rejects(one.number, rejection)
      outcomes.append((one.message, .rejected(rejection)))
    case .giveBack(let wait):
      let until = wait.map { now + .milliseconds($0) }
      if let until { waits[one.number] = until }
      outcomes.append((one.message, .returned(wasSent: true, notBefore: until)))
    case .loseAnswer:
      gateway.accepts(one.number)
      outcomes.append((one.message, .returned(wasSent: true, notBefore: nil)))
    case .cut(let milliseconds):
      downUntil = milliseconds > 0 ? now + .milliseconds(milliseconds) : nil
      for lost in ([one] + open).reversed() {
        outcomes.append((lost.message, .returned(wasSent: true, notBefore: nil)))
      }
      open = []
    }
  }

  mutating func nextStep(_ supply: Supply) -> Courier.Step? { nil }

  var deadline: Instant? {
    let answers = open.map(\.answerAt) + (downUntil.map { [$0] } ?? [])
    return answers.min()
  }

  // MARK: - State

  var isBusy: Bool { !open.isEmpty }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {}

  mutating func takeTraffic() -> LinkTraffic {
    defer { traffic = LinkTraffic() }
    return traffic
  }

  mutating func takeReport() -> Report? { nil }
}

/// Checks a link whose answers come in any order.
extension Ledger {
  /// Checks a notification that the link takes.
  func takes(_ number: Int) {
    check(number)
    checkSuppressed(number, isDamageKnown: true)
    passesLimits(number, isAdmission: true)
    expected.sent += 1
    if !life.framed.insert(number).inserted { life.repeated += 1 }
    taken.insert(number)
  }

  /// Checks that a notification has the same identity each time.
  func identifies(_ number: Int, _ fingerprint: Fingerprint) {
    guard places[number, default: 1] == 1, !isRepeatable(number), !disk.hadPowerCut,
      number < World.serialOfSummaries * World.tokensMax
    else { return }
    if let known = identities[number], known != fingerprint.low {
      complain("\(number) has another identity than before")
    }
    identities[number] = fingerprint.low
  }

  /// Notes that the service accepted a notification.
  func proves(_ number: Int) {
    life.outcomes[number] = .proved
    expected.proved += 1
  }

  /// Notes that the service rejected a notification.
  func rejects(_ number: Int, _ rejection: Rejection) {
    life.refusals[number] = rejection.code
    if !rejection.isGone { expected.refused += 1 }
  }

  /// Checks the counters' growth since the last call.
  func observeScattered(_ counters: Counters) {
    let before = life.counters
    life.counters = counters
    compare("settled by proof", counters.settledByProof - before.settledByProof, expected.proved)
    compare("settled by time", counters.settledByTime - before.settledByTime, 0)
    compare("sent", counters.sent - before.sent, expected.sent)
    let refused = counters.refused - before.refused
    if !settings.hasDevices, refused > expected.refused {
      life.inferredRejections += Int(refused - expected.refused)
    } else {
      compare("refused", refused, expected.refused)
    }
    expected = Expected()
  }
}
