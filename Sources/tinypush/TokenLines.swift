import CLinux
import TinyPush
import TinyPushAgent

/// Lines about device tokens on standard output, for people or as JSON Lines.
struct TokenLines: ~Copyable {
  private static let flushedBytes = 8192

  private let isJSON: Bool
  private let columns = Terminal(STDOUT_FILENO).columns
  var text = Text(capacity: 2 * flushedBytes)

  init(isJSON: Bool) {
    self.isJSON = isJSON
  }

  @inline(never)
  deinit { text.write(to: STDOUT_FILENO) }

  /// Prints `TIME TOKEN STATE`, or an object with `token`, `time` (UNIX seconds) and `state`.
  ///
  /// On a terminal that is too narrow, the token has a line of its own, so that it can be copied.
  @inline(never)
  mutating func print(_ token: Span<UInt8>, _ time: UInt32, _ state: StaticString) {
    if isJSON {
      text.beginObject()
      text.member("token", hex: token)
      text.member("time", number: time)
      text.member("state", word: state)
      text.endLine()
    } else if let columns, columns < 23 + 2 * token.count + state.utf8CodeUnitCount {
      text.append(utc: time)
      text.append("  ", state, "\n  ")
      text.append(hex: token)
      text.append("\n")
    } else {
      text.append(utc: time)
      text.append(" ")
      text.append(hex: token)
      text.append("  ", state, "\n")
    }
    if text.count > Self.flushedBytes { text.flush() }
  }

  /// Prints the last line.
  mutating func print(_ words: borrowing Text) {
    text.append(bytes: words.bytes)
    text.append("\n")
    text.flush()
  }
}
