import CLinux
import CMicroHTTP
import TinyPush
import TinyPushAgent

/// A request, and its answer.
struct Request {
  private let request: OpaquePointer

  init(_ request: OpaquePointer) { self.request = request }

  // MARK: - What came

  var method: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(cmicrohttp_method(request)) }
  }

  /// The path and the query, with their escapes.
  var target: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(cmicrohttp_target(request)) }
  }

  /// Returns the value of a header; nil if it is absent.
  @_lifetime(immortal)
  func header(_ name: StaticString) -> Span<UInt8>? {
    guard let value = cmicrohttp_header(request, name.cString) else { return nil }
    return CString.span(value)
  }

  /// Whether the request came over a UNIX socket.
  var isOfUNIXSocket: Bool { cmicrohttp_is_unix(request) != 0 }

  /// Whether the headers leave no doubt where the body ends.
  var hasClearLength: Bool { cmicrohttp_has_clear_length(request) != 0 }

  /// Writes a body of the media type `multipart/form-data` anew, as that of another form.
  func readForm() { cmicrohttp_read_form(request) }

  /// The number of bytes of the body, or a negative result of `CMicroHTTP`.
  var bodyCount: Int { cmicrohttp_body_count(request) }

  /// The body of a complete request.
  var body: Span<UInt8> {
    @_lifetime(immortal) get {
      guard let bytes = cmicrohttp_body(request) else { return ("" as StaticString).span }
      return _overrideLifetime(
        Span(_unsafeStart: bytes, count: cmicrohttp_body_count(request)), copying: ())
    }
  }

  // MARK: - The answer

  func answer(_ status: UInt32, _ type: StaticString?, _ body: borrowing Text) {
    body.bytes.withUnsafeBytes { bytes in
      cmicrohttp_answer(
        request, status, type.map { $0.cString },
        bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    }
  }

  /// Allows fewer bytes for the body than for those of other requests.
  func limitBody(to bytes: Int) { cmicrohttp_limit_body(request, bytes) }

  /// Holds the complete request until ``release()``.
  func hold() { cmicrohttp_hold(request) }

  /// Goes on with a request that was held and has been answered.
  func release() { cmicrohttp_release(request) }

  func addHeader(_ name: StaticString, _ value: UnsafePointer<CChar>) {
    cmicrohttp_add_header(request, name.cString, value)
  }
}
