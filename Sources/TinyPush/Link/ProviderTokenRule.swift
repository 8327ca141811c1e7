/// The decision whether to use a provider token or to make a new one.
///
/// The service refuses a token that is older than an hour, and one that replaces another within 20
/// minutes. Source: Establishing a token-based connection to APNs.
public enum ProviderTokenRule: Equatable, Sendable {
  /// Use the present token.
  case use
  /// Make a new token.
  case make
  /// Use no token before this time, in UNIX seconds.
  case wait(until: Int64)
  /// Use no token: the clock is not set.
  case clockNotSet

  /// How long a token is used, in seconds.
  public static let useSeconds: Int64 = 3000
  /// How long no second token is made, in seconds.
  public static let makeSeconds: Int64 = 1200

  /// Decides about the present token.
  ///
  /// - Parameters:
  ///   - now: UNIX seconds; nil: the clock is not set.
  ///   - issuedAt: when the token was made, in UNIX seconds; nil if absent.
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
      // The clock was set back. Soon the token is valid again, or old enough to be replaced.
      self = .wait(until: isRefused ? issuedAt + Self.makeSeconds : issuedAt)
    default:
      self = .make
    }
  }
}
