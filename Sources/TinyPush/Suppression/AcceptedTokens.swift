/// The device tokens that the gateway has accepted within a week, as far as its answers prove that.
///
/// A single answer that calls such a token invalid does not suppress the token: a gateway that is
/// being repaired, or that was reached by mistake, also refuses good tokens.
///
/// The size is bounded: the tokens accepted last are kept. Each is known by a hash. If two tokens
/// share a hash, a refusal may be believed later than necessary.
public struct AcceptedTokens: ~Copyable {
  /// An acceptance counts for a week.
  static let remembered = Duration.seconds(7 * 86_400)
  /// A refusal is believed if the first one is older than this.
  static let refusalsSpan = Duration.seconds(600)
  /// The refusal with this number is believed in any case.
  static let refusalsMax: UInt64 = 10

  /// The tokens, with the time of the acceptance, and the refusals since.
  private var tokens = RecentKeys()

  /// The answers since an acceptance that called the token invalid.
  private struct Refusals {
    var count: UInt64 = 0
    /// When the first one came.
    var since = Instant(milliseconds: 0)

    init() {}

    /// Reads them from one number: the count is in the low byte.
    init(_ number: UInt64) {
      count = number & 0xFF
      since = Instant(milliseconds: number >> 8)
    }

    var number: UInt64 { since.milliseconds << 8 | count }
  }

  /// Makes an empty memory.
  public init() {}

  deinit {}

  /// Notes that the gateway has accepted a notification for a token.
  @inline(never)
  mutating func accept(_ token: UInt64, at now: Instant) { put(token, now, Refusals()) }

  /// Notes that the gateway has called the token invalid.
  mutating func refuse(_ token: UInt64, at now: Instant) {
    guard let known = tokens.find(token) else { return }
    var refusals = Refusals(known.number)
    if refusals.count == 0 { refusals.since = now }
    refusals.count = min(refusals.count + 1, Self.refusalsMax)
    put(token, Instant(milliseconds: known.value), refusals)
  }

  private mutating func put(_ token: UInt64, _ acceptedAt: Instant, _ refusals: Refusals) {
    tokens.put(
      RecentKeys.Entry(key: token, value: acceptedAt.milliseconds, number: refusals.number))
  }

  /// Returns whether one more answer that calls the token invalid is not believed yet.
  @inline(never)
  func spares(_ token: UInt64, at now: Instant) -> Bool {
    guard let known = tokens.find(token),
      now < Instant(milliseconds: known.value) + Self.remembered
    else { return false }
    let refusals = Refusals(known.number)
    return refusals.count == 0
      || refusals.count + 1 < Self.refusalsMax && now < refusals.since + Self.refusalsSpan
  }
}
