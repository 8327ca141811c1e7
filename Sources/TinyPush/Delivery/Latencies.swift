/// How long things took, counted in classes of latency: two to each power of two of milliseconds, so that a percentile is
/// right to within a third, in memory of a fixed size. Whatever the counts, looking at them ends nobody: they may come from a file.
public struct Latencies: BitwiseCopyable {
  static let classCount = 64
  private var counts: InlineArray<64, UInt64> = .init(repeating: 0)
  /// How many there are.
  public private(set) var count: UInt64 = 0

  public init() {}

  /// The class of a latency: the position of its highest bit, and the bit behind that.
  private static func index(of latency: Duration) -> Int {
    let milliseconds = latency.milliseconds
    guard milliseconds >= 2 else { return Int(milliseconds) }
    let exponent = 63 - milliseconds.leadingZeroBitCount
    return min(2 * exponent + Int(milliseconds >> (UInt64(exponent) - 1) & 1), classCount - 1)
  }

  /// The smallest latency of a class, in milliseconds.
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

  /// How many took less than `latency`, which must be a power of two of milliseconds.
  public func count(below latency: Duration) -> UInt64 {
    var sum: UInt64 = 0
    for index in 0..<Self.index(of: latency) { sum &+= counts[index] }
    return sum
  }

  /// What so many of a hundred did not exceed; nil when there are none.
  public func percentile(_ percent: UInt64) -> Duration? {
    guard count > 0 else { return nil }
    let rank = max((count &* percent &+ 99) / 100, 1)
    var before: UInt64 = 0
    for index in 0..<Self.classCount {
      let here = counts[index]
      if here > 0, before &+ here >= rank {
        // Within a class they are taken to lie evenly.
        let start = Self.start(of: index)
        let width = Self.start(of: index + 1) - start
        return .milliseconds(start &+ width &* (2 &* (rank &- before) &- 1) / here / 2)
      }
      before &+= here
    }
    return nil
  }
}
