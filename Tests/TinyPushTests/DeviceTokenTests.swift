import Testing

@testable import Simulation
@testable import TinyPush

private let digits = "00ff10ABcdef0123456789aAbBcCdDeEfF0000000000000000000000000000e1"

@Test func `a device token is read from upper and lower case digits`() {
  let token = DeviceToken(hex: digits.bytes.span)
  #expect(token.map { [UInt8]($0.bytes.span).hex } == digits.lowercased())
  let upper = DeviceToken(hex: digits.uppercased().bytes.span)
  #expect(token == upper)
}

@Test(arguments: [
  "", "00", "\(digits.dropLast())", "\(digits)0", "\(digits.dropLast())g",
  "<\(digits.dropFirst(2))>",
  "\(digits.dropLast()) ", "0x\(digits.dropFirst(2))",
])
func `any text but 64 hex digits is refused as a device token`(text: String) {
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
  for place in 0..<64 {
    for byte in UInt8.min...UInt8.max {
      var text = digits.bytes
      text[place] = byte
      let token = DeviceToken(hex: text.span)
      let digit = DeviceToken.hexValue(byte)
      let value = token.map { $0.bytes[place / 2] >> (place % 2 == 0 ? 4 : 0) & 15 }
      #expect(value == digit)
    }
  }
}

@Test(arguments: [0, 31, 32, 33])
func `a device token from bytes needs 32 bytes`(count: Int) {
  let token = DeviceToken(bytes: [UInt8](repeating: 7, count: count).span)
  #expect((token != nil) == (count == 32))
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
