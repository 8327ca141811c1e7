import TinyPush

/// Reads a proxy's answer to CONNECT byte by byte.
///
/// The bytes after the headers belong to TLS. A line may end with a bare line feed, and answers of
/// HTTP/1.0 are accepted.
///
/// Source: RFC 9110 section 9.3.6, RFC 9112.
struct ProxyAnswer {
  enum Outcome: Equatable {
    /// The tunnel is open.
    case open
    case refused(status: Int)
    /// The answer is not HTTP, or too long.
    case garbage
  }

  /// The longest answer that is read; proxies send some hundred bytes, which are ignored.
  static let bytesMax = 8192

  private static let start: StaticString = "HTTP/1."
  private static let statusAt = 9
  private static let statusEnd = 12

  private var count = 0
  /// The number of bytes of the current line, without carriage returns.
  private var lineCount = 0
  private var isStatusLine = true
  private var status = 0

  /// Takes the next byte; no byte may be taken after an outcome.
  mutating func take(_ byte: UInt8) -> Outcome? {
    count += 1
    guard count <= Self.bytesMax else { return .garbage }
    guard byte != .lineFeed else { return endLine() }
    guard byte != .carriageReturn else { return nil }
    if isStatusLine, !takeStatusLine(byte) { return .garbage }
    lineCount += 1
    return nil
  }

  /// Whether the byte is allowed at this place of `HTTP/1.x NNN`, which a space may follow.
  private mutating func takeStatusLine(_ byte: UInt8) -> Bool {
    let start = Self.start.span
    switch lineCount {
    case 0..<start.count: return byte == start[lineCount]
    case start.count: return byte.isDigit
    case Self.statusAt..<Self.statusEnd:
      guard byte.isDigit else { return false }
      status = status * 10 + Int(byte.digitValue)
      return true
    case start.count + 1, Self.statusEnd: return byte == .space
    default: return true
    }
  }

  private mutating func endLine() -> Outcome? {
    let isEmpty = lineCount == 0
    let length = lineCount
    lineCount = 0
    guard isStatusLine else {
      guard isEmpty else { return nil }
      guard status < 200 else { return .open }
      // After an interim answer (1xx) the final one follows.
      (isStatusLine, status) = (true, 0)
      return nil
    }
    guard length >= Self.statusEnd, status >= 100 else { return .garbage }
    guard status < 300 else { return .refused(status: status) }
    isStatusLine = false
    return nil
  }
}
