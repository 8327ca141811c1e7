/// Text that is built in a buffer of fixed size.
///
/// Text that does not fit is cut off, and ``isCut`` is set.
public struct Text: ~Copyable {
  private let buffer: FixedBuffer<UInt8>
  /// The number of bytes.
  public private(set) var count = 0
  /// Whether something was cut off for lack of room.
  public private(set) var isCut = false

  /// Makes an empty text with room for `capacity` bytes.
  @inline(never)
  public init(capacity: Int = 1024) {
    buffer = FixedBuffer(capacity: capacity)
  }

  /// Copies `bytes`.
  package init(_ bytes: Span<UInt8>) {
    self.init(capacity: bytes.count)
    append(bytes: bytes)
  }

  /// The bytes of the text.
  public var bytes: Span<UInt8> {
    @_lifetime(borrow self) get { buffer.span(0..<count) }
  }

  /// The bytes of the text, without borrowing it; valid until the text changes.
  package var unsafeBytes: Span<UInt8> {
    @_lifetime(immortal) get { buffer.unsafeSpan(0..<count) }
  }

  /// All memory of the buffer.
  var memory: UnsafeMutableRawBufferPointer { buffer.bytes }

  /// Empties the text.
  public mutating func clear() {
    count = 0
    isCut = false
  }

  /// Removes all but the first `count` bytes.
  public mutating func truncate(to count: Int) {
    precondition(count <= self.count)
    self.count = count
    isCut = false
  }

  /// Appends a byte.
  @inline(never)
  public mutating func append(byte: UInt8) {
    guard count < buffer.capacity else {
      isCut = true
      return
    }
    buffer[count] = byte
    count += 1
  }

  /// Appends a literal.
  ///
  /// A literal ends with a NUL, so only its address is passed. This keeps the program small: it has
  /// hundreds of such calls.
  @inline(__always)
  public mutating func append(_ text: StaticString) {
    append(terminated: text.utf8Start)
  }

  /// Appends bytes.
  @inline(never)
  public mutating func append(bytes: Span<UInt8>) {
    let room = buffer.capacity - count
    let taken = bytes.count <= room ? bytes.count : room
    if taken < bytes.count { isCut = true }
    buffer.store(bytes.extracting(0..<taken), at: count)
    count += taken
  }

  /// Appends another text.
  @inline(never)
  public mutating func append(_ text: borrowing Text) {
    append(bytes: text.bytes)
  }

  /// Appends the first `count` bytes of a buffer.
  public mutating func append(_ buffer: borrowing FixedBuffer<UInt8>, count: Int) {
    append(bytes: buffer.span(0..<count))
  }

  /// Appends a C string; nothing for nil.
  public mutating func append(cString: UnsafePointer<CChar>?) {
    guard let cString else { return }
    append(terminated: UnsafeRawPointer(cString).assumingMemoryBound(to: UInt8.self))
  }

  /// Appends the bytes up to a NUL.
  @inline(never)
  package mutating func append(terminated bytes: UnsafePointer<UInt8>) {
    var length = 0
    while bytes[length] != 0 { length += 1 }
    append(bytes: Span(_unsafeStart: bytes, count: length))
  }

  /// Replaces each line end from `start` on by a space.
  ///
  /// JSON text has line ends only where white space is allowed.
  mutating func putInOneLine(from start: Int) {
    for index in start..<count where buffer[index] == 0x0A || buffer[index] == 0x0D {
      buffer[index] = 0x20
    }
  }

  /// Appends a Unicode scalar in UTF-8.
  @inline(never)
  public mutating func append(scalar: UInt32) {
    var (byte, rest) = UTF8Sequence.encode(scalar)
    while true {
      append(byte: byte)
      guard rest != 0 else { return }
      byte = UInt8(truncatingIfNeeded: rest)
      rest >>= 8
    }
  }

  /// Appends a number in decimal, with at least `digits` digits.
  @inline(never)
  public mutating func append<Number: FixedWidthInteger>(_ number: Number, digits: Int = 1) {
    if number < 0 { append(byte: .hyphen) }
    append(magnitude: UInt64(number.magnitude), digits: digits)
  }

  @inline(never)
  private mutating func append(magnitude: UInt64, digits: Int) {
    var rest = magnitude
    var reversed: InlineArray<20, UInt8> = .init(repeating: UInt8(ascii: "0"))
    var length = 0
    while rest > 0 || length < digits {
      reversed[length] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
      length += 1
    }
    for index in 0..<length { append(byte: reversed[length - 1 - index]) }
  }

  // MARK: - A value between two literals

  /// Appends a literal, a number and a literal.
  @inline(__always)
  public mutating func append<Number: FixedWidthInteger>(
    _ before: StaticString, _ number: Number, _ after: StaticString = ""
  ) {
    if Number.isSigned {
      append(before.utf8Start, signed: Int64(number), after.utf8Start)
    } else {
      append(before.utf8Start, unsigned: UInt64(number), after.utf8Start)
    }
  }

  /// Appends three literals.
  @inline(__always)
  public mutating func append(
    _ before: StaticString, _ words: StaticString, _ after: StaticString = ""
  ) {
    append(before.utf8Start, terminated: words.utf8Start, after.utf8Start)
  }

  /// Appends a literal, a text and a literal.
  @inline(__always)
  public mutating func append(
    _ before: StaticString, _ text: borrowing Text, _ after: StaticString = ""
  ) {
    append(before, bytes: text.bytes, after)
  }

  /// Appends a literal, bytes and a literal.
  @inline(__always)
  public mutating func append(
    _ before: StaticString, bytes: Span<UInt8>, _ after: StaticString = ""
  ) {
    append(before.utf8Start, bytes: bytes, after.utf8Start)
  }

  /// Appends a literal, untrusted bytes with escapes, and a literal.
  @inline(__always)
  public mutating func append(
    _ before: StaticString, printable bytes: Span<UInt8>, _ after: StaticString = ""
  ) {
    append(before.utf8Start, printable: bytes, after.utf8Start)
  }

  /// Appends a literal, an untrusted text with escapes, and a literal.
  @inline(__always)
  public mutating func append(
    _ before: StaticString, printable text: borrowing Text, _ after: StaticString = ""
  ) {
    append(before.utf8Start, printable: text.bytes, after.utf8Start)
  }

  /// Appends a literal, a C string (nothing for nil) and a literal.
  @inline(__always)
  public mutating func append(
    _ before: StaticString, cString: UnsafePointer<CChar>?, _ after: StaticString = ""
  ) {
    let words = cString.map { UnsafeRawPointer($0).assumingMemoryBound(to: UInt8.self) }
    append(before.utf8Start, terminated: words ?? ("" as StaticString).utf8Start, after.utf8Start)
  }

  @inline(never)
  private mutating func append(
    _ before: UnsafePointer<UInt8>, signed number: Int64, _ after: UnsafePointer<UInt8>
  ) {
    append(terminated: before)
    append(number)
    append(terminated: after)
  }

  @inline(never)
  private mutating func append(
    _ before: UnsafePointer<UInt8>, unsigned number: UInt64, _ after: UnsafePointer<UInt8>
  ) {
    append(terminated: before)
    append(number)
    append(terminated: after)
  }

  @inline(never)
  private mutating func append(
    _ before: UnsafePointer<UInt8>, terminated words: UnsafePointer<UInt8>,
    _ after: UnsafePointer<UInt8>
  ) {
    append(terminated: before)
    append(terminated: words)
    append(terminated: after)
  }

  @inline(never)
  private mutating func append(
    _ before: UnsafePointer<UInt8>, bytes: Span<UInt8>, _ after: UnsafePointer<UInt8>
  ) {
    append(terminated: before)
    append(bytes: bytes)
    append(terminated: after)
  }

  @inline(never)
  private mutating func append(
    _ before: UnsafePointer<UInt8>, printable bytes: Span<UInt8>, _ after: UnsafePointer<UInt8>
  ) {
    append(terminated: before)
    append(printable: bytes)
    append(terminated: after)
  }

  // MARK: - Numbers and times

  /// Appends a duration in whole seconds, minutes, hours or days.
  ///
  /// Examples: `40 s`, `12 min`, `6 h`, `3 days`.
  package mutating func append(rounded duration: Duration) {
    append(roundedSeconds: Int64(clamping: duration.milliseconds / 1000))
  }

  /// Appends seconds as whole seconds, minutes, hours or days; a negative number as `0 s`.
  @inline(never)
  public mutating func append(roundedSeconds seconds: Int64) {
    if seconds < 120 {
      append(max(seconds, 0))
      append(" s")
    } else if seconds < 7200 {
      append(seconds / 60)
      append(" min")
    } else if seconds < 172_800 {
      append(seconds / 3600)
      append(" h")
    } else {
      append(seconds / 86_400)
      append(" days")
    }
  }

  /// Appends bytes in hexadecimal, two lower-case digits a byte.
  public mutating func append(hex bytes: Span<UInt8>) {
    for index in bytes.indices {
      let byte = bytes[index]
      append(byte: Self.hexDigit(byte >> 4))
      append(byte: Self.hexDigit(byte & 15))
    }
  }

  /// Appends the lowest hexadecimal digits of a number.
  public mutating func append(hex number: UInt64, digits: Int = 16) {
    for place in (0..<digits).reversed() {
      append(byte: Self.hexDigit(UInt8(number >> (4 * UInt64(place)) & 15)))
    }
  }

  /// Appends untrusted bytes; control characters and bytes that are not ASCII become `\xNN`.
  ///
  /// So a hostile file name can neither control the terminal nor forge a line of the log.
  @inline(never)
  public mutating func append(printable bytes: Span<UInt8>) {
    for index in bytes.indices {
      let byte = bytes[index]
      if byte >= .space && byte < .delete {
        append(byte: byte)
      } else {
        append("\\x")
        append(byte: Self.hexDigit(byte >> 4))
        append(byte: Self.hexDigit(byte & 15))
      }
    }
  }

  /// Appends an untrusted text, with the same escapes.
  @inline(never)
  public mutating func append(printable text: borrowing Text) {
    append(printable: text.bytes)
  }

  /// Appends an untrusted word of a command that the reader may paste into a shell.
  ///
  /// Quoted unless plain, so that the shell takes all characters literally. Control characters and
  /// bytes that are not UTF-8 become `\xNN`.
  @inline(never)
  public mutating func append(shell word: Span<UInt8>) {
    var isPlain = word.count > 0
    for index in word.indices where !Self.isPlainInShell(word[index]) { isPlain = false }
    guard !isPlain else { return append(bytes: word) }
    append("'")
    var index = 0
    while index < word.count {
      let character = TerminalCharacter(in: word, at: index)
      let bytes = word.extracting(index..<index + character.length)
      if word[index] == .apostrophe {
        append("'\\''")
      } else if character.kind == .shown || word[index] == .space {
        append(bytes: bytes)
      } else {
        append(printable: bytes)
      }
      index += character.length
    }
    append("'")
  }

  /// Appends an untrusted name as an operand of a command, in the same way.
  public mutating func append(operand name: Span<UInt8>) {
    if name.count > 0, name[0] == .hyphen { append("-- ") }
    append(shell: name)
  }

  private static func isPlainInShell(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8.digits, UInt8.capitals, UInt8.smallLetters, UInt8.plus...UInt8.slash, .underscore:
      true
    default: false
    }
  }

  package static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
  }
}

/// Well-formed UTF-8 (RFC 3629 section 4).
///
/// Overlong forms, surrogates and scalars past U+10FFFF are not well formed.
public enum UTF8Sequence {
  /// Returns the first byte of a character, and the bytes after it, the next one lowest.
  public static func encode(_ scalar: UInt32) -> (first: UInt8, rest: UInt32) {
    func continuation(_ shift: UInt32) -> UInt32 { 0x80 | scalar >> shift & 0x3F }
    switch scalar {
    case ..<0x80: return (UInt8(scalar), 0)
    case ..<0x800: return (UInt8(0xC0 | scalar >> 6), continuation(0))
    case ..<0x10000: return (UInt8(0xE0 | scalar >> 12), continuation(6) | continuation(0) << 8)
    default:
      return (
        UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18),
        continuation(12) | continuation(6) << 8 | continuation(0) << 16
      )
    }
  }

  /// Returns the length of the sequence at `index`: 2 to 4, or 0 if it is cut off or malformed.
  public static func length(in bytes: Span<UInt8>, at index: Int) -> Int {
    examine(bytes, at: index) ?? 0
  }

  /// Returns the length of the sequence at `index`: 2 to 4, or 0 if it is malformed.
  ///
  /// Returns nil if the bytes end inside a sequence that is well formed so far.
  @_noAllocation
  static func examine(_ bytes: Span<UInt8>, at index: Int) -> Int? {
    let first = bytes[index]
    let length: Int
    var low: UInt8 = 0x80
    var high: UInt8 = 0xBF
    switch first {
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, low) = (3, 0xA0)
    case 0xED: (length, high) = (3, 0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, low) = (4, 0x90)
    case 0xF4: (length, high) = (4, 0x8F)
    case 0xF1...0xF3: length = 4
    default: return 0
    }
    for next in index + 1..<index + length {
      guard next < bytes.count else { return nil }
      guard bytes[next] >= low, bytes[next] <= high else { return 0 }
      (low, high) = (0x80, 0xBF)
    }
    return length
  }
}
