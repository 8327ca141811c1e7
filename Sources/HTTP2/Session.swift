import CHTTP2
import TinyPush

/// One HTTP/2 connection's bytes, by nghttp2.
struct Session: BitwiseCopyable {
  private let session: OpaquePointer

  /// nghttp2's memory: what a connection takes at rest, and what each stream adds.
  private static let memoryAtRest = 512 << 10
  private static let memoryForEachStream = 4 << 10

  /// Nil: there is no memory for it.
  init?(_ answers: borrowing FixedBuffer<chttp2_answer>) {
    guard
      let session = chttp2_new(
        answers.room().baseAddress, UInt16(answers.capacity),
        Self.memoryAtRest + answers.capacity * Self.memoryForEachStream)
    else { return nil }
    self.session = session
  }

  /// Frees it; it must not be used any more.
  func free() { chttp2_free(session) }

  /// Whether the server keeps to the protocol.
  func receive(_ bytes: Span<UInt8>) -> Bool {
    bytes.withUnsafeBytes {
      chttp2_receive(session, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count) == 0
    }
  }

  /// The place of a request that is over.
  func nextOver() -> UInt16? {
    let place = chttp2_next_over(session)
    return place < 0 ? nil : UInt16(place)
  }

  /// Puts what is to be sent into the room. Returns how many bytes; nil: the session is broken.
  func take(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int? {
    let taken = chttp2_take(session, room.baseAddress, room.count)
    return taken < 0 ? nil : taken
  }

  enum Requested {
    case bytes(Int)
    case ended
    case broken
  }

  func request(
    _ place: UInt16, _ headers: UnsafeBufferPointer<chttp2_header>, payload: Span<UInt8>,
    into room: UnsafeMutableBufferPointer<UInt8>
  ) -> Requested {
    let taken = payload.withUnsafeBytes {
      chttp2_request(
        session, place, headers.baseAddress, headers.count,
        $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count, room.baseAddress, room.count)
    }
    if taken >= 0 { return .bytes(taken) }
    return taken == CHTTP2_ENDED ? .ended : .broken
  }

  func cancel(_ place: UInt16) { chttp2_cancel(session, place) }
  func forget(_ place: UInt16) { chttp2_forget(session, place) }
  func ping() { chttp2_ping(session) }

  var hasSettings: Bool { chttp2_has_settings(session) != 0 }
  var streamsMax: Int { Int(clamping: chttp2_streams_max(session)) }
  /// Bytes of payload that a request can send at once; negative: another one is still being sent.
  var window: Int { Int(chttp2_window(session)) }
  var pongs: UInt32 { chttp2_pongs(session) }
  var isLeaving: Bool { chttp2_is_leaving(session) != 0 }
  var leavingError: UInt32 { chttp2_leaving_error(session) }
}
