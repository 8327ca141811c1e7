import CHTTP2
import TinyPush

/// A simulated HTTP/2 push service, which answers each request after a time.
///
/// It remembers everything for the whole run, even if the agent restarts.
final class HTTP2Service {
  /// The service's response to a request.
  enum Response {
    case accept
    case answer(Int, String, retryAfter: Int = 0)
    /// Closes the stream with an error, without processing the request.
    case reset(UInt32)
    /// Accepts the request and closes the stream with an error.
    case loseAnswer
    /// Never answers.
    case silence
    /// Ends the connection (GOAWAY) and refuses this request and all later ones.
    case leave
    /// Ends the connection (GOAWAY) and answers this request and all earlier ones.
    case leaveGently
    /// Cuts the connection.
    case cut
    /// Answers with a frame that violates HTTP/2.
    case violate
    /// Lets nothing pass in either direction any more.
    case die
  }

  let timeline: Timeline
  let gateway: Gateway
  let ledger: Ledger
  var respond: (_ token: Int) -> (Response, after: UInt64) = { _ in (.accept, 1) }
  /// Receives lines for the trace.
  var say: (@autoclosure () -> String) -> Void = { _ in }
  /// The latency in one direction, in milliseconds.
  var latency: UInt64 = 5
  var canDial: () -> Bool = { true }
  /// The requests allowed at a time: before one is accepted, and after that.
  var streamsMax: () -> (first: Int, later: Int) = { (100, 100) }
  var window = 0
  /// The reason for which it refuses the configuration at the moment, if any.
  var refusal: () -> String? = { nil }
  /// The instants before which a notification must not come again.
  var waits: [Int: Instant] = [:]
  private(set) var identifiers: [Int: String] = [:]
  /// How often it has answered a notification with a status.
  private(set) var answers: [Int: [Int: Int]] = [:]
  /// When provider tokens were issued, in UNIX seconds, by their text.
  private(set) var issues: [String: Int64] = [:]
  /// When it last accepted a notification.
  private(set) var acceptedAt = Instant(milliseconds: 0)
  private(set) var requests = 0
  fileprivate(set) var connections = 0

  init(_ timeline: Timeline, _ gateway: Gateway, _ ledger: Ledger) {
    self.timeline = timeline
    self.gateway = gateway
    self.ledger = ledger
  }

  // MARK: - Tokens

  /// Returns the present provider token; nil while the clock is not set.
  func token() -> (text: String, issuedAt: Int64)? {
    guard let wall = timeline.time.wallSeconds else { return nil }
    let issue = TokenSchedule.apple.issue(at: wall)
    issues["jwt\(issue)"] = issue
    return ("jwt\(issue)", issue)
  }

  // MARK: - Requests

  func take(_ push: UnsafePointer<chttp2_push>, _ wire: HTTP2Wire) {
    requests += 1
    let stream = push.pointee.stream
    let path = String(cString: chttp2_push_path(push))
    let payload = String(
      decoding: UnsafeBufferPointer(
        start: chttp2_push_payload(push), count: Int(push.pointee.payload_count)), as: UTF8.self)
    let token = Int(path.suffix(6), radix: 16) ?? 0
    let number = World.number(token, serial: World.serial(in: payload))
    guard path.hasPrefix("/3/device/"), path.count == 10 + World.digitCount(token),
      payload.hasSuffix("}")
    else {
      return ledger.complain("an invalid request: \(path) \(payload)")
    }
    checkIdentifier(number, push)
    wire.unanswered[stream] = number
    if let reason = refusal() {
      answers[number, default: [:]][403, default: 0] += 1
      return answer(stream, wire, after: 1, .answer(403, #"{"reason":"\#(reason)"}"#))
    }
    let authorization = String(cString: chttp2_push_authorization(push))
    if !authorization.isEmpty {
      let issue = issues[String(authorization.dropFirst(7))]
      let isOld = issue.map { $0 + 3600 < timeline.time.wallSeconds ?? 0 }
      guard isOld == false else {
        let reason = isOld == nil ? "InvalidProviderToken" : "ExpiredProviderToken"
        return answer(stream, wire, after: 1, .answer(403, #"{"reason":"\#(reason)"}"#))
      }
    }
    let (response, after) = respond(token)
    if case .answer(410, _, _) = response { ledger.suppressing.goneNumbers.insert(number) }
    if case .answer(let status, _, _) = response {
      answers[number, default: [:]][status, default: 0] += 1
      gateway.acceptedAt[number] = nil
    }
    if case .accept = response {
      gateway.accepts(number)
      acceptedAt = timeline.now
    }
    if case .loseAnswer = response { gateway.accepts(number) }
    if case .leaveGently = response { gateway.accepts(number) }
    say("    request \(number) on \(stream): \(response) after \(after) ms")
    answer(stream, wire, after: after, response)
  }

  /// Checks that a notification has the same identifier and collapse ID each time.
  private func checkIdentifier(_ number: Int, _ push: UnsafePointer<chttp2_push>) {
    guard ledger.places[number, default: 1] == 1, !ledger.isRepeatable(number),
      !ledger.movable.contains(World.serial(of: number))
    else { return }
    let identifier =
      String(cString: chttp2_push_id(push)) + " " + String(cString: chttp2_push_collapse_id(push))
    if let known = identifiers[number], known != identifier {
      ledger.complain("\(number) is \(identifier) now, and was \(known)")
    }
    identifiers[number] = identifier
  }

  private func answer(_ stream: Int32, _ wire: HTTP2Wire, after: UInt64, _ response: Response) {
    timeline.plan(after: after) { [self] in
      guard !wire.isOver else { return }
      wire.startMax = nil
      switch response {
      case .leave, .leaveGently: wire.isLeaving = true
      default: break
      }
      switch response {
      case .cut, .violate:
        for number in wire.unanswered.values { ledger.closes[number, default: 0] += 1 }
      default: wire.unanswered[stream] = nil
      }
      switch response {
      case .accept:
        wire.answer(stream, 200)
        let more = streamsMax().later
        if wire.announced != more { wire.announce(more) }
      case .answer(let status, let body, let seconds):
        wire.answer(stream, status, body, retryAfter: seconds)
      case .reset(let error): chttp2_server_reset(wire.server, stream, error)
      case .loseAnswer: chttp2_server_reset(wire.server, stream, 2)
      case .silence: break
      case .leave: chttp2_server_leave(wire.server, max(stream - 2, 0), 0, nil)
      case .leaveGently:
        wire.answer(stream, 200)
        chttp2_server_leave(wire.server, -1, 0, nil)
      case .cut: return wire.cut()
      case .violate: return wire.violate()
      case .die: wire.isDead = true
      }
      wire.flush()
    }
  }
}

/// One connection to the service, with the bytes on their way.
final class HTTP2Wire {
  let service: HTTP2Service
  let server: OpaquePointer
  private(set) var announced: Int
  private var announcedMax: Int
  /// The bytes that have arrived at the client.
  var arrived: [[UInt8]] = []
  /// Whether the client sees the end of the connection.
  private(set) var isCutForClient = false
  /// Whether nothing passes any more.
  var isDead = false
  /// Whether a router on the way holds everything back.
  private var isSwallowed = false
  private var held: [() -> Void] = []
  private(set) var isOver = false
  /// The notifications of the unanswered requests, by stream.
  var unanswered: [Int32: Int] = [:]
  /// Whether requests are unanswered that the client has not given up (HTTP/2 seed 91019485).
  var hasOpenRequests: Bool { !unanswered.isEmpty && chttp2_server_open(server) > 0 }
  /// Whether it has announced its end, so that it did not process the requests that are open.
  var isLeaving = false
  /// The requests allowed until the first answer, if the last connection was cut with open ones.
  var startMax: Int?
  /// The bytes that the client has written.
  private(set) var written = 0
  /// The bytes that the client knows to be acknowledged.
  private(set) var acknowledged = 0
  /// The last time at which the client wrote with nothing outstanding, heard something or woke up.
  private var aliveAt: Instant
  /// Whether the connection had been quiet for long when the oldest unacknowledged bytes were
  /// written.
  private var wasQuiet = false

  init(_ service: HTTP2Service) {
    self.service = service
    service.connections += 1
    announced = service.streamsMax().first
    announcedMax = announced
    server = chttp2_server_new(UInt32(announced), UInt32(service.window), 8192)!
    aliveAt = service.timeline.now
    flush()
  }

  deinit { chttp2_server_free(server) }

  func write(_ bytes: [UInt8]) {
    if acknowledged == written {
      wasQuiet = aliveAt + Self.quiet < service.timeline.now
      aliveAt = service.timeline.now
    }
    written += bytes.count
    let end = written
    guard !isDead, !isOver else { return }
    carry { [self] in
      guard !isDead, !isOver else { return }
      carry { [self] in
        guard end > acknowledged else { return }
        acknowledged = end
        isAlive()
      }
      take(bytes)
    }
  }

  /// Runs `act` after the latency, unless a router holds it back.
  private func carry(_ act: @escaping () -> Void) {
    service.timeline.plan(after: service.latency) { [self] in
      if isSwallowed { held.append(act) } else { act() }
    }
  }

  // MARK: - A router that drops packets

  private static let quiet = Duration.seconds(60)

  /// Holds everything back for `milliseconds`; nil: drops everything from now on.
  func swallow(for milliseconds: UInt64?) {
    guard let milliseconds else {
      isDead = true
      return
    }
    isSwallowed = true
    service.timeline.plan(after: milliseconds) { [self] in
      isSwallowed = false
      let acts = held
      held = []
      for act in acts { act() }
    }
  }

  /// Notes that the client knows that the connection lives.
  func isAlive() {
    aliveAt = service.timeline.now
    wasQuiet = false
  }

  /// Restarts the wait for acknowledgements: the client's machine woke up, or it awaits nothing.
  func waitAnew() { if acknowledged < written { isAlive() } }

  /// How long the client has kept a dead connection, if that is longer than it may.
  var overdue: Duration? {
    guard acknowledged < written, !isOver else { return nil }
    let silence = aliveAt.until(service.timeline.now)
    // On a busy connection, the client may learn late of an acknowledgement.
    let patience = wasQuiet ? Duration.seconds(1) : .seconds(10)
    let slack = Duration.milliseconds(500 + 8 * service.latency)
    return silence < patience + slack ? nil : silence
  }

  private func take(_ bytes: [UInt8]) {
    guard chttp2_server_receive(server, bytes, bytes.count) == 0 else {
      service.ledger.complain("the client violates HTTP/2")
      return
    }
    if let startMax, chttp2_server_open(server) > startMax {
      service.ledger.complain(
        "\(chttp2_server_open(server)) requests are open, right after a cut with open requests")
    }
    if chttp2_server_open(server) > announcedMax {
      service.ledger.complain(
        "\(chttp2_server_open(server)) requests are open, and \(announcedMax) are allowed")
    }
    while let push = chttp2_server_next(server) { service.take(push, self) }
    flush()
  }

  func answer(_ stream: Int32, _ status: Int, _ body: String = "", retryAfter: Int = 0) {
    body.withCString { body in
      var reply = chttp2_reply()
      reply.status = Int32(status)
      reply.retry_after = UInt32(retryAfter)
      reply.body = body
      chttp2_server_answer(server, stream, &reply)
    }
  }

  func announce(_ streams: Int) {
    announced = streams
    announcedMax = max(announcedMax, streams)
    chttp2_server_settings(server, UInt32(streams))
  }

  /// Sends everything that the server has framed.
  func flush() {
    var room = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = chttp2_server_take(server, &room, room.count)
      guard count > 0 else { return }
      let bytes = [UInt8](room[..<count])
      guard !isDead else { continue }
      carry { [self] in if !isDead, !isCutForClient { arrived.append(bytes) } }
    }
  }

  /// Sends a DATA frame of no stream (RFC 9113, section 6.1).
  func violate() { carry { [self] in arrived.append([0, 0, 1, 0, 0, 0, 0, 0, 0, 0]) } }

  /// Cuts the connection without announcing it.
  func cut() {
    guard !isOver else { return }
    isOver = true
    carry { [self] in isCutForClient = true }
  }

  /// Closes the client's end.
  ///
  /// Bytes that it sent before still arrive, unless a router holds them.
  func closedByClient() {
    if isSwallowed { isDead = true }
    held = []
    service.timeline.plan(after: service.latency + 1) { [self] in isOver = true }
  }
}
