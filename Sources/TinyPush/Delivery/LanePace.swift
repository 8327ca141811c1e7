/// How fast a lane settles its messages.
struct LanePace {
  /// When the lane settled its last message, or got its first one.
  private(set) var settledAt = Instant(milliseconds: 0)
  /// When the lane counts as stuck: it has settled too few of its messages for long.
  private(set) var stuckAt = Instant(milliseconds: 0)
  /// The settled messages that have not moved ``stuckAt`` yet.
  private var settled = 0

  /// Whether messages went into `later/` because the lane was stuck, and none was settled after that.
  private var hasGivenUp = false

  private static let patience = Duration.seconds(30)

  /// Notes the first message of an empty lane.
  ///
  /// A lane that is empty because it was stuck gets just the time for an attempt.
  mutating func begin(at now: Instant) {
    let patience = hasGivenUp ? Duration.seconds(5) : Self.patience
    (settledAt, stuckAt, settled) = (now, now + patience, 0)
  }

  /// Notes that a message of a stuck lane is put into `later/`.
  mutating func giveUp() { hasGivenUp = true }

  /// Notes a settled message.
  ///
  /// In half a minute, a lane of browsers must settle a quarter of its messages, since they hold up
  /// the rest of a file. The lane of devices may take half an hour, as over a slow line.
  ///
  /// - Parameter count: the messages that the lane has, with that one.
  mutating func settle(of count: Int, isOfDevices: Bool, at now: Instant) {
    settledAt = now
    hasGivenUp = false
    settled += 1
    let part = isOfDevices ? 64 : 4
    if settled * part >= count { (stuckAt, settled) = (now + Self.patience, 0) }
  }
}
