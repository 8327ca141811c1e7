import CLinux
import TinyPush
import TinyPushAgent

/// The pieces of the screen's lines.
extension StatusScreen {
  @inline(never)
  mutating func print(_ words: StaticString, _ colour: Terminal.Colour) {
    terminal.begin(colour, in: &line)
    line.append(words)
    terminal.end(in: &line)
  }

  @inline(never)
  mutating func warn(_ words: StaticString, _ text: inout Text) {
    print(words, .red)
    end(&text)
  }

  @inline(never)
  mutating func label(_ words: StaticString) {
    line.append("  ", words)
    pad(to: 14)
  }

  @inline(never)
  mutating func pad(to column: Int) {
    while line.count < column { line.append(" ") }
  }

  /// Appends a number, flush right.
  @inline(never)
  mutating func number(_ value: UInt64, _ width: Int) {
    var digits = Text(capacity: 20)
    digits.append(value)
    flushRight(digits, width)
  }

  @inline(never)
  private mutating func flushRight(_ text: borrowing Text, _ width: Int) {
    for _ in 0..<max(width - text.count, 1) { line.append(" ") }
    line.append(bytes: text.bytes)
  }

  private static let fields: InlineArray<24, StaticString> = [
    "sent", "refused by the service", "repeated", "accepted", "failed the check", "uncertain",
    "device gone", "suppressed", "expired", "connections", "superseded", "postponed",
    "sent", "refused by the service", "repeated", "delivered, proved", "failed the check",
    "uncertain", "delivered, by time", "suppressed", "expired", "connections", "superseded",
    "postponed",
  ]

  mutating func field(
    _ index: Int, _ others: Int, _ values: InlineArray<12, UInt64>, _ labelWidth: Int,
    _ width: Int
  ) {
    field(Self.fields[index + others], values[index], labelWidth, width)
  }

  @inline(never)
  mutating func field(
    _ label: StaticString, _ value: UInt64, _ labelWidth: Int, _ width: Int
  ) {
    line.append("  ", label)
    for _ in label.utf8CodeUnitCount..<labelWidth { line.append(" ") }
    number(value, width)
  }

  /// Appends a rate per second, minute or hour, whichever needs few digits.
  @inline(never)
  mutating func rate(_ count: UInt64, in seconds: UInt64) {
    var text = Text(capacity: 24)
    let perHour = count &* 36_000 / seconds
    let scale: (UInt64, StaticString) =
      perHour >= 36_000 ? (3600, "/s  ") : perHour >= 600 ? (60, "/min") : (1, "/h  ")
    let tenths = perHour / scale.0
    text.append(tenths / 10)
    if tenths < 1000, count > 0 {
      text.append(".", tenths % 10)
    }
    text.append(count > 0 ? scale.1 : "    ")
    flushRight(text, 10)
  }

  @inline(never)
  mutating func latency(_ latency: Duration?) {
    var text = Text(capacity: 24)
    if let latency {
      // The times of files are only as precise as a tick of the kernel's clock.
      var tick = timespec()
      clock_getres(CLOCK_REALTIME_COARSE, &tick)
      let resolution = UInt64(tick.tv_nsec) / 1_000_000
      let milliseconds = latency.milliseconds
      if milliseconds <= resolution {
        text.append("<", resolution + 1, " ms")
      } else if milliseconds < 1000 {
        text.append(milliseconds)
        text.append(" ms")
      } else if milliseconds < 10_000 {
        text.append(milliseconds / 1000)
        text.append(".", milliseconds / 100 % 10, " s")
      } else {
        text.append(roundedSeconds: Int64(milliseconds / 1000))
      }
    } else {
      text.append("-")
    }
    flushRight(text, latencyWidth)
  }

  var latencyWidth: Int { columns.map { $0 < 42 ? 8 : 9 } ?? 9 }

  /// Appends a bar that shows a value's share of the peak.
  @inline(never)
  mutating func bar(_ value: UInt64, of peak: UInt64) {
    let columns = columns ?? 80
    let start = max(min(46, columns - 30), 30, line.count + 1)
    guard isWatched, peak > 0, columns - start >= 8 else { return }
    let width = UInt64(min(30, columns - start))
    let filled = min((value &* width &+ peak &- 1) / peak, width)
    pad(to: start)
    terminal.begin(.green, in: &line)
    for _ in 0..<filled { line.append("█") }
    terminal.end(in: &line)
    terminal.begin(.dim, in: &line)
    for _ in filled..<width { line.append("░") }
    terminal.end(in: &line)
  }

  /// Appends a graph of the numbers sent in the last seconds or minutes, as many as fit.
  mutating func sparkline(
    _ page: borrowing StatusPage, _ now: Instant, isMinutes: Bool
  ) {
    let levels: InlineArray<8, StaticString> = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    let shown = min(36, max((columns ?? 80) - 2, 1))
    var counts: InlineArray<36, UInt32> = .init(repeating: 0)
    var most: UInt32 = 0
    for index in 0..<shown {
      let ago = shown - 1 - index
      counts[index] =
        isMinutes
        ? page.traffic.sent(minutesAgo: ago, at: now) : page.traffic.sent(secondsAgo: ago, at: now)
      most = max(most, counts[index])
    }
    line.append("  ")
    terminal.begin(.green, in: &line)
    for index in 0..<shown {
      let level = counts[index] == 0 ? 0 : 1 + UInt64(counts[index]) * 6 / UInt64(most)
      line.append(levels[Int(level)])
    }
    terminal.end(in: &line)
  }
}
