import CLinux
import TinyPush

/// The faults that a gateway plays.
///
/// The sessions of all connections ask for a fault at each notification that they would accept; the
/// loop asks for timed faults when these are due.
public final class Faults {
  /// The most faults, enough for a command line.
  public static let countMax = 64

  private let list = FixedBuffer<Fault>(capacity: countMax)
  private let isPlayed = FixedBuffer<Bool>(capacity: countMax)
  /// The number of faults.
  public private(set) var count = 0
  /// The seed of the random numbers; nil: no fault occurs by chance.
  public private(set) var seed: UInt64?
  private var random: UInt64 = 0
  /// The number of notifications so far.
  private var asked: Int64 = 0
  private var startMs: Int64 = 0

  /// Creates an empty list.
  public init() {}

  /// Adds a fault; false: the list is full.
  public func add(_ fault: Fault) -> Bool {
    guard count < Self.countMax else { return false }
    list[count] = fault
    isPlayed[count] = false
    count += 1
    return true
  }

  subscript(index: Int) -> Fault { list[index] }

  /// Sets the start, from which the times of timed faults count.
  ///
  /// - Parameter seed: the seed of the faults by chance; nil: a random seed.
  public func start(nowMs: Int64, seed: UInt64?) {
    startMs = nowMs
    for index in 0..<count {
      guard case .chance = list[index].occasion else { continue }
      self.seed = seed ?? Self.anySeed()
    }
    random = self.seed ?? 0
  }

  /// Returns the fault to play at the next notification.
  ///
  /// If several are due, this is the first in the list; others that are played once wait for the
  /// next notification.
  ///
  /// - Parameter protocols: the protocol of the notification's connection.
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
    case .token(let wanted): return wanted.bytes.equals(token)
    case .chance(let chance): return Int(nextRandom() % UInt64(Fault.chanceMax)) < chance
    case .time: return list[index].needsNotification && nowMs >= dueMs(index) ?? .max
    }
  }

  // MARK: - By time

  /// Returns when the next timed fault that needs no notification is due.
  ///
  /// - Parameter protocols: the protocols of the open connections.
  /// - Returns: milliseconds of the monotonic clock; nil: there is no such fault.
  func nextMs(on protocols: Fault.Protocols) -> Int64? {
    var next: Int64?
    for index in 0..<count where waits(index, protocols) {
      if let due = dueMs(index) { next = min(next ?? .max, due) }
    }
    return next
  }

  /// Returns a timed fault that is due, to be played on all open connections.
  ///
  /// It stays due until a connection with its protocol is open.
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

  /// Returns a random number (SplitMix64, which gives good numbers for every seed).
  private func nextRandom() -> UInt64 {
    random &+= 0x9E37_79B9_7F4A_7C15
    var mixed = random
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a random seed that is short enough to type.
  private static func anySeed() -> UInt64 {
    var seed: UInt64 = 0
    _ = getrandom(&seed, 8, 0)
    return seed % 1_000_000
  }
}
