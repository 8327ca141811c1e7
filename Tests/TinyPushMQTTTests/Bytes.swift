import Testing
import TinyPush
import TinyPushMQTT

extension [UInt8] {
  /// The bytes of hexadecimal digits; white space does not count.
  init(hex: String) {
    let digits = hex.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue!) }
    self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}

extension Span<UInt8> {
  /// The bytes as text.
  var string: String { String(decoding: array, as: UTF8.self) }

  /// The bytes as an array.
  var array: [UInt8] { withUnsafeBufferPointer { Array($0) } }
}
