import CHTTP2
import TinyPush
import TinyPushAgent

/// The service's side of a connection over HTTP/2, which answers requests and plays faults.
///
/// ``receive(_:)`` takes bytes, ``take(_:)`` returns bytes; ``serve(_:)`` connects both to a TLS
/// stream.
final class HTTP2Session {
  /// The limit on streams for clients with a provider token, until a request is accepted.
  ///
  /// Source: the settings that Apple's service was seen to send.
  static let streamsAtFirst: UInt32 = 1
  static let streamsMax: UInt32 = 1000
  /// The most records read in a turn, so that one peer cannot keep the others waiting.
  private static let recordsMax = 8
  private static let recordBytes = 16_384
  /// The text that garbage repeats; no frame begins like this.
  private static let garbage: StaticString = "no answer "

  private let number: Int64
  private let client: ClientIdentity
  private let requestCheck: RequestCheck
  private let messageCheck: MessageCheck
  private let faults: Faults
  private let post: StoreAndForward
  private let journal: Journal
  private let server: OpaquePointer
  private var tokens = ProviderTokenCheck()
  private var senders = SenderCheck()
  private var streamsMax: UInt32
  private(set) var accepted: Int64 = 0
  /// The delayed answers.
  private var late: [LateAnswer] = []
  private let input = FixedBuffer<UInt8>(capacity: recordBytes)
  private let output = FixedBuffer<UInt8>(capacity: recordBytes)
  private var outputBytes = 0
  private var garbageBytes = 0
  /// The last stream whose request is answered.
  private var lastStream = Int32.max
  /// Whether only the final bytes are left to send.
  private(set) var isOver = false
  /// How the session ends after the final bytes.
  private var ending = Turn.finish
  /// The delay before the end.
  private var delayMs: Int64 = 0

  /// The answer to a request.
  enum Answer {
    case accepted
    case refused(Reason, since: Int64 = 0, retryAfter: UInt32 = 0)
    /// An answer as a proxy gives it, not the service.
    case oddBody
    case reset(UInt32)
    /// The request is accepted, and then the connection ends in order.
    case leave
  }

  /// The content of an accepted request: for an app, or for a browser.
  private enum Acceptance {
    case notification(RequestCheck.Acceptance)
    case message(MessageCheck.Acceptance)

    var token: DeviceToken {
      switch self {
      case .notification(let acceptance): acceptance.token
      case .message(let acceptance): acceptance.app.token
      }
    }
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

  /// Creates a session; nil: out of memory.
  init?(
    number: Int64, client: ClientIdentity, requestCheck: RequestCheck,
    messageCheck: MessageCheck, faults: Faults, post: StoreAndForward, journal: Journal
  ) {
    let streamsMax = client.hasCertificate ? Self.streamsMax : Self.streamsAtFirst
    guard
      let server = chttp2_server_new(
        streamsMax, 0, UInt32(max(requestCheck.payloadMax, MessageCheck.bodyMax)))
    else {
      return nil
    }
    self.server = server
    self.streamsMax = streamsMax
    self.number = number
    self.client = client
    self.requestCheck = requestCheck
    self.messageCheck = messageCheck
    self.faults = faults
    self.post = post
    self.journal = journal
  }

  deinit { chttp2_server_free(server) }

  // MARK: - With a stream

  /// Sends and receives as much as possible.
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
      receive(input.unsafeSpan(0..<outcome.count))
      records += 1
    }
  }

  /// When the next delayed answer is due: milliseconds of the monotonic clock; nil if absent.
  var nextMs: Int64? {
    var next: Int64?
    for answer in late { next = min(next ?? .max, answer.dueMs) }
    return next
  }

  /// Ends the session in order; the requests that have arrived are still answered.
  func goOutOfService(_ stream: borrowing TLSStream) -> Turn {
    answerLate(now: .max)
    leave(after: -1, .shutdown)
    isOver = true
    delayMs = 0
    return serve(stream)
  }

  /// Plays a fault that does not answer a request.
  func play(_ fault: Fault, _ stream: borrowing TLSStream) -> Turn {
    journal.played(number, fault)
    if case .goaway = fault.act {
      answer(-1, .leave, id: CString(""), after: fault.delay)
    } else {
      begin(fault)
    }
    return serve(stream)
  }

  /// Reads and discards the bytes that come after the end.
  func discard(_ stream: borrowing TLSStream) -> Turn { stream.discard(input) }

  /// Sends the pending bytes; nil: all are sent.
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
    while !isOver, let push = chttp2_server_next(server) {
      let request = PushRequest(push)
      guard request.stream <= lastStream else { continue }
      check(request, request.makeID())
    }
  }

  /// Copies the next bytes to send into `room`, and returns their number.
  func take(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int {
    max(Int(chttp2_server_take(server, room.baseAddress, room.count)), 0)
  }

  // MARK: - Requests

  private func check(_ request: PushRequest, _ id: borrowing CString) {
    do throws(RequestCheck.Refusal) {
      let now = journal.clock.unixSeconds
      let acceptance: Acceptance
      if let id = request.subscription {
        acceptance = .message(try messageCheck.check(request, id: id, &senders, now: now))
      } else {
        acceptance = .notification(
          try requestCheck.check(request, of: client, &tokens, now: now))
      }
      guard
        let due = faults.next(
          token: acceptance.token.bytes, nowMs: journal.clock.monotonicMs, on: .http2)
      else {
        accept(request, acceptance, id)
        return answer(request.stream, .accepted, id: id)
      }
      play(due.fault, at: due.number, request, acceptance, id)
    } catch {
      journal.refused(number, request, id: id.span, error.reason, error.cause)
      answer(request.stream, .refused(error.reason, since: error.since), id: id)
    }
  }

  private func accept(
    _ request: PushRequest, _ acceptance: Acceptance, _ id: borrowing CString
  ) {
    accepted += 1
    switch acceptance {
    case .notification(let acceptance): accept(request, acceptance, id)
    case .message(let acceptance): accept(request, acceptance, id)
    }
  }

  private func accept(
    _ request: PushRequest, _ acceptance: MessageCheck.Acceptance, _ id: borrowing CString
  ) {
    let push = Push(.browser(acceptance.urgency), id: id.span, collapseID: request.messageTopic)
    let now = journal.clock.unixMs
    let arrival = Arrival(
      connection: number, identifier: UInt32(request.stream), priority: acceptance.urgency.priority,
      expiration: acceptance.ttl == 0 ? 0 : UInt32(clamping: now / 1000 + Int64(acceptance.ttl)),
      acceptedMs: now, push: push)
    post.take(arrival, body: request.payload, acceptance)
  }

  private func accept(
    _ request: PushRequest, _ acceptance: RequestCheck.Acceptance, _ id: borrowing CString
  ) {
    let push = Push(
      .app(acceptance.type), id: id.span, collapseID: request.collapseID)
    let arrival = Arrival(
      connection: number, identifier: UInt32(request.stream), priority: acceptance.priority,
      expiration: acceptance.expiration, acceptedMs: journal.clock.unixMs, push: push)
    journal.accepted(arrival, push, acceptance, request)
    switch acceptance.destination {
    case .anybody: break
    case .app(let app, let device):
      post.take(arrival, payload: request.payload, for: app, on: device)
    }
  }

  private func answer(
    _ stream: Int32, _ answer: Answer, id: borrowing CString, isLate: Bool = false
  ) {
    var reply = chttp2_reply()
    let isForBrowser = isForBrowser(stream)
    if !isForBrowser { reply.id = id.pointer }
    switch answer {
    case .accepted where isForBrowser: answerBrowser(stream, &reply, id)
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
      if reason.status == 410, !isForBrowser {
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
      if stream > 0 { self.answer(stream, .accepted, id: id) }
      leave(after: isLate ? -1 : stream, nil)
    }
  }

  /// Whether the request of a stream, as far as the stream is open, is for a browser.
  private func isForBrowser(_ stream: Int32) -> Bool {
    guard let push = chttp2_server_request(server, stream) else { return false }
    return PushRequest(push).subscription != nil
  }

  /// Answers that a message for a browser is accepted, with the place of the message.
  private func answerBrowser(
    _ stream: Int32, _ reply: inout chttp2_reply, _ id: borrowing CString
  ) {
    guard let push = chttp2_server_request(server, stream) else { return }
    var location = Text(capacity: 512)
    location.append("https://", bytes: PushRequest(push).authority, "/message/")
    location.append(bytes: id.span)
    reply.status = 201
    location.withCString { location in
      reply.location = location
      chttp2_server_answer(server, stream, &reply)
    }
    allowMore()
  }

  /// Raises the limit on streams, once the first request with a provider token has been accepted.
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
      answer(waiting.stream, waiting.answer, id: waiting.id, isLate: true)
    }
    late.removeAll { $0.dueMs <= now }
  }

  // MARK: - Faults

  private func play(
    _ fault: Fault, at count: Int64, _ request: PushRequest,
    _ acceptance: Acceptance, _ id: borrowing CString
  ) {
    journal.played(
      number, fault, at: count, identifier: UInt32(request.stream),
      token: acceptance.token.bytes)
    guard let reply = fault.act.answer else {
      accept(request, acceptance, id)
      return begin(fault)
    }
    if fault.act.accepts {
      accept(request, acceptance, id)
    } else if case .refused(let reason, _, _) = reply {
      journal.refused(number, request, id: id.span, reason, .fault)
    }
    answer(request.stream, reply, id: id, after: fault.delay)
  }

  /// Begins to end the connection without an HTTP/2 frame.
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

  /// Sends GOAWAY, to end the connection in order.
  ///
  /// - Parameter stream: the last one whose request is answered; -1: the last one so far.
  private func leave(after stream: Int32, _ reason: Reason?) {
    var body = Text(capacity: 64)
    if let reason {
      body.beginObject()
      body.member("reason", string: reason.name)
      body.endObject()
    }
    body.withCString { body in chttp2_server_leave(server, stream, 0, body) }
    if stream > 0 { lastStream = stream }
  }
}
