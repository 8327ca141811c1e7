/// The wait before the next connection: random, up to a bound that doubles from 1 s.
///
/// Only progress resets it: a settled notification, or a connection that lasted. So a gateway that
/// accepts connections and closes them is not flooded with them.
public struct Backoff {
  /// The first bound.
  public static let first = Duration.seconds(1)
  /// The longest bound after a connection that brought nothing.
  public static let longest = Duration.seconds(300)
  /// The longest bound after an attempt that made no connection: an alert may wait as long after an
  /// outage of the network.
  public static let longestOfOutage = Duration.seconds(60)

  /// The failures since the last progress.
  public private(set) var failures = 0
  private var random: UInt64

  /// Creates a backoff without failures.
  ///
  /// - Parameter seed: any number that differs between agents.
  public init(seed: UInt64) {
    random = seed | 1
  }

  /// Resets the bound after progress.
  public mutating func reset() {
    failures = 0
  }

  /// Returns the wait after one more failure: a random one up to the bound.
  ///
  /// - Parameter wasConnected: whether there was a connection.
  public mutating func fail(wasConnected: Bool = true) -> Duration {
    let doubled = Self.first.milliseconds << UInt64(failures < 16 ? failures : 16)
    let longest = wasConnected ? Self.longest : Self.longestOfOutage
    let bound = min(doubled, longest.milliseconds)
    failures += 1
    return Duration(milliseconds: nextRandom() % (bound + 1))
  }

  /// Returns the next number of xorshift64*, which only has to differ between machines.
  private mutating func nextRandom() -> UInt64 {
    random ^= random >> 12
    random ^= random << 25
    random ^= random >> 27
    return (random &* 0x2545_F491_4F6C_DD1D) >> 16
  }
}
