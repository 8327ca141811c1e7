/// Names for the ASCII bytes that are not letters or digits.
///
/// A letter or digit is written `UInt8(ascii: "a")`. Each property compiles to a literal. Functions
/// marked `@_noAllocation` may call the properties in a debug build, too.
extension UInt8 {
  // MARK: - White space and controls

  package static var backspace: UInt8 { @_noAllocation @inline(__always) get { 0x08 } }
  package static var tab: UInt8 { @_noAllocation @inline(__always) get { 0x09 } }
  package static var lineFeed: UInt8 { @_noAllocation @inline(__always) get { 0x0A } }
  package static var formFeed: UInt8 { @_noAllocation @inline(__always) get { 0x0C } }
  package static var carriageReturn: UInt8 { @_noAllocation @inline(__always) get { 0x0D } }
  package static var escape: UInt8 { @_noAllocation @inline(__always) get { 0x1B } }
  /// The space; all bytes below it are control characters.
  package static var space: UInt8 { @_noAllocation @inline(__always) get { 0x20 } }
  package static var delete: UInt8 { @_noAllocation @inline(__always) get { 0x7F } }

  // MARK: - Punctuation

  package static var quote: UInt8 { @_noAllocation @inline(__always) get { 0x22 } }
  package static var hash: UInt8 { @_noAllocation @inline(__always) get { 0x23 } }
  package static var dollar: UInt8 { @_noAllocation @inline(__always) get { 0x24 } }
  package static var percent: UInt8 { @_noAllocation @inline(__always) get { 0x25 } }
  package static var apostrophe: UInt8 { @_noAllocation @inline(__always) get { 0x27 } }
  package static var asterisk: UInt8 { @_noAllocation @inline(__always) get { 0x2A } }
  package static var plus: UInt8 { @_noAllocation @inline(__always) get { 0x2B } }
  package static var comma: UInt8 { @_noAllocation @inline(__always) get { 0x2C } }
  package static var hyphen: UInt8 { @_noAllocation @inline(__always) get { 0x2D } }
  package static var dot: UInt8 { @_noAllocation @inline(__always) get { 0x2E } }
  package static var slash: UInt8 { @_noAllocation @inline(__always) get { 0x2F } }
  package static var colon: UInt8 { @_noAllocation @inline(__always) get { 0x3A } }
  package static var semicolon: UInt8 { @_noAllocation @inline(__always) get { 0x3B } }
  package static var equals: UInt8 { @_noAllocation @inline(__always) get { 0x3D } }
  package static var at: UInt8 { @_noAllocation @inline(__always) get { 0x40 } }
  package static var openBracket: UInt8 { @_noAllocation @inline(__always) get { 0x5B } }
  package static var backslash: UInt8 { @_noAllocation @inline(__always) get { 0x5C } }
  package static var closeBracket: UInt8 { @_noAllocation @inline(__always) get { 0x5D } }
  package static var underscore: UInt8 { @_noAllocation @inline(__always) get { 0x5F } }
  package static var openBrace: UInt8 { @_noAllocation @inline(__always) get { 0x7B } }
  package static var bar: UInt8 { @_noAllocation @inline(__always) get { 0x7C } }
  package static var closeBrace: UInt8 { @_noAllocation @inline(__always) get { 0x7D } }

  // MARK: - Letters and digits

  package static var digits: ClosedRange<UInt8> {
    @_noAllocation @inline(__always) get { 0x30...0x39 }
  }
  package static var capitals: ClosedRange<UInt8> {
    @_noAllocation @inline(__always) get { 0x41...0x5A }
  }
  package static var smallLetters: ClosedRange<UInt8> {
    @_noAllocation @inline(__always) get { 0x61...0x7A }
  }

  package var isDigit: Bool {
    @_noAllocation @inline(__always) get { self >= 0x30 && self <= 0x39 }
  }
  /// The number that a digit stands for.
  package var digitValue: UInt8 { @_noAllocation @inline(__always) get { self - 0x30 } }
  /// The letter in lower case; another byte as it is.
  package var lowerCase: UInt8 { UInt8.capitals.contains(self) ? self | 0x20 : self }
}

extension Span<UInt8> {
  /// Returns whether these are the letters of a word in lower case, whatever their own case is.
  @inline(never)
  package func equals(ignoringCase word: StaticString) -> Bool {
    count == word.utf8CodeUnitCount && begins(ignoringCase: word)
  }

  /// Returns whether these bytes begin with the letters of a word in lower case.
  @inline(never)
  package func begins(ignoringCase word: StaticString) -> Bool {
    guard count >= word.utf8CodeUnitCount else { return false }
    for index in 0..<word.utf8CodeUnitCount where self[index].lowerCase != word.utf8Start[index] {
      return false
    }
    return true
  }
}
