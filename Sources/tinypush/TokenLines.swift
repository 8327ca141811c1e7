import CLinux
import TinyPush
import TinyPushAgent

/// Lines about device tokens on standard output, for people or as JSON Lines.
struct TokenLines: ~Copyable {
  private static let flushedBytes = 8192

  private let isJSON: Bool
  private let columns = Terminal(STDOUT_FILENO).columns
  /// The file with the lines that are kept; nil: lines are printed at once.
  private let file: UnsafeMutablePointer<FILE>?
  private var text = Text(capacity: 2 * flushedBytes)

  /// - Parameter keeps: whether to keep the lines until ``show()``, since a pager that waits must not
  ///   hold up a change.
  init(isJSON: Bool, keeps: Bool) {
    self.isJSON = isJSON
    file = keeps ? tmpfile() : nil
  }

  deinit { if let file { fclose(file) } }

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
    if text.count > Self.flushedBytes { text.flush(to: file.map(fileno) ?? STDOUT_FILENO) }
  }

  /// Prints the lines that were kept.
  mutating func show() {
    if let file {
      let buffer = FixedBuffer<UInt8>(capacity: Self.flushedBytes)
      text.flush(to: fileno(file))
      lseek(fileno(file), 0, SEEK_SET)
      let room = buffer.room()
      var count = 1
      while count > 0 {
        count = max(read(fileno(file), room.baseAddress, room.count), 0)
        text.append(buffer, count: count)
        text.flush()
      }
    }
    text.flush()
  }
}
