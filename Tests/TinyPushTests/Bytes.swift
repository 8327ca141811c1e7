@testable import TinyPush

extension [UInt8] {
  /// The bytes that a text of hexadecimal digits stands for; white space does not count.
  init(hex: String) {
    let digits = hex.utf8.filter { $0 > 0x20 }.map {
      UInt8(Character(UnicodeScalar($0)).hexDigitValue!)
    }
    self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  init(_ span: Span<UInt8>) {
    self = span.withUnsafeBufferPointer { Array($0) }
  }

  init(_ buffer: borrowing FixedBuffer<UInt8>, count: Int) {
    self.init(buffer.span(0..<count))
  }

  var hex: String {
    map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

extension String {
  var bytes: [UInt8] { Array(utf8) }

  init(_ span: Span<UInt8>) {
    self.init(decoding: [UInt8](span), as: UTF8.self)
  }
}

/// What `body` writes into a text of `capacity` bytes.
func text(capacity: Int = 1024, _ body: (inout Text) -> Void) -> String {
  var text = Text(capacity: capacity)
  body(&text)
  return String(text.bytes)
}

/// SplitMix64: the same numbers for the same seed, everywhere.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  mutating func upTo(_ bound: Int) -> Int { Int.random(in: 0...bound, using: &self) }
  mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[upTo(elements.count - 1)]
  }
}

// Plain values, which the library declares without saying so.
extension FrameFormat: @unchecked Sendable {}
extension Notification.Lifetime: @unchecked Sendable {}
extension Refusal.Reason: @unchecked Sendable {}
