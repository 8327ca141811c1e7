import Foundation
import Simulation
import Testing

/// `SEED=7` runs that one alone, and says what happened in it; `SEEDS=5000` runs so many.
private let environment = ProcessInfo.processInfo.environment

@Test func `whatever goes wrong, nothing is lost`() async {
  if let seed = environment["SEED"].flatMap(UInt64.init) {
    let outcome = Trial.run(seed, keepsTrace: true)
    for line in outcome.trace { print(line) }
    report(outcome)
    return
  }
  let count = environment["SEEDS"].flatMap(UInt64.init) ?? 2000
  let pieceSeeds: UInt64 = 20
  let steps = await withTaskGroup(of: Int.self) { group in
    for first in stride(from: 1, through: count, by: Int(pieceSeeds)) {
      group.addTask {
        var steps = 0
        for seed in first..<min(first + pieceSeeds, count + 1) {
          let outcome = Trial.run(seed)
          steps += outcome.steps
          report(outcome)
          // The tests beside this one want their turn, too.
          await Task.yield()
        }
        return steps
      }
    }
    return await group.reduce(0, +)
  }
  if count >= 2000 { #expect(steps >= 1_000_000, "too little happens") }
}

private func report(_ outcome: Trial.Outcome) {
  for violation in outcome.violations {
    Issue.record("SEED=\(outcome.seed) \(violation)")
  }
}

@Test func `one seed is one run, and another seed is another`() {
  let seeds: ClosedRange<UInt64> = 1...30
  let hashes = seeds.map { Trial.run($0).hash }
  #expect(hashes == seeds.map { Trial.run($0).hash })
  #expect(Set(hashes).count == seeds.count)
}
