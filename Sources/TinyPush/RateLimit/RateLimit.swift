/// A limit of `count` alerts in each `period`, counted by a token bucket.
///
/// The bucket allows `count` alerts at once, and refills evenly with `count` over each period.
public struct RateLimit: Equatable, BitwiseCopyable, Sendable {
  /// The largest ``count``.
  public static let countMax: UInt64 = 10_000
  /// The longest ``period``.
  public static let periodMax = Duration.seconds(86_400)

  /// The most alerts at once, and in each period.
  public let count: UInt32
  /// The time in which an empty bucket fills.
  public let period: Duration

  /// Creates a limit of `count` alerts in each `period`.
  public init(count: UInt32, period: Duration) {
    self.count = count
    self.period = period
  }

  /// The time after which an empty bucket has room for one alert.
  var interval: Duration {
    .milliseconds((period.milliseconds + UInt64(count) - 1) / UInt64(count))
  }

  /// Appends the limit in words: `20 alerts in 10 min`.
  @inline(never)
  public func append(to text: inout Text) {
    text.append(count)
    text.append(count == 1 ? " alert in " : " alerts in ")
    text.append(rounded: period)
  }
}

/// A token bucket.
///
/// It holds only the time at which it will be full. The unit is milliseconds times the limit's
/// count, so that nothing is rounded.
struct TokenBucket: BitwiseCopyable {
  private(set) var fullAt: UInt64

  init(fullAt: UInt64 = 0) { self.fullAt = fullAt }

  /// Returns when there is room for one more alert; a past instant means now.
  func roomAt(_ limit: RateLimit) -> Instant {
    let count = UInt64(limit.count)
    let burst = limit.period.milliseconds * (count - 1)
    return Instant(milliseconds: fullAt > burst ? (fullAt - burst + count - 1) / count : 0)
  }

  func hasRoom(_ limit: RateLimit, at now: Instant) -> Bool { roomAt(limit) <= now }

  /// Takes the room of one alert.
  mutating func take(_ limit: RateLimit, at now: Instant) {
    fullAt = max(fullAt, now.milliseconds * UInt64(limit.count)) + limit.period.milliseconds
  }
}
