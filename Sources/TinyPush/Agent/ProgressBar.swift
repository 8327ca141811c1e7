import CLinux

/// How far `run --once` has come: a bar on a terminal, nothing elsewhere.
struct ProgressBar: ~Copyable {
  private let isShown: Bool
  private var files: UInt64 = 0
  private var settledFiles: UInt64 = 0
  private var shownAt = Instant(milliseconds: 0)
  private var line = Text(capacity: 512)

  init(isWanted: Bool) {
    isShown = isWanted && isatty(STDERR_FILENO) == 1
  }

  deinit {}

  /// A scan found so many files that wait.
  mutating func found(_ count: Int) {
    files = max(files, settledFiles + UInt64(count))
  }

  mutating func settled() {
    settledFiles += 1
  }

  /// At most ten times a second.
  mutating func show(_ counters: Counters, inFlight: Int) {
    guard isShown else { return }
    let now = Clock.now()
    guard shownAt.until(now) >= .milliseconds(100) else { return }
    shownAt = now
    draw(counters, inFlight: inFlight)
  }

  mutating func finish(_ counters: Counters) {
    guard isShown else { return }
    draw(counters, inFlight: 0)
    line.clear()
    line.append("\n")
    line.write(to: STDERR_FILENO)
  }

  private mutating func draw(_ counters: Counters, inFlight: Int) {
    let columns = Int(clinux_terminal_columns(STDERR_FILENO))
    let width = min(30, max(columns - 50, 8))
    let filled = files > 0 ? Int(UInt64(width) * min(settledFiles, files) / files) : 0
    line.clear()
    line.append("\r\u{1B}[K[")
    for index in 0..<width { line.append(index < filled ? "#" : ".") }
    line.append("] ")
    line.append(counters.settled)
    line.append(" delivered, ")
    line.append(inFlight)
    line.append(" on their way")
    line.write(to: STDERR_FILENO)
  }
}
