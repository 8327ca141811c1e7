/// Goes over JSON text (RFC 8259), strictly, in one pass over the bytes; without allocation or recursion, to a bounded
/// depth. It keeps no reference to the bytes: each call is given them. With `@_noAllocation` each build proves that there is
/// no allocation in it, nor in what it calls.
///
/// The first byte that no JSON text has there is at fault; of an escape or of a character of several bytes that is wrong,
/// the first one. So a text that is cut somewhere has the whole text's problem, at the same place, or
/// ``JSONProblem/unexpectedEnd`` at its end.
public struct JSONScanner {
  public typealias Bytes = Span<UInt8>

  /// Levels of arrays and objects. The service's documents name none; inferred: far above any payload of 4096 bytes
  /// that a person writes, and a bound nonetheless.
  public static let depthMax = 32

  /// The byte to look at next; after an error, the byte at fault. After ``JSONProblem/unexpectedEnd`` it is behind the last.
  public var index: Int
  /// Arrays and objects that have been opened and not closed.
  public private(set) var depth = 0
  /// Which of them are objects: a bit each, the innermost lowest.
  private var objects: UInt32 = 0
  /// White space passed over so far, in bytes.
  public private(set) var spaceBytes = 0
  /// Line ends passed over so far, and where the present line starts.
  public internal(set) var lineEnds = 0
  public internal(set) var lineStart: Int

  public init(at index: Int = 0) {
    self.index = index
    lineStart = index
  }

  /// Passes over white space.
  @_noAllocation
  @inline(never)
  public mutating func skipSpace(_ bytes: Bytes) {
    var next = index
    while next < bytes.count {
      switch bytes[next] {
      case .space, .tab, .carriageReturn: next += 1
      case .lineFeed:
        next += 1
        lineEnds += 1
        lineStart = next
      default:
        spaceBytes += next - index
        index = next
        return
      }
    }
    spaceBytes += next - index
    index = next
  }

  /// The next byte that is not white space, which stays the next.
  @_noAllocation
  @inline(__always)
  public mutating func peek(_ bytes: Bytes) throws(JSONProblem) -> UInt8 {
    if index < bytes.count, bytes[index] > .space { return bytes[index] }
    skipSpace(bytes)
    guard index < bytes.count else { throw .unexpectedEnd }
    return bytes[index]
  }

  /// Takes `byte` if it comes next.
  @_noAllocation
  @inline(__always)
  public mutating func take(_ byte: UInt8, _ bytes: Bytes) throws(JSONProblem) -> Bool {
    guard try peek(bytes) == byte else { return false }
    index += 1
    return true
  }

  /// Where a text, or one of several values in it, begins: nothing is open any more, whatever was when the value before
  /// was given up. A byte order mark, UTF-8's or UTF-16's, is refused in words of its own.
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

  /// The start of an object's members, the next byte being its brace; `false` when there are none.
  @_noAllocation
  @inline(never)
  public mutating func openObject(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try open(isObject: true, bytes)
  }

  /// The start of an array's elements, the next byte being its bracket; `false` when there are none.
  @_noAllocation
  public mutating func openArray(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try open(isObject: false, bytes)
  }

  /// After a member: whether another one follows.
  @_noAllocation
  @inline(never)
  public mutating func nextMember(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try next(.closeBrace, or: .expectedCommaOrBrace, bytes)
  }

  /// After an element: whether another one follows.
  @_noAllocation
  public mutating func nextElement(_ bytes: Bytes) throws(JSONProblem) -> Bool {
    try next(.closeBracket, or: .expectedCommaOrBracket, bytes)
  }

  /// A key and its colon. The range is what stands between the quotes.
  @_noAllocation
  @inline(never)
  public mutating func key(_ bytes: Bytes) throws(JSONProblem) -> Range<Int> {
    guard try peek(bytes) == .quote else { throw .expectedKey }
    let range = try string(bytes)
    guard try take(.colon, bytes) else { throw .expectedColon }
    return range
  }

  /// Any value, whole.
  @_noAllocation
  @inline(never)
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
      // A value has ended: so may the arrays and objects around it.
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

  // MARK: - Parts of arrays and objects

  private mutating func open(isObject: Bool, _ bytes: Bytes) throws(JSONProblem) -> Bool {
    guard depth < Self.depthMax else { throw .tooDeep }
    depth += 1
    objects = objects << 1 | (isObject ? 1 : 0)
    index += 1
    guard try take(isObject ? .closeBrace : .closeBracket, bytes) else { return true }
    close()
    return false
  }

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
