import TinyPush

/// The secrets of which a request must carry one: `Authorization: Bearer TOKEN`.
///
/// Source: RFC 6750, section 2.1.
public struct BearerTokens: ~Copyable {
  /// The most bytes of a file with tokens.
  public static var fileBytesMax: Int { 8192 }
  /// The least and the most characters of a token; those of Gotify have 15.
  public static var lengths: ClosedRange<Int> { 15...256 }

  /// The tokens, a line each.
  private var lines = Text(capacity: BearerTokens.fileBytesMax + 1)

  /// Creates a list without tokens.
  public init() {}

  /// Whether there is no token.
  public var isEmpty: Bool { lines.count == 0 }

  /// Reads the text of a file: a token a line, empty lines, and comments that begin with `#`.
  ///
  /// - Returns: the number of the first wrong line; nil if all lines are right.
  public mutating func read(_ text: Span<UInt8>) -> Int? {
    lines.clear()
    var start = 0
    var number = 0
    while start < text.count {
      var end = start
      while end < text.count, text[end] != .lineFeed { end += 1 }
      let line = text.extracting(start..<end).trimmed()
      number += 1
      start = end + 1
      if line.count == 0 || line[0] == UInt8(ascii: "#") { continue }
      guard Self.isValid(line) else { return number }
      lines.append(bytes: line)
      lines.append("\n")
    }
    return nil
  }

  /// Returns whether a text can be a token: visible ASCII characters, as many as ``lengths``.
  private static func isValid(_ token: Span<UInt8>) -> Bool {
    guard lengths.contains(token.count) else { return false }
    for index in token.indices where token[index] <= .space || token[index] >= .delete {
      return false
    }
    return true
  }

  /// Returns whether the value of the header `Authorization` has one of the tokens.
  ///
  /// The time does not depend on where the value and a token differ.
  public func matches(_ header: Span<UInt8>) -> Bool {
    let scheme: StaticString = "bearer "
    let start = scheme.utf8CodeUnitCount
    guard header.count > start, header[start - 1] == .space else { return false }
    for index in 0..<start - 1 where header[index] | 0x20 != scheme.utf8Start[index] {
      return false
    }
    return matches(token: header.extracting(start..<header.count))
  }

  /// Returns whether this is one of the tokens, as ``matches(_:)`` does.
  public func matches(token given: Span<UInt8>) -> Bool {
    guard given.count > 0 else { return false }
    let all = lines.bytes
    var isFound = false
    var first = 0
    for index in all.indices where all[index] == .lineFeed {
      if Self.isSame(given, all.extracting(first..<index)) { isFound = true }
      first = index + 1
    }
    return isFound
  }

  @inline(never)
  private static func isSame(_ given: Span<UInt8>, _ token: Span<UInt8>) -> Bool {
    var difference = given.count ^ token.count
    for index in token.indices {
      difference |= Int(token[index] ^ given[index % given.count])
    }
    return difference == 0
  }
}
