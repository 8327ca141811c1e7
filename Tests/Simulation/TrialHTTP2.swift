import TinyPush
import TinyPushHTTP2

/// The faults of an HTTP/2 service, chosen by the seed.
///
/// Some last longer than other faults: they end when everything else must have been delivered.
struct HTTP2Faults {
  /// How long these faults go on after all others.
  static let patience = Duration.seconds(4000)

  /// The notifications to which the service always does the same, by token.
  private(set) var poisons: [Int: HTTP2Service.Response] = [:]
  /// Of how many connections one answers 500 to everything; 0: none.
  private var illOneIn = 0
  /// The requests of a connection after which the service cuts it.
  private var requestsMax = Int.max
  private var connection = 0
  private var requests = 0

  init() {}

  init(_ seed: UInt64, tokens: Int) {
    var random = Seeded(seed &+ 0xB0150)
    if random.oneIn(3), tokens > 0 {
      for _ in 0...random.upTo(2) {
        poisons[1 + random.upTo(tokens - 1)] = random.pick([
          .answer(500, #"{"reason":"InternalServerError"}"#), .answer(502, "<html>"),
          .answer(503, "", retryAfter: 999_999_999), .reset(2), .reset(7), .silence, .cut, .violate,
          .answer(401, ""), .answer(403, #"{"reason":"Forbidden"}"#), .answer(404, ""),
          .answer(405, #"{"reason":"MethodNotAllowed"}"#),
          .answer(400, #"{"reason":"TopicDisallowed"}"#),
        ])
      }
    }
    if random.oneIn(8) { illOneIn = random.pick([2, 3, 5]) }
    if random.oneIn(8) { requestsMax = random.pick([40, 100]) }
  }

  /// Returns what the service does with a request in place of its usual answer, if anything.
  mutating func response(to token: Int, _ service: HTTP2Service) -> HTTP2Service.Response? {
    if connection != service.connections {
      connection = service.connections
      requests = 0
    }
    requests += 1
    if requests > requestsMax { return .cut }
    if illOneIn > 0, connection % illOneIn == 1 {
      return .answer(500, #"{"reason":"InternalServerError"}"#)
    }
    return poisons[token]
  }

  mutating func end() { self = HTTP2Faults() }
}

extension Trial {
  /// Plans the end of the faults that last longest, and checks then that they held up nothing.
  func planEndOfPoison() {
    let end = world.timeline.now + .milliseconds(faults.calmAt) + HTTP2Faults.patience
    endPoison(at: end)
  }

  private func endPoison(at end: Instant) {
    world.timeline.plan(at: end) { [self] in
      // The machine may have slept meanwhile.
      let latest = world.ledger.sleptUntil + HTTP2Faults.patience
      guard latest <= world.timeline.now else { return endPoison(at: latest) }
      // The rest of a file that could not be read waits for what was read of it. A slow service
      // may still be accepting the rest of many.
      let isWaiting = workload.isTimed || workload.isLimiting || workload.isCollapsing
      let isSlow = service.map { world.timeline.now < $0.acceptedAt + .seconds(1000) } ?? false
      if !isWaiting, !isSlow, !faults.has(.busy), !faults.has(.unreadable) {
        world.ledger.checkHeldUp { [self] in
          http2Faults.poisons[$0] != nil || laneFaults.isIll(World.host($0))
        }
      }
      http2Faults.end()
      laneFaults.end()
    }
  }

  func setUpHTTP2() {
    let service = HTTP2Service(world.timeline, world.gateway, world.ledger)
    self.service = service
    service.latency = random.pick([0, 1, 20, 150])
    service.canDial = { [self] in isCalm || !random.oneIn(5) && dialsUntil == nil }
    let later = random.pick([1, 3, 100, 1000])
    let first = random.pick([1, later])
    service.streamsMax = { (first, later) }
    service.window = random.pick([0, 0, 0, 1000])
    service.respond = { [self] in respondToRequest($0) }
    service.refusal = { [self] in
      guard let until = refusalsUntil, world.timeline.now < until, !isCalm else { return nil }
      return "BadCertificate"
    }
    world.ledger.isPrompt = true
    service.say = { [self] in world.trace.say($0()) }
    // Without a set clock there is no provider token.
    let usesProviderToken = random.oneIn(2) && !faults.has(.wall)
    var settings = world.settings
    settings.streams = random.pick([1, 2, 20, 200])
    settings.answerTimeout = .seconds(random.pick([5, 30]))
    settings.ping = .seconds(random.pick([60, 3600]))
    http2Faults = HTTP2Faults(seed, tokens: workload.numbers)
    world.http2 = SimulatedHTTP2(
      settings, service, usesProviderToken: usesProviderToken, seed: random.next())
  }

  func tearDownHTTP2() {
    service?.respond = { _ in (.accept, 1) }
    service?.say = { _ in }
    service?.canDial = { false }
    service?.refusal = { nil }
  }

  private static func gone(since time: UInt32) -> HTTP2Service.Response {
    .answer(410, #"{"reason":"Unregistered","timestamp":\#(UInt64(time) * 1000)}"#)
  }

  /// Decides what the service does with a request, and after how many milliseconds.
  private func respondToRequest(_ token: Int) -> (HTTP2Service.Response, after: UInt64) {
    let after = UInt64(
      random.pick([1, 1, 5, 40, 1 + random.upTo(random.oneIn(20) ? 20_000 : 900)]))
    if let service, let response = http2Faults.response(to: token, service) {
      return (response, after)
    }
    if let status = workload.refusals[token] {
      let reason = status == .invalidToken ? "BadDeviceToken" : "InvalidPushType"
      return (.answer(400, #"{"reason":"\#(reason)"}"#), after)
    }
    if let time = world.ledger.suppressing.gone[token] { return (Self.gone(since: time), after) }
    if isCalm { return (.accept, after) }
    switch random.upTo(150) {
    case 0...2: return (.reset(7), after)
    case 3: return (.reset(2), after)
    case 4: return (.loseAnswer, after)
    case 5: return (.silence, after)
    case 6...7: return (.leave, after)
    case 8...9: return (.leaveGently, after)
    case 10: return (.cut, after)
    case 11: return (.die, after)
    case 12...13:
      return (.answer(429, #"{"reason":"TooManyRequests"}"#, retryAfter: random.upTo(90)), after)
    case 14:
      let seconds = random.pick([0, 0, 0, 20, 999_999_999])
      return (.answer(503, #"{"reason":"ServiceUnavailable"}"#, retryAfter: seconds), after)
    case 15: return (.answer(500, "<html>"), after)
    case 16: return (.answer(503, #"{"reason":"Shutdown"}"#), after)
    case 17: return (.answer(403, #"{"reason":"ExpiredProviderToken"}"#), after)
    case 18:
      refusalsUntil = world.timeline.now + .seconds(UInt64(random.upTo(200)))
      return (.answer(403, #"{"reason":"BadCertificate"}"#), after)
    case 19: return (.answer(302, ""), after)
    case 20:
      let time = UInt32(random.oneIn(5) ? 4_200_000_000 : 1_700_000_000 - random.upTo(100_000))
      world.ledger.suppressing.gone[token] = time
      return (Self.gone(since: time), after)
    default: return (.accept, after)
    }
  }
}
