import CLinux
import TinyPush
import TinyPushAgent

/// The mail on standard input.
enum MailSource {
  /// The most bytes that are kept of a mail.
  ///
  /// What follows is read and forgotten, so that the sender gets no error.
  static var bytesMax: Int { 1_048_576 }

  /// Reads the mail to its end.
  ///
  /// - Parameters:
  ///   - isEndedByDot: whether a line with only a dot ends the mail.
  ///   - mail: gets the first bytes of the mail.
  /// - Returns: 0, or the errno.
  static func read(isEndedByDot: Bool, to mail: inout Text) -> Int32 {
    let buffer = FixedBuffer<UInt8>(capacity: 65_536)
    while true {
      let count = CLinux.read(STDIN_FILENO, buffer.room().baseAddress, buffer.capacity)
      if count < 0, clinux_errno() == EINTR { continue }
      guard count > 0 else { return count < 0 ? clinux_errno() : 0 }
      let start = max(0, mail.count - 3)
      mail.append(buffer, count: count)
      if isEndedByDot, cutAtDot(&mail, from: start) { return 0 }
    }
  }

  /// Removes the first line with only a dot and what follows; false: there is no such line.
  private static func cutAtDot(_ mail: inout Text, from start: Int) -> Bool {
    for index in start..<mail.count where mail.bytes[index] == .dot {
      guard index == 0 || mail.bytes[index - 1] == .lineFeed else { continue }
      var end = index + 1
      if end < mail.count, mail.bytes[end] == .carriageReturn { end += 1 }
      guard end < mail.count, mail.bytes[end] == .lineFeed else { continue }
      mail.truncate(to: index)
      return true
    }
    return false
  }
}
