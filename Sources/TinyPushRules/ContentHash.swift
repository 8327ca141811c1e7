/// A running hash of bytes.
///
/// The hash does not depend on the pieces in which the bytes come. Its 64 bits give no protection
/// against somebody who constructs two contents with the same hash.
///
/// For speed there are two lanes of eight bytes each, multiplied in turn (after FxHash of the Rust
/// compiler).
package struct ContentHash: BitwiseCopyable {
  private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// The number of bytes added.
  package private(set) var bytes: Int64 = 0
  private var even: UInt64 = 0x243F_6A88_85A3_08D3
  private var odd: UInt64 = 0x1319_8A2E_0370_7344
  /// The bytes that do not yet fill both lanes.
  private var evenRest: UInt64 = 0
  private var oddRest: UInt64 = 0

  package init() {}

  /// Adds the next bytes.
  package mutating func add(_ text: Span<UInt8>) {
    text.withUnsafeBytes { text in
      var index = 0
      while index < text.count, bytes & 15 != 0 {
        add(text[index])
        index += 1
      }
      var (even, odd) = (self.even, self.odd)
      let start = index
      while text.count - index >= 16 {
        even = Self.mix(even, text.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        odd = Self.mix(odd, text.loadUnaligned(fromByteOffset: index + 8, as: UInt64.self))
        index += 16
      }
      (self.even, self.odd) = (even, odd)
      bytes += Int64(index - start)
      while index < text.count {
        add(text[index])
        index += 1
      }
    }
  }

  /// The hash of the bytes added so far.
  package var value: UInt64 {
    var value = Self.mix(Self.mix(even, evenRest), Self.mix(odd, oddRest))
    value = Self.mix(value, UInt64(bitPattern: bytes))
    return value ^ value >> 32
  }

  private mutating func add(_ byte: UInt8) {
    let place = UInt64(bytes & 15)
    if place < 8 {
      evenRest |= UInt64(byte) << (place * 8)
    } else {
      oddRest |= UInt64(byte) << (place * 8 - 64)
    }
    bytes += 1
    guard bytes & 15 == 0 else { return }
    even = Self.mix(even, evenRest)
    odd = Self.mix(odd, oddRest)
    evenRest = 0
    oddRest = 0
  }

  @inline(__always)
  private static func mix(_ lane: UInt64, _ word: UInt64) -> UInt64 {
    ((lane << 5 | lane >> 59) ^ word) &* factor
  }
}
