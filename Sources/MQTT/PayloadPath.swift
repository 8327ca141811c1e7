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

  /// Returns where the value at a path stands: member names and element numbers (from 0) with a dot
  /// between each two.
  ///
  /// - Parameter text: one JSON value.
  public static func find(_ path: Span<UInt8>, in text: Span<UInt8>) -> Range<Int>? {
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      try scanner.begin(text)
      var start = 0
      while start <= path.count {
        var end = start
        while end < path.count, path[end] != .dot { end += 1 }
        guard try enter(path.extracting(start..<end), text, &scanner) else { return nil }
        start = end + 1
      }
      _ = try scanner.peek(text)
      let first = scanner.index
      try scanner.skipValue(text)
      return first..<scanner.index
    } catch {
      return nil
    }
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
    guard text.count > 0, text.count < 7 else { return nil }
    var value = 0
    for index in text.indices {
      guard text[index].isDigit else { return nil }
      value = value * 10 + Int(text[index].digitValue)
    }
    return value
  }
}
