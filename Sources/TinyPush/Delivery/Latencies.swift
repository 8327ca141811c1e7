/// A histogram of latencies, of a fixed size.
///
/// There are two classes for each power of two of milliseconds, so that a percentile is accurate to
/// a third. The arithmetic wraps instead of trapping, since the counts may come from a damaged
/// file.
public struct Latencies: BitwiseCopyable {
  static let classCount = 64
  private var counts: InlineArray<64, UInt64> = .init(repeating: 0)
  /// The number of latencies.
  public private(set) var count: UInt64 = 0

  /// Creates an empty histogram.
  public init() {}

  /// Returns the class of a latency: the position of its highest bit, and the next bit.
  private static func index(of latency: Duration) -> Int {
    let milliseconds = latency.milliseconds
    guard milliseconds >= 2 else { return Int(milliseconds) }
    let exponent = 63 - milliseconds.leadingZeroBitCount
    return min(2 * exponent + Int(milliseconds >> (UInt64(exponent) - 1) & 1), classCount - 1)
  }

  /// Returns the smallest latency of a class, in milliseconds.
  private static func start(of index: Int) -> UInt64 {
    index < 2 ? UInt64(index) : UInt64(2 + (index & 1)) << UInt64(index / 2 - 1)
  }

  mutating func add(_ latency: Duration, count: UInt64) {
    counts[Self.index(of: latency)] &+= count
    self.count &+= count
  }

  mutating func add(_ other: Latencies) {
    for index in 0..<Self.classCount { counts[index] &+= other.counts[index] }
    count &+= other.count
  }

  /// Returns how many latencies are below `latency`, a power of two of milliseconds.
  public func count(below latency: Duration) -> UInt64 {
    var sum: UInt64 = 0
    for index in 0..<Self.index(of: latency) { sum &+= counts[index] }
    return sum
  }

  /// Returns the latency that `percent` of all did not exceed; nil: there are none.
  public func percentile(_ percent: UInt64) -> Duration? {
    guard count > 0 else { return nil }
    let rank = max((count &* percent &+ 99) / 100, 1)
    var before: UInt64 = 0
    for index in 0..<Self.classCount {
      let here = counts[index]
      if here > 0, before &+ here >= rank {
        // Assumes that latencies are evenly distributed within a class.
        let start = Self.start(of: index)
        let width = Self.start(of: index + 1) - start
        return .milliseconds(start &+ width &* (2 &* (rank &- before) &- 1) / here / 2)
      }
      before &+= here
    }
    return nil
  }
}
