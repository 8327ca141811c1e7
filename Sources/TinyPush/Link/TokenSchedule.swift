/// When the tokens that identify this machine to push services are issued.
///
/// The times are the same on all machines and in each run. So all machines with one signing key send
/// the same token, and a restart makes no other one.
public enum TokenSchedule: Sendable {
  /// Provider tokens for Apple's service, which refuses a token from the future, one that is older
  /// than an hour, and one that replaces another within 20 minutes.
  ///
  /// Source: Establishing a token-based connection to APNs.
  case apple
  /// Tokens for push services of browsers, which take one for a day (RFC 8292, section 2).
  case vapid

  /// Returns when the token to use at a time was issued; both in UNIX seconds.
  ///
  /// For Apple's service, this machine's clock may be five minutes ahead, or half an hour behind.
  public func issue(at now: Int64) -> Int64 {
    switch self {
    case .apple: (now - 300) / 1500 * 1500
    case .vapid: now / 36_000 * 36_000
    }
  }
}
