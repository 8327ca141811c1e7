import CHTTP2
import TinyPush

/// One HTTP/2 connection: turns requests into bytes and bytes into answers, with nghttp2.
struct Session: BitwiseCopyable {
  private let session: OpaquePointer

  /// nghttp2's memory in bytes: for an idle connection, and for each stream.
  private static let memoryAtRest = 512 << 10
  private static let memoryForEachStream = 4 << 10

  /// Creates a session; nil if there is no memory for it.
  init?(_ answers: borrowing FixedBuffer<chttp2_answer>) {
    guard
      let session = chttp2_new(
        answers.room().baseAddress, UInt16(answers.capacity),
        Self.memoryAtRest + answers.capacity * Self.memoryForEachStream)
    else { return nil }
    self.session = session
  }

  /// Frees the session, which must not be used any more.
  func free() { chttp2_free(session) }

  /// Frees the memory that is kept for the next requests.
  func trim() { chttp2_trim(session) }

  /// Takes in bytes from the server.
  ///
  /// Returns whether the server keeps to the protocol.
  func receive(_ bytes: Span<UInt8>) -> Bool {
    bytes.withUnsafeBytes {
      chttp2_receive(session, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count) == 0
    }
  }

  /// Returns the place of the next finished request, if any.
  func nextFinished() -> UInt16? {
    let place = chttp2_next_finished(session)
    return place < 0 ? nil : UInt16(place)
  }

  /// Copies the next bytes to send into `room`.
  ///
  /// Returns their number; nil: the session is broken.
  func take(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int? {
    let taken = chttp2_take(session, room.baseAddress, room.count)
    return taken < 0 ? nil : taken
  }

  /// The result of framing a request.
  enum Requested {
    /// The request's frames are in the room; the number of their bytes.
    case bytes(Int)
    /// The connection takes no more requests.
    case ended
    /// The session is broken.
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
  /// The bytes of payload that a request can send at once; negative while another is being sent.
  var window: Int { Int(chttp2_window(session)) }
  var pongs: UInt32 { chttp2_pongs(session) }
  var isGoingAway: Bool { chttp2_is_going_away(session) != 0 }
  var goawayError: UInt32 { chttp2_goaway_error(session) }
}
