/// SplitMix64: a generator that gives the same numbers for the same seed on every machine.
public struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  /// Creates a generator.
  public init(_ seed: UInt64) { state = seed }

  /// Returns the next number.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// Returns a number from 0 to the bound.
  public mutating func upTo(_ bound: Int) -> Int { Int.random(in: 0...bound, using: &self) }
  /// Returns true once in so many calls.
  public mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
  /// Returns any of the elements.
  public mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[upTo(elements.count - 1)]
  }
}
