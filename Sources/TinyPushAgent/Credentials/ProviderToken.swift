import CMbed
import TinyPush

/// The provider token: a JSON Web Token, signed by the signing key, in each request.
///
/// It replaces a certificate. The signature follows from the key and the time of issue, so that each
/// run makes the same token.
///
/// Source: Establishing a token-based connection to APNs.
public struct ProviderToken: ~Copyable {
  /// Whether there is a token.
  public enum Answer: Equatable {
    /// ``text`` is the token, issued at this time in UNIX seconds.
    case ready(issuedAt: Int64)
    /// No token can be made before the clock is set.
    case clockNotSet
    /// The key cannot be used; ``problem`` says why.
    case failed
  }

  /// The token, as it follows `bearer ` in the header `authorization`.
  public private(set) var text = Text(capacity: textMax)
  /// Why there is no token; empty if all is well.
  public private(set) var problem = Text(capacity: Int(CMBED_TEXT_MAX))

  /// The size for the longest token, which has 190 bytes.
  private static let textMax = 256

  private let key: CString
  private let keyID: CString
  private let teamID: CString
  private var issuedAt: Int64?

  /// Prepares tokens.
  ///
  /// - Parameter config: must have a signing key and its settings.
  public init(_ config: borrowing Config) {
    key = CString(config.signingKey.span)
    keyID = CString(config.keyID.span)
    teamID = CString(config.teamID.span)
  }

  deinit {}

  /// Returns the token to use at a time.
  @inline(never)
  public mutating func token(_ time: Time) -> Answer {
    problem.clear()
    guard let now = time.wallSeconds else { return .clockNotSet }
    let issue = TokenSchedule.apple.issue(at: now)
    if issue != issuedAt {
      var made = Text(capacity: Self.textMax)
      Self.writeClaims(keyID.span, teamID.span, issue, in: &made)
      guard made.sign(with: key.pointer, &problem) else { return .failed }
      text.clear()
      text.append(made)
      issuedAt = issue
    }
    return .ready(issuedAt: issue)
  }

  /// Appends the part of a token that is signed: the header and the claims.
  static func writeClaims(
    _ keyID: Span<UInt8>, _ teamID: Span<UInt8>, _ issue: Int64, in text: inout Text
  ) {
    var part = Text(capacity: 128)
    part.append("{\"alg\":\"ES256\",\"kid\":\"", bytes: keyID, "\"}")
    text.append(base64URL: part.bytes)
    text.append(".")
    part.clear()
    part.append("{\"iss\":\"", bytes: teamID, "\",\"iat\":")
    part.append(issue)
    part.append("}")
    text.append(base64URL: part.bytes)
  }
}
