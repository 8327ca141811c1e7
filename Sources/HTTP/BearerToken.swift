import TinyPush

/// The secret that a request must carry: `Authorization: Bearer TOKEN` (RFC 6750 section 2.1).
public enum BearerToken {
  /// The least and the most characters of a token.
  public static var lengths: ClosedRange<Int> { 16...256 }

  /// Returns whether a text can be a token: visible ASCII characters, as many as ``lengths``.
  public static func isValid(_ token: Span<UInt8>) -> Bool {
    guard lengths.contains(token.count) else { return false }
    for index in token.indices where token[index] <= .space || token[index] >= .delete {
      return false
    }
    return true
  }

  /// Returns whether the value of the header `Authorization` has the token.
  ///
  /// The time does not depend on where the two differ.
  @inline(never)
  public static func matches(_ header: Span<UInt8>, _ token: Span<UInt8>) -> Bool {
    let scheme: StaticString = "bearer "
    let start = scheme.utf8CodeUnitCount
    guard header.count > start, token.count > 0 else { return false }
    for index in 0..<start - 1 where header[index] | 0x20 != scheme.utf8Start[index] {
      return false
    }
    guard header[start - 1] == .space else { return false }
    let given = header.extracting(start..<header.count)
    var difference = given.count ^ token.count
    for index in token.indices {
      difference |= Int(token[index] ^ given[index % given.count])
    }
    return difference == 0
  }
}
