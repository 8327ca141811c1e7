import Foundation
import Simulation
import Testing

/// A few seeds of each way, as `make test` runs thousands in an optimised program. `SEED=7` runs that one alone, and says
/// what happened in it; `SEEDS=5000` runs so many.
private let environment = ProcessInfo.processInfo.environment

@Test func `whatever goes wrong, nothing is lost`() async {
  await run(way: .binary, seeds: 10)
}

@Test func `whatever goes wrong and in whatever order answers come, nothing is lost`() async {
  await run(way: .scattered, seeds: 10)
}

@Test func `whatever goes wrong at an HTTP/2 service, nothing is lost`() async {
  await run(way: .http2, seeds: 10)
}

/// A request that was never written was heard of again when its connection left; and what waited for a new provider token
/// kept the spool from being looked through.
@Test(arguments: [UInt64(1242), 2837])
func `what went wrong once over HTTP/2 does not go wrong again`(seed: UInt64) {
  report(Trial.run(seed, .http2))
}

/// A file that was delivered as far as it went, and then grew, seemed to hold what replaces others.
@Test(arguments: [UInt64(5418)])
func `what went wrong once does not go wrong again`(seed: UInt64) {
  report(Trial.run(seed, .scattered))
}

private func run(way: Trial.Way, seeds: UInt64) async {
  if let seed = environment["SEED"].flatMap(UInt64.init) {
    let outcome = Trial.run(seed, way, keepsTrace: true)
    for line in outcome.trace { print(line) }
    report(outcome)
    return
  }
  let count = environment["SEEDS"].flatMap(UInt64.init) ?? seeds
  let pieceSeeds: UInt64 = 5
  let steps = await withTaskGroup(of: Int.self) { group in
    for first in stride(from: 1, through: count, by: Int(pieceSeeds)) {
      group.addTask {
        var steps = 0
        for seed in first..<min(first + pieceSeeds, count + 1) {
          let outcome = Trial.run(seed, way)
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
  if count >= seeds { #expect(steps >= 400 * Int(seeds), "too little happens") }
}

private func report(_ outcome: Trial.Outcome) {
  for violation in outcome.violations {
    Issue.record("SEED=\(outcome.seed) \(violation)")
  }
}

@Test func `one seed is one run, and another seed is another`() {
  let seeds: ClosedRange<UInt64> = 1...3
  let hashes = seeds.map { Trial.run($0).hash }
  #expect(hashes == seeds.map { Trial.run($0).hash })
  #expect(Set(hashes).count == seeds.count)
}
