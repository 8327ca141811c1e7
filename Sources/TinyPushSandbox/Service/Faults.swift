import CLinux
import TinyPush

/// The faults that a gateway is to play. It is asked at each notification that would be accepted, of all connections, and
/// for those by time when it is their time.
public final class Faults {
  /// As many as somebody types on a command line.
  public static let countMax = 64

  private let list = FixedBuffer<Fault>(capacity: countMax)
  private let isPlayed = FixedBuffer<Bool>(capacity: countMax)
  public private(set) var count = 0
  /// Of the dice; nil while none is thrown.
  public private(set) var seed: UInt64?
  private var random: UInt64 = 0
  private var asked: Int64 = 0
  private var startMs: Int64 = 0

  public init() {}

  /// Adds one; `false` when the list is full.
  public func add(_ fault: Fault) -> Bool {
    guard count < Self.countMax else { return false }
    list[count] = fault
    isPlayed[count] = false
    count += 1
    return true
  }

  subscript(index: Int) -> Fault { list[index] }

  /// The time since the start counts from now.
  ///
  /// - Parameter seed: what chance depends on; nil: any number.
  public func start(nowMs: Int64, seed: UInt64?) {
    startMs = nowMs
    for index in 0..<count {
      guard case .chance = list[index].occasion else { continue }
      self.seed = seed ?? Self.anySeed()
    }
    random = self.seed ?? 0
  }

  /// The fault to play at the next notification; the first one given, if there are several. Those that are played once
  /// then wait for the notification after it.
  ///
  /// - Parameter protocols: the one of the notification's connection. Faults of others are not for it.
  /// - Returns: the fault, and the notification's number.
  func next(
    token: Span<UInt8>, nowMs: Int64, on protocols: Fault.Protocols
  ) -> (fault: Fault, number: Int64)? {
    asked += 1
    var found: Int?
    for index in 0..<count where !list[index].act.protocols.isDisjoint(with: protocols) {
      if isDue(index, token, nowMs), found == nil { found = index }
    }
    guard let found else { return nil }
    if list[found].isOnce { isPlayed[found] = true }
    return (list[found], asked)
  }

  private func isDue(_ index: Int, _ token: Span<UInt8>, _ nowMs: Int64) -> Bool {
    guard !isPlayed[index] else { return false }
    switch list[index].occasion {
    case .notification(let number): return asked >= number
    case .token(let wanted): return wanted.bytes.span.equals(token)
    case .chance(let chance): return Int(throwDice() % UInt64(Fault.chanceMax)) < chance
    case .time: return list[index].needsNotification && nowMs >= dueMs(index) ?? .max
    }
  }

  // MARK: - By time

  /// When the next fault by time is to be played that needs no notification, in milliseconds of the monotonic clock.
  ///
  /// - Parameter protocols: those of the connections that there are.
  func nextMs(on protocols: Fault.Protocols) -> Int64? {
    var next: Int64?
    for index in 0..<count where waits(index, protocols) {
      if let due = dueMs(index) { next = min(next ?? .max, due) }
    }
    return next
  }

  /// The next of those that are due. They are played as soon as a connection is open, and on all that are.
  func nextDue(nowMs: Int64, on protocols: Fault.Protocols) -> Fault? {
    for index in 0..<count where waits(index, protocols) {
      guard let due = dueMs(index), due <= nowMs else { continue }
      isPlayed[index] = true
      return list[index]
    }
    return nil
  }

  private func waits(_ index: Int, _ protocols: Fault.Protocols) -> Bool {
    !isPlayed[index] && !list[index].needsNotification
      && !list[index].act.protocols.isDisjoint(with: protocols)
  }

  private func dueMs(_ index: Int) -> Int64? {
    guard case .time(let time) = list[index].occasion else { return nil }
    return startMs + Int64(time.milliseconds)
  }

  /// SplitMix64: each number differs much from the one before, whatever the seed.
  private func throwDice() -> UInt64 {
    random &+= 0x9E37_79B9_7F4A_7C15
    var mixed = random
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Short enough to be typed.
  private static func anySeed() -> UInt64 {
    var seed: UInt64 = 0
    _ = getrandom(&seed, 8, 0)
    return seed % 1_000_000
  }
}
