/// The device tokens that the gateway has accepted within a week, as far as its answers prove that.
///
/// A single answer that calls such a token invalid does not suppress the token: a gateway that is
/// being repaired, or that was reached by mistake, also refuses good tokens.
///
/// The size is bounded: the tokens accepted last are kept. Each is known by a hash. If two tokens
/// share a hash, a refusal may be believed later than necessary.
public struct AcceptedTokens: ~Copyable {
  /// An accepted token and the refusals since.
  struct Entry: BitwiseCopyable {
    /// The bits of the token's hash that do not determine its set.
    var token: UInt32 = 0
    /// When the gateway last accepted the token, in units of the monotonic clock; 0: no entry.
    var acceptedAt: UInt32 = 0
    /// When the gateway first called the token invalid since then.
    var refusedAt: UInt32 = 0
    /// How often the gateway has called the token invalid since then.
    var refusals: UInt8 = 0
  }

  /// An acceptance counts for a week.
  static let remembered = Duration.seconds(7 * 86_400)
  /// A refusal is believed if the first one is older than this.
  static let refusalsSpan = Duration.seconds(600)
  /// The refusal with this number is believed in any case.
  static let refusalsMax: UInt8 = 10
  /// A unit of time is 2^16 ms (65.5 s), so that no division is needed.
  private static let unitBits: UInt64 = 16
  private static let sets = 256
  private static let ways = 4

  /// The sets, allocated with the first token.
  ///
  /// A set is cleared at its first use, so that few tokens touch little memory.
  private var entries = FixedBuffer<Entry>(capacity: 0)
  private var usedSets: InlineArray<4, UInt64> = .init(repeating: 0)

  /// Makes an empty memory.
  public init() {}

  deinit {}

  private static func unit(_ now: Instant) -> UInt32 {
    UInt32(truncatingIfNeeded: now.milliseconds >> unitBits) &+ 1
  }

  private static func units(_ duration: Duration) -> UInt32 {
    UInt32(truncatingIfNeeded: duration.milliseconds >> unitBits)
  }

  /// Returns the set that a token belongs to, and the tag that identifies the token there.
  private static func place(_ token: UInt64) -> (set: Int, tag: UInt32) {
    let mixed = token &* 0x9E37_79B9_7F4A_7C15
    return (Int(truncatingIfNeeded: mixed >> 56), UInt32(truncatingIfNeeded: mixed >> 24))
  }

  private func isUsed(_ set: Int) -> Bool { usedSets[set / 64] >> UInt64(set % 64) & 1 == 1 }

  /// Notes that the gateway has accepted a notification for a token.
  @inline(never)
  mutating func accept(_ token: UInt64, at now: Instant) {
    if entries.capacity == 0 { entries = FixedBuffer(capacity: Self.sets * Self.ways) }
    let (set, tag) = Self.place(token)
    let places = set * Self.ways..<(set + 1) * Self.ways
    if !isUsed(set) {
      for place in places { entries[place] = Entry() }
      usedSets[set / 64] |= 1 << UInt64(set % 64)
    }
    var oldest = places.lowerBound
    for place in places {
      if entries[place].token == tag {
        oldest = place
        break
      }
      if entries[place].acceptedAt < entries[oldest].acceptedAt { oldest = place }
    }
    entries[oldest] = Entry(token: tag, acceptedAt: Self.unit(now))
  }

  private func find(_ token: UInt64) -> Int? {
    let (set, tag) = Self.place(token)
    guard isUsed(set) else { return nil }
    for place in set * Self.ways..<(set + 1) * Self.ways
    where entries[place].token == tag && entries[place].acceptedAt > 0 {
      return place
    }
    return nil
  }

  /// Returns whether one more answer that calls the token invalid is not believed yet.
  @inline(never)
  func spares(_ token: UInt64, at now: Instant) -> Bool {
    guard let place = find(token) else { return false }
    let entry = entries[place]
    let unit = Self.unit(now)
    if unit &- entry.acceptedAt > Self.units(Self.remembered) { return false }
    if entry.refusals == 0 { return true }
    return entry.refusals + 1 < Self.refusalsMax
      && unit &- entry.refusedAt <= Self.units(Self.refusalsSpan)
  }

  /// Notes that the gateway has called the token invalid.
  mutating func refuse(_ token: UInt64, at now: Instant) {
    guard let place = find(token) else { return }
    if entries[place].refusals == 0 { entries[place].refusedAt = Self.unit(now) }
    if entries[place].refusals < .max { entries[place].refusals += 1 }
  }
}
