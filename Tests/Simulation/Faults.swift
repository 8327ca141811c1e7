import TinyPush

/// The faults of a run.
///
/// The seed chooses kinds and times; after ``calmAt`` there are no more faults.
///
/// Each run has only some kinds, in changing combinations: if all kinds happened all the time, most
/// would hide the rest.
struct Faults {
  enum Kind: CaseIterable {
    case close, reset, death, stall, slow, dialing, blocking
    case shutdown, vanish, garbage, split, hidden, late
    case crash, powerCut, stop, sleep, rescan, overflow
    case diskFull, readOnly, unsynced, busy, unreadable, wall
    case replace, append, delete, list, later
    case feedback, damage, locked
  }

  /// A fault of the agent itself, which happens only between two steps.
  enum AgentFault {
    case crash, powerCut, stop
    case sleep(UInt64)
  }

  let kinds: [Kind]
  /// The milliseconds after which no fault happens any more.
  let calmAt: UInt64
  let events: [(at: UInt64, kind: Kind)]
  /// Whether every answer comes well before `settle` has passed.
  let isPrompt: Bool
  /// The average number of steps between two random crashes; 0: none.
  let stepsBetweenCrashes: Int

  init(_ random: inout Seeded, once: Bool) {
    let oneIn = random.pick([2, 3, 6])
    var kinds = Kind.allCases.filter { _ in random.oneIn(oneIn) }
    // With `--once`, the agent does not wait for files that come later.
    if once { kinds.removeAll { [.replace, .append].contains($0) } }
    isPrompt = !random.oneIn(5)
    if isPrompt { kinds.removeAll { $0 == .late } }
    self.kinds = kinds
    let calm = UInt64(random.pick([5_000, 20_000, 90_000, 400_000]))
    calmAt = calm
    let count = kinds.isEmpty ? 0 : random.upTo(random.oneIn(3) ? 60 : 12)
    events = (0..<count).map { _ in (UInt64(random.upTo(Int(calm))), random.pick(kinds)) }
    stepsBetweenCrashes =
      kinds.contains(.crash) || kinds.contains(.powerCut) ? random.pick([0, 30, 300]) : 0
  }

  func has(_ kind: Kind) -> Bool { kinds.contains(kind) }
}
