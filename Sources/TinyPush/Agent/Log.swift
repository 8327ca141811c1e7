import CLinux

/// The log: a line for a change of state, on standard error. When that is no terminal each line bears its priority
/// (`<N>`, as the journal reads it), and a line that repeats is counted instead.
public struct Log: ~Copyable {
  public enum Priority: UInt8 {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
  }

  private let isTerminal: Bool
  private var last = Text(capacity: 1024)
  private var repeats: UInt64 = 0
  private var line = Text(capacity: 1200)

  public init() {
    isTerminal = isatty(STDERR_FILENO) == 1
  }

  deinit {}

  public mutating func write(_ priority: Priority, _ message: borrowing Text) {
    if last.bytes.equals(message.bytes) {
      repeats += 1
      return
    }
    flush()
    emit(priority, message)
    last.clear()
    last.append(bytes: message.bytes)
  }

  public mutating func write(_ priority: Priority, _ message: StaticString) {
    var text = Text(capacity: message.utf8CodeUnitCount)
    text.append(message)
    write(priority, text)
  }

  /// Says how often the last line was repeated, if it was.
  public mutating func flush() {
    guard repeats > 0 else { return }
    var text = Text(capacity: 64)
    text.append("(the same ")
    text.append(repeats)
    text.append(repeats == 1 ? " more time)" : " more times)")
    repeats = 0
    emit(.info, text)
  }

  private mutating func emit(_ priority: Priority, _ message: borrowing Text) {
    line.clear()
    if isTerminal {
      line.append("\r\u{1B}[Ktinypush: ")
    } else {
      line.append("<")
      line.append(priority.rawValue)
      line.append(">")
    }
    line.append(bytes: message.bytes)
    line.append("\n")
    line.write(to: STDERR_FILENO)
  }
}
