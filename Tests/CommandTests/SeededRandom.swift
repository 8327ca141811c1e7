import Foundation

/// Random numbers (SplitMix64) from a printed seed; `SEED=7` in the environment sets the seed.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(for test: String) {
    let given = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init)
    state = given ?? .random(in: 0...UInt64(UInt32.max))
    print("SEED=\(state) for \(test)")
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
