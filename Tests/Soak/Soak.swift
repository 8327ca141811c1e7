import Foundation
import Simulation

/// Runs one seed after the other, until one fails or it is told to stop.
///
///     soak [FIRST [COUNT]]
///     SEED=7 soak                that one alone, and what happened in it
///     SEED=7 SCATTERED=1 soak    the same over the link whose answers come in any order
@main
struct Soak {
  static func main() {
    if let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) {
      let isScattered = ProcessInfo.processInfo.environment["SCATTERED"] != nil
      replay(seed, isScattered: isScattered, lines: .max)
    }
    let numbers = CommandLine.arguments.dropFirst().compactMap(UInt64.init)
    let first = numbers.first ?? UInt64(Date().timeIntervalSince1970) << 20
    let last = numbers.count > 1 ? first + numbers[1] : .max
    var steps = 0
    let start = Date()
    var told = start
    for seed in first..<last {
      for isScattered in [false, true] {
        let outcome = Trial.run(seed, isScattered: isScattered)
        steps += outcome.steps
        if !outcome.violations.isEmpty { replay(seed, isScattered: isScattered, lines: 200) }
      }
      guard Date().timeIntervalSince(told) >= 10 || seed + 1 == last else { continue }
      told = Date()
      let seconds = told.timeIntervalSince(start)
      print("\(seed + 1 - first) seeds, \(steps) steps, \(Int(Double(steps) / seconds)) steps/s")
      fflush(nil)
    }
  }

  static func replay(_ seed: UInt64, isScattered: Bool, lines: Int) -> Never {
    let outcome = Trial.run(seed, isScattered: isScattered, keepsTrace: true)
    let trace = outcome.trace
    for line in trace.prefix(1) + trace.dropFirst().suffix(lines) { print(line) }
    for violation in outcome.violations { print(violation) }
    print(
      "SEED=\(seed)\(isScattered ? " SCATTERED=1" : "")  \(outcome.steps) steps, trace \(String(outcome.hash, radix: 16))"
    )
    exit(outcome.violations.isEmpty ? 0 : 1)
  }
}
