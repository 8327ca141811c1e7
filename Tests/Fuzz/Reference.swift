/// A JSON (RFC 8259) validator in the simplest form: recursive, one character at a time.
struct Reference {
  private var rest: ArraySlice<UInt8>
  private var depth = 0

  /// A text that is not valid: it is incomplete, or wrong.
  private enum Wrong: Error { case cut, wrong }

  enum Validity { case valid, cut, wrong }

  /// Returns whether a text with at most `depthMax` levels is valid.
  static func validity(_ text: [UInt8], depthMax: Int) -> Validity {
    var reference = Reference(rest: text[...])
    do {
      try reference.value(depthMax)
      reference.space()
      return reference.rest.isEmpty ? .valid : .wrong
    } catch {
      return error == .cut ? .cut : .wrong
    }
  }

  private init(rest: ArraySlice<UInt8>) {
    self.rest = rest
  }

  private mutating func space() {
    while let byte = rest.first, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { rest.removeFirst() }
  }

  private mutating func take() throws(Wrong) -> UInt8 {
    guard let byte = rest.popFirst() else { throw .cut }
    return byte
  }

  private mutating func expect(_ bytes: StaticString) throws(Wrong) {
    for byte in UnsafeBufferPointer(start: bytes.utf8Start, count: bytes.utf8CodeUnitCount) {
      guard try take() == byte else { throw .wrong }
    }
  }

  private mutating func value(_ levels: Int) throws(Wrong) {
    space()
    guard let first = rest.first else { throw .cut }
    switch first {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard levels > 0 else { throw .wrong }
      try members(isObject: first == UInt8(ascii: "{"), levels - 1)
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "t"): try expect("true")
    case UInt8(ascii: "f"): try expect("false")
    case UInt8(ascii: "n"): try expect("null")
    default: try number()
    }
  }

  private mutating func members(isObject: Bool, _ levels: Int) throws(Wrong) {
    let end = UInt8(ascii: isObject ? "}" : "]")
    rest.removeFirst()
    space()
    if rest.first == end {
      rest.removeFirst()
      return
    }
    while true {
      space()
      if isObject {
        guard let first = rest.first else { throw .cut }
        guard first == UInt8(ascii: "\"") else { throw .wrong }
        try string()
        space()
        try expect(":")
      }
      try value(levels)
      space()
      let byte = try take()
      if byte == end { return }
      guard byte == UInt8(ascii: ",") else { throw .wrong }
    }
  }

  private mutating func digits() throws(Wrong) {
    guard let first = rest.first else { throw .cut }
    guard isDigit(first) else { throw .wrong }
    while let byte = rest.first, isDigit(byte) { rest.removeFirst() }
  }

  private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private mutating func number() throws(Wrong) {
    if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
    if rest.first == UInt8(ascii: "0") {
      rest.removeFirst()
      if let byte = rest.first, isDigit(byte) { throw .wrong }
    } else {
      try digits()
    }
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      try digits()
    }
    if let byte = rest.first, byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
      rest.removeFirst()
      if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
        rest.removeFirst()
      }
      try digits()
    }
  }

  private mutating func string() throws(Wrong) {
    rest.removeFirst()
    while true {
      guard let byte = rest.first else { throw .cut }
      switch byte {
      case UInt8(ascii: "\""):
        rest.removeFirst()
        return
      case UInt8(ascii: "\\"):
        let unit = try escape()
        if let unit, unit >= 0xD800, unit < 0xE000 {
          guard unit < 0xDC00 else { throw .wrong }
          guard let next = rest.first else { throw .cut }
          guard next == UInt8(ascii: "\\") else { throw .wrong }
          guard rest.count > 1 else { throw .cut }
          guard let low = try escape(), low >= 0xDC00, low < 0xE000 else { throw .wrong }
        }
      case 0..<0x20: throw .wrong
      case ..<0x80: rest.removeFirst()
      default: try character()
      }
    }
  }

  /// Reads an escape.
  ///
  /// Returns its code unit if it is an escape with hexadecimal digits.
  private mutating func escape() throws(Wrong) -> UInt32? {
    rest.removeFirst()
    let kind = try take()
    guard kind == UInt8(ascii: "u") else {
      guard #""\/bfnrt"#.utf8.contains(kind) else { throw .wrong }
      return nil
    }
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Character(UnicodeScalar(try take())).hexDigitValue else { throw .wrong }
      unit = unit * 16 + UInt32(digit)
    }
    return unit
  }

  /// Reads a character of several bytes, as the standard library defines it.
  private mutating func character() throws(Wrong) {
    for count in 2...4
    where String(validating: rest.prefix(count), as: UTF8.self)?.unicodeScalars.count == 1 {
      guard rest.count >= count else { break }
      rest.removeFirst(count)
      return
    }
    // The text is incomplete if more bytes can complete the character.
    for more in 1...3 where rest.count + more <= 4 {
      for next in [0x80, 0x90, 0xA0] as [UInt8] {
        let completed = rest + [next] + [UInt8](repeating: 0x80, count: more - 1)
        if String(validating: completed, as: UTF8.self)?.unicodeScalars.count == 1 { throw .cut }
      }
    }
    throw .wrong
  }
}
