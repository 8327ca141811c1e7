import CHTTP2
import TinyPush
import TinyPushAgent

/// A received request, valid until it has been answered.
struct PushRequest {
  private let push: UnsafePointer<chttp2_push>

  init(_ push: UnsafePointer<chttp2_push>) { self.push = push }

  var stream: Int32 { push.pointee.stream }
  var hasDuplicates: Bool { push.pointee.is_duplicate != 0 }

  // Missing headers are empty.
  var method: Span<UInt8> { @_lifetime(immortal) get { CString.span(chttp2_push_method(push)) } }
  var path: Span<UInt8> { @_lifetime(immortal) get { CString.span(chttp2_push_path(push)) } }
  var topic: Span<UInt8> { @_lifetime(immortal) get { CString.span(chttp2_push_topic(push)) } }
  var type: Span<UInt8> { @_lifetime(immortal) get { CString.span(chttp2_push_type(push)) } }
  var id: Span<UInt8> { @_lifetime(immortal) get { CString.span(chttp2_push_id(push)) } }
  var authorization: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(chttp2_push_authorization(push)) }
  }
  var expiration: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(chttp2_push_expiration(push)) }
  }
  var priority: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(chttp2_push_priority(push)) }
  }
  var collapseID: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(chttp2_push_collapse_id(push)) }
  }

  /// The size of the received payload, which may be larger than ``payload``.
  var payloadBytes: Int { Int(clamping: push.pointee.payload_bytes) }
  var payload: Span<UInt8> {
    @_lifetime(immortal) get {
      guard let bytes = chttp2_push_payload(push) else { return Span() }
      return _overrideLifetime(
        Span(_unsafeStart: bytes, count: Int(push.pointee.payload_count)), copying: ())
    }
  }

  private static let place: StaticString = "/3/device/"

  /// The part of the path where the device token belongs; nil: the path is another one.
  var deviceToken: Span<UInt8>? {
    @_lifetime(immortal) get {
      let path = path
      let start = Self.place.utf8CodeUnitCount
      guard path.begins(with: Self.place.span) else {
        // Accept the path without the last slash, which has no token either.
        guard path.count == start - 1, Self.place.span.begins(with: path) else { return nil }
        return Span()
      }
      return _overrideLifetime(path.extracting(start..<path.count), copying: ())
    }
  }

  /// Returns the request's `apns-id`, or a new UUID if it has none.
  func makeID() -> CString {
    if !id.isEmpty { return CString(id) }
    var text = Text(capacity: 40)
    text.appendRandomUUID()
    return CString(text.bytes)
  }
}
