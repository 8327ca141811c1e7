/// So many alerts in so long a time, as a token bucket counts them: `count` at once, and as many again over each `period`,
/// evenly spread.
public struct RateLimit: Equatable, BitwiseCopyable, Sendable {
  public static let countMax: UInt64 = 10_000
  public static let periodMax = Duration.seconds(86_400)

  public let count: UInt32
  public let period: Duration

  public init(count: UInt32, period: Duration) {
    self.count = count
    self.period = period
  }

  /// After so long an empty bucket has room for one alert.
  var interval: Duration {
    .milliseconds((period.milliseconds + UInt64(count) - 1) / UInt64(count))
  }

  /// In words: `20 alerts in 10 min`.
  @inline(never)
  public func append(to text: inout Text) {
    text.append(count)
    text.append(count == 1 ? " alert in " : " alerts in ")
    text.append(rounded: period)
  }
}

/// A token bucket. It holds nothing but the time at which it will be full, in milliseconds times the limit's count, so that
/// nothing is rounded.
struct TokenBucket: BitwiseCopyable {
  private(set) var fullAt: UInt64

  init(fullAt: UInt64 = 0) { self.fullAt = fullAt }

  /// When there is room for one more alert; a time that is past: now.
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
