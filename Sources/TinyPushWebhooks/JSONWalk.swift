import TinyPush

/// Reads the members of an object in a text that is valid JSON.
struct MemberReader {
  private var scanner: JSONScanner
  private var hasNext = false

  /// A member: its key without quotes, and its value.
  struct Member {
    var key: Range<Int>
    var value: Range<Int>

    /// Returns the content of the value if it is a string; empty otherwise.
    func content(_ text: Span<UInt8>) -> Range<Int> {
      text[value.lowerBound] == .quote
        ? value.lowerBound + 1..<value.upperBound - 1 : value.lowerBound..<value.lowerBound
    }
  }

  /// Begins at an index; a value other than an object has no members.
  init(_ text: Span<UInt8>, at start: Int) {
    scanner = JSONScanner(at: start)
    do throws(JSONProblem) {
      if try scanner.peek(text) == .openBrace { hasNext = try scanner.openObject(text) }
    } catch {}
  }

  /// Returns the next member; nil at the end.
  mutating func next(_ text: Span<UInt8>) -> Member? {
    guard hasNext else { return nil }
    do throws(JSONProblem) {
      let key = try scanner.key(text)
      _ = try scanner.peek(text)
      let start = scanner.index
      try scanner.skipValue(text)
      let member = Member(key: key, value: start..<scanner.index)
      hasNext = try scanner.nextMember(text)
      return member
    } catch {
      return nil
    }
  }
}

/// Reads the elements of an array in a text that is valid JSON.
struct ElementReader {
  private var scanner: JSONScanner
  private var hasNext = false

  /// Begins at an index; a value other than an array has no elements.
  init(_ text: Span<UInt8>, at start: Int) {
    scanner = JSONScanner(at: start)
    do throws(JSONProblem) {
      if try scanner.peek(text) == .openBracket { hasNext = try scanner.openArray(text) }
    } catch {}
  }

  /// Returns the place of the next element; nil at the end.
  mutating func next(_ text: Span<UInt8>) -> Range<Int>? {
    guard hasNext else { return nil }
    do throws(JSONProblem) {
      _ = try scanner.peek(text)
      let start = scanner.index
      try scanner.skipValue(text)
      let element = start..<scanner.index
      hasNext = try scanner.nextElement(text)
      return element
    } catch {
      return nil
    }
  }
}
