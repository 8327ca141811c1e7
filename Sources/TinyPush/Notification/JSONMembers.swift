/// Reads the members of an object, or the elements of an array, in a text that is valid JSON.
///
/// A value of another type has none. Text that is not valid JSON ends the reading.
public struct JSONMembers {
  /// A member: its key without quotes, and its value.
  public struct Member {
    /// The place of the key; empty for an element.
    public let key: Range<Int>
    /// The place of the value.
    public let value: Range<Int>

    /// Returns the content of the value if it is a string; empty otherwise.
    public func content(_ text: Span<UInt8>) -> Range<Int> {
      text[value.lowerBound] == .quote
        ? value.lowerBound + 1..<value.upperBound - 1 : value.lowerBound..<value.lowerBound
    }
  }

  private var scanner: JSONScanner
  private let isArray: Bool
  private var hasNext = false

  /// Begins at an index, where an object stands, or an array.
  public init(_ text: Span<UInt8>, at start: Int = 0, isArray: Bool = false) {
    scanner = JSONScanner(at: start)
    self.isArray = isArray
    do throws(JSONProblem) {
      guard try scanner.peek(text) == (isArray ? .openBracket : .openBrace) else { return }
      hasNext = try isArray ? scanner.openArray(text) : scanner.openObject(text)
    } catch {}
  }

  /// Returns the next member; nil at the end.
  @inline(never)
  public mutating func next(_ text: Span<UInt8>) -> Member? {
    guard hasNext else { return nil }
    do throws(JSONProblem) {
      let key = isArray ? 0..<0 : try scanner.key(text)
      _ = try scanner.peek(text)
      let start = scanner.index
      try scanner.skipValue(text)
      let member = Member(key: key, value: start..<scanner.index)
      hasNext = try isArray ? scanner.nextElement(text) : scanner.nextMember(text)
      return member
    } catch {
      return nil
    }
  }
}
