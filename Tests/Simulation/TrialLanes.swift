import TinyPush

/// The faults of push services, chosen by the seed: which of them take nothing, and for how long.
struct LaneFaults {
  /// What the services do that take nothing until the end of the longest faults.
  private var ill: [String: LanesLink.Mood] = [:]
  /// When other services take nothing, in seconds of the timeline, which begins at 1000.
  private var pauses: [String: (from: UInt64, to: UInt64, mood: LanesLink.Mood)] = [:]

  init() {}

  init(_ seed: UInt64) {
    var random = Seeded(seed &+ 0x1A4E5)
    let hosts = (0..<World.hosts).map { "h\($0).example" } + [LanesLink.devices]
    let illOneIn = random.pick([1_000_000, 8, 3, 2])
    for host in hosts {
      let mood = random.pick([LanesLink.Mood.down, .down, .silent, .busy])
      if random.oneIn(illOneIn) {
        ill[host] = mood
      } else if random.oneIn(4) {
        let from = 1000 + UInt64(random.upTo(400))
        pauses[host] = (from, from + UInt64(random.upTo(600)), mood)
      }
    }
  }

  /// Whether a service takes nothing until the end of the longest faults.
  func isIll(_ host: String) -> Bool { ill[host] != nil }

  func mood(of host: String, at now: Instant) -> LanesLink.Mood {
    if let mood = ill[host] { return mood }
    let seconds = now.milliseconds / 1000
    if let pause = pauses[host], pause.from <= seconds, seconds < pause.to { return pause.mood }
    return .well
  }

  mutating func end() { self = LaneFaults() }
}
