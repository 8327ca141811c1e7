import TinyPush
import TinyPushBinary

/// The gateway's side of a connection over the binary protocol.
///
/// It sends nothing until it refuses a notification or plays a fault.
final class GatewaySession {
  /// The most records read in a turn, so that one peer cannot keep the others waiting.
  private static let recordsMax = 8
  /// The text that garbage repeats; no answer begins with an "n".
  private static let garbage: StaticString = "no answer "
  private static let garbageBytesMax = 4000

  private let number: Int64
  private let frameCheck: FrameCheck
  private let requestCheck: RequestCheck
  private let messageCheck: MessageCheck
  private let faults: Faults
  private let post: StoreAndForward
  private let journal: Journal
  private var reader = FrameReader()
  private var topic: Topic?
  private(set) var accepted: Int64 = 0
  private var lastAccepted: UInt32?
  private var finalBytes = FixedBuffer<UInt8>(capacity: ErrorResponse.byteCount)
  private var finalByteCount = 0
  /// Whether only the final bytes are left to send.
  private(set) var isOver = false
  /// How the session ends after the final bytes.
  private var ending = Turn.finish
  /// The delay before the end.
  private var delayMs: Int64 = 0
  private var discardedFrames: Int64 = 0
  private var discardedBytes: Int64 = 0

  init(
    number: Int64, frameCheck: FrameCheck, requestCheck: RequestCheck,
    messageCheck: MessageCheck, faults: Faults, post: StoreAndForward, journal: Journal
  ) {
    self.number = number
    self.frameCheck = frameCheck
    self.requestCheck = requestCheck
    self.messageCheck = messageCheck
    self.faults = faults
    self.post = post
    self.journal = journal
  }

  /// Returns the session for a client that has asked for HTTP/2; nil: out of memory.
  func overHTTP2(_ client: ClientIdentity) -> HTTP2Session? {
    HTTP2Session(
      number: number, client: client, requestCheck: requestCheck, messageCheck: messageCheck,
      faults: faults, post: post, journal: journal)
  }

  /// Reads and checks frames, or continues to send the final bytes.
  func serve(_ stream: borrowing TLSStream) -> Turn {
    if isOver { return end(stream) }
    if topic == nil { topic = Topic(of: stream) }
    var records = 0
    repeat {
      let outcome = stream.read(into: reader.makeRoom())
      if let turn = outcome.turn { return turn }
      reader.take(outcome.count)
      checkFrames()
      if isOver { return delayMs > 0 ? .late(ms: delayMs) : end(stream) }
      records += 1
    } while records < Self.recordsMax || stream.hasPending
    return .wantRead
  }

  /// Ends the session in order, and names the last accepted notification if it has an identifier.
  func goOutOfService(_ stream: borrowing TLSStream) -> Turn {
    if !isOver, let lastAccepted {
      answer(.shutdown, lastAccepted)
    }
    if !isOver { discardedBytes += Int64(reader.heldBytes) }
    isOver = true
    return end(stream)
  }

  /// Reads and discards the bytes that come after the end.
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

  /// The number of bytes of an incomplete frame.
  var heldBytes: Int { isOver ? 0 : reader.heldBytes }

  func closed() {
    guard discardedBytes > 0 else { return }
    countDiscarded()
    journal.discarded(number, notifications: discardedFrames, bytes: discardedBytes)
  }

  // MARK: - Checking

  private func checkFrames() {
    guard let topic else { return }
    do throws(FrameProblem) {
      while let frame = try reader.next() {
        switch frameCheck.check(frame, for: topic, by: reader) {
        case .accepted(let summary, let destination):
          let token = frame.token ?? 0..<0
          if let due = faults.next(
            token: reader.bytes(token), nowMs: journal.clock.monotonicMs, on: .binary)
          {
            play(due.fault, at: due.number, frame, summary, destination)
            return
          }
          accept(frame, summary, destination)
        case .refused(let status, let cause):
          refuse(frame, status, cause)
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

  /// Plays a fault that does not answer a notification.
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
    finalBytes = FixedBuffer(capacity: Self.garbageBytesMax)
    var index = 0
    while index < finalBytes.capacity {
      finalBytes.store(Self.garbage.span, at: index)
      index += Self.garbage.utf8CodeUnitCount
    }
    finalByteCount = bytes
  }

  private func refuse(_ frame: ReceivedFrame, _ status: Status, _ cause: RefusalCause) {
    isOver = true
    // The simple format has no identifiers: the only answer is to close.
    if frame.format != .simple { answer(status, frame.identifier) }
    journal.refused(
      number, identifier: frame.identifier, token: frame.token ?? 0..<0, reader, status, cause)
    discardedBytes += Int64(reader.heldBytes)
  }

  private func answer(_ status: Status, _ identifier: UInt32?) {
    let response = ErrorResponse(status: status, identifier: identifier ?? 0)
    finalBytes.store(response.bytes.span, at: 0)
    finalByteCount = ErrorResponse.byteCount
  }

  /// Sends the final bytes.
  private func end(_ stream: borrowing TLSStream) -> Turn {
    while finalByteCount > 0 {
      let count = min(finalByteCount, finalBytes.capacity)
      if let turn = stream.write(finalBytes, count: count).turn { return turn }
      finalByteCount -= count
    }
    return ending
  }

  private func countDiscarded() {
    do throws(FrameProblem) {
      while let frame = try reader.next() {
        // A barrier is not a notification; its token has another size.
        if frame.token?.count == Frame.tokenByteCount { discardedFrames += 1 }
      }
    } catch {
      // The stream cannot be parsed any further: count the bytes, and free the buffer.
      reader.drop()
    }
  }
}

/// What a session does next.
enum Turn {
  case wantRead, wantWrite
  /// Everything is sent: close the connection in order.
  case finish
  /// The end is delayed.
  case late(ms: Int64)
  /// A fault: reset the connection.
  case reset
  /// A fault: keep the connection, but read and write nothing.
  case stall
  /// The peer has closed.
  case over
  /// The connection broke.
  case broken
}
