/// The text of a summary of the alerts that a limit kept back.
///
/// In the configured text `{count}` stands for the number of alerts and `{time}` for the duration.
/// Without a configured text there is a default one.
public struct SummaryWords: BitwiseCopyable, Sendable {
  /// The most bytes of a configured text.
  public static let bytesMax = 120

  /// The bytes of the configured text; 0: the default text.
  private var count = 0
  private var bytes: InlineArray<120, UInt8> = .init(repeating: 0)

  /// Creates the default text.
  public init() {}

  /// Creates a configured text; an empty one means the default.
  ///
  /// Nil: the text is too long, or holds a control character or bytes that are not UTF-8.
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

  /// Appends a duration in words: `40 seconds`, `10 minutes`, `3 hours`.
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
