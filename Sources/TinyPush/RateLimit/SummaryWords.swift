/// What a summary says of the alerts that a limit has kept back: the sender's words, in which `{count}` and `{time}` stand for
/// how many there were and in how long, or else ours.
public struct SummaryWords: BitwiseCopyable, Sendable {
  public static let bytesMax = 120

  /// 0: ours.
  private var count = 0
  private var bytes: InlineArray<120, UInt8> = .init(repeating: 0)

  public init() {}

  /// Nil: the words are too long, or hold a control character, or bytes that are not UTF-8; empty words are ours.
  public init?(_ words: Span<UInt8>) {
    guard words.count <= Self.bytesMax else { return nil }
    var index = 0
    while index < words.count {
      let byte = words[index]
      guard byte >= .space, byte != .delete else { return nil }
      let length = byte < 0x80 ? 1 : UTF8Sequence.length(in: words, at: index)
      guard length > 0 else { return nil }
      for place in index..<index + length { bytes[place] = words[place] }
      index += length
    }
    count = words.count
  }

  @inline(never)
  func append(alerts: UInt32, in seconds: UInt64, to text: inout Text) {
    guard count > 0 else {
      text.append(alerts)
      text.append(alerts == 1 ? " more alert in " : " more alerts in ")
      return Self.append(inWords: max(seconds, 1), to: &text)
    }
    var index = 0
    while index < count {
      if isHere("{count}", index) {
        text.append(alerts)
        index += 7
      } else if isHere("{time}", index) {
        text.append(roundedSeconds: Int64(clamping: max(seconds, 1)))
        index += 6
      } else {
        text.append(byte: bytes[index])
        index += 1
      }
    }
  }

  private func isHere(_ word: StaticString, _ index: Int) -> Bool {
    bytes.span.extracting(index..<count).begins(with: word.span)
  }

  /// `40 seconds`, `10 minutes`, `3 hours`.
  private static func append(inWords seconds: UInt64, to text: inout Text) {
    let (number, unit): (UInt64, StaticString) =
      seconds < 90
      ? (seconds, " second")
      : seconds < 5400 ? ((seconds + 30) / 60, " minute") : ((seconds + 1800) / 3600, " hour")
    text.append(number)
    text.append(unit)
    if number != 1 { text.append("s") }
  }
}
