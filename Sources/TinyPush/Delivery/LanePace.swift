/// How fast a lane settles its messages.
struct LanePace {
  /// When the lane settled its last message, or got its first one.
  private(set) var settledAt = Instant(milliseconds: 0)
  /// When the lane counts as stuck: it has settled too few of its messages for long.
  private(set) var stuckAt = Instant(milliseconds: 0)
  /// The settled messages that have not moved ``stuckAt`` yet.
  private var settled = 0

  private static let patience = Duration.seconds(30)
  /// A lane that settles a 64th of its messages in that time needs half an hour for all of them.
  ///
  /// They take the room of others until then.
  private static let part = 64

  /// Notes the first message of an empty lane.
  mutating func begin(at now: Instant) {
    (settledAt, stuckAt, settled) = (now, now + Self.patience, 0)
  }

  /// Notes a settled message.
  ///
  /// - Parameter count: the messages that the lane has, with that one.
  mutating func settle(of count: Int, at now: Instant) {
    settledAt = now
    settled += 1
    if settled * Self.part >= count { (stuckAt, settled) = (now + Self.patience, 0) }
  }
}
