import CLinux
import TinyPush
import TinyPushAgent

/// What commands say of device tokens, on standard output: a line each, for people or as JSON Lines.
struct TokenLines: ~Copyable {
  /// Room for one of the largest, in hex, at any time.
  private static let lineMax = 2 * 65_535 + 512

  private let isJSON: Bool
  private let columns = Terminal(STDOUT_FILENO).columns
  private var text = Text(capacity: 2 * lineMax)

  init(isJSON: Bool) {
    self.isJSON = isJSON
  }

  @inline(never)
  deinit { text.write(to: STDOUT_FILENO) }

  /// `TIME TOKEN WORDS`, or an object with `token`, `time` (UNIX seconds) and `state`. On a terminal that has no room for that, the
  /// token stands below the rest, so that it can be copied whole.
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
    if text.count > Self.lineMax { flush() }
  }

  /// The last line.
  mutating func print(_ words: borrowing Text) {
    text.append(bytes: words.bytes)
    text.append("\n")
    flush()
  }

  @inline(never)
  mutating func flush() {
    text.write(to: STDOUT_FILENO)
    text.clear()
  }
}
