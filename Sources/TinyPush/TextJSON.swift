/// JSON, written value by value.
///
/// Commas are added automatically: the last byte of the text shows whether a value precedes.
extension Text {
  // MARK: - Objects and arrays

  /// Begins an object.
  @inline(never)
  public mutating func beginObject() {
    separate()
    append("{")
  }

  /// Ends an object.
  @inline(never)
  public mutating func endObject() { append("}") }

  /// Ends an object of JSON Lines.
  @inline(never)
  public mutating func endLine() { append("}\n") }

  /// Begins an array.
  @inline(never)
  public mutating func beginArray() {
    separate()
    append("[")
  }

  /// Ends an array.
  @inline(never)
  public mutating func endArray() { append("]") }

  /// Appends a string to an array.
  @inline(never)
  public mutating func element(string value: Span<UInt8>) {
    separate()
    append(json: value)
  }

  // MARK: - Members

  /// Appends the key of a member; the key must need no escapes, and its value must follow.
  @inline(__always)
  public mutating func key(_ name: StaticString) { key(terminated: name.utf8Start) }

  /// Appends a key of any bytes, escaped.
  @inline(never)
  public mutating func key(escaping name: Span<UInt8>) {
    element(string: name)
    append(":")
  }

  /// Appends a member whose value is a string.
  @inline(__always)
  public mutating func member(_ name: StaticString, string value: Span<UInt8>) {
    member(terminated: name.utf8Start, string: value)
  }

  /// Appends a member whose value is a string.
  @inline(__always)
  public mutating func member(_ name: StaticString, string value: borrowing Text) {
    member(terminated: name.utf8Start, string: value)
  }

  /// Appends a member whose value is a string that needs no escapes.
  @inline(__always)
  public mutating func member(_ name: StaticString, word: StaticString) {
    member(terminated: name.utf8Start, word: word.utf8Start)
  }

  /// Appends a member whose value is a string of hexadecimal digits.
  @inline(never)
  public mutating func member(_ name: StaticString, hex bytes: Span<UInt8>) {
    key(name)
    append("\"")
    append(hex: bytes)
    append("\"")
  }

  /// Appends a member whose value is a whole number.
  @inline(__always)
  public mutating func member<Number: FixedWidthInteger>(_ name: StaticString, number: Number) {
    if Number.isSigned {
      member(terminated: name.utf8Start, signed: Int64(number))
    } else {
      member(terminated: name.utf8Start, unsigned: UInt64(number))
    }
  }

  /// Appends a member whose value is a whole number, or null.
  @inline(__always)
  public mutating func member<Number: FixedWidthInteger>(_ name: StaticString, number: Number?) {
    if let number { member(name, number: number) } else { member(null: name) }
  }

  /// Appends a member whose value is in seconds, with three decimal places.
  @inline(never)
  public mutating func member(_ name: StaticString, milliseconds: Int64) {
    key(name)
    append(milliseconds / 1000)
    append(".")
    append(milliseconds % 1000, digits: 3)
  }

  /// Appends a member whose value is true or false.
  @inline(__always)
  public mutating func member(_ name: StaticString, bool: Bool) {
    member(terminated: name.utf8Start, bool: bool)
  }

  /// Appends a member whose value is null.
  @inline(never)
  public mutating func member(null name: StaticString) {
    key(name)
    append("null")
  }

  /// Appends a member whose value is given as JSON.
  @inline(never)
  public mutating func member(_ name: StaticString, raw value: Span<UInt8>) {
    key(name)
    append(bytes: value)
  }

  /// Appends a member whose value is given as JSON, without the white space of the value.
  ///
  /// The white space might hold line ends.
  @inline(never)
  public mutating func member(_ name: StaticString, compacting value: Span<UInt8>) {
    key(name)
    var isInString = false
    var start = 0
    var index = 0
    while index < value.count {
      let byte = value[index]
      if byte == .quote {
        isInString.toggle()
      } else if isInString {
        if byte == .backslash { index += 1 }
      } else if byte <= .space {
        append(bytes: value.extracting(start..<index))
        start = index + 1
      }
      index += 1
    }
    append(bytes: value.extracting(start..<value.count))
  }

  // MARK: - A string by itself

  /// Appends a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
  @inline(never)
  public mutating func append(json bytes: Span<UInt8>) {
    append(byte: .quote)
    append(escaping: bytes, isText: false)
    append(byte: .quote)
  }

  /// Appends the content of a JSON string.
  ///
  /// - Parameter isText: whether what is not UTF-8 is taken as Windows-1252, and does not become
  ///   U+FFFD.
  @inline(never)
  public mutating func append(escaping bytes: Span<UInt8>, isText: Bool = true) {
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      switch byte {
      case .quote: append("\\\"")
      case .backslash: append("\\\\")
      case .lineFeed: append("\\n")
      case .tab: append("\\t")
      case 0..<UInt8.space, .delete:
        append("\\u00")
        append(byte: Self.hexDigit(byte >> 4))
        append(byte: Self.hexDigit(byte & 15))
      case 0x80...:
        let length = UTF8Sequence.length(in: bytes, at: index)
        if length == 0 {
          append(scalar: isText ? Windows1252.scalar(of: byte) : 0xFFFD)
        } else {
          append(bytes: bytes.extracting(index..<index + length))
          index += length - 1
        }
      default: append(byte: byte)
      }
      index += 1
    }
  }

  /// Appends a JSON string with its quotes.
  @inline(never)
  public mutating func append(json text: borrowing Text) {
    append(json: text.bytes)
  }

  // MARK: - Parts

  /// Appends a key, given as the address of its literal.
  @inline(never)
  private mutating func key(terminated name: UnsafePointer<UInt8>) {
    separate()
    append("\"")
    append(terminated: name)
    append("\":")
  }

  @inline(never)
  private mutating func member(terminated name: UnsafePointer<UInt8>, string value: Span<UInt8>) {
    key(terminated: name)
    append(json: value)
  }

  @inline(never)
  private mutating func member(
    terminated name: UnsafePointer<UInt8>, string value: borrowing Text
  ) {
    key(terminated: name)
    append(json: value)
  }

  @inline(never)
  private mutating func member(
    terminated name: UnsafePointer<UInt8>, word: UnsafePointer<UInt8>
  ) {
    key(terminated: name)
    append("\"")
    append(terminated: word)
    append("\"")
  }

  @inline(never)
  private mutating func member(terminated name: UnsafePointer<UInt8>, signed number: Int64) {
    key(terminated: name)
    append(number)
  }

  @inline(never)
  private mutating func member(terminated name: UnsafePointer<UInt8>, unsigned number: UInt64) {
    key(terminated: name)
    append(number)
  }

  @inline(never)
  private mutating func member(terminated name: UnsafePointer<UInt8>, bool: Bool) {
    key(terminated: name)
    append(bool ? "true" : "false")
  }

  /// Appends a comma if the text ends with a value.
  ///
  /// A line end or another control character at the end does not end a value.
  private mutating func separate() {
    guard count > 0 else { return }
    let last = bytes[count - 1]
    switch last {
    case 0..<UInt8.space, .openBrace, .openBracket, .colon: break
    default: append(",")
    }
  }
}
