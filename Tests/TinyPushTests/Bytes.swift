@testable import Simulation
@testable import TinyPush

extension [UInt8] {
  /// Decodes a text of hexadecimal digits; white space is ignored.
  init(hex: String) {
    let digits = hex.utf8.filter { $0 > 0x20 }.map {
      UInt8(Character(UnicodeScalar($0)).hexDigitValue!)
    }
    self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  init(_ buffer: borrowing FixedBuffer<UInt8>, count: Int) {
    self.init(buffer.span(0..<count))
  }

  var hex: String {
    map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

/// Returns what `body` writes into a text of `capacity` bytes.
func text(capacity: Int = 1024, _ body: (inout Text) -> Void) -> String {
  var text = Text(capacity: capacity)
  body(&text)
  return String(text.bytes)
}

// Plain values, which the library does not declare as Sendable.
extension Notification.Lifetime: @unchecked Sendable {}
extension Finding.Reason: @unchecked Sendable {}
