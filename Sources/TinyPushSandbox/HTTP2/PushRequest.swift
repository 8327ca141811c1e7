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

  var authority: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(chttp2_push_authority(push)) }
  }
  var contentEncoding: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(chttp2_push_encoding(push)) }
  }
  var ttl: Span<UInt8> { @_lifetime(immortal) get { CString.span(chttp2_push_ttl(push)) } }
  var urgency: Span<UInt8> { @_lifetime(immortal) get { CString.span(chttp2_push_urgency(push)) } }
  /// The header `topic` of a message to a browser.
  var messageTopic: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(chttp2_push_message_topic(push)) }
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

  private static let browserPlace: StaticString = "/push/"

  /// The part of the path that names a browser's subscription; nil: the path is another one.
  var subscription: Span<UInt8>? {
    @_lifetime(immortal) get {
      let path = path
      guard path.begins(with: Self.browserPlace.span) else { return nil }
      let start = Self.browserPlace.utf8CodeUnitCount
      return _overrideLifetime(path.extracting(start..<path.count), copying: ())
    }
  }

  /// The hex digits in the path that name an app or a browser's subscription; nil: there are none.
  var address: Span<UInt8>? {
    @_lifetime(immortal) get {
      if let subscription { return subscription }
      return deviceToken
    }
  }

  /// Returns the request's `apns-id`, or a new UUID if there is none, or no right one for a browser.
  func makeID() -> CString {
    if subscription == nil ? !id.isEmpty : id.isUUID { return CString(id) }
    var text = Text(capacity: 40)
    text.appendRandomUUID()
    return CString(text.bytes)
  }
}
