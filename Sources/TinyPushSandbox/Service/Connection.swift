import CLinux
import TinyPush

/// A connection to either service, from the handshake to the end.
final class Connection {
  /// The time limit of a handshake, enough for a slow machine.
  private static let handshakeMs: Int64 = 10_000
  /// How long a connection is read after the sandbox has closed its half.
  ///
  /// If a socket is closed with unread bytes in it, the kernel sends a reset, and the peer's kernel
  /// then discards what the peer has not read yet: the error response. So the sandbox closes only
  /// its half, which the peer sees at once, and discards what still comes until the peer closes.
  /// The limit is a time: a limit in bytes would reset a sender within a large batch.
  private static let drainMs: Int64 = 5_000
  /// The same limit when the sandbox stops, for which the user waits.
  private static let stopMs: Int64 = 1_000

  let number: Int64
  private let peerPort: UInt16
  private let journal: Journal
  private let stream: TLSStream
  private var service: Service
  private var stage: Stage = .handshake
  /// Whether the sandbox stops, so that the deadline ends the connection.
  private var isStopping = false
  /// The events that the connection waits for.
  private(set) var interest = EPOLLIN.rawValue
  /// The events that the loop has registered with epoll.
  var watched: UInt32 = 0
  /// When ``expire(nowMs:)`` must be called, even without an event.
  private(set) var deadlineMs: Int64?

  /// The session that reads and writes the connection.
  enum Service {
    case gateway(GatewaySession)
    case http2(HTTP2Session)
    case feedback(FeedbackSession)

    var name: ServiceName {
      switch self {
      case .gateway, .http2: .gateway
      case .feedback: .feedback
      }
    }
  }

  private enum Stage {
    case handshake
    /// The handshake failed, and the alert with the reason is being sent.
    case refused
    case open
    /// The session's end is delayed until the deadline.
    case late
    /// The sandbox has closed its half.
    case draining
    /// A fault: nothing is read or written until the peer closes.
    case stalled
    case over
  }

  init(
    number: Int64, stream: consuming TLSStream, peerPort: UInt16, service: Service,
    journal: Journal,
    nowMs: Int64
  ) {
    self.number = number
    self.stream = stream
    self.peerPort = peerPort
    self.service = service
    self.journal = journal
    deadlineMs = nowMs + Self.handshakeMs
  }

  var descriptor: Int32 { stream.descriptor }

  /// Whether the connection has ended and can be freed.
  var isOver: Bool {
    if case .over = stage { true } else { false }
  }

  // MARK: - Inputs

  /// Continues, since the socket can be read or written.
  func ready(nowMs: Int64) {
    switch stage {
    case .handshake: shakeHands(nowMs)
    case .refused: if stream.discardRaw() { stage = .over }
    case .open: act(serve(), nowMs)
    case .late: wait()
    case .draining: drain()
    case .stalled: end(isOrderly: false, "stalled until the peer gave up")
    case .over: break
    }
  }

  /// Continues, since the deadline has passed.
  func expire(nowMs: Int64) {
    if isStopping, !isOver { return end(isOrderly: isDraining, "closed") }
    switch stage {
    case .handshake:
      refuseHandshake("it took longer than 10 seconds")
      stage = .over
    case .refused: stage = .over
    case .late:
      stage = .open
      deadlineMs = nil
      act(serve(), nowMs)
    case .draining: end(isOrderly: true, "closed")
    case .open:
      deadlineMs = nil
      act(serve(), nowMs)
    case .stalled, .over: break
    }
  }

  private var isDraining: Bool {
    if case .draining = stage { true } else { false }
  }

  /// The protocol whose timed faults the connection can play now, if any.
  var protocols: Fault.Protocols {
    guard case .open = stage else { return [] }
    return switch service {
    case .gateway(let session): session.isOver ? [] : .binary
    case .http2(let session): session.isOver ? [] : .http2
    case .feedback: []
    }
  }

  /// Plays a timed fault.
  func play(_ fault: Fault, nowMs: Int64) {
    guard !protocols.isDisjoint(with: fault.act.protocols) else { return }
    switch service {
    case .gateway(let session): act(session.play(fault, stream), nowMs)
    case .http2(let session): act(session.play(fault, stream), nowMs)
    case .feedback: break
    }
  }

  /// Ends the connection, since the sandbox stops.
  func stop(nowMs: Int64) {
    isStopping = true
    switch stage {
    case .handshake, .refused: stage = .over
    case .open, .late:
      switch service {
      case .gateway(let session): act(session.goOutOfService(stream), nowMs)
      case .http2(let session): act(session.goOutOfService(stream), nowMs)
      case .feedback: act(.finish, nowMs)
      }
      deadlineMs = nowMs + Self.stopMs
    case .draining: deadlineMs = min(deadlineMs ?? .max, nowMs + Self.stopMs)
    case .stalled: end(isOrderly: false, "stalled to the end")
    case .over: break
    }
  }

  // MARK: - Stages

  private func shakeHands(_ nowMs: Int64) {
    switch stream.shakeHands() {
    case .done:
      if stream.isHTTP2 {
        if !beginHTTP2() { return }
      } else if stream.client.isForOtherEnvironment {
        stream.finish()
        return refuseHandshake(
          "the certificate is for the production environment only, and this is the sandbox")
      }
      journal.connected(number, service.name, peerPort: peerPort, stream)
      stage = .open
      // Serve the connection at the end of the loop's turn, after the timed faults that are due:
      // within one call, a fast client could send everything and close.
      deadlineMs = nowMs
    case .wantRead: interest = EPOLLIN.rawValue
    case .wantWrite: interest = EPOLLOUT.rawValue
    case .closed: refuseHandshake("")
    case .broken:
      refuseHandshake("")
      stream.finishRaw()
      interest = EPOLLIN.rawValue
      stage = .refused
      deadlineMs = nowMs + Self.drainMs
      if stream.discardRaw() { stage = .over }
    }
  }

  /// Switches to an HTTP/2 session; false: the handshake is refused.
  private func beginHTTP2() -> Bool {
    guard case .gateway(let session) = service else {
      stream.finish()
      refuseHandshake("the client asks for HTTP/2, which the feedback service does not speak")
      return false
    }
    guard let session = session.overHTTP2(stream.client) else {
      refuseHandshake("out of memory")
      return false
    }
    service = .http2(session)
    return true
  }

  private func serve() -> Turn {
    switch service {
    case .gateway(let session): session.serve(stream)
    case .http2(let session): session.serve(stream)
    case .feedback(let session): session.serve(stream)
    }
  }

  private func act(_ turn: Turn, _ nowMs: Int64) {
    switch turn {
    case .wantRead:
      interest = EPOLLIN.rawValue
      if case .http2(let session) = service { deadlineMs = session.nextMs }
    case .wantWrite: interest = EPOLLOUT.rawValue
    case .finish:
      stream.finish()
      interest = EPOLLIN.rawValue
      stage = .draining
      deadlineMs = nowMs + (isStopping ? Self.stopMs : Self.drainMs)
      drain()
    case .late(let ms):
      stage = .late
      deadlineMs = nowMs + ms
      wait()
    case .reset:
      stream.reset()
      end(isOrderly: false, "reset")
    case .stall:
      interest = EPOLLRDHUP.rawValue
      stage = .stalled
      deadlineMs = nil
    case .over:
      stream.finish()
      end(isOrderly: true, "")
    case .broken: end(isOrderly: false, "")
    }
  }

  private func drain() {
    switch discard() {
    case .over: end(isOrderly: true, "closed")
    case .broken: end(isOrderly: false, "closed")
    default: interest = EPOLLIN.rawValue
    }
  }

  private func wait() {
    switch discard() {
    case .over: act(.over, 0)
    case .broken: act(.broken, 0)
    default: interest = EPOLLIN.rawValue
    }
  }

  private func discard() -> Turn {
    switch service {
    case .gateway(let session): session.discard(stream)
    case .http2(let session): session.discard(stream)
    // The protocol of the feedback service has no messages from the client.
    case .feedback: stream.discard(FixedBuffer(capacity: 1024))
    }
  }

  /// Logs why a handshake failed.
  ///
  /// - Parameter why: the reason; empty: the message of the stream.
  private func refuseHandshake(_ why: StaticString) {
    var text = Text()
    if why.utf8CodeUnitCount > 0 { text.append(why) } else { stream.writeProblem(in: &text) }
    journal.handshakeRefused(number, service.name, peerPort: peerPort, why: text)
    stage = .over
  }

  /// Ends the connection, and logs how.
  ///
  /// - Parameter words: how the connection ended; empty: the message of the stream.
  private func end(isOrderly: Bool, _ words: StaticString) {
    var text = Text()
    if words.utf8CodeUnitCount > 0 { text.append(words) } else { stream.writeProblem(in: &text) }
    switch service {
    case .gateway(let session):
      if session.heldBytes > 0 {
        text.append(" It ended within a frame, ", session.heldBytes)
        text.append(session.heldBytes == 1 ? " byte into it." : " bytes into it.")
      }
      session.closed()
      journal.closed(number, accepted: session.accepted, how: text)
    case .http2(let session): journal.closed(number, accepted: session.accepted, how: text)
    case .feedback(let session):
      session.closed(isReceived: isOrderly && stream.isAcknowledged)
    }
    stage = .over
  }
}
