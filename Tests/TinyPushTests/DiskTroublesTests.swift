import Testing

@testable import Simulation
@testable import TinyPush

private func at(_ seconds: UInt64) -> Instant { Instant(milliseconds: 1000 * seconds) }

private func words(_ reports: inout Reports) -> [String] {
  var words: [String] = []
  while let report = reports.take() { words.append("\(report)") }
  return words
}

@Test func `removals are tried again after a pause, and the trouble is reported once`() {
  var troubles = DiskTroubles()
  var reports = Reports()
  for second in 1...3 { troubles.couldNotRemove(at: at(UInt64(second)), &reports) }
  #expect(words(&reports) == ["notRemoved"])
  #expect(troubles.flags == 1 && troubles.stuckFiles == 3)
  for second in 31...100 {
    let mustRetry = troubles.mustRetryRemovals(at: at(UInt64(second)))
    #expect(mustRetry == (second == 31 || second == 62 || second == 93))
    if mustRetry {
      // Only the first of them can be removed.
      troubles.couldNotRemove(at: at(UInt64(second) + 1), &reports)
    }
  }
  #expect(words(&reports) == [])
  let mustRetry = troubles.mustRetryRemovals(at: at(200))
  troubles.removed(&reports)
  troubles.removed(&reports)
  #expect(mustRetry)
  #expect(words(&reports) == ["removable"])
  #expect(troubles.isEmpty && troubles.flags == 0)
}

@Test func `records are tried again after a pause that doubles`() {
  var troubles = DiskTroubles()
  var reports = Reports()
  var tries: [UInt64] = []
  troubles.couldNotRecord(at: at(0), &reports)
  for second in UInt64(1)...5000 {
    guard troubles.mustProbe(at: at(second)) else { continue }
    tries.append(second)
    troubles.couldNotRecord(at: at(second), &reports)
  }
  #expect(tries == [30, 90, 210, 450, 930, 1830, 2730, 3630, 4530])
  #expect(words(&reports) == ["notRecorded"])
  #expect(troubles.flags == 2)
  let mustRetry = troubles.mustProbe(at: at(6000))
  #expect(mustRetry)
  troubles.synced(&reports)
  #expect(words(&reports) == [])
  troubles.recorded()
  #expect(words(&reports) == [])
  troubles.synced(&reports)
  troubles.synced(&reports)
  #expect(words(&reports) == ["recordable"])
  #expect(troubles.isEmpty)
  troubles.couldNotRecord(at: at(7000), &reports)
  #expect(troubles.recordRetryAt == at(7030))
}

@Test func `records that are written and cannot be synced are tried again ever more rarely`() {
  var troubles = DiskTroubles()
  var reports = Reports()
  var tries: [UInt64] = []
  troubles.couldNotRecord(at: at(0), &reports)
  for second in UInt64(1)...2000 {
    guard troubles.mustProbe(at: at(second)) else { continue }
    tries.append(second)
    troubles.recorded()
    // The sync fails.
    troubles.couldNotRecord(at: at(second), &reports)
  }
  #expect(tries == [30, 90, 210, 450, 930, 1830])
  #expect(words(&reports) == ["notRecorded"])
}

@Test func `a file that could not be recorded waits for the next try`() {
  var troubles = DiskTroubles()
  for arrival in Int64(1)...80 { troubles.putOff(arrival, at: at(5)) }
  // Of many, the oldest are forgotten.
  for arrival in Int64(1)...81 {
    #expect(troubles.isPutOff(arrival) == (arrival > 16 && arrival <= 80))
  }
  #expect(troubles.recordRetryAt == at(35))
  let mustProbe = troubles.mustProbe(at: at(35))
  troubles.probed(false, at: at(35))
  #expect(mustProbe && troubles.isPutOff(80) && troubles.recordRetryAt == at(95))
  troubles.probed(true, at: at(95))
  #expect(!troubles.isPutOff(80))
}

@Test func `everything is tried again at once if somebody asks for it`() {
  var troubles = DiskTroubles()
  var reports = Reports()
  troubles.retryAtOnce(at: at(1))
  #expect(troubles.removalRetryAt == nil && troubles.recordRetryAt == nil)
  troubles.couldNotRemove(at: at(2), &reports)
  troubles.couldNotRecord(at: at(2), &reports)
  troubles.retryAtOnce(at: at(3))
  let tries = (troubles.mustRetryRemovals(at: at(3)), troubles.mustProbe(at: at(3)))
  #expect(tries == (true, true))
}

@Test func `taking that fails is reported once, and its end, too`() {
  var troubles = DiskTroubles()
  var reports = Reports()
  troubles.took(&reports)
  for _ in 1...3 { troubles.couldNotTake(30, &reports) }
  #expect(troubles.flags == 4)
  for _ in 1...3 { troubles.took(&reports) }
  #expect(words(&reports) == ["notTaken(30)", "taken"])
  #expect(troubles.isEmpty)
}
