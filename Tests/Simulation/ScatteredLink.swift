import TinyPush

/// A link whose service answers each notification by itself: late, out of order, many at once, some of them with "not
/// before", and now and then not at all, since the connection is cut. Link and service in one, for the courier knows no
/// difference.
struct ScatteredLink: Link {
  /// What the service makes of a notification.
  enum Verdict {
    case accept
    case reject(Rejection)
    /// It was not processed, and goes again: at once, or so many milliseconds later.
    case giveBack(UInt64?)
    /// It is accepted, and the answer lost.
    case loseAnswer
    /// The connection is gone for so many milliseconds, and with it all that has no answer.
    case cut(UInt64)
  }

  private struct Open {
    var stretch: Stretch
    var number: Int
    var answerAt: Instant
    var verdict: Verdict
  }

  private let ledger: Ledger
  private let gateway: Gateway
  /// Notifications that may be open at a time.
  private let limit: Int
  private let judge: (_ token: Int) -> (Verdict, after: UInt64)
  private var open: [Open] = []
  private var outcomes: [LinkOutcome] = []
  private var now = Instant(milliseconds: 0)
  private var downUntil: Instant?
  private var traffic = LinkTraffic()
  /// What may not go again yet.
  private var waits: [Int: Instant] = [:]
  private(set) var endings: UInt32 = 0

  init(
    _ ledger: Ledger, _ gateway: Gateway, limit: Int,
    judge: @escaping (_ token: Int) -> (Verdict, after: UInt64)
  ) {
    self.ledger = ledger
    self.gateway = gateway
    self.limit = limit
    self.judge = judge
  }

  /// For the next agent: what has no answer yet is in the service's hands.
  func restarted() -> ScatteredLink {
    for one in open {
      if case .accept = one.verdict { gateway.accepts(one.number) }
    }
    return ScatteredLink(ledger, gateway, limit: limit, judge: judge)
  }

  // MARK: - Notifications

  var isOpen: Bool { downUntil == nil }

  func obstacle(payloadBytes: Int) -> Obstacle? {
    guard isOpen else { return .closed }
    return open.count < limit ? nil : .windowFull
  }

  mutating func take(_ message: borrowing Message, in text: Span<UInt8>) {
    let token = [UInt8](message.token.bytes.span).suffix(4).reduce(0) { $0 << 8 | Int($1) }
    let payload = String(text.extracting(message.payload.range))
    let number = World.number(token, serial: World.serial(in: payload))
    ledger.takes(number)
    if let until = waits.removeValue(forKey: number), now < until,
      ledger.places[number, default: 1] == 1, !ledger.isLoose(number)
    {
      ledger.complain("\(number) goes \(now.until(until).milliseconds) ms too early")
    }
    traffic.sent += 1
    if message.wasSent { traffic.repeated += 1 }
    let (verdict, after) = judge(token)
    open.append(
      Open(
        stretch: Stretch(place: message.place, wasSent: true), number: number,
        answerAt: now + .milliseconds(after), verdict: verdict))
  }

  mutating func takeOutcome() -> LinkOutcome? {
    outcomes.isEmpty ? nil : outcomes.removeFirst()
  }

  mutating func resetPoisonSearch() {}

  // MARK: - Work

  mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step? {
    now = time.now
    if let downUntil, downUntil <= now { self.downUntil = nil }
    for one in open.filter({ $0.answerAt <= now }).sorted(by: { $0.answerAt < $1.answerAt }) {
      // A cut before it has taken it away.
      guard let index = open.firstIndex(where: { $0.number == one.number && $0.answerAt <= now })
      else { continue }
      answer(open.remove(at: index))
    }
    return nil
  }

  private mutating func answer(_ one: Open) {
    switch one.verdict {
    case .accept:
      gateway.accepts(one.number)
      ledger.proves(one.number)
      outcomes.append(.accepted(one.stretch, isProved: true))
    case .reject(let rejection):
      ledger.rejects(one.number, rejection)
      outcomes.append(.rejected(one.stretch, rejection))
    case .giveBack(let wait):
      let until = wait.map { now + .milliseconds($0) }
      if let until { waits[one.number] = until }
      outcomes.append(.returned(one.stretch, notBefore: until))
    case .loseAnswer:
      gateway.accepts(one.number)
      outcomes.append(.returned(one.stretch, notBefore: nil))
    case .cut(let milliseconds):
      downUntil = now + .milliseconds(milliseconds)
      endings += 1
      for lost in ([one] + open).reversed() {
        outcomes.append(.returned(lost.stretch, notBefore: nil))
      }
      open = []
    }
  }

  mutating func nextStep(_ supply: Supply) -> Courier.Step? { nil }

  var deadline: Instant? {
    let answers = open.map(\.answerAt) + (downUntil.map { [$0] } ?? [])
    return answers.min()
  }

  // MARK: - Looking

  var stretchCount: Int { open.count }
  var notificationCount: Int { open.count }
  var isBusy: Bool { !open.isEmpty }

  func forEachStretch(_ body: (Stretch) -> Void) { for one in open { body(one.stretch) } }
  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {}

  mutating func takeTraffic() -> LinkTraffic {
    defer { traffic = LinkTraffic() }
    return traffic
  }

  mutating func takeReport() -> Report? { nil }
}

/// What the ledger makes of a link whose answers come in any order.
extension Ledger {
  /// The link takes a notification.
  func takes(_ number: Int) {
    check(number)
    checkSuppressed(number, isDamageKnown: true)
    passesLimits(number, isAdmission: true)
    expected.sent += 1
    if !life.framed.insert(number).inserted { life.repeated += 1 }
  }

  /// The service has said that it accepts it.
  func proves(_ number: Int) {
    life.outcomes[number] = .proved
    expected.proved += 1
  }

  func rejects(_ number: Int, _ rejection: Rejection) {
    life.refusals[number] = rejection.code
    if !rejection.isGone { expected.refused += 1 }
  }

  /// Looks at what the agent has counted since the last time.
  func observeScattered(_ counters: Counters) {
    let before = life.counters
    life.counters = counters
    compare("settled by proof", counters.settledByProof - before.settledByProof, expected.proved)
    compare("settled by time", counters.settledByTime - before.settledByTime, 0)
    compare("sent", counters.sent - before.sent, expected.sent)
    compare("refused", counters.refused - before.refused, expected.refused)
    expected = Expected()
  }
}
