import CLinux
import TinyPush

/// A connection from the handshake to its end, whichever service it is to.
final class Connection {
  /// Enough for a slow machine's handshake.
  private static let handshakeMs: Int64 = 10_000
  /// How long a closed connection is read on. When a socket is closed with unread bytes in it the kernel sends a reset,
  /// and a reset makes the peer's kernel throw away what the peer has not read yet: the error response. So our half is
  /// closed, which the peer sees at once, and what it still sends is read and dropped until it closes its half. The
  /// time alone bounds that: by bytes, a sender of a large batch would be reset in the middle of it.
  private static let drainMs: Int64 = 5_000
  /// The same when the sandbox ends, for which somebody waits.
  private static let stopMs: Int64 = 1_000

  let number: Int64
  private let peerPort: UInt16
  private let journal: Journal
  private let stream: TLSStream
  private var service: Service
  private var stage: Stage = .handshake
  /// What epoll is to wait for.
  private(set) var interest = EPOLLIN.rawValue
  /// What epoll has been told to wait for; the loop's to keep.
  var watched: UInt32 = 0
  /// When something must be done even though nothing comes.
  private(set) var deadlineMs: Int64?

  /// The session behind it.
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
    /// The handshake failed, and an alert is under way that says why.
    case refused
    case open
    /// The session's end is put off to the deadline.
    case late
    /// Our half is closed.
    case draining
    /// Nothing is read or written, until the peer has enough of it.
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

  /// Whether there is nothing left to do but to free it.
  var isOver: Bool {
    if case .over = stage { true } else { false }
  }

  // MARK: - Inputs

  /// The socket can be read or written.
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

  /// The deadline is over.
  func expire(nowMs: Int64) {
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

  /// Those of which it can play faults by time.
  var protocols: Fault.Protocols {
    guard case .open = stage else { return [] }
    return switch service {
    case .gateway(let session): session.isOver ? [] : .binary
    case .http2(let session): session.isOver ? [] : .http2
    case .feedback: []
    }
  }

  /// A fault's time has come.
  func play(_ fault: Fault, nowMs: Int64) {
    guard !protocols.isDisjoint(with: fault.act.protocols) else { return }
    switch service {
    case .gateway(let session): act(session.play(fault, stream), nowMs)
    case .http2(let session): act(session.play(fault, stream), nowMs)
    case .feedback: break
    }
  }

  /// The sandbox ends.
  func stop(nowMs: Int64) {
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
      if stream.isHTTP2, !beginHTTP2() { return }
      journal.connected(number, service.name, peerPort: peerPort, stream)
      stage = .open
      deadlineMs = nil
      act(serve(), nowMs)
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

  /// Whether the peer gets the HTTP/2 that it has asked for.
  private func beginHTTP2() -> Bool {
    guard case .gateway(let session) = service else {
      stream.finish()
      refuseHandshake("it asks for HTTP/2, which the feedback service does not speak")
      return false
    }
    guard let session = session.overHTTP2(stream.client) else {
      refuseHandshake("there is not enough memory")
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
      deadlineMs = nowMs + Self.drainMs
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
    // Nobody has anything to say to the feedback service.
    case .feedback: stream.discard(FixedBuffer(capacity: 1024))
    }
  }

  /// - Parameter why: empty for what the stream says.
  private func refuseHandshake(_ why: StaticString) {
    var text = Text()
    if why.utf8CodeUnitCount > 0 { text.append(why) } else { stream.writeProblem(in: &text) }
    journal.handshakeRefused(number, service.name, peerPort: peerPort, why: text)
    stage = .over
  }

  /// - Parameter words: how it ended; empty for what the stream says.
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
