import CHTTP2
import TinyPush
import TinyPushAgent

/// The service's side of one connection over HTTP/2: it answers each request, and plays faults. Bytes in by ``receive(_:)``,
/// bytes out by ``take(_:)``; ``serve(_:)`` joins them to a TLS stream.
final class HTTP2Session {
  /// Source: the service's settings as seen: with a provider token one request at a time until the first is accepted.
  static let streamsAtFirst: UInt32 = 1
  static let streamsMax: UInt32 = 1000
  /// Records read at a turn, so that one peer cannot keep the others waiting.
  private static let recordsMax = 8
  private static let recordBytes = 16_384
  /// What garbage consists of, as often as it takes. No frame begins so.
  private static let garbage: StaticString = "no answer "

  private let number: Int64
  private let client: ClientIdentity
  private let gatekeeper: RequestGatekeeper
  private let faults: Faults
  private let post: StoreAndForward
  private let journal: Journal
  private let server: OpaquePointer
  private var tokens = ProviderTokenJudge()
  private var streamsMax: UInt32
  private(set) var accepted: Int64 = 0
  /// Answers that are put off.
  private var late: [LateAnswer] = []
  private let input = FixedBuffer<UInt8>(capacity: recordBytes)
  private let output = FixedBuffer<UInt8>(capacity: recordBytes)
  private var outputBytes = 0
  private var garbageBytes = 0
  /// Whether it takes no more requests, and answers those that it has.
  private var isLeaving = false
  /// Whether it only has its last bytes to say.
  private(set) var isOver = false
  /// How it ends when everything is said.
  private var ending = Turn.finish
  /// How long the end is put off.
  private var delayMs: Int64 = 0

  /// What a request comes to.
  enum Answer {
    case accepted
    case refused(Reason, since: Int64 = 0, retryAfter: UInt32 = 0)
    /// What a proxy says, and not the service.
    case oddBody
    case reset(UInt32)
    /// It is accepted, and the connection ends in order behind it.
    case leave
  }

  private final class LateAnswer {
    let dueMs: Int64
    let stream: Int32
    let answer: Answer
    let id: CString
    init(_ answer: Answer, _ stream: Int32, id: Span<UInt8>, dueMs: Int64) {
      self.dueMs = dueMs
      self.stream = stream
      self.answer = answer
      self.id = CString(id)
    }
  }

  /// nil: out of memory.
  init?(
    number: Int64, client: ClientIdentity, gatekeeper: RequestGatekeeper, faults: Faults,
    post: StoreAndForward, journal: Journal
  ) {
    let streamsMax = client.hasCertificate ? Self.streamsMax : Self.streamsAtFirst
    guard let server = chttp2_server_new(streamsMax, 0, UInt32(gatekeeper.payloadMax)) else {
      return nil
    }
    self.server = server
    self.streamsMax = streamsMax
    self.number = number
    self.client = client
    self.gatekeeper = gatekeeper
    self.faults = faults
    self.post = post
    self.journal = journal
  }

  deinit { chttp2_server_free(server) }

  // MARK: - With a stream

  /// Goes on with what is to be said and heard.
  func serve(_ stream: borrowing TLSStream) -> Turn {
    answerLate(now: journal.clock.monotonicMs)
    var records = 0
    while true {
      if let turn = send(stream) { return turn }
      if isOver {
        guard delayMs == 0 else { return .late(ms: endDelay()) }
        return sendGarbage(stream) ?? ending
      }
      if chttp2_server_is_over(server) != 0 { return .finish }
      if records >= Self.recordsMax, !stream.hasPending { return .wantRead }
      let outcome = stream.read(into: input.room())
      if let turn = outcome.turn { return turn }
      receive(input.looseSpan(0..<outcome.count))
      records += 1
    }
  }

  /// When something is to be said even though nothing comes: milliseconds of the monotonic clock.
  var nextMs: Int64? {
    var next: Int64?
    for answer in late { next = min(next ?? .max, answer.dueMs) }
    return next
  }

  /// Goes out of service: what has come is still answered.
  func goOutOfService(_ stream: borrowing TLSStream) -> Turn {
    answerLate(now: .max)
    leave(after: -1, .shutdown)
    isOver = true
    delayMs = 0
    return serve(stream)
  }

  /// Plays a fault that needs no notification.
  func play(_ fault: Fault, _ stream: borrowing TLSStream) -> Turn {
    journal.played(number, fault)
    if case .goaway = fault.act {
      answer(-1, .leave, id: CString(""), after: fault.delay)
    } else {
      begin(fault)
    }
    return serve(stream)
  }

  /// Reads what comes after the end, to throw it away.
  func discard(_ stream: borrowing TLSStream) -> Turn { stream.discard(input) }

  /// Says what there is to say; nil: all of it.
  private func send(_ stream: borrowing TLSStream) -> Turn? {
    while true {
      if outputBytes == 0 { outputBytes = take(output.room()) }
      guard outputBytes > 0 else { return nil }
      if let turn = write(stream) { return turn }
    }
  }

  private func sendGarbage(_ stream: borrowing TLSStream) -> Turn? {
    while garbageBytes > 0 {
      var count = 0
      while count < min(garbageBytes, output.capacity - Self.garbage.utf8CodeUnitCount) {
        output.store(Self.garbage.span, at: count)
        count += Self.garbage.utf8CodeUnitCount
      }
      outputBytes = min(count, garbageBytes)
      garbageBytes -= outputBytes
      if let turn = write(stream) { return turn }
    }
    return nil
  }

  private func write(_ stream: borrowing TLSStream) -> Turn? {
    if let turn = stream.write(output, count: outputBytes).turn { return turn }
    outputBytes = 0
    return nil
  }

  private func endDelay() -> Int64 {
    defer { delayMs = 0 }
    return delayMs
  }

  // MARK: - Bytes in, bytes out

  func receive(_ bytes: Span<UInt8>) {
    let result = bytes.withUnsafeBufferPointer { bytes in
      chttp2_server_receive(server, bytes.baseAddress, bytes.count)
    }
    if result != 0 {
      isOver = true
      return
    }
    while !isOver, !isLeaving, let push = chttp2_server_next(server) {
      let request = PushRequest(push)
      judge(request, request.makeID())
    }
  }

  /// Puts what is to be said next into `room`: how many bytes.
  func take(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int {
    max(Int(chttp2_server_take(server, room.baseAddress, room.count)), 0)
  }

  // MARK: - Requests

  private func judge(_ request: PushRequest, _ id: borrowing CString) {
    do throws(RequestGatekeeper.Refusal) {
      let acceptance = try gatekeeper.judge(
        request, of: client, &tokens, now: journal.clock.unixSeconds)
      guard
        let due = faults.next(
          token: acceptance.token.bytes.span, nowMs: journal.clock.monotonicMs, on: .http2)
      else {
        accept(request, acceptance, id)
        return answer(request.stream, .accepted, id: id)
      }
      play(due.fault, at: due.number, request, acceptance, id)
    } catch {
      journal.refused(number, request, id: id.span, error.reason, error.objection)
      answer(request.stream, .refused(error.reason, since: error.since), id: id)
    }
  }

  private func accept(
    _ request: PushRequest, _ acceptance: RequestGatekeeper.Acceptance, _ id: borrowing CString
  ) {
    accepted += 1
    let push = Push(
      acceptance.type, id: id.span, collapseID: request.collapseID)
    let arrival = Arrival(
      connection: number, identifier: UInt32(request.stream), priority: acceptance.priority,
      expiration: acceptance.expiration, acceptedMs: journal.clock.unixMs, push: push)
    journal.accepted(arrival, push, acceptance, request)
    switch acceptance.destination {
    case .anybody, .gone: break
    case .app(let app, let device):
      post.take(arrival, payload: request.payload, for: app, on: device)
    }
  }

  private func answer(_ stream: Int32, _ answer: Answer, id: borrowing CString) {
    var reply = chttp2_reply()
    reply.id = id.pointer
    switch answer {
    case .accepted:
      var unique = Text(capacity: 40)
      unique.appendRandomUUID()
      reply.status = 200
      unique.withCString { unique in
        reply.unique_id = unique
        chttp2_server_answer(server, stream, &reply)
      }
      allowMore()
    case .refused(let reason, let since, let retryAfter):
      var body = Text(capacity: 128)
      body.beginObject()
      body.member("reason", string: reason.name)
      if reason.status == 410 {
        let seconds = since > 0 ? since : journal.clock.unixSeconds
        body.member("timestamp", number: seconds * 1000)
      }
      body.endObject()
      reply.status = reason.status
      reply.retry_after = retryAfter
      body.withCString { body in
        reply.body = body
        chttp2_server_answer(server, stream, &reply)
      }
    case .oddBody:
      reply.status = 502
      reply.id = nil
      reply.body = ("<html><body>Bad Gateway</body></html>\n" as StaticString).cString
      chttp2_server_answer(server, stream, &reply)
    case .reset(let code): chttp2_server_reset(server, stream, code)
    case .leave:
      self.answer(stream, .accepted, id: id)
      leave(after: stream, nil)
    }
  }

  /// The first request with a provider token has been accepted.
  private func allowMore() {
    guard streamsMax < Self.streamsMax else { return }
    streamsMax = Self.streamsMax
    chttp2_server_settings(server, streamsMax)
  }

  private func answer(
    _ stream: Int32, _ answer: Answer, id: borrowing CString, after delay: Duration
  ) {
    let delayMs = Int64(delay.milliseconds)
    guard delayMs > 0 else { return self.answer(stream, answer, id: id) }
    late.append(
      LateAnswer(answer, stream, id: id.span, dueMs: journal.clock.monotonicMs + delayMs))
  }

  private func answerLate(now: Int64) {
    for waiting in late where waiting.dueMs <= now {
      answer(waiting.stream, waiting.answer, id: waiting.id)
    }
    late.removeAll { $0.dueMs <= now }
  }

  // MARK: - Faults

  private func play(
    _ fault: Fault, at count: Int64, _ request: PushRequest,
    _ acceptance: RequestGatekeeper.Acceptance, _ id: borrowing CString
  ) {
    journal.played(
      number, fault, at: count, identifier: UInt32(request.stream),
      token: acceptance.token.bytes.span)
    guard let said = fault.act.answer else {
      accept(request, acceptance, id)
      return begin(fault)
    }
    if fault.act.accepts {
      accept(request, acceptance, id)
    } else if case .refused(let reason, _, _) = said {
      journal.refused(number, request, id: id.span, reason, .fault)
    }
    answer(request.stream, said, id: id, after: fault.delay)
  }

  /// Begins to end the connection without a word of HTTP/2.
  private func begin(_ fault: Fault) {
    delayMs = Int64(fault.delay.milliseconds)
    isOver = true
    switch fault.act {
    case .reset: ending = .reset
    case .stall: ending = .stall
    case .garbage(let bytes): garbageBytes = bytes
    default: break
    }
  }

  /// Ends the connection in order.
  private func leave(after stream: Int32, _ reason: Reason?) {
    var body = Text(capacity: 64)
    if let reason {
      body.beginObject()
      body.member("reason", string: reason.name)
      body.endObject()
    }
    body.withCString { body in chttp2_server_leave(server, stream, 0, body) }
    isLeaving = true
  }
}
