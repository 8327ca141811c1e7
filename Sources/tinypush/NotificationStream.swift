import CLinux
import TinyPush

/// Notifications on standard input, checked as they pass into the spool, however many they are.
struct NotificationStream: ~Copyable {
  /// So many problems are said; the others are counted.
  private static let saidMax = 20
  /// As much of a line is kept from before a notification, to be shown with it.
  private static let lineKeptMax = 1024

  private let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  private var inputBytes = 0
  /// What stands before the input: lines, and characters of the line that goes on in it.
  private var before = (lines: 0, characters: 0)
  private(set) var notifications = 0
  private(set) var refused = 0

  init() {}

  deinit {}

  /// Copies all of them, or those before the first one that is wrong. What is wrong is said.
  ///
  /// - Returns: 0, or the errno when standard input cannot be read.
  @inline(never)
  mutating func copy(to box: borrowing DropBox, _ rules: Rules) throws(DropBox.Problem) -> Int32 {
    var reader = NotificationReader()
    var findings = Findings()
    var isWhole = false
    while true {
      switch reader.next(in: input.looseSpan(0..<inputBytes), isWhole: isWhole, rules, &findings) {
      case .notification: notifications += 1
      case .refused(let refusal, _):
        refused += 1
        if refused <= Self.saidMax {
          refusal.say(
            in: input.looseSpan(0..<inputBytes), of: ("-" as StaticString).span, before: before)
        }
      case .end: return 0
      case .more(let from):
        let start = lineStart(before: from)
        pass(start)
        inputBytes -= start
        input.move(from: start, to: 0, count: inputBytes)
        let room = input.room(from: inputBytes)
        let count = read(STDIN_FILENO, room.baseAddress, room.count)
        if count < 0 && clinux_errno() != EINTR { return clinux_errno() }
        isWhole = count == 0
        if refused == 0, count > 0 {
          try box.write(input.looseSpan(inputBytes..<inputBytes + count))
        }
        inputBytes += max(count, 0)
        reader.resume(at: from - start)
      }
    }
  }

  /// Counts what is let go of the input.
  private mutating func pass(_ end: Int) {
    for index in 0..<end {
      if input[index] == 0x0A {
        before = (before.lines + 1, 0)
      } else if input[index] & 0xC0 != 0x80 {
        before.characters += 1
      }
    }
  }

  /// Where the line begins, or what is kept of it.
  private func lineStart(before index: Int) -> Int {
    var start = index
    while start > 0, index - start < Self.lineKeptMax, input[start - 1] != 0x0A { start -= 1 }
    return start
  }
}
