import TinyPush

/// Finds values in the JSON payload of a message.
public enum PayloadPath {
  /// Whether a text is one JSON value.
  public static func isJSON(_ text: Span<UInt8>) -> Bool {
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      try scanner.begin(text)
      try scanner.skipValue(text)
      scanner.skipSpace(text)
      return scanner.index == text.count
    } catch {
      return false
    }
  }

  /// Returns where the first value at a path stands.
  ///
  /// A path has member names and element numbers (from 0) with a dot between each two. `*` stands for
  /// each member or element.
  ///
  /// - Parameter text: one JSON value.
  public static func find(_ path: Span<UInt8>, in text: Span<UInt8>) -> Range<Int>? {
    var found: Range<Int>?
    forEach(path, in: text) { value in
      found = value
      return true
    }
    return found
  }

  /// Calls `body` with where each value at a path stands, until it returns true.
  static func forEach(
    _ path: Span<UInt8>, in text: Span<UInt8>, _ body: (Range<Int>) -> Bool
  ) {
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      try scanner.begin(text)
      _ = try visit(path, from: 0, text, &scanner, body)
    } catch {}
  }

  /// Visits the value at the scanner's place by the rest of a path; whether `body` returned true.
  private static func visit(
    _ path: Span<UInt8>, from start: Int, _ text: Span<UInt8>, _ scanner: inout JSONScanner,
    _ body: (Range<Int>) -> Bool
  ) throws(JSONProblem) -> Bool {
    guard start <= path.count else {
      _ = try scanner.peek(text)
      let first = scanner.index
      try scanner.skipValue(text)
      return body(first..<scanner.index)
    }
    var end = start
    while end < path.count, path[end] != .dot { end += 1 }
    let name = path.extracting(start..<end)
    guard name.equals("*") else {
      guard try enter(name, text, &scanner) else { return false }
      return try visit(path, from: end + 1, text, &scanner, body)
    }
    switch try scanner.peek(text) {
    case .openBrace:
      guard try scanner.openObject(text) else { return false }
      repeat {
        _ = try scanner.key(text)
        var copy = scanner
        if try visit(path, from: end + 1, text, &copy, body) { return true }
        try scanner.skipValue(text)
      } while try scanner.nextMember(text)
    case .openBracket:
      guard try scanner.openArray(text) else { return false }
      repeat {
        var copy = scanner
        if try visit(path, from: end + 1, text, &copy, body) { return true }
        try scanner.skipValue(text)
      } while try scanner.nextElement(text)
    default: break
    }
    return false
  }

  /// Moves the scanner from a value to the member or element of this name; whether there is such a
  /// value.
  private static func enter(
    _ name: Span<UInt8>, _ text: Span<UInt8>, _ scanner: inout JSONScanner
  ) throws(JSONProblem) -> Bool {
    switch try scanner.peek(text) {
    case .openBrace:
      guard try scanner.openObject(text) else { return false }
      repeat {
        let key = text.extracting(try scanner.key(text))
        if spells(key, name) { return true }
        try scanner.skipValue(text)
      } while try scanner.nextMember(text)
      return false
    case .openBracket:
      guard var index = number(name), try scanner.openArray(text) else { return false }
      while index > 0 {
        try scanner.skipValue(text)
        guard try scanner.nextElement(text) else { return false }
        index -= 1
      }
      return true
    default: return false
    }
  }

  /// Whether the text between the quotes of a JSON string spells a name.
  private static func spells(_ string: Span<UInt8>, _ name: Span<UInt8>) -> Bool {
    var reader = JSONStringReader()
    for index in name.indices where reader.next(in: string) != name[index] { return false }
    return reader.next(in: string) == nil
  }

  private static func number(_ text: Span<UInt8>) -> Int? {
    text.count < 7 ? text.wholeNumber.map { Int($0) } : nil
  }
}
