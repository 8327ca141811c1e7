import TinyPush

/// What goes wrong in a run: kinds and times are drawn by the seed, and after ``calmAt`` nothing does any more.
///
/// Each run has only some of the kinds, so that they meet in ever other company: where all happen all the time, most hide
/// behind the others.
struct Faults {
  enum Kind: CaseIterable {
    case close, reset, death, stall, slow, dialing, blocking
    case shutdown, vanish, garbage, split, hidden, late
    case crash, powerCut, stop, sleep, rescan, overflow
    case diskFull, readOnly, unsynced, busy, unreadable, wall
    case replace, append, delete, list, later
    case feedback, damage, locked
  }

  /// What happens to the agent itself, which must not be in the middle of a step then.
  enum Blow {
    case crash, powerCut, stop
    case sleep(UInt64)
  }

  let kinds: [Kind]
  /// Milliseconds.
  let calmAt: UInt64
  let events: [(at: UInt64, kind: Kind)]
  /// Whether every answer comes well before `settle` is over.
  let isPrompt: Bool
  /// So many steps, on average, lie between two crashes that no time is set for; 0: there are none.
  let stepsBetweenCrashes: Int

  init(_ random: inout Seeded, once: Bool) {
    let oneIn = random.pick([2, 3, 6])
    var kinds = Kind.allCases.filter { _ in random.oneIn(oneIn) }
    // Who says that all is done does not wait for what is still to come.
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
