import TinyPush
import TinyPushAgent

/// The check of the provider tokens of a connection.
///
/// They are JSON Web Tokens signed with ES256 (RFC 7519; RFC 7518, section 3.4).
/// Source: Establishing a token-based connection to APNs: a token is valid for an hour, and must
/// not be replaced within twenty minutes. The key ID of a connection may not change.
struct ProviderTokenCheck: ~Copyable {
  static let ageMax: Int64 = 3600
  static let updateMin: Int64 = 1200
  /// How far a token's time may be in the future, in seconds.
  ///
  /// Inferred: clocks differ a little.
  static let aheadMax: Int64 = 60
  private static let bytesMax = 1024

  /// Why a token is refused.
  struct Problem: Error {
    var reason: Reason
    var words: StaticString
  }

  /// The token that was accepted last; empty: none.
  private var taken = Text(capacity: bytesMax)
  private var takenAt: Int64 = 0
  private var takenIsOfBark = false
  private var issuedAt: Int64 = 0

  /// Checks the header `authorization` of a request.
  mutating func check(
    _ authorization: Span<UInt8>, by key: SigningKey, now: Int64
  ) throws(Problem) {
    guard authorization.count > 0 else {
      throw Problem(
        reason: .missingProviderToken,
        words: "the client sends neither a certificate nor the header authorization")
    }
    let token = try Self.token(authorization)
    guard !token.equals(taken.bytes) else { return try checkAge(issuedAt, now) }
    var isOfBark = false
    let issued = try verify(token, by: key, &isOfBark)
    try checkAge(issued, now)
    guard taken.count == 0 || now - takenAt >= Self.updateMin else {
      throw Problem(
        reason: .tooManyProviderTokenUpdates,
        words: "the provider token was replaced within 20 minutes")
    }
    taken.clear()
    taken.append(bytes: token)
    takenAt = now
    issuedAt = issued
    takenIsOfBark = isOfBark
  }

  private func checkAge(_ issued: Int64, _ now: Int64) throws(Problem) {
    guard issued <= now + Self.aheadMax else {
      throw Problem(
        reason: .invalidProviderToken, words: "the provider token is from the future (iat)")
    }
    guard now - issued <= Self.ageMax else {
      throw Problem(
        reason: .expiredProviderToken, words: "the provider token is older than an hour (iat)")
    }
  }

  @_lifetime(copy authorization)
  private static func token(_ authorization: Span<UInt8>) throws(Problem) -> Span<UInt8> {
    let scheme: StaticString = "bearer "
    let start = scheme.utf8CodeUnitCount
    var isBearer = authorization.count > start && authorization.count <= bytesMax
    for index in 0..<start where isBearer {
      isBearer = authorization[index] | 0x20 == scheme.span[index]
    }
    guard isBearer else { throw invalid("the header authorization is not: bearer TOKEN") }
    return authorization.extracting(start..<authorization.count)
  }

  private static func invalid(_ words: StaticString) -> Problem {
    Problem(reason: .invalidProviderToken, words: words)
  }

  // MARK: - One token

  /// Verifies a token that is not known yet, and returns when it was issued, in UNIX seconds.
  ///
  /// - Parameter isOfBark: whether the token names the key of Bark.
  private func verify(
    _ token: Span<UInt8>, by key: SigningKey, _ isOfBark: inout Bool
  ) throws(Problem) -> Int64 {
    let read: JSONWebToken
    do throws(JSONWebToken.Problem) {
      read = try JSONWebToken(token)
    } catch {
      throw Self.invalid(error.words)
    }
    // The sandbox stands in for the team of Bark, too, with its own key.
    isOfBark = read.head(has: "kid", Bark.keyID.span)
    let isKnown = isOfBark || read.head(has: "kid", SigningKey.keyID.span)
    guard isKnown, taken.count == 0 || isOfBark == takenIsOfBark else {
      // After the first accepted token, the key of a connection may not change.
      throw taken.count == 0
        ? Self.invalid("the provider token's kid is not the ID of the sandbox's signing key")
        : Problem(
          reason: .unrelatedKeyIDInToken,
          words: "the provider token's kid differs from that of the connection's first token")
    }
    let teamID = isOfBark ? Bark.teamID : SigningKey.teamID
    guard read.claims(has: "iss", teamID.span) else {
      throw Self.invalid("the provider token's iss is not the team ID of its kid")
    }
    guard let issued = read.time("iat") else {
      throw Self.invalid("the provider token's iat is not a time in seconds")
    }
    guard read.isSigned(token, by: key.point) else {
      throw Self.invalid("the provider token is not signed with the sandbox's signing key")
    }
    return issued
  }
}
