/// A device token: the 32 bytes by which the service knows an app on a device. Source: Local and Remote Notification
/// Programming Guide, 2015-10, table 5-1.
public struct DeviceToken: BitwiseCopyable {
  /// Bytes of a token, and the hex digits that write them.
  public static let byteCount = 32
  public static let digitCount = 64

  public private(set) var bytes: InlineArray<32, UInt8>

  /// From 64 hexadecimal digits in either case; nil for anything else.
  @inline(__always)
  public init?(hex digits: Span<UInt8>) {
    guard digits.count == Self.digitCount else { return nil }
    bytes = .init(repeating: 0)
    for index in 0..<Self.byteCount {
      guard let high = Self.hexValue(digits[2 * index]),
        let low = Self.hexValue(digits[2 * index + 1])
      else { return nil }
      bytes[index] = high << 4 | low
    }
  }

  /// From 32 bytes; nil for any other number.
  public init?(bytes source: Span<UInt8>) {
    guard source.count == Self.byteCount else { return nil }
    bytes = .init(repeating: 0)
    for index in 0..<Self.byteCount { bytes[index] = source[index] }
  }

  /// The first that is no hexadecimal digit; nil: all are.
  static func firstNonDigit(_ digits: Span<UInt8>) -> Int? {
    for index in digits.indices where hexValue(digits[index]) == nil { return index }
    return nil
  }

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
  public static func == (left: DeviceToken, right: DeviceToken) -> Bool {
    for index in 0..<byteCount where left.bytes[index] != right.bytes[index] { return false }
    return true
  }
}
