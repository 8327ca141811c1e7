import TinyPush

/// Reads a proxy's answer to CONNECT, byte by byte, up to the end of its headers: what follows belongs to TLS.
///
/// Source: RFC 9110 section 9.3.6, RFC 9112. A line may end with a bare line feed; answers of HTTP/1.0 are taken as well.
struct ProxyAnswer {
  enum Verdict: Equatable {
    /// The way is open.
    case open
    case refused(status: Int)
    /// It is not HTTP.
    case garbage
    case tooLong
  }

  /// Nothing in the headers matters. Proxies send some hundred bytes of them.
  static let bytesMax = 8192

  private static let start: StaticString = "HTTP/1."
  private static let statusAt = 9
  private static let statusEnd = 12

  private var count = 0
  /// Bytes of the present line, without carriage returns.
  private var lineCount = 0
  private var isStatusLine = true
  private var status = 0

  /// Takes the next byte. A verdict is the last word: no byte behind it is to be taken.
  mutating func take(_ byte: UInt8) -> Verdict? {
    count += 1
    guard count <= Self.bytesMax else { return .tooLong }
    guard byte != .lineFeed else { return endLine() }
    guard byte != .carriageReturn else { return nil }
    if isStatusLine, !takeStatusLine(byte) { return .garbage }
    lineCount += 1
    return nil
  }

  /// Whether the byte may stand there: `HTTP/1.x NNN`, and a space if anything follows.
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

  private mutating func endLine() -> Verdict? {
    let isEmpty = lineCount == 0
    let length = lineCount
    lineCount = 0
    guard isStatusLine else {
      guard isEmpty else { return nil }
      guard status < 200 else { return .open }
      // An answer for the time being: the real one follows.
      (isStatusLine, status) = (true, 0)
      return nil
    }
    guard length >= Self.statusEnd, status >= 100 else { return .garbage }
    guard status < 300 else { return .refused(status: status) }
    isStatusLine = false
    return nil
  }
}
