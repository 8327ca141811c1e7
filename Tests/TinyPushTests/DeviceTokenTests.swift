import Testing

@testable import Simulation
@testable import TinyPush

private let digits = "00ff10ABcdef0123456789aAbBcCdDeEfF0000000000000000000000000000e1"

@Test func `a device token is read from upper and lower case digits`() {
  let token = DeviceToken(hex: digits.bytes.span)
  #expect(token.map { [UInt8]($0.bytes).hex } == digits.lowercased())
  let upper = DeviceToken(hex: digits.uppercased().bytes.span)
  #expect(token == upper)
}

@Test(arguments: [
  "", "0", "000", "0g", "g0", "\(digits.dropLast())", "\(digits)0", "\(digits.dropLast())g",
  String(repeating: "0", count: 199), String(repeating: "0", count: 202),
  String(repeating: "0", count: 2048), "\(digits)\(digits)z0",
  "<\(digits.dropFirst(2))>",
  "\(digits.dropLast()) ", "0x\(digits.dropFirst(2))",
])
func `any text but an even number of hex digits, at most 200, is refused as a device token`(
  text: String
) {
  let token = DeviceToken(hex: text.bytes.span)
  #expect(token == nil)
}

@Test func `hexValue returns the value of hex digits and nil for all other bytes`() {
  for byte in UInt8.min...UInt8.max {
    let value = byte < 0x80 ? Character(UnicodeScalar(byte)).hexDigitValue : nil
    #expect(DeviceToken.hexValue(byte).map(Int.init) == value)
  }
}

@Test func `each place of a device token accepts only hex digits`() {
  for place in 0..<130 {
    for byte in UInt8.min...UInt8.max {
      // A token of 64 digits is read in another way.
      var text = (place < 64 ? digits : digits + digits + "ab").bytes
      text[place] = byte
      let token = DeviceToken(hex: text.span)
      let digit = DeviceToken.hexValue(byte)
      let value = token.map { $0.bytes[place / 2] >> (place % 2 == 0 ? 4 : 0) & 15 }
      #expect(value == digit)
    }
  }
}

@Test(arguments: 0...102)
func `a device token has 1 to 100 bytes, from bytes and from digits`(count: Int) {
  let bytes = (0..<count).map { UInt8($0 + 150) }
  let token = DeviceToken(bytes: bytes.span)
  let read = DeviceToken(hex: bytes.hex.bytes.span)
  let upper = DeviceToken(hex: bytes.hex.uppercased().bytes.span)
  guard let token, let read, let upper else {
    #expect(count == 0 || count > 100)
    return
  }
  #expect(token == read && token == upper && token.count == count && count <= 100)
  #expect([UInt8](token.bytes) == bytes)
}

@Test func `a device token is unequal to its beginning`() {
  let long = DeviceToken(hex: String(repeating: "00", count: 100).bytes.span)!
  for count in 1..<100 {
    let isEqual = long == DeviceToken(bytes: [UInt8](repeating: 0, count: count).span)!
    #expect(!isEqual)
  }
}

@Test(arguments: [(1, "ab000000"), (3, "ababab00"), (4, "abababab"), (80, "abababab")])
func `the first digits of a short token are followed by zeros`(count: Int, digits: String) {
  let token = DeviceToken(bytes: [UInt8](repeating: 0xAB, count: count).span)!
  #expect(token.firstDigits == UInt32(digits, radix: 16))
}

@Test func `device tokens that differ in one bit are unequal`() throws {
  let zero = [UInt8](repeating: 0, count: 32)
  for bit in 0..<256 {
    var other = zero
    other[bit / 8] = 1 << (bit % 8)
    let isEqual = DeviceToken(bytes: zero.span)! == DeviceToken(bytes: other.span)!
    #expect(!isEqual)
  }
}
