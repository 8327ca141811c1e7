import CLinux
import CMbed
import TinyPush
import TinyPushAgent

/// A TLS session and its socket.
struct TLSStream: ~Copyable {
  let descriptor: Int32
  private let session: OpaquePointer

  /// What came of a call.
  enum Outcome {
    /// It is done, with so many bytes.
    case done(Int)
    case wantRead, wantWrite
    /// The peer closed in order.
    case closed
    /// It broke; ``writeProblem(in:)`` says how.
    case broken

    /// What a session does next, where it is not done.
    var turn: Turn? {
      switch self {
      case .done: nil
      case .wantRead: .wantRead
      case .wantWrite: .wantWrite
      case .closed: .over
      case .broken: .broken
      }
    }

    /// Bytes that it is done with.
    var count: Int { if case .done(let count) = self { count } else { 0 } }
  }

  /// Takes over the descriptor; nil when there is no memory for a session, and then it is closed.
  init?(accepting descriptor: Int32, for server: OpaquePointer) {
    let words = FixedBuffer<CChar>(capacity: Int(CMBED_TEXT_MAX))
    var made: OpaquePointer?
    let result = cmbed_server_accept(&made, server, descriptor, words.room(from: 0).baseAddress!)
    guard result == CMBED_OK, let made else {
      close(descriptor)
      return nil
    }
    _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    self.descriptor = descriptor
    session = made
  }

  deinit {
    cmbed_session_free(session)
    close(descriptor)
  }

  func shakeHands() -> Outcome { outcome(cmbed_handshake(session)) }

  func read(into room: UnsafeMutableBufferPointer<UInt8>) -> Outcome {
    outcome(cmbed_read(session, room.baseAddress, room.count))
  }

  /// Reads what comes, to throw it away.
  func discard(_ room: borrowing FixedBuffer<UInt8>) -> Turn {
    while true {
      if let turn = read(into: room.room()).turn { return turn }
    }
  }

  /// Whether bytes wait in the session, of which epoll knows nothing.
  var hasPending: Bool { cmbed_pending(session) != 0 }

  /// The first `count` bytes as one record; after ``Outcome/wantWrite`` the same bytes must be given again.
  func write(_ bytes: borrowing FixedBuffer<UInt8>, count: Int) -> Outcome {
    outcome(cmbed_write(session, bytes.room(from: 0).baseAddress, count))
  }

  /// Says goodbye, and that nothing more will come.
  func finish() {
    cmbed_close_notify(session)
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// From now on its end is a reset, which throws away what is under way in both directions.
  func reset() {
    var lingering = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingering, UInt32(MemoryLayout<linger>.size))
  }

  /// Says that nothing more will come, where no session has come about to say goodbye in.
  func finishRaw() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Throws away what has come, as the socket has it; whether the peer has closed.
  func discardRaw() -> Bool {
    let room = FixedBuffer<UInt8>(capacity: 4096)
    while true {
      let got = recv(descriptor, room.room(from: 0).baseAddress, room.capacity, 0)
      if got > 0 { continue }
      return got == 0 || clinux_errno() != EAGAIN
    }
  }

  /// Whether the peer has acknowledged everything.
  var isAcknowledged: Bool { clinux_unacknowledged(descriptor) == 0 }

  func writeProblem(in text: inout Text) { text.append(cString: cmbed_session_text(session)) }
  func writeVersion(in text: inout Text) { text.append(cString: cmbed_version(session)) }
  func writeSuite(in text: inout Text) { text.append(cString: cmbed_suite(session)) }
  /// Whether HTTP/2 was agreed on.
  var isHTTP2: Bool { CString.span(cmbed_alpn(session)).equals("h2") }

  /// Who the client is, by its certificate.
  var client: ClientIdentity {
    let rights = cmbed_peer_rights(session)!
    return ClientIdentity(
      topic: CString.span(cmbed_rights_topic(rights)),
      topics: CString.span(cmbed_rights_topics(rights)), kind: Int(rights.pointee.kind))
  }

  func writeTopic(in text: inout Text) {
    text.append(cString: cmbed_rights_topic(cmbed_peer_rights(session)))
  }
  var isResumed: Bool { cmbed_resumed(session) != 0 }

  private func outcome(_ result: Int32) -> Outcome {
    switch Int(result) {
    case 0...: .done(Int(result))
    case Int(CMBED_WANT_READ): .wantRead
    case Int(CMBED_WANT_WRITE): .wantWrite
    case Int(CMBED_CLOSED): .closed
    default: .broken
    }
  }
}
