/// A device token: the 32 bytes that name an app on a device for the service.
///
/// Source: Local and Remote Notification Programming Guide, 2015-10, table 5-1.
public struct DeviceToken: BitwiseCopyable {
  /// The number of bytes of a token.
  public static let byteCount = 32
  /// The number of hexadecimal digits of a token in text.
  public static let digitCount = 64

  /// The bytes of the token.
  public private(set) var bytes: InlineArray<32, UInt8>

  /// Reads 64 hexadecimal digits in either case; nil for any other text.
  @inline(__always)
  public init?(hex digits: Span<UInt8>) {
    guard digits.count == Self.digitCount else { return nil }
    bytes = .init(repeating: 0)
    var areDigits = true
    for index in 0..<8 {
      let eight = digits.withUnsafeBytes {
        UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
      }
      areDigits = Self.areDigits(eight) && areDigits
      let four = Self.fourBytes(eight)
      for place in 0..<4 {
        bytes[4 * index + place] = UInt8(truncatingIfNeeded: four >> UInt32(8 * place))
      }
    }
    guard areDigits else { return nil }
  }

  /// Copies 32 bytes; nil for any other number of bytes.
  public init?(bytes source: Span<UInt8>) {
    guard source.count == Self.byteCount else { return nil }
    bytes = .init(repeating: 0)
    for index in 0..<Self.byteCount { bytes[index] = source[index] }
  }

  /// A hash of the token.
  package var hash: UInt64 {
    bytes.span.withUnsafeBytes { raw in
      var hash: UInt64 = 0
      for index in 0..<4 { hash ^= raw.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
      return hash
    }
  }

  /// The first eight digits as a number.
  public var firstDigits: UInt32 { bytes.span.bigEndian32(at: 0) }

  /// Returns the index of the first byte that is not a hexadecimal digit; nil if all are.
  static func firstNonDigit(_ digits: Span<UInt8>) -> Int? {
    if DeviceToken(hex: digits) != nil { return nil }
    for index in digits.indices where hexValue(digits[index]) == nil { return index }
    return nil
  }

  /// Returns whether eight characters, the first in the lowest byte, are hexadecimal digits.
  ///
  /// All eight are checked at once. The highest bit of each byte holds the result for that byte.
  private static func areDigits(_ characters: UInt64) -> Bool {
    let low = characters & eight(0x7F)
    let figures = low ^ eight(0x30)
    let letters = (low | eight(0x20)) ^ eight(0x60)
    // The sums set the highest bit for values from 10, from 1 and from 7 on.
    let isFigure = ~(figures + eight(0x76))
    let isLetter = (letters + eight(0x7F)) & ~(letters + eight(0x79))
    return (isFigure | isLetter) & ~characters & eight(0x80) == eight(0x80)
  }

  /// Returns the four bytes that eight digits encode, the first in the lowest byte.
  private static func fourBytes(_ digits: UInt64) -> UInt32 {
    // The low four bits of a letter are its place in the alphabet: `a` has 1 and means 10.
    var values = (digits & eight(0x0F)) + 9 * (digits >> 6 & eight(0x01))
    values = (values << 4 | values >> 8) & 0x00FF_00FF_00FF_00FF
    values = (values | values >> 8) & 0x0000_FFFF_0000_FFFF
    return UInt32(truncatingIfNeeded: values | values >> 16)
  }

  /// Returns the same byte eight times.
  private static func eight(_ byte: UInt64) -> UInt64 { byte * 0x0101_0101_0101_0101 }

  /// Returns the value of a hexadecimal digit; nil for any other byte.
  @_noAllocation
  @inline(__always)
  public static func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8.digits: digit.digitValue
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - (UInt8(ascii: "A") - 10)
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - (UInt8(ascii: "a") - 10)
    default: nil
    }
  }
}

extension DeviceToken: Equatable {
  /// Returns whether two tokens are the same.
  public static func == (left: DeviceToken, right: DeviceToken) -> Bool {
    for index in 0..<byteCount where left.bytes[index] != right.bytes[index] { return false }
    return true
  }
}
