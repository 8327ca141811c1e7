/// The device tokens that the gateway has accepted lately, as far as its answers prove that: a single answer that calls one of
/// them invalid does not suppress it. A gateway that is mended, or reached by mistake, says so of tokens that are good.
///
/// Bounded: of many tokens, those that were accepted last are remembered. Each is known by a hash; where two share one, the
/// worst that follows is that a refusal is believed later.
public struct AcceptedTokens: ~Copyable {
  private struct Entry: BitwiseCopyable {
    var token: UInt64 = 0
    /// In units of the clock that never jumps; 0: there is none.
    var acceptedAt: UInt32 = 0
    /// How often it was called invalid since, and the first time.
    var refusals: UInt8 = 0
    var refusedAt: UInt32 = 0
  }

  /// An acceptance counts for a week.
  static let remembered = Duration.seconds(7 * 86_400)
  /// What is said again so much later is believed; and what is said so often.
  static let patience = Duration.seconds(600)
  static let refusalsMax: UInt8 = 10
  /// A unit is 65.5 seconds: no division is needed.
  private static let unitBits: UInt64 = 16
  private static let sets = 256
  private static let ways = 4

  /// Made when the first token is accepted.
  private var entries = FixedBuffer<Entry>(capacity: 0)

  public init() {}

  private static func table() -> FixedBuffer<Entry> {
    let entries = FixedBuffer<Entry>(capacity: sets * ways)
    for index in 0..<entries.capacity { entries[index] = Entry() }
    return entries
  }

  deinit {}

  private static func unit(_ now: Instant) -> UInt32 {
    UInt32(truncatingIfNeeded: now.milliseconds >> unitBits) &+ 1
  }

  private static func units(_ duration: Duration) -> UInt32 {
    UInt32(truncatingIfNeeded: duration.milliseconds >> unitBits)
  }

  private static func first(_ token: UInt64) -> Int {
    let mixed = token &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed >> 56) * ways
  }

  /// The gateway has accepted a notification for a token.
  @inline(never)
  mutating func accept(_ token: UInt64, at now: Instant) {
    if entries.capacity == 0 { entries = Self.table() }
    let first = Self.first(token)
    let unit = Self.unit(now)
    var oldest = first
    for place in first..<first + Self.ways {
      if entries[place].token == token {
        oldest = place
        break
      }
      if entries[place].acceptedAt < entries[oldest].acceptedAt { oldest = place }
    }
    entries[oldest] = Entry(token: token, acceptedAt: unit)
  }

  private func find(_ token: UInt64) -> Int? {
    guard entries.capacity > 0 else { return nil }
    let first = Self.first(token)
    for place in first..<first + Self.ways
    where entries[place].token == token && entries[place].acceptedAt > 0 {
      return place
    }
    return nil
  }

  /// Whether one more answer that calls the token invalid is not believed yet.
  @inline(never)
  func spares(_ token: UInt64, at now: Instant) -> Bool {
    guard let place = find(token) else { return false }
    let entry = entries[place]
    let unit = Self.unit(now)
    if unit &- entry.acceptedAt > Self.units(Self.remembered) { return false }
    if entry.refusals == 0 { return true }
    return entry.refusals + 1 < Self.refusalsMax
      && unit &- entry.refusedAt <= Self.units(Self.patience)
  }

  /// The gateway calls the token invalid.
  mutating func refuse(_ token: UInt64, at now: Instant) {
    guard let place = find(token) else { return }
    if entries[place].refusals == 0 { entries[place].refusedAt = Self.unit(now) }
    if entries[place].refusals < .max { entries[place].refusals += 1 }
  }
}
