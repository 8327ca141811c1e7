import CLinux
import TinyPush
import TinyPushAgent

/// The command `tinypush status --watch`, which redraws the agent's page once a second.
enum StatusWatch {
  @inline(never)
  static func run(_ config: borrowing Config) {
    let signals = clinux_terminal_signals()
    var screen = StatusScreen(to: STDOUT_FILENO, isWatched: true)
    var text = Text(capacity: 32_768)
    // The first visible line, if the page has more lines than the terminal has rows.
    var first = 0
    var frames = 0
    take()
    while true {
      // systemd is asked less often, since that takes a program.
      if frames % 10 == 0 { screen.bridge = BridgeState(beside: config) }
      frames += 1
      text.clear()
      draw(config, &screen, &first, &text)
      text.write(to: STDOUT_FILENO)
      guard waits(signals, &first) else { break }
    }
    giveBack()
    close(signals)
  }

  /// Switches to the terminal's alternate screen, and hides the cursor.
  @inline(never)
  private static func take() {
    clinux_terminal_take(STDIN_FILENO)
    write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J")
  }

  /// Switches back to the normal screen, and shows the cursor.
  @inline(never)
  private static func giveBack() {
    write("\u{1B}[?25h\u{1B}[?1049l")
    clinux_terminal_release(STDIN_FILENO)
  }

  @inline(never)
  private static func write(_ sequence: StaticString) {
    var text = Text(capacity: 64)
    text.append(sequence)
    text.write(to: STDOUT_FILENO)
  }

  /// Draws a frame, as a synchronized update on terminals that support these.
  private static func draw(
    _ config: borrowing Config, _ screen: inout StatusScreen, _ first: inout Int,
    _ text: inout Text
  ) {
    text.append("\u{1B}[?2026h\u{1B}[H")
    var body = Text(capacity: 24_576)
    do throws(StatusReading.Problem) {
      let reading = try StatusReading(config.status.pointer)
      screen.show(reading.page, in: &body)
    } catch {
      screen.explain(error, config, in: &body)
    }
    let rows = max(Int(clinux_terminal_rows(STDOUT_FILENO)), 1)
    append(body.bytes, rows: rows, from: &first, screen, to: &text)
    text.append("\u{1B}[J\u{1B}[?2026l")
  }

  /// Appends as many lines as there are rows, beginning with line `first`.
  ///
  /// The last line has no line end, which would scroll the screen. If lines are hidden, the last
  /// row shows the keys.
  private static func append(
    _ body: Span<UInt8>, rows: Int, from first: inout Int, _ screen: borrowing StatusScreen,
    to text: inout Text
  ) {
    var lines = 0
    for index in body.indices where body[index] == .lineFeed { lines += 1 }
    let isAll = lines <= rows
    let shown = isAll || rows < 3 ? rows : rows - 1
    first = min(max(first, 0), max(lines - shown, 0))
    var line = 0
    for index in body.indices {
      let isLast = line == first + shown - 1
      if line >= first, !(isLast && body[index] == .carriageReturn) {
        text.append(byte: body[index])
      }
      guard body[index] == .lineFeed || isLast && body[index] == .carriageReturn else { continue }
      if isLast { break }
      line += 1
    }
    if !isAll, shown < rows {
      let hint: StaticString = "  q: quit, arrow keys: show the rest"
      text.append("\r\n\u{1B}[K")
      screen.terminal.append(hint.span, cutTo: screen.columns ?? 80, in: &text)
    }
  }

  /// Waits until the next frame is due; false: the user has quit.
  private static func waits(_ signals: Int32, _ first: inout Int) -> Bool {
    var sources: InlineArray<2, pollfd> = [
      pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
      pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
    ]
    var span = sources.mutableSpan
    _ = span.withUnsafeMutableBufferPointer { poll($0.baseAddress!, 2, 1000) }
    if sources[0].revents != 0 {
      var keys: InlineArray<32, UInt8> = .init(repeating: 0)
      let count = withUnsafeMutableBytes(of: &keys) { read(STDIN_FILENO, $0.baseAddress, $0.count) }
      guard count > 0 else { return false }
      for index in 0..<Int(count) {
        switch keys[index] {
        case UInt8(ascii: "q"), UInt8(ascii: "Q"): return false
        // The arrow keys up and down send ESC [ A and ESC [ B.
        case UInt8(ascii: "A") where index > 1 && keys[index - 2] == .escape: first -= 1
        case UInt8(ascii: "B") where index > 1 && keys[index - 2] == .escape: first += 1
        default: break
        }
      }
    }
    guard sources[1].revents != 0 else { return true }
    var information = signalfd_siginfo()
    while read(signals, &information, MemoryLayout<signalfd_siginfo>.size) > 0 {
      switch Int32(bitPattern: information.ssi_signo) {
      case SIGWINCH: break
      case SIGTSTP:
        giveBack()
        raise(SIGSTOP)
        take()
      default: return false
      }
    }
    return true
  }
}
