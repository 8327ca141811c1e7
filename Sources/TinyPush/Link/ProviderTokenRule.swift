/// Whether a provider token is still to be used. Source: Establishing a token-based connection to APNs, which refuses a token
/// that is older than an hour, and one that replaces another within 20 minutes.
public enum ProviderTokenRule: Equatable, Sendable {
  /// The token that there is.
  case use
  /// A new one.
  case make
  /// None before this time, in UNIX seconds.
  case wait(until: Int64)
  /// None: nobody knows what time it is.
  case clockNotSet

  /// Seconds for which a token is used.
  public static let useSeconds: Int64 = 3000
  /// Seconds within which no second token is made.
  public static let makeSeconds: Int64 = 1200

  /// - Parameters:
  ///   - now: UNIX seconds; nil: the clock is not set.
  ///   - issuedAt: when the token was made; nil: there is none.
  ///   - isRefused: whether the service has refused it.
  public init(now: Int64?, issuedAt: Int64?, isRefused: Bool) {
    guard let now else {
      self = .clockNotSet
      return
    }
    guard let issuedAt else {
      self = .make
      return
    }
    let age = now - issuedAt
    switch age {
    case 0...Self.useSeconds where !isRefused:
      self = .use
    case 0..<Self.makeSeconds:
      self = .wait(until: issuedAt + Self.makeSeconds)
    case -Self.makeSeconds + 1..<0:
      // The clock was set back. The token is good again soon, or at least old enough to be replaced.
      self = .wait(until: isRefused ? issuedAt + Self.makeSeconds : issuedAt)
    default:
      self = .make
    }
  }
}
