/// Scans JSON text (RFC 8259) strictly, in one pass, to a bounded depth.
///
/// The scanner neither allocates nor recurses. `@_noAllocation` makes the compiler verify this for
/// a function and all functions that it calls. The scanner keeps no reference to the bytes: each
/// call gets them.
///
/// After an error, ``index`` is at the first byte that no JSON text has in this place. For a wrong
/// escape or a wrong character of several bytes, it is the first byte of the escape or character.
/// So a truncated text gives either the same problem at the same place as the whole text, or
/// ``JSONProblem/unexpectedEnd`` at its end.
public struct JSONScanner: BitwiseCopyable {
  /// The text, or the part of it that has been read so far.
  public typealias Bytes = Span<UInt8>

  /// The most levels of arrays and objects.
  ///
  /// The service's documents state no limit. Inferred: far deeper than a payload of 4096 bytes that
  /// a person writes.
  public static let depthMax = 32

  /// The index of the next byte; after an error, that of the byte at fault.
  ///
  /// After ``JSONProblem/unexpectedEnd`` it is the end of the text.
  public var index: Int
  /// The number of open arrays and objects.
  public private(set) var depth = 0
  /// A bit for each open array (0) or object (1), the innermost lowest.
  private var objects: UInt32 = 0
  /// The bytes of white space skipped so far.
  public private(set) var spaceBytes = 0
  /// The line ends skipped so far; a string has none.
  public internal(set) var lineEnds: Int64

  /// Begins at an index of the text.
  ///
  /// - Parameter lineEnds: the line ends before that place.
  public init(at index: Int = 0, lineEnds: Int64 = 0) {
    self.index = index
    self.lineEnds = lineEnds
  }

  /// Skips white space.
  @_noAllocation
  @inline(never)
  @_optimize(speed)
  public mutating func skipSpace(_ bytes: Bytes) {
    var next = index
    while next < bytes.count {
      switch bytes[next] {
      case .space, .tab, .carriageReturn: next += 1
      case .lineFeed:
        next += 1
        lineEnds += 1
      default:
        spaceBytes += next - index
        index = next
        return
      }
    }
    spaceBytes += next - index
    index = next
  }

  /// Skips white space and returns the next byte without taking it.
  @_noAllocation
  @inline(__always)
  public mutating func peek(_ bytes: Bytes) throws(JSONProblem) -> UInt8 {
    if index < bytes.count, bytes[index] > .space { return bytes[index] }
    skipSpace(bytes)
    guard index < bytes.count else { throw .unexpectedEnd }
    return bytes[index]
  }

  /// Takes `byte` if it comes next; returns whether it did.
  @_noAllocation
  @inline(__always)
  public mutating func take(_ byte: UInt8, _ bytes: Bytes) throws(JSONProblem) -> Bool {
    guard try peek(bytes) == byte else { return false }
    index += 1
    return true
  }

  /// Begins a text, or one of several values in it.
  ///
  /// Arrays and objects that an abandoned value left open are forgotten. A byte order mark of UTF-8
  /// or UTF-16 has an error of its own.
  @_noAllocation
  public mutating func begin(_ bytes: Bytes) throws(JSONProblem) {
    depth = 0
    guard try peek(bytes) >= 0xEF else { return }
    if bytes[index] >= 0xFE { throw .byteOrderMark }
    let mark: StaticString = "\u{FEFF}"
    for position in 0..<mark.utf8CodeUnitCount {
      guard index + position < bytes.count else { throw end(bytes) }
      guard bytes[index + position] == mark.utf8Start[position] else { return }
    }
    throw .byteOrderMark
  }

  /// Opens an object, whose brace is the next byte; returns whether it has members.
  @_noAllocation
  @inline(never)
  @_optimize(speed)
  public mutating func openObject(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try open(isObject: true, bytes)
  }

  /// Opens an array, whose bracket is the next byte; returns whether it has elements.
  @_noAllocation
  public mutating func openArray(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try open(isObject: false, bytes)
  }

  /// Moves past the end of a member; returns whether another one follows.
  @_noAllocation
  @inline(never)
  @_optimize(speed)
  public mutating func nextMember(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try next(.closeBrace, or: .expectedCommaOrBrace, bytes)
  }

  /// Moves past the end of an element; returns whether another one follows.
  @_noAllocation
  public mutating func nextElement(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try next(.closeBracket, or: .expectedCommaOrBracket, bytes)
  }

  /// Reads a key and its colon; returns the range between its quotes.
  @_noAllocation
  @inline(never)
  @_optimize(speed)
  public mutating func key(_ bytes: Bytes) throws(JSONProblem) -> Range<Int> {
    guard try peek(bytes) == .quote else { throw .expectedKey }
    let range = try string(bytes)
    guard try take(.colon, bytes) else { throw .expectedColon }
    return range
  }

  /// Skips a value of any type.
  @_noAllocation
  @inline(never)
  @_optimize(speed)
  public mutating func skipValue(_ bytes: Bytes) throws(JSONProblem) {
    let outside = depth
    while true {
      switch try peek(bytes) {
      case .openBrace:
        if try openObject(bytes) {
          _ = try key(bytes)
          continue
        }
      case .openBracket: if try openArray(bytes) { continue }
      case .quote: _ = try string(bytes)
      case .hyphen, UInt8.digits: try skipNumber(bytes)
      case UInt8(ascii: "t"): try skipWord("true", bytes)
      case UInt8(ascii: "f"): try skipWord("false", bytes)
      case UInt8(ascii: "n"): try skipWord("null", bytes)
      default: throw .expectedValue
      }
      // A value has ended. Arrays and objects around it may end here, too.
      while true {
        if depth == outside { return }
        if objects & 1 == 0 {
          if try nextElement(bytes) { break }
        } else if try nextMember(bytes) {
          _ = try key(bytes)
          break
        }
      }
    }
  }

  /// Returns the range of the only value in a text.
  public mutating func onlyValue(_ bytes: Bytes) throws(JSONProblem) -> Range<Int> {
    try begin(bytes)
    let start = index
    try skipValue(bytes)
    let end = index
    skipSpace(bytes)
    guard index == bytes.count else { throw .expectedCommaOrBrace }
    return start..<end
  }

  // MARK: - Parts of arrays and objects

  @_optimize(speed)
  private mutating func open(isObject: Bool, _ bytes: Bytes) throws(JSONProblem) -> Bool {
    guard depth < Self.depthMax else { throw .tooDeep }
    depth += 1
    objects = objects << 1 | (isObject ? 1 : 0)
    index += 1
    guard try take(isObject ? .closeBrace : .closeBracket, bytes) else { return true }
    close()
    return false
  }

  @_optimize(speed)
  private mutating func next(
    _ closing: UInt8, or problem: JSONProblem, _ bytes: Bytes
  ) throws(JSONProblem) -> Bool {
    let byte = try peek(bytes)
    guard byte == .comma || byte == closing else { throw problem }
    index += 1
    if byte == closing {
      close()
      return false
    }
    guard try peek(bytes) != closing else { throw .trailingComma }
    return true
  }

  private mutating func close() {
    depth -= 1
    objects >>= 1
  }
}
