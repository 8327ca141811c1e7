import CLinux
import CMbed
import TinyPush
import TinyPushAgent

/// A TLS session and its socket.
struct TLSStream: ~Copyable {
  let descriptor: Int32
  private let session: OpaquePointer

  /// The result of a call.
  enum Outcome {
    /// The call has read or written this number of bytes.
    case done(Int)
    case wantRead, wantWrite
    /// The peer closed in order.
    case closed
    /// The connection broke; ``writeProblem(in:)`` describes how.
    case broken

    /// What a session does next; nil: the call is done.
    var turn: Turn? {
      switch self {
      case .done: nil
      case .wantRead: .wantRead
      case .wantWrite: .wantWrite
      case .closed: .over
      case .broken: .broken
      }
    }

    /// The number of bytes that were read or written.
    var count: Int { if case .done(let count) = self { count } else { 0 } }
  }

  /// Takes over the descriptor; nil: out of memory, and the descriptor is closed.
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

  /// Reads and discards bytes, some records at a time, so that a fast peer does not hold others up.
  func discard(_ room: borrowing FixedBuffer<UInt8>) -> Turn {
    var records = 0
    repeat {
      if let turn = read(into: room.room()).turn { return turn }
      records += 1
    } while records < 8 || hasPending
    return .wantRead
  }

  /// Whether the session holds decrypted bytes, which epoll does not report.
  var hasPending: Bool { cmbed_pending(session) != 0 }

  /// Writes the first `count` bytes as one record.
  ///
  /// After ``Outcome/wantWrite`` the caller must pass the same bytes again.
  func write(_ bytes: borrowing FixedBuffer<UInt8>, count: Int) -> Outcome {
    outcome(cmbed_write(session, bytes.room(from: 0).baseAddress, count))
  }

  /// Sends the closing alert (close_notify), and shuts down the sending half.
  func finish() {
    cmbed_close_notify(session)
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Makes closing a TCP reset, which discards the bytes on their way in both directions.
  func reset() {
    var lingering = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingering, UInt32(MemoryLayout<linger>.size))
  }

  /// Shuts down the sending half after a failed handshake, without a closing alert.
  func finishRaw() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Discards bytes in the socket without decrypting them; true: the peer has closed.
  func discardRaw() -> Bool {
    let room = FixedBuffer<UInt8>(capacity: 4096)
    let got = recv(descriptor, room.room(from: 0).baseAddress, room.capacity, 0)
    return got == 0 || got < 0 && clinux_errno() != EAGAIN
  }

  /// Whether the peer has acknowledged all bytes.
  var isAcknowledged: Bool { clinux_unacknowledged(descriptor) == 0 }

  func writeProblem(in text: inout Text) { text.append(cString: cmbed_session_text(session)) }
  func writeVersion(in text: inout Text) { text.append(cString: cmbed_version(session)) }
  func writeSuite(in text: inout Text) { text.append(cString: cmbed_suite(session)) }
  /// Whether HTTP/2 was agreed on.
  var isHTTP2: Bool { CString.span(cmbed_alpn(session)).equals("h2") }

  /// The client's identity from its certificate.
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
