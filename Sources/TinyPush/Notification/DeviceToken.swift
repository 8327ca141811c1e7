/// A device token: the bytes that name an app on a device for the service.
///
/// Source: Registering your app with APNs, which says that the size of tokens may change.
public struct DeviceToken: BitwiseCopyable {
  /// The most bytes of a token.
  ///
  /// Inferred: tokens of up to 80 bytes are in use.
  public static let byteCountMax = 100
  /// The most hexadecimal digits of a token in text.
  public static let digitCountMax = 2 * byteCountMax

  private var storage: InlineArray<100, UInt8>
  private let storedCount: UInt8

  /// The number of bytes of the token.
  public var count: Int { Int(storedCount) }

  /// The bytes of the token.
  public var bytes: Span<UInt8> {
    @_lifetime(borrow self) get { storage.span.extracting(0..<count) }
  }

  /// Reads hexadecimal digits in either case, two for each byte; nil for any other text.
  @inline(never)
  @_optimize(speed)
  public init?(hex digits: Span<UInt8>) {
    guard Self.isDigitCount(digits.count) else { return nil }
    storage = .init(repeating: 0)
    storedCount = UInt8(digits.count / 2)
    // Nearly all tokens have 64 digits.
    let isRead = digits.count == 64 ? readUsual(digits) : readAny(digits)
    guard isRead else { return nil }
  }

  /// Reads a token in any form that programs print.
  ///
  /// - Hexadecimal digits: `740f4707 bebcf74f`, also between `<` and `>`.
  /// - Base64, with `+/` or `-_`, and with `\/` for a slash, as some programs write JSON.
  @inline(never)
  public init?(printed text: Span<UInt8>) {
    if let token = DeviceToken(hex: text) {
      self = token
      return
    }
    var decoded = InlineArray<100, UInt8>(repeating: 0)
    let count = Self.readGroups(text, &decoded) ?? Self.readBase64(text, &decoded)
    guard let count, count > 0 else { return nil }
    storage = decoded
    storedCount = UInt8(count)
  }

  /// Reads hexadecimal digits between spaces and angle brackets; returns the number of bytes.
  private static func readGroups(
    _ text: Span<UInt8>, _ bytes: inout InlineArray<100, UInt8>
  ) -> Int? {
    var digits = 0
    for index in text.indices {
      switch text[index] {
      case .space, .tab, UInt8(ascii: "<"), UInt8(ascii: ">"): break
      default:
        guard let value = hexValue(text[index]), digits < digitCountMax else { return nil }
        bytes[digits / 2] = bytes[digits / 2] << 4 | value
        digits += 1
      }
    }
    return digits % 2 == 0 ? digits / 2 : nil
  }

  /// Reads base64; returns the number of bytes.
  private static func readBase64(
    _ text: Span<UInt8>, _ bytes: inout InlineArray<100, UInt8>
  ) -> Int? {
    var (value, characters, others, end) = (UInt32(0), 0, 0, text.count)
    while end > 0, text[end - 1] == .equals { end -= 1 }
    for index in 0..<end {
      if text[index] == .backslash, index + 1 < end, text[index + 1] == .slash { continue }
      guard let six = base64Value(text[index]), characters < (byteCountMax + 2) / 3 * 4 else {
        return nil
      }
      if hexValue(text[index]) == nil { others += 1 }
      value = value << 6 | UInt32(six)
      characters += 1
      let count = characters * 6 / 8
      if characters % 4 != 1, count <= byteCountMax {
        bytes[count - 1] = UInt8(truncatingIfNeeded: value >> UInt32(characters * 6 % 8))
      }
    }
    // Hexadecimal digits with a few wrong characters are a mistake.
    let count = characters * 6 / 8
    let isPadded = end == text.count || (characters + text.count - end) % 4 == 0
    guard isPadded, text.count - end <= 2, characters % 4 != 1, count <= byteCountMax, others >= 8,
      value & (1 << UInt32(characters * 6 % 8) - 1) == 0
    else { return nil }
    return count
  }

  /// The six bits that a character of base64 stands for, also in the alphabet for URLs.
  package static func base64Value(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8.capitals: character - UInt8(ascii: "A")
    case UInt8.smallLetters: character - UInt8(ascii: "a") + 26
    case UInt8.digits: character - UInt8(ascii: "0") + 52
    case .plus, .hyphen: 62
    case .slash, .underscore: 63
    default: nil
    }
  }

  /// Copies 1 to 100 bytes; nil for any other number of bytes.
  public init?(bytes source: Span<UInt8>) {
    guard source.count > 0, source.count <= Self.byteCountMax else { return nil }
    storage = .init(repeating: 0)
    storedCount = UInt8(source.count)
    for index in source.indices { storage[index] = source[index] }
  }

  /// Returns whether a token can have this number of hexadecimal digits.
  package static func isDigitCount(_ count: Int) -> Bool {
    count > 0 && count <= digitCountMax && count % 2 == 0
  }

  /// What identifies the token.
  public var identity: TokenIdentity { TokenIdentity(of: bytes) }

  /// The first eight digits as a number; zeros follow the digits of a shorter token.
  public var firstDigits: UInt32 { storage.span.bigEndian32(at: 0) }

  /// Reads 64 digits; returns whether all are digits.
  @inline(__always)
  private mutating func readUsual(_ digits: Span<UInt8>) -> Bool {
    digits.withUnsafeBytes { source in
      withUnsafeMutableBytes(of: &storage) { target in
        var areDigits = Characters(repeating: .max)
        for index in 0..<4 {
          let sixteen = source.loadUnaligned(fromByteOffset: 16 * index, as: Characters.self)
          areDigits &= Self.areDigits(sixteen)
          let values = Self.values(sixteen)
          for half in 0..<2 {
            target.storeBytes(
              of: UInt32(truncatingIfNeeded: values[half]), toByteOffset: 8 * index + 4 * half,
              as: UInt32.self)
          }
        }
        return Self.areAll(areDigits)
      }
    }
  }

  /// Whether a text is 64 hexadecimal digits, as nearly all tokens are.
  @inline(__always)
  static func isUsual(_ text: Span<UInt8>) -> Bool {
    guard text.count == 64 else { return false }
    return text.withUnsafeBytes { digits in
      var areDigits = Characters(repeating: .max)
      for index in 0..<4 {
        areDigits &= Self.areDigits(
          digits.loadUnaligned(fromByteOffset: 16 * index, as: Characters.self))
      }
      return Self.areAll(areDigits)
    }
  }

  @inline(never)
  private mutating func readAny(_ digits: Span<UInt8>) -> Bool {
    for index in 0..<digits.count / 2 {
      guard let high = Self.hexValue(digits[2 * index]),
        let low = Self.hexValue(digits[2 * index + 1])
      else { return false }
      storage[index] = high << 4 | low
    }
    return true
  }

  /// Returns the index of the first byte that is not a hexadecimal digit; nil if all are.
  static func firstNonDigit(_ digits: Span<UInt8>) -> Int? {
    if DeviceToken(hex: digits) != nil { return nil }
    for index in digits.indices where hexValue(digits[index]) == nil { return index }
    return nil
  }

  /// Sixteen characters as two numbers, each with the first character in its lowest byte.
  private typealias Characters = SIMD2<UInt64>

  /// Returns the highest bit of each byte set where the character is a hexadecimal digit.
  @inline(__always)
  private static func areDigits(_ characters: Characters) -> Characters {
    let low = characters & all(0x7F)
    let figures = low ^ all(0x30)
    let letters = (low | all(0x20)) ^ all(0x60)
    // The sums set the highest bit for values from 10, from 1 and from 7 on.
    let isFigure = ~(figures &+ all(0x76))
    let isLetter = (letters &+ all(0x7F)) & ~(letters &+ all(0x79))
    return (isFigure | isLetter) & ~characters
  }

  /// Returns whether the highest bit of each byte is set.
  @inline(__always)
  private static func areAll(_ bits: Characters) -> Bool {
    bits[0] & bits[1] & all(0x80)[0] == all(0x80)[0]
  }

  /// Returns the bytes that the digits encode: four in the low half of each number.
  @inline(__always)
  private static func values(_ digits: Characters) -> Characters {
    // The low four bits of a letter are its place in the alphabet: `a` has 1 and means 10.
    let letters = digits &>> 6 & all(0x01)
    var values = (digits & all(0x0F)) &+ (letters &<< 3) &+ letters
    values = (values &<< 4 | values &>> 8) & Characters(repeating: 0x00FF_00FF_00FF_00FF)
    values = (values | values &>> 8) & Characters(repeating: 0x0000_FFFF_0000_FFFF)
    return values | values &>> 16
  }

  /// Returns the same byte sixteen times.
  @inline(__always)
  private static func all(_ byte: UInt64) -> Characters {
    Characters(repeating: byte &* 0x0101_0101_0101_0101)
  }

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
    left.bytes.equals(right.bytes)
  }
}
