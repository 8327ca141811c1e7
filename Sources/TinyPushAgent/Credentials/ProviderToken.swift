import CLinux
import CMbed
import TinyPush

/// The provider token: a JSON Web Token, signed by the signing key, in each request.
///
/// It replaces a certificate. The token is stored in the directory `state`, because not every run
/// may make a new one.
///
/// Source: Establishing a token-based connection to APNs.
public struct ProviderToken: ~Copyable {
  /// Whether there is a token.
  public enum Answer: Equatable {
    /// ``text`` is the token, made at this time in UNIX seconds, and replaced ``useSeconds`` later.
    case ready(issuedAt: Int64)
    /// No new token may be made before this time.
    case wait(until: Instant)
    /// No token can be made before the clock is set.
    case clockNotSet
    /// The key cannot be used; ``problem`` says why.
    case failed
  }

  /// The seconds for which a token is used.
  public static var useSeconds: Int64 { ProviderTokenRule.Lifetime.apple.useSeconds }

  /// The token, as it follows `bearer ` in the header `authorization`.
  public private(set) var text = Text(capacity: textMax)
  /// Why there is no token, or why it could not be stored; empty if all is well.
  public private(set) var problem = Text(capacity: Int(CMBED_TEXT_MAX) + 4200)

  /// Whether the clock was not set when a token was last requested.
  private(set) var lacksClock = false

  /// The size for the longest token, which has 190 bytes.
  static let textMax = 256

  private let key: CString
  private let keyID: CString
  private let teamID: CString
  private let file: ProviderTokenFile
  private var issuedAt: Int64?
  private var isRefused = false
  /// Whether an earlier run made the current token, and its file has kept it.
  public private(set) var isStored = false
  /// The SHA-256 of the public key.
  private let digest = FixedBuffer<UInt8>(capacity: 32)
  private var isKeyRead = false

  /// Prepares tokens.
  ///
  /// - Parameters:
  ///   - config: must have a signing key and its settings.
  ///   - makesState: whether to make the directory `state` if it is missing.
  public init(_ config: borrowing Config, makesState: Bool = true) {
    key = CString(config.signingKey.span)
    keyID = CString(config.keyID.span)
    teamID = CString(config.teamID.span)
    file = ProviderTokenFile(config.state.span, makesState: makesState)
  }

  deinit {}

  /// Returns the current token, or a new one if the current one is too old.
  ///
  /// - Parameters:
  ///   - refused: when the token that the service refused was made, as in
  ///     ``Answer/ready(issuedAt:)``; nil if none was refused.
  ///   - isInvalid: whether the service called it invalid, and not too old. A stored token is then
  ///     replaced at once, since its file may be damaged.
  @inline(never)
  public mutating func token(
    _ time: Time, refused: Int64? = nil, isInvalid: Bool = false
  ) -> Answer {
    problem.clear()
    if let refused, refused == issuedAt { isRefused = true }
    lacksClock = time.wallSeconds == nil
    guard let now = time.wallSeconds else { return .clockNotSet }
    var rule = ProviderTokenRule(now: now, issuedAt: issuedAt, isRefused: isRefused)
    if rule != .use {
      guard readKey() else { return .failed }
      readKept(except: refused)
      rule = ProviderTokenRule(now: now, issuedAt: issuedAt, isRefused: isRefused)
    }
    switch rule {
    case .use: break
    case .clockNotSet: return .clockNotSet
    case .wait where isInvalid && isStored:
      guard make(at: now) else { return .failed }
    case .wait(let until):
      return .wait(until: time.now + .seconds(UInt64(until - now)))
    case .make:
      guard make(at: now) else { return .failed }
    }
    return .ready(issuedAt: issuedAt ?? now)
  }

  // MARK: - Parts

  /// Reads the key to find out which stored token belongs to it.
  private mutating func readKey() -> Bool {
    guard !isKeyRead else { return true }
    let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { reason.deallocate() }
    let result = cmbed_signing_key_read(key.pointer, digest.room().baseAddress, reason)
    clinux_wipe_stack()
    isKeyRead = result == CMBED_OK
    if !isKeyRead { problem.append(cString: reason) }
    return isKeyRead
  }

  /// Loads a token of the same key that another run stored.
  private mutating func readKept(except refused: Int64?) {
    var token = Text(capacity: Self.textMax)
    guard
      let kept = file.read(keyID.span, teamID.span, digest.span(0..<32), into: &token),
      kept != issuedAt
    else { return }
    text = token
    issuedAt = kept
    isRefused = kept == refused
    isStored = true
  }

  private mutating func make(at now: Int64) -> Bool {
    var made = Text(capacity: Self.textMax)
    Self.writeClaims(keyID.span, teamID.span, now, in: &made)
    guard made.sign(with: key.pointer, digest, &problem) else { return false }
    text.clear()
    text.append(made)
    issuedAt = now
    isRefused = false
    isStored = false
    let error = file.write(now, keyID.span, teamID.span, digest.span(0..<32), text)
    if error != 0 {
      SuppressionDirectory.explain(error, file.state.pointer, in: &problem)
      problem.append(" (the provider token cannot be stored, so a restart makes another one)")
    }
    return true
  }

  /// Appends the part of a token that is signed: the header and the claims.
  static func writeClaims(
    _ keyID: Span<UInt8>, _ teamID: Span<UInt8>, _ now: Int64, in text: inout Text
  ) {
    var part = Text(capacity: 128)
    part.append("{\"alg\":\"ES256\",\"kid\":\"", bytes: keyID, "\"}")
    text.append(base64URL: part.bytes)
    text.append(".")
    part.clear()
    part.append("{\"iss\":\"", bytes: teamID, "\",\"iat\":")
    part.append(now)
    part.append("}")
    text.append(base64URL: part.bytes)
  }
}
