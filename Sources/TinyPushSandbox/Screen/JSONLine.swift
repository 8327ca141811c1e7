import TinyPush

/// One object of JSON Lines, member by member.
struct JSONLine {
  /// Begins it with what every event bears.
  init(_ event: StaticString, at unixMs: Int64, in text: inout Text) {
    text.append("{\"event\":\"")
    text.append(event)
    text.append("\",\"time\":")
    text.append(unixMs / 1000)
    text.append(".")
    text.append(unixMs % 1000, digits: 3)
  }

  func key(_ name: StaticString, in text: inout Text) {
    text.append(",\"")
    text.append(name)
    text.append("\":")
  }

  func member<Number: FixedWidthInteger>(
    _ name: StaticString, _ number: Number, in text: inout Text
  ) {
    key(name, in: &text)
    text.append(number)
  }

  /// A number, or null.
  func member<Number: FixedWidthInteger>(
    _ name: StaticString, _ number: Number?, in text: inout Text
  ) {
    key(name, in: &text)
    if let number { text.append(number) } else { text.append("null") }
  }

  func member(_ name: StaticString, _ flag: Bool, in text: inout Text) {
    key(name, in: &text)
    text.append(flag ? "true" : "false")
  }

  func member(_ name: StaticString, text value: Span<UInt8>, in text: inout Text) {
    key(name, in: &text)
    text.append(json: value)
  }

  func member(_ name: StaticString, hex bytes: Span<UInt8>, in text: inout Text) {
    key(name, in: &text)
    text.append("\"")
    text.append(hex: bytes)
    text.append("\"")
  }

  /// Valid JSON, less its white space, which might hold line ends.
  func member(_ name: StaticString, json value: Span<UInt8>, in text: inout Text) {
    key(name, in: &text)
    var isInString = false
    var start = 0
    var index = 0
    while index < value.count {
      let byte = value[index]
      if byte == 0x22 {
        isInString.toggle()
      } else if isInString {
        if byte == 0x5C { index += 1 }
      } else if byte <= 0x20 {
        text.append(bytes: value.extracting(start..<index))
        start = index + 1
      }
      index += 1
    }
    text.append(bytes: value.extracting(start..<value.count))
  }

  func end(in text: inout Text) { text.append("}\n") }
}
