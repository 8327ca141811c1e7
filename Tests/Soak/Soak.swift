import Foundation
import Simulation

/// Runs one seed after the other, until one fails or somebody stops the program.
///
///     soak [FIRST [COUNT]]
///     SEED=7 soak                only that seed, and what happens in it
///     SEED=7 WAY=http2 soak      the same over another link: binary, scattered, http2 or lanes
///     WAY=http2 soak [FIRST [COUNT]]    only that link
@main
struct Soak {
  static func main() {
    let environment = ProcessInfo.processInfo.environment
    let way = environment["WAY"].flatMap(Trial.Way.init)
    if let seed = environment["SEED"].flatMap(UInt64.init) {
      replay(seed, way ?? .binary, lines: .max)
    }
    let ways = way.map { [$0] } ?? Trial.Way.allCases
    let numbers = CommandLine.arguments.dropFirst().compactMap(UInt64.init)
    let first = numbers.first ?? UInt64(Date().timeIntervalSince1970) << 20
    let last = numbers.count > 1 ? first + numbers[1] : .max
    var steps = 0
    let start = Date()
    var told = start
    for seed in first..<last {
      for way in ways {
        let outcome = Trial.run(seed, way)
        steps += outcome.steps
        if !outcome.violations.isEmpty { replay(seed, way, lines: 200) }
      }
      guard Date().timeIntervalSince(told) >= 10 || seed + 1 == last else { continue }
      told = Date()
      let seconds = told.timeIntervalSince(start)
      print("\(seed + 1 - first) seeds, \(steps) steps, \(Int(Double(steps) / seconds)) steps/s")
      fflush(nil)
    }
  }

  static func replay(_ seed: UInt64, _ way: Trial.Way, lines: Int) -> Never {
    let outcome = Trial.run(seed, way, keepsTrace: true)
    let trace = outcome.trace
    for line in trace.prefix(1) + trace.dropFirst().suffix(lines) { print(line) }
    for violation in outcome.violations { print(violation) }
    print(
      "SEED=\(seed)\(way == .binary ? "" : " WAY=\(way)")  \(outcome.steps) steps, trace \(String(outcome.hash, radix: 16))"
    )
    exit(outcome.violations.isEmpty ? 0 : 1)
  }
}
