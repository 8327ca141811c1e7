import CLinux
import TinyPush

/// The log: a line for a change of state, on standard error. When that is no terminal each line bears its priority
/// (`<N>`, as the journal reads it).
public struct Log: ~Copyable {
  public enum Priority: UInt8 {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
  }

  private let isTerminal: Bool
  private var folding = LogFolding()
  private var line = Text(capacity: 1300)

  public init() {
    isTerminal = isatty(STDERR_FILENO) == 1
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
    if isTerminal {
      line.append("\r\u{1B}[Ktinypush: ")
    } else {
      line.append("<")
      line.append(priority.rawValue)
      line.append(">")
    }
    line.append(bytes: message)
    line.append("\n")
    line.write(to: STDERR_FILENO)
  }
}
