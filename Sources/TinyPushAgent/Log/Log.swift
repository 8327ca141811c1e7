import CLinux
import TinyPush

/// The agent's log on standard error.
///
/// Each line has a prefix that depends on the reader: the priority (`<N>`, sd-daemon(3)) for the
/// journal, or the UTC time and the level in a word for a file or a pipe.
public struct Log: ~Copyable {
  /// The priority of a line, with the numbers of syslog(3).
  public enum Priority: UInt8 {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6

    var isTrouble: Bool { self == .error || self == .warning }

    var word: StaticString {
      switch self {
      case .error: "error"
      case .warning: "warning"
      case .notice: "notice"
      case .info: "info"
      }
    }
  }

  private enum Reader {
    /// - isCapable: whether the terminal can erase a line, such as one with a progress bar.
    case terminal(isCapable: Bool)
    case journal
    case other
  }

  private let reader: Reader
  private var folding = LogFolding()
  private var line = Text(capacity: 2112)

  /// Opens the log on standard error.
  public init() {
    if isatty(STDERR_FILENO) == 1 {
      reader = .terminal(isCapable: Terminal(STDERR_FILENO).isCapable)
    } else {
      reader = Self.isJournal ? .journal : .other
    }
  }

  /// Whether standard error leads to the journal.
  ///
  /// Then `JOURNAL_STREAM` contains its device and inode (systemd.exec(5)). If standard error was
  /// redirected since, they differ.
  private static var isJournal: Bool {
    var file = stat()
    guard fstat(STDERR_FILENO, &file) == 0 else { return false }
    var stream = Text(capacity: 64)
    stream.append(UInt64(file.st_dev))
    stream.append(":", UInt64(file.st_ino))
    return EnvironmentVariable.journal.value.equals(stream.bytes)
  }

  deinit {}

  /// Logs a line.
  public mutating func write(_ priority: Priority, _ message: borrowing Text) {
    emit(priority, message.bytes)
  }

  /// Logs a line.
  public mutating func write(_ priority: Priority, _ message: StaticString) {
    emit(priority, message.span)
  }

  /// Logs a line about a state that has changed: see ``LogFolding``.
  public mutating func write(_ priority: Priority, _ message: StaticString, about topic: Topic) {
    var text = Text()
    text.append(message)
    write(priority, text, about: topic)
  }

  /// Logs a line about a recurring event, or only counts it: see ``LogFolding``.
  ///
  /// - Parameter start: where the words begin that decide the kind of the line.
  public mutating func write(
    _ priority: Priority, _ message: borrowing Text, about topic: Topic, kindFrom start: Int = 0
  ) {
    guard
      folding.take(priority, message.bytes, about: topic, kindFrom: start, at: Clock.now())
    else { return }
    emit(priority, folding.line.unsafeBytes)
  }

  /// Logs the counted lines that are due; called when the agent is awake anyway.
  public mutating func catchUp() {
    guard folding.hasKept else { return }
    while let priority = folding.takeKept(at: Clock.now()) {
      emit(priority, folding.line.unsafeBytes)
    }
  }

  /// Logs all counted lines.
  public mutating func flush() {
    while let priority = folding.takeKept(at: Clock.now(), isLast: true) {
      emit(priority, folding.line.unsafeBytes)
    }
  }

  @inline(never)
  private mutating func emit(_ priority: Priority, _ message: Span<UInt8>) {
    line.clear()
    switch reader {
    case .terminal(let isCapable):
      if isCapable { line.append("\r\u{1B}[K") }
      line.append("tinypush: ")
    case .journal:
      line.append("<", priority.rawValue, ">")
    case .other:
      line.append(utc: UInt32(clamping: Clock.wallSeconds()))
      line.append(" ", priority.word, ": ")
    }
    line.append(bytes: message)
    line.append("\n")
    line.write(to: STDERR_FILENO)
  }
}
