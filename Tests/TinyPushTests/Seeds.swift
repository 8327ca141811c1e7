import Foundation

/// `SEED=7` runs that one alone, and `SEEDS=5000` so many.
let seeds: ClosedRange<UInt64> = {
  let environment = ProcessInfo.processInfo.environment
  if let seed = environment["SEED"].flatMap(UInt64.init) { return seed...seed }
  return 1...(environment["SEEDS"].flatMap(UInt64.init) ?? 300)
}()
