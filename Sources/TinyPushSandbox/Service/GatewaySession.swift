import TinyPush

/// The gateway's side of one connection: silent, until it refuses a notification or plays a fault.
final class GatewaySession {
  /// Records read at a turn, so that one peer cannot keep the others waiting.
  private static let recordsMax = 8
  /// What garbage consists of, as often as it takes. No answer begins with an "n".
  private static let garbage: StaticString = "no answer "
  private static let garbageBytesMax = 4000

  private let number: Int64
  private let gatekeeper: Gatekeeper
  private let requests: RequestGatekeeper
  private let faults: Faults
  private let post: StoreAndForward
  private let journal: Journal
  private var reader = FrameReader()
  private var topic: Topic?
  private(set) var accepted: Int64 = 0
  private var lastAccepted: UInt32?
  private var lastWords = FixedBuffer<UInt8>(capacity: ErrorResponse.byteCount)
  private var lastBytes = 0
  /// Whether it only has its last words to say.
  private(set) var isOver = false
  /// How it ends when the last words are said.
  private var ending = Turn.finish
  /// How long the end is put off.
  private var delayMs: Int64 = 0
  private var discardedFrames: Int64 = 0
  private var discardedBytes: Int64 = 0

  init(
    number: Int64, gatekeeper: Gatekeeper, requests: RequestGatekeeper, faults: Faults,
    post: StoreAndForward, journal: Journal
  ) {
    self.number = number
    self.gatekeeper = gatekeeper
    self.requests = requests
    self.faults = faults
    self.post = post
    self.journal = journal
  }

  /// What takes its place once the client has asked for HTTP/2; nil: out of memory.
  func overHTTP2(_ client: ClientIdentity) -> HTTP2Session? {
    HTTP2Session(
      number: number, client: client, gatekeeper: requests, faults: faults, post: post,
      journal: journal)
  }

  /// Goes on with reading and judging, or with an answer that is under way.
  func serve(_ stream: borrowing TLSStream) -> Turn {
    if isOver { return end(stream) }
    if topic == nil { topic = Topic(of: stream) }
    var records = 0
    repeat {
      let outcome = stream.read(into: reader.makeRoom())
      if let turn = outcome.turn { return turn }
      reader.take(outcome.count)
      judge()
      if isOver { return delayMs > 0 ? .late(ms: delayMs) : end(stream) }
      records += 1
    } while records < Self.recordsMax || stream.hasPending
    return .wantRead
  }

  /// Goes out of service: names the last notification that it accepted, if it has its identifier.
  func goOutOfService(_ stream: borrowing TLSStream) -> Turn {
    if !isOver, let lastAccepted {
      answer(.shutdown, lastAccepted)
    }
    if !isOver { discardedBytes += Int64(reader.heldBytes) }
    isOver = true
    return end(stream)
  }

  /// Reads what comes after the end, to throw it away.
  func discard(_ stream: borrowing TLSStream) -> Turn {
    countDiscarded()
    var records = 0
    repeat {
      let outcome = stream.read(into: reader.makeRoom())
      if let turn = outcome.turn { return turn }
      reader.take(outcome.count)
      discardedBytes += Int64(outcome.count)
      countDiscarded()
      records += 1
    } while records < Self.recordsMax || stream.hasPending
    return .wantRead
  }

  /// Bytes of a frame that was never finished.
  var heldBytes: Int { isOver ? 0 : reader.heldBytes }

  func closed() {
    guard discardedBytes > 0 else { return }
    countDiscarded()
    journal.discarded(number, notifications: discardedFrames, bytes: discardedBytes)
  }

  // MARK: - Judging

  private func judge() {
    guard let topic else { return }
    do throws(FrameProblem) {
      while let frame = try reader.next() {
        switch gatekeeper.judge(frame, for: topic, by: reader) {
        case .accepted(let summary, let destination):
          let token = frame.token ?? 0..<0
          if let due = faults.next(
            token: reader.bytes(token), nowMs: journal.clock.monotonicMs, on: .binary)
          {
            play(due.fault, at: due.number, frame, summary, destination)
            return
          }
          accept(frame, summary, destination)
        case .refused(let status, let objection):
          refuse(frame, status, objection)
          return
        }
      }
    } catch {
      isOver = true
      answer(.unknown, error.identifier)
      journal.refused(
        number, identifier: error.identifier, token: 0..<0, reader, .unknown, .frame(error))
    }
  }

  private func accept(
    _ frame: ReceivedFrame, _ summary: PayloadSummary, _ destination: Destination
  ) {
    accepted += 1
    lastAccepted = frame.identifier
    journal.accepted(number, frame, summary, destination, reader)
    let arrival = Arrival(frame, connection: number, nowMs: journal.clock.unixMs)
    switch destination {
    case .anybody: break
    case .app(let app, let device):
      post.take(arrival, payload: frame.payload ?? 0..<0, reader, for: app, on: device)
    case .gone(let topic):
      post.takeLost(arrival, token: frame.token ?? 0..<0, reader, topic: topic.text)
    }
  }

  private func play(
    _ fault: Fault, at count: Int64, _ frame: ReceivedFrame, _ summary: PayloadSummary,
    _ destination: Destination
  ) {
    if case .status = fault.act {} else { accept(frame, summary, destination) }
    journal.played(
      number, fault, at: count, identifier: frame.identifier,
      token: reader.bytes(frame.token ?? 0..<0))
    if case .status(let status) = fault.act {
      delayMs = Int64(fault.delay.milliseconds)
      return refuse(frame, status, .fault)
    }
    begin(fault)
  }

  /// Plays a fault that needs no notification.
  func play(_ fault: Fault, _ stream: borrowing TLSStream) -> Turn {
    journal.played(number, fault, identifier: lastAccepted)
    begin(fault)
    return delayMs > 0 ? .late(ms: delayMs) : end(stream)
  }

  private func begin(_ fault: Fault) {
    delayMs = Int64(fault.delay.milliseconds)
    isOver = true
    discardedBytes += Int64(reader.heldBytes)
    switch fault.act {
    case .close: break
    case .shutdown: if let lastAccepted { answer(.shutdown, lastAccepted) }
    case .reset: ending = .reset
    case .stall: ending = .stall
    case .garbage(let bytes): fillWithGarbage(bytes)
    default: break
    }
  }

  private func fillWithGarbage(_ bytes: Int) {
    lastWords = FixedBuffer(capacity: Self.garbageBytesMax)
    var index = 0
    while index < lastWords.capacity {
      lastWords.store(Self.garbage.span, at: index)
      index += Self.garbage.utf8CodeUnitCount
    }
    lastBytes = bytes
  }

  private func refuse(_ frame: ReceivedFrame, _ status: Status, _ objection: Objection) {
    isOver = true
    // The simple format has no identifiers: the close is all the answer that there is.
    if frame.format != .simple { answer(status, frame.identifier) }
    journal.refused(
      number, identifier: frame.identifier, token: frame.token ?? 0..<0, reader, status, objection)
    discardedBytes += Int64(reader.heldBytes)
  }

  private func answer(_ status: Status, _ identifier: UInt32?) {
    let response = ErrorResponse(status: status, identifier: identifier ?? 0)
    lastWords.store(response.bytes.span, at: 0)
    lastBytes = ErrorResponse.byteCount
  }

  /// Says the last words.
  private func end(_ stream: borrowing TLSStream) -> Turn {
    while lastBytes > 0 {
      let count = min(lastBytes, lastWords.capacity)
      if let turn = stream.write(lastWords, count: count).turn { return turn }
      lastBytes -= count
    }
    return ending
  }

  private func countDiscarded() {
    do throws(FrameProblem) {
      while let frame = try reader.next() {
        // A frame that only proves what came before it, a barrier, is no notification.
        if frame.token?.count == DeviceToken.byteCount { discardedFrames += 1 }
      }
    } catch {
      // Out of step: its bytes still count, and must not fill the room.
      reader.drop()
    }
  }
}

/// What a session does next.
enum Turn {
  case wantRead, wantWrite
  /// Everything is said: goodbye.
  case finish
  /// The end is put off.
  case late(ms: Int64)
  /// A fault: an end without goodbye.
  case reset
  /// A fault: no end, and nothing more either.
  case stall
  /// The peer has closed.
  case over
  /// The connection broke.
  case broken
}
