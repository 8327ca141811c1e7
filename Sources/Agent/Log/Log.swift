import CLinux
import TinyPush

/// The log: a line for a change of state, on standard error. What stands before the line depends on the reader: for the
/// journal the priority (`<N>`, sd-daemon(3)), for a file or a pipe the time in UTC and the level in a word.
public struct Log: ~Copyable {
  public enum Priority: UInt8 {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6

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
    /// - isCapable: takes back what a progress bar may have shown in the line.
    case terminal(isCapable: Bool)
    case journal
    case other
  }

  private let reader: Reader
  private var folding = LogFolding()
  private var line = Text(capacity: 1340)

  public init() {
    if isatty(STDERR_FILENO) == 1 {
      reader = .terminal(isCapable: Terminal(STDERR_FILENO).isCapable)
    } else {
      reader = Self.isJournal ? .journal : .other
    }
  }

  /// Whether standard error leads to the journal: then `JOURNAL_STREAM` is its device and inode (systemd.exec(5)). Where it was
  /// sent elsewhere since, they are others.
  private static var isJournal: Bool {
    var file = stat()
    guard let value = getenv(("JOURNAL_STREAM" as StaticString).cString),
      fstat(STDERR_FILENO, &file) == 0
    else { return false }
    var stream = Text(capacity: 64)
    stream.append(UInt64(file.st_dev))
    stream.append(":")
    stream.append(UInt64(file.st_ino))
    return CString.span(value).equals(stream.bytes)
  }

  deinit {}

  /// Says a line.
  public mutating func write(_ priority: Priority, _ message: borrowing Text) {
    emit(priority, message.bytes)
  }

  public mutating func write(_ priority: Priority, _ message: StaticString) {
    emit(priority, message.span)
  }

  /// Says a line about something that may come and go, or counts it: see ``LogFolding``.
  ///
  /// - Parameter start: where the words begin that lines of this kind have in common.
  public mutating func write(
    _ priority: Priority, _ message: borrowing Text, about topic: Topic, kindFrom start: Int = 0
  ) {
    guard
      folding.take(priority, message.bytes, about: topic, kindFrom: start, at: Clock.now())
    else { return }
    emit(priority, folding.line.looseBytes)
  }

  /// Says what was only counted and is due, when the agent is awake anyway.
  public mutating func catchUp() {
    guard folding.hasKept else { return }
    while let priority = folding.takeKept(at: Clock.now()) {
      emit(priority, folding.line.looseBytes)
    }
  }

  /// Says everything that was only counted.
  public mutating func flush() {
    while let priority = folding.takeKept(at: Clock.now(), isLast: true) {
      emit(priority, folding.line.looseBytes)
    }
  }

  private mutating func emit(_ priority: Priority, _ message: Span<UInt8>) {
    line.clear()
    switch reader {
    case .terminal(let isCapable):
      if isCapable { line.append("\r\u{1B}[K") }
      line.append("tinypush: ")
    case .journal:
      line.append("<")
      line.append(priority.rawValue)
      line.append(">")
    case .other:
      line.append(utc: UInt32(clamping: Clock.wallSeconds()))
      line.append(" ")
      line.append(priority.word)
      line.append(": ")
    }
    line.append(bytes: message)
    line.append("\n")
    line.write(to: STDERR_FILENO)
  }
}
