/// Bytes that are characters, by name; a letter or a digit is written `UInt8(ascii: "a")`. Each is a literal to the compiler.
extension UInt8 {
  // MARK: - White space and controls

  @inline(__always) package static var bell: UInt8 { 0x07 }
  @inline(__always) package static var backspace: UInt8 { 0x08 }
  @inline(__always) package static var tab: UInt8 { 0x09 }
  @inline(__always) package static var lineFeed: UInt8 { 0x0A }
  @inline(__always) package static var verticalTab: UInt8 { 0x0B }
  @inline(__always) package static var formFeed: UInt8 { 0x0C }
  @inline(__always) package static var carriageReturn: UInt8 { 0x0D }
  @inline(__always) package static var escape: UInt8 { 0x1B }
  /// What is below is a control character.
  @inline(__always) package static var space: UInt8 { 0x20 }
  @inline(__always) package static var delete: UInt8 { 0x7F }

  // MARK: - Punctuation

  @inline(__always) package static var quote: UInt8 { 0x22 }
  @inline(__always) package static var hash: UInt8 { 0x23 }
  @inline(__always) package static var dollar: UInt8 { 0x24 }
  @inline(__always) package static var percent: UInt8 { 0x25 }
  @inline(__always) package static var apostrophe: UInt8 { 0x27 }
  @inline(__always) package static var asterisk: UInt8 { 0x2A }
  @inline(__always) package static var plus: UInt8 { 0x2B }
  @inline(__always) package static var comma: UInt8 { 0x2C }
  @inline(__always) package static var hyphen: UInt8 { 0x2D }
  @inline(__always) package static var dot: UInt8 { 0x2E }
  @inline(__always) package static var slash: UInt8 { 0x2F }
  @inline(__always) package static var colon: UInt8 { 0x3A }
  @inline(__always) package static var semicolon: UInt8 { 0x3B }
  @inline(__always) package static var equals: UInt8 { 0x3D }
  @inline(__always) package static var at: UInt8 { 0x40 }
  @inline(__always) package static var openBracket: UInt8 { 0x5B }
  @inline(__always) package static var backslash: UInt8 { 0x5C }
  @inline(__always) package static var closeBracket: UInt8 { 0x5D }
  @inline(__always) package static var underscore: UInt8 { 0x5F }
  @inline(__always) package static var openBrace: UInt8 { 0x7B }
  @inline(__always) package static var closeBrace: UInt8 { 0x7D }

  // MARK: - Letters and digits

  @inline(__always) package static var digits: ClosedRange<UInt8> { 0x30...0x39 }
  @inline(__always) package static var capitals: ClosedRange<UInt8> { 0x41...0x5A }
  @inline(__always) package static var smallLetters: ClosedRange<UInt8> { 0x61...0x7A }

  @inline(__always) package var isDigit: Bool { self >= 0x30 && self <= 0x39 }
  /// What a digit stands for.
  @inline(__always) package var digitValue: UInt8 { self - 0x30 }
}
