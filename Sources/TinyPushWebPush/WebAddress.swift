import TinyPush

/// The address of a web page.
package enum WebAddress {
  private static let portMax = 65_535

  /// Returns whether the content of a JSON string is an address that each browser opens.
  ///
  /// It begins with `http` or `https` and a host. Safari drops a message with an address that it
  /// cannot read, so that unusual ones are not used: those with a password, or with other characters
  /// in the host than names and numbers have.
  package static func isGood(_ content: Span<UInt8>) -> Bool {
    var reader = JSONStringReader()
    guard begins(&reader, content) else { return false }
    var hostCount = 0
    var port: Int?
    var isInBrackets = false
    while let byte = next(&reader, content) {
      switch byte {
      case .slash, .hash, UInt8(ascii: "?"): return hostCount > 0 && !isInBrackets
      case .openBracket:
        guard hostCount == 0 else { return false }
        isInBrackets = true
      case .closeBracket:
        guard isInBrackets else { return false }
        isInBrackets = false
      case .colon where !isInBrackets:
        guard hostCount > 0, port == nil else { return false }
        port = 0
      default:
        if let value = port {
          guard byte.isDigit, value <= portMax / 10 else { return false }
          port = value * 10 + Int(byte.digitValue)
          guard port! <= portMax else { return false }
        } else {
          guard isOfHost(byte, isInBrackets) else { return false }
          hostCount += 1
        }
      }
    }
    return hostCount > 0 && !isInBrackets
  }

  private static func begins(_ reader: inout JSONStringReader, _ content: Span<UInt8>) -> Bool {
    let scheme: StaticString = "http"
    for index in 0..<scheme.utf8CodeUnitCount {
      guard next(&reader, content)?.lowerCase == scheme.utf8Start[index] else { return false }
    }
    var byte = next(&reader, content)
    if byte?.lowerCase == UInt8(ascii: "s") { byte = next(&reader, content) }
    guard byte == .colon else { return false }
    let first = next(&reader, content)
    let second = next(&reader, content)
    return first == .slash && second == .slash
  }

  @inline(never)
  private static func next(_ reader: inout JSONStringReader, _ content: Span<UInt8>) -> UInt8? {
    reader.next(in: content)
  }

  private static func isOfHost(_ byte: UInt8, _ isInBrackets: Bool) -> Bool {
    if isInBrackets { return byte == .colon || byte == .dot || DeviceToken.hexValue(byte) != nil }
    switch byte {
    case UInt8.digits, UInt8.capitals, UInt8.smallLetters, .dot, .hyphen, .underscore, 0x80...:
      return true
    default: return false
    }
  }
}
