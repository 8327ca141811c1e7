import CLinux
import CMbed
import TinyPush
import TinyPushWebPush

/// The token that identifies this machine to the push services of browsers, one for each of them.
///
/// Source: RFC 8292.
struct VAPIDToken: ~Copyable {
  /// The token and the public key, as they follow `vapid ` in the header `authorization`.
  private(set) var text = Text(capacity: 1024)
  /// Why there is no token; empty if all is well.
  private(set) var problem = Text(capacity: Int(CMBED_TEXT_MAX) + 4200)

  /// How long a token is valid after its issue, in seconds; services refuse more than a day.
  private static let validSeconds: Int64 = 43_200

  deinit {}

  init() {}

  /// Makes the token for a service to use at a time.
  ///
  /// - Parameter authority: the host of the service, with its port if that is not 443.
  @inline(never)
  mutating func token(
    for authority: Span<UInt8>, _ config: borrowing Config, _ time: Time
  ) -> ProviderToken.Answer {
    problem.clear()
    guard let now = time.wallSeconds else { return .clockNotSet }
    let issue = TokenSchedule.vapid.issue(at: now)
    var made = Text(capacity: 1024)
    Self.writeClaims(authority, config.contact.span, until: issue + Self.validSeconds, in: &made)
    let key = config.vapidKey.pointer
    guard made.sign(with: key, &problem) else { return .failed }
    let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { reason.deallocate() }
    var point = InlineArray<65, UInt8>(repeating: 0)
    guard SigningKeyFile.read(key, &point, reason) == CMBED_OK else {
      problem.append(cString: reason)
      return .failed
    }
    text.clear()
    text.append("t=", made, ", k=")
    text.append(base64URL: point.span)
    return .ready(issuedAt: issue)
  }

  /// Appends the part of a token that is signed: the header and the claims.
  static func writeClaims(
    _ authority: Span<UInt8>, _ contact: Span<UInt8>, until end: Int64, in text: inout Text
  ) {
    text.append(base64URL: ("{\"typ\":\"JWT\",\"alg\":\"ES256\"}" as StaticString).span)
    text.append(".")
    var claims = Text(capacity: 640)
    claims.append("{\"aud\":\"https://", bytes: authority, "\",\"exp\":")
    claims.append(end)
    claims.append(",\"sub\":\"", bytes: contact, "\"}")
    text.append(base64URL: claims.bytes)
  }
}

extension MessageSeal {
  /// Encrypts messages by mbedTLS, with a fresh key for each of them.
  static func ofSystem() -> MessageSeal {
    MessageSeal { text, point, secret, body in
      let written = cmbed_webpush_seal(body, point, secret, text.baseAddress, text.count)
      return written > 0 ? Int(written) : written == CMBED_FILE_INVALID ? 0 : nil
    }
  }
}
