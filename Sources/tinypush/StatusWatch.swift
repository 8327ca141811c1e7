import CLinux
import TinyPush
import TinyPushAgent

/// `tinypush status --watch`: the agent's page on a terminal of its own, drawn anew each second.
enum StatusWatch {
  @inline(never)
  static func run(_ config: borrowing Config) {
    let signals = clinux_terminal_signals()
    var screen = StatusScreen(to: STDOUT_FILENO, isWatched: true)
    var text = Text(capacity: 32_768)
    take()
    while true {
      text.clear()
      draw(config, &screen, &text)
      text.write(to: STDOUT_FILENO)
      guard waits(signals) else { break }
    }
    giveBack()
    close(signals)
  }

  /// The other screen of the terminal, without a cursor.
  private static func take() {
    clinux_terminal_take(STDIN_FILENO)
    write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J")
  }

  private static func giveBack() {
    write("\u{1B}[?25h\u{1B}[?1049l")
    clinux_terminal_give_back(STDIN_FILENO)
  }

  private static func write(_ sequence: StaticString) {
    var text = Text(capacity: 64)
    text.append(sequence)
    text.write(to: STDOUT_FILENO)
  }

  /// A frame, which terminals that can show all at once.
  private static func draw(
    _ config: borrowing Config, _ screen: inout StatusScreen, _ text: inout Text
  ) {
    text.append("\u{1B}[?2026h\u{1B}[H")
    var body = Text(capacity: 24_576)
    do throws(StatusReading.Problem) {
      let reading = try StatusReading(config.status.pointer)
      screen.show(reading.page, in: &body)
    } catch {
      screen.explain(error, config, in: &body)
    }
    append(body.bytes, rows: max(Int(clinux_terminal_rows(STDOUT_FILENO)), 1), to: &text)
    text.append("\u{1B}[J\u{1B}[?2026l")
  }

  /// As many lines as there is room for; the last one has no end, which would move all the others up.
  private static func append(_ body: Span<UInt8>, rows: Int, to text: inout Text) {
    var left = rows
    for index in body.indices {
      if body[index] == .carriageReturn {
        left -= 1
        if left == 0 { return }
      }
      text.append(byte: body[index])
    }
  }

  /// Waits until it is time for another frame; false when it is over.
  private static func waits(_ signals: Int32) -> Bool {
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
      for index in 0..<Int(count)
      where keys[index] == UInt8(ascii: "q") || keys[index] == UInt8(ascii: "Q") { return false }
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
