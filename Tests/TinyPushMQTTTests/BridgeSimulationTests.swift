import Foundation
import Testing

/// The bridge with a broker and a spool that fail.
///
/// `SEED=7` runs one seed and prints its trace, and `SEEDS=5000` runs this many.
@Suite struct BridgeSimulationTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seeds = environment["SEEDS"].flatMap(UInt64.init) ?? 40

  @Test func `no message is lost, and none is acknowledged before it is on disk`() {
    if let seed = Self.environment["SEED"].flatMap(UInt64.init) {
      let simulation = BridgeSimulation(seed: seed)
      simulation.run()
      for line in simulation.trace { print(line) }
      #expect(simulation.violation == nil)
      return
    }
    for seed in 1...Self.seeds {
      let simulation = BridgeSimulation(seed: seed)
      simulation.run()
      if let violation = simulation.violation { Issue.record("SEED=\(seed) \(violation)") }
    }
  }
}
