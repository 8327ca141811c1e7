import TinyPush

/// Finds values in the JSON payload of a message.
public enum PayloadPath {
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
    var start = 0
    while start < text.count, text[start] <= .space { start += 1 }
    if start < text.count { _ = visit(path, from: 0, text, start..<text.count, body) }
  }

  /// Visits what stands in a value by the rest of a path; whether `body` returned true.
  private static func visit(
    _ path: Span<UInt8>, from start: Int, _ text: Span<UInt8>, _ value: Range<Int>,
    _ body: (Range<Int>) -> Bool
  ) -> Bool {
    guard start <= path.count else { return body(value) }
    var end = start
    while end < path.count, path[end] != .dot { end += 1 }
    let name = path.extracting(start..<end)
    let isAny = name.equals("*")
    let isArray = text[value.lowerBound] == .openBracket
    let wanted = isArray ? name.wholeNumber : nil
    var members = JSONMembers(text, at: value.lowerBound, isArray: isArray)
    var number: UInt64 = 0
    while let member = members.next(text) {
      let isNamed = isArray ? number == wanted : spells(text.extracting(member.key), name)
      number += 1
      guard isAny || isNamed else { continue }
      let isDone = visit(path, from: end + 1, text, member.value, body)
      if isDone || !isAny { return isDone }
    }
    return false
  }

  /// Whether the text between the quotes of a JSON string spells a name.
  private static func spells(_ string: Span<UInt8>, _ name: Span<UInt8>) -> Bool {
    var reader = JSONStringReader()
    for index in name.indices where reader.next(in: string) != name[index] { return false }
    return reader.next(in: string) == nil
  }
}
