/// How long to wait before connecting again: full jitter, from a second, doubling to five minutes.
///
/// Only progress resets it (a notification settled, or a connection that lasted), so that a gateway which accepts
/// connections and closes them is not hammered.
public struct Backoff {
  public static let first = Duration.seconds(1)
  public static let longest = Duration.seconds(300)

  public private(set) var failures = 0
  private var random: UInt64

  /// - Parameter seed: any number, of which two agents should not have the same.
  public init(seed: UInt64) {
    random = seed | 1
  }

  public mutating func reset() {
    failures = 0
  }

  /// The wait after one more failure: anything up to the present bound.
  public mutating func fail() -> Duration {
    let doubled = Self.first.milliseconds << UInt64(failures < 16 ? failures : 16)
    let bound = doubled < Self.longest.milliseconds ? doubled : Self.longest.milliseconds
    failures += 1
    return Duration(milliseconds: nextRandom() % (bound + 1))
  }

  /// xorshift64*; it need not be good, only different from box to box.
  private mutating func nextRandom() -> UInt64 {
    random ^= random >> 12
    random ^= random << 25
    random ^= random >> 27
    return (random &* 0x2545_F491_4F6C_DD1D) >> 16
  }
}
