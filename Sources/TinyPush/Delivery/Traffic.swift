/// The rates and latencies of sending, over the last minute, the last hour and since the start.
///
/// Latency is the time from the spool to the answer, or with the binary protocol to the wire. There
/// is no timer: each query leaves out the entries that are too old.
public struct Traffic: BitwiseCopyable {
  /// The period of a query.
  public enum Period {
    case minute
    case hour
    case start
  }

  private struct Slot: BitwiseCopyable {
    /// The number of the second or minute since the machine started; 0: unused.
    var number: UInt32 = 0
    var count: UInt32 = 0
  }

  private struct Segment: BitwiseCopyable {
    var number: UInt32 = 0
    var latencies = Latencies()
  }

  /// The number of seconds, and of minutes, that are counted one by one.
  public static let slotCount = 60
  private static let segmentCount = 6

  /// The notifications that were sent for the first time.
  public private(set) var sent: UInt64 = 0
  private var latencies = Latencies()
  /// The sum of all latencies, in milliseconds.
  public private(set) var latencySum: UInt64 = 0
  private var seconds: InlineArray<60, Slot> = .init(repeating: Slot())
  private var minutes: InlineArray<60, Slot> = .init(repeating: Slot())
  private var tenSeconds: InlineArray<6, Segment> = .init(repeating: Segment())
  private var tenMinutes: InlineArray<6, Segment> = .init(repeating: Segment())

  /// Creates empty counts.
  public init() {}

  /// Returns the number, from 1 on, of the interval of `seconds` seconds at an instant.
  private static func number(_ now: Instant, _ seconds: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: now.milliseconds / (seconds * 1000)) &+ 1
  }

  /// Counts notifications that were sent for the first time.
  ///
  /// - Parameter latency: since they came into the spool; nil: not known.
  package mutating func add(_ count: UInt64, latency: Duration?, at now: Instant) {
    sent &+= count
    Self.add(count, to: &seconds, Self.number(now, 1))
    Self.add(count, to: &minutes, Self.number(now, 60))
    guard let latency else { return }
    latencies.add(latency, count: count)
    latencySum &+= latency.milliseconds &* count
    Self.add(count, latency, to: &tenSeconds, Self.number(now, 10))
    Self.add(count, latency, to: &tenMinutes, Self.number(now, 600))
  }

  private static func add(
    _ count: UInt64, to slots: inout InlineArray<60, Slot>, _ number: UInt32
  ) {
    let index = Int(number % UInt32(slotCount))
    if slots[index].number != number { slots[index] = Slot(number: number) }
    slots[index].count &+= UInt32(clamping: count)
  }

  private static func add(
    _ count: UInt64, _ latency: Duration, to segments: inout InlineArray<6, Segment>,
    _ number: UInt32
  ) {
    let index = Int(number % UInt32(segmentCount))
    if segments[index].number != number { segments[index] = Segment(number: number) }
    segments[index].latencies.add(latency, count: count)
  }

  // MARK: - Queries

  /// Returns how many notifications were sent for the first time in a period.
  public func sent(in period: Period, at now: Instant) -> UInt64 {
    var sum: UInt64 = 0
    switch period {
    case .minute: for ago in 0..<Self.slotCount { sum += UInt64(sent(secondsAgo: ago, at: now)) }
    case .hour: for ago in 0..<Self.slotCount { sum += UInt64(sent(minutesAgo: ago, at: now)) }
    case .start: sum = sent
    }
    return sum
  }

  /// Returns how many were sent in one of the last sixty seconds; 0 is the present one.
  public func sent(secondsAgo ago: Int, at now: Instant) -> UInt32 {
    Self.count(in: seconds, Self.number(now, 1), ago)
  }

  /// Returns how many were sent in one of the last sixty minutes; 0 is the present one.
  public func sent(minutesAgo ago: Int, at now: Instant) -> UInt32 {
    Self.count(in: minutes, Self.number(now, 60), ago)
  }

  private static func count(
    in slots: InlineArray<60, Slot>, _ present: UInt32, _ ago: Int
  ) -> UInt32 {
    guard ago < slotCount, present > UInt32(ago) else { return 0 }
    let slot = slots[Int((present - UInt32(ago)) % UInt32(slotCount))]
    return slot.number == present - UInt32(ago) ? slot.count : 0
  }

  /// Returns the latencies in a period: its last five full sixths, and the present one.
  public func latencies(in period: Period, at now: Instant) -> Latencies {
    switch period {
    case .minute: Self.sum(of: tenSeconds, Self.number(now, 10))
    case .hour: Self.sum(of: tenMinutes, Self.number(now, 600))
    case .start: latencies
    }
  }

  private static func sum(
    of segments: InlineArray<6, Segment>, _ present: UInt32
  ) -> Latencies {
    var sum = Latencies()
    for index in 0..<segmentCount {
      let number = segments[index].number
      if number > 0, number <= present, present - number < UInt32(segmentCount) {
        sum.add(segments[index].latencies)
      }
    }
    return sum
  }
}
