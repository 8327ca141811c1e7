/// What the courier knows of each lane.
struct Lanes: ~Copyable {
  /// The services of browsers that have a lane.
  var origins = Origins()
  /// What kept the courier from offering more notifications.
  var obstacles: InlineArray<9, Obstacle?> = .init(repeating: nil)
  /// How fast each lane settles its messages.
  var paces: InlineArray<9, LanePace> = .init(repeating: LanePace())
  /// What became of the notifications of each lane since it was given to its service.
  let counts = FixedBuffer<LaneCounts>(capacity: Lane.count)
  /// When a lane that takes nothing may have to make room.
  var roomAt: Instant?
  /// Whether a file is not read on because its lane takes nothing.
  var isHeldUp = false
  /// The lane whose link has the next turn.
  var turn = 0

  init() { for lane in 0..<Lane.count { counts[lane] = LaneCounts() } }
}
