import CLinux
import TinyPush

/// A progress bar on a terminal; nothing elsewhere.
public struct ProgressBar: ~Copyable {
  private let isShown: Bool
  private var isDrawn = false
  private var total: UInt64 = 0
  private var done: UInt64 = 0
  private var shownAt: Instant
  private var line = Text(capacity: 512)

  /// Creates a bar on standard error.
  public init(isWanted: Bool) {
    isShown = isWanted && Terminal(STDERR_FILENO).isCapable
    shownAt = Clock.now()
  }

  deinit {}

  /// Records the number of waiting files of a scan.
  mutating func found(_ count: Int) {
    total = max(total, done + UInt64(count))
  }

  /// Records that a file is settled.
  mutating func settled() {
    done += 1
  }

  /// Shows the bar, at most ten times a second.
  mutating func show(_ counters: Counters, inFlight: Int) {
    if isDue() { draw(counters, inFlight: inFlight) }
  }

  mutating func finish(_ counters: Counters) {
    guard isShown else { return }
    draw(counters, inFlight: 0)
    line.clear()
    line.append("\n")
    line.write(to: STDERR_FILENO)
  }

  /// Shows the number of bytes of a file that are done.
  public mutating func show(bytes: UInt64, of total: UInt64) {
    guard isDue() else { return }
    (done, self.total) = (bytes, total)
    draw()
    line.append(total > 0 ? min(bytes, total) * 100 / total : 0)
    line.append(" %")
    line.write(to: STDERR_FILENO)
  }

  /// Shows the number of received entries, if the total is unknown.
  public mutating func show(received count: UInt64) {
    guard isDue() else { return }
    isDrawn = true
    line.clear()
    line.append("\r\u{1B}[K", count, " received")
    line.write(to: STDERR_FILENO)
  }

  /// Erases the bar before other lines.
  @inline(never)
  public mutating func clear() {
    guard isDrawn else { return }
    isDrawn = false
    line.clear()
    line.append("\r\u{1B}[K")
    line.write(to: STDERR_FILENO)
  }

  private mutating func isDue() -> Bool {
    guard isShown else { return false }
    let now = Clock.now()
    guard shownAt.until(now) >= .milliseconds(100) else { return false }
    shownAt = now
    return true
  }

  @inline(never)
  private mutating func draw(_ counters: Counters, inFlight: Int) {
    draw()
    line.append(counters.settled)
    line.append(" delivered, ", inFlight, " in flight")
    line.write(to: STDERR_FILENO)
  }

  @inline(never)
  private mutating func draw() {
    isDrawn = true
    let columns = Int(clinux_terminal_columns(STDERR_FILENO))
    let width = min(30, max(columns - 50, 8))
    let filled = total > 0 ? Int(UInt64(width) * min(done, total) / total) : 0
    line.clear()
    line.append("\r\u{1B}[K[")
    for index in 0..<width { line.append(index < filled ? "#" : ".") }
    line.append("] ")
  }
}
