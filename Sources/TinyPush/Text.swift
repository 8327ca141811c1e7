/// Words for a person or a program, put together in a buffer of fixed size; what does not fit is cut, and said to be.
public struct Text: ~Copyable {
  private let buffer: FixedBuffer<UInt8>
  public private(set) var count = 0
  /// Whether something was left out for lack of room.
  public private(set) var isCut = false

  @inline(never)
  public init(capacity: Int = 1024) {
    buffer = FixedBuffer(capacity: capacity)
  }

  /// A copy of these.
  package init(_ bytes: Span<UInt8>) {
    self.init(capacity: bytes.count)
    append(bytes: bytes)
  }

  public var bytes: Span<UInt8> {
    @_lifetime(borrow self) get { buffer.span(0..<count) }
  }

  /// The same, without a hold on the owner; good until it changes.
  package var looseBytes: Span<UInt8> {
    @_lifetime(immortal) get { buffer.looseSpan(0..<count) }
  }

  /// All of its memory.
  var memory: UnsafeMutableRawBufferPointer { buffer.bytes }

  /// Empties it, to be filled anew.
  public mutating func clear() {
    count = 0
    isCut = false
  }

  @inline(never)
  public mutating func append(byte: UInt8) {
    guard count < buffer.capacity else {
      isCut = true
      return
    }
    buffer[count] = byte
    count += 1
  }

  /// A literal ends with a NUL, and so its place is enough to pass: the program has hundreds of such calls.
  @inline(__always)
  public mutating func append(_ text: StaticString) {
    append(terminated: text.utf8Start)
  }

  @inline(never)
  public mutating func append(bytes: Span<UInt8>) {
    let room = buffer.capacity - count
    let taken = bytes.count <= room ? bytes.count : room
    if taken < bytes.count { isCut = true }
    buffer.store(bytes.extracting(0..<taken), at: count)
    count += taken
  }

  @inline(never)
  public mutating func append(_ text: borrowing Text) {
    append(bytes: text.bytes)
  }

  /// The first `count` bytes of a buffer.
  public mutating func append(_ buffer: borrowing FixedBuffer<UInt8>, count: Int) {
    append(bytes: buffer.span(0..<count))
  }

  /// A NUL-terminated string of C's; nothing for nil.
  public mutating func append(cString: UnsafePointer<CChar>?) {
    guard let cString else { return }
    append(terminated: UnsafeRawPointer(cString).assumingMemoryBound(to: UInt8.self))
  }

  /// The bytes up to a NUL.
  @inline(never)
  package mutating func append(terminated bytes: UnsafePointer<UInt8>) {
    var length = 0
    while bytes[length] != 0 { length += 1 }
    append(bytes: Span(_unsafeStart: bytes, count: length))
  }

  /// Makes a space of each line end from `start` on: in JSON text they stand only where white space may.
  mutating func putInOneLine(from start: Int) {
    for index in start..<count where buffer[index] == 0x0A || buffer[index] == 0x0D {
      buffer[index] = 0x20
    }
  }

  /// In decimal, with at least `digits` digits.
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

  // MARK: - Words around something

  /// Words, a number, and words behind that.
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

  @inline(__always)
  public mutating func append(
    _ before: StaticString, _ words: StaticString, _ after: StaticString = ""
  ) {
    append(before.utf8Start, terminated: words.utf8Start, after.utf8Start)
  }

  @inline(__always)
  public mutating func append(
    _ before: StaticString, _ text: borrowing Text, _ after: StaticString = ""
  ) {
    append(before, bytes: text.bytes, after)
  }

  @inline(__always)
  public mutating func append(
    _ before: StaticString, bytes: Span<UInt8>, _ after: StaticString = ""
  ) {
    append(before.utf8Start, bytes: bytes, after.utf8Start)
  }

  @inline(__always)
  public mutating func append(
    _ before: StaticString, printable bytes: Span<UInt8>, _ after: StaticString = ""
  ) {
    append(before.utf8Start, printable: bytes, after.utf8Start)
  }

  @inline(__always)
  public mutating func append(
    _ before: StaticString, printable text: borrowing Text, _ after: StaticString = ""
  ) {
    append(before.utf8Start, printable: text.bytes, after.utf8Start)
  }

  /// - Parameter cString: a string of C's; nothing for nil.
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

  /// A length of time, in whole seconds, minutes, hours or days: `40 s`, `12 min`, `6 h`, `3 days`.
  package mutating func append(rounded duration: Duration) {
    append(roundedSeconds: Int64(clamping: duration.milliseconds / 1000))
  }

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

  /// In hexadecimal, two lower-case digits a byte.
  public mutating func append(hex bytes: Span<UInt8>) {
    for index in bytes.indices {
      let byte = bytes[index]
      append(byte: Self.hexDigit(byte >> 4))
      append(byte: Self.hexDigit(byte & 15))
    }
  }

  /// In sixteen hexadecimal digits.
  public mutating func append(hex number: UInt64) {
    for shift in 0..<16 {
      append(byte: Self.hexDigit(UInt8(number >> (60 - 4 * UInt64(shift)) & 15)))
    }
  }

  /// As a person can read it on a terminal whatever it holds: control characters and bytes that are not ASCII come as
  /// `\xNN`, so that a hostile file name cannot steer the terminal or forge a line of the log.
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

  @inline(never)
  public mutating func append(printable text: borrowing Text) {
    append(printable: text.bytes)
  }

  package static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
  }
}

/// Well-formed UTF-8 (RFC 3629 section 4): no overlong form, no surrogate, nothing past U+10FFFF.
public enum UTF8Sequence {
  /// The first byte of a character, and those that follow it, the next one lowest.
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

  /// The length of the sequence of two to four bytes at `index`, or 0 when it is cut or not well formed.
  public static func length(in bytes: Span<UInt8>, at index: Int) -> Int {
    examine(bytes, at: index) ?? 0
  }

  /// The same, but nil when it is well formed as far as it goes, and the bytes end within it.
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
