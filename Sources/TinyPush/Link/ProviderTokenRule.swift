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

  /// How long a token is used, and how long no second one is made.
  public enum Lifetime: Sendable {
    /// A token for Apple's service.
    case apple
    /// A token for a push service of browsers, which takes one for a day (RFC 8292, section 2).
    case vapid

    /// How long a token is used, in seconds.
    public var useSeconds: Int64 { self == .apple ? 3000 : 36_000 }
    /// How long no second token is made, in seconds.
    public var makeSeconds: Int64 { self == .apple ? 1200 : 60 }
  }

  /// Decides about the present token.
  ///
  /// - Parameters:
  ///   - now: UNIX seconds; nil: the clock is not set.
  ///   - issuedAt: when the token was made, in UNIX seconds; nil if absent.
  ///   - isRefused: whether the service has refused it.
  public init(
    now: Int64?, issuedAt: Int64?, isRefused: Bool, _ lifetime: Lifetime = .apple
  ) {
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
    case 0...lifetime.useSeconds where !isRefused:
      self = .use
    case 0..<lifetime.makeSeconds:
      self = .wait(until: issuedAt + lifetime.makeSeconds)
    case -lifetime.makeSeconds + 1..<0:
      // The clock was set back. Soon the token is valid again, or old enough to be replaced.
      self = .wait(until: isRefused ? issuedAt + lifetime.makeSeconds : issuedAt)
    default:
      self = .make
    }
  }
}
