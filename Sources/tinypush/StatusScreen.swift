import CLinux
import TinyPush
import TinyPushAgent

/// The agent's page for a person: once, or over and over on a screen.
struct StatusScreen: ~Copyable {
  private let terminal: Terminal
  private let isWatched: Bool
  /// Ends each line.
  private let lineEnd: StaticString
  private var columns: Int?
  private var line = Text(capacity: 2048)
  /// The most there has been while it was watched.
  private var peaks: (files: UInt64, inFlight: UInt64) = (0, 0)

  init(to descriptor: Int32, isWatched: Bool = false) {
    terminal = Terminal(descriptor)
    self.isWatched = isWatched
    // What stood there before is wiped out at the end of each line, and not all of it at once: nothing flickers.
    lineEnd = isWatched ? "\u{1B}[K\r\n" : "\n"
  }

  deinit {}

  @inline(never)
  mutating func show(_ page: borrowing StatusPage, in text: inout Text) {
    let now = Clock.now()
    if isWatched { columns = terminal.columns }
    showState(page, now, &text)
    end(&text)
    showQueue(page, &text)
    end(&text)
    showCounters(page, &text)
    end(&text)
    showTraffic(page, now, &text)
    showProblems(page, &text)
    showKeys(&text)
  }

  /// Why there is no page.
  mutating func explain(
    _ reason: StatusReading.Problem, _ config: borrowing Config, in text: inout Text
  ) {
    if isWatched { columns = terminal.columns }
    say("not running", .red)
    end(&text)
    line.append("  ")
    StatusCommand.explain(reason, config, in: &line)
    wrap(indent: 2, &text)
    showKeys(&text)
  }

  // MARK: - Parts

  private mutating func showState(
    _ page: borrowing StatusPage, _ now: Instant, _ text: inout Text
  ) {
    let wall = Clock.wallSeconds()
    say(
      StatusCommand.state(page),
      page.link == .up ? .green : page.isAlive ? .yellow : .red)
    if page.isAlive {
      line.append(" for ")
      line.append(roundedSeconds: wall &- page.changedAt)
      line.append(", running for ")
      line.append(roundedSeconds: wall &- page.startedAt)
    }
    end(&text)
    line.append(page.isAlive ? "  " : "  when it ended: ")
    page.appendWords(to: &line)
    wrap(indent: 2, &text)
    if page.dialInstant > 0, page.link == .down {
      line.append("  next try in ")
      let wait = now.until(Instant(milliseconds: page.dialInstant))
      line.append(roundedSeconds: Int64(wait.milliseconds / 1000))
      end(&text)
    }
    if page.certificateEnd > 0 {
      let days = (page.certificateEnd &- wall) / 86_400
      if days <= 30 { terminal.begin(days < 0 ? .red : .yellow, in: &line) }
      line.append(page.certificateEnd < wall ? "  certificate expired " : "  certificate: ")
      line.append(roundedSeconds: Int64(clamping: (page.certificateEnd &- wall).magnitude))
      line.append(page.certificateEnd < wall ? " ago: renew it" : " left")
      if days >= 0, days <= 30 { line.append(": renew it") }
      terminal.end(in: &line)
      end(&text)
    }
    if page.held & 1 != 0 { warn("  held: what was delivered cannot be removed from new/", &text) }
    if page.held & 2 != 0 { warn("  held: failed/ cannot be written to", &text) }
  }

  private mutating func showQueue(_ page: borrowing StatusPage, _ text: inout Text) {
    peaks.files = max(peaks.files, page.files)
    peaks.inFlight = max(peaks.inFlight, page.inFlight)
    label("in the spool")
    number(page.files, 9)
    line.append(page.files == 1 ? " file" : " files")
    if page.isFilesExact == 0 { line.append(" or so") }
    if page.later > 0 {
      line.append(" and ")
      line.append(page.later)
      line.append(" for later")
    }
    bar(page.files, of: peaks.files)
    end(&text)
    label("in flight")
    number(page.inFlight, 9)
    bar(page.inFlight, of: peaks.inFlight)
    end(&text)
  }

  private mutating func showCounters(_ page: borrowing StatusPage, _ text: inout Text) {
    let counters = page.counters
    let rows:
      InlineArray<4, ((StaticString, UInt64), (StaticString, UInt64), (StaticString, UInt64))> = [
        (
          ("sent", counters.sent), ("refused by the gateway", counters.refused),
          ("repeated", counters.repeated)
        ),
        (
          ("delivered, proved", counters.settledByProof),
          ("failed the check", counters.failedCheck),
          ("uncertain", counters.uncertain)
        ),
        (
          ("delivered, by time", counters.settledByTime), ("suppressed", counters.suppressed),
          ("expired", counters.expired)
        ),
        (
          ("connections", counters.connections), ("superseded", counters.superseded),
          ("put aside", counters.postponed)
        ),
      ]
    for index in rows.indices {
      field(rows[index].0, 18, 8)
      field(rows[index].1, 22, 6)
      field(rows[index].2, 9, 6)
      end(&text)
    }
  }

  private mutating func showTraffic(
    _ page: borrowing StatusPage, _ now: Instant, _ text: inout Text
  ) {
    terminal.begin(.dim, in: &line)
    line.append("                  sent      p50      p99   from the spool to the gateway")
    terminal.end(in: &line)
    end(&text)
    let periods = StatusPeriod.all
    for index in periods.indices where page.isAlive || index == 2 {
      label(index == 0 ? "last minute" : index == 1 ? "last hour" : "since start")
      rate(periods[index].sent(page, at: now), in: periods[index].length(page, at: now))
      let latencies = periods[index].latencies(page, at: now)
      latency(latencies.percentile(50))
      latency(latencies.percentile(99))
      if index < 2 { sparkline(page, now, isMinutes: index == 1) }
      end(&text)
    }
  }

  private mutating func showProblems(_ page: borrowing StatusPage, _ text: inout Text) {
    guard page.problems[0].count > 0 else { return }
    end(&text)
    let wall = Clock.wallSeconds()
    for index in page.problems.indices where page.problems[index].count > 0 {
      let problem = page.problems[index]
      line.append("  ")
      line.append(roundedSeconds: wall &- problem.time)
      line.append(" ago")
      pad(to: 16)
      if problem.count > 1 {
        line.append(problem.count)
        line.append(" times: ")
      }
      terminal.begin(problem.isError == 1 ? .red : .yellow, in: &line)
      problem.append(to: &line)
      terminal.end(in: &line)
      wrap(indent: 16, &text)
    }
  }

  private mutating func showKeys(_ text: inout Text) {
    guard isWatched else { return }
    end(&text)
    terminal.begin(.dim, in: &line)
    line.append("  q ends it")
    terminal.end(in: &line)
    end(&text)
  }

  // MARK: - Pieces

  private mutating func say(_ words: StaticString, _ colour: Terminal.Colour) {
    terminal.begin(colour, in: &line)
    line.append(words)
    terminal.end(in: &line)
  }

  private mutating func warn(_ words: StaticString, _ text: inout Text) {
    say(words, .red)
    end(&text)
  }

  private mutating func label(_ words: StaticString) {
    line.append("  ")
    line.append(words)
    pad(to: 14)
  }

  private mutating func pad(to column: Int) {
    while line.count < column { line.append(" ") }
  }

  /// Flush right in so many columns.
  private mutating func number(_ value: UInt64, _ width: Int) {
    var digits = Text(capacity: 20)
    digits.append(value)
    flushRight(digits, width)
  }

  @inline(never)
  private mutating func flushRight(_ text: borrowing Text, _ width: Int) {
    for _ in 0..<max(width - text.count, 1) { line.append(" ") }
    line.append(bytes: text.bytes)
  }

  private mutating func field(
    _ field: (StaticString, UInt64), _ labelWidth: Int, _ width: Int
  ) {
    line.append("  ")
    line.append(field.0)
    for _ in field.0.utf8CodeUnitCount..<labelWidth { line.append(" ") }
    number(field.1, width)
  }

  /// So many in so many seconds, by the unit of time that says it in few digits.
  @inline(never)
  private mutating func rate(_ count: UInt64, in seconds: UInt64) {
    var text = Text(capacity: 24)
    let perHour = count &* 36_000 / seconds
    let scale: (UInt64, StaticString) =
      perHour >= 36_000 ? (3600, "/s  ") : perHour >= 600 ? (60, "/min") : (1, "/h  ")
    let tenths = perHour / scale.0
    text.append(tenths / 10)
    if tenths < 1000, count > 0 {
      text.append(".")
      text.append(tenths % 10)
    }
    text.append(count > 0 ? scale.1 : "    ")
    flushRight(text, 10)
  }

  @inline(never)
  private mutating func latency(_ latency: Duration?) {
    var text = Text(capacity: 24)
    if let latency {
      // File systems know times to a tick of the kernel's clock.
      var tick = timespec()
      clock_getres(CLOCK_REALTIME_COARSE, &tick)
      let resolution = UInt64(tick.tv_nsec) / 1_000_000
      let milliseconds = latency.milliseconds
      if milliseconds <= resolution {
        text.append("<")
        text.append(resolution + 1)
        text.append(" ms")
      } else if milliseconds < 1000 {
        text.append(milliseconds)
        text.append(" ms")
      } else if milliseconds < 10_000 {
        text.append(milliseconds / 1000)
        text.append(".")
        text.append(milliseconds / 100 % 10)
        text.append(" s")
      } else {
        text.append(roundedSeconds: Int64(milliseconds / 1000))
      }
    } else {
      text.append("-")
    }
    flushRight(text, 9)
  }

  /// How much of the most there has been.
  private mutating func bar(_ value: UInt64, of peak: UInt64) {
    guard isWatched, peak > 0 else { return }
    let width: UInt64 = 30
    let filled = min((value &* width &+ peak &- 1) / peak, width)
    pad(to: 46)
    terminal.begin(.green, in: &line)
    for _ in 0..<filled { line.append("█") }
    terminal.end(in: &line)
    terminal.begin(.dim, in: &line)
    for _ in filled..<width { line.append("░") }
    terminal.end(in: &line)
  }

  /// What was sent in each second of the last minute, or in each minute of the last hour; as many of them as there is room for.
  private mutating func sparkline(
    _ page: borrowing StatusPage, _ now: Instant, isMinutes: Bool
  ) {
    let levels: InlineArray<8, StaticString> = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    let shown = 36
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

  // MARK: - Lines

  /// Ends the line, and puts what it has no room for on others.
  @inline(never)
  private mutating func wrap(indent: Int, _ text: inout Text) {
    while let columns, indent < columns, Self.width(of: line.bytes) > columns {
      let place = Self.lineBreak(in: line.bytes, columns: columns, from: indent)
      var rest = Text(capacity: 2048)
      for _ in 0..<indent { rest.append(" ") }
      rest.append(bytes: line.bytes.extracting(place..<line.count))
      Self.append(line.bytes.extracting(0..<place), columns: columns, to: &text)
      text.append(lineEnd)
      swap(&line, &rest)
    }
    end(&text)
  }

  /// Behind the last space within so many columns; or where they end.
  private static func lineBreak(in line: Span<UInt8>, columns: Int, from indent: Int) -> Int {
    var width = 0
    var place = 0
    var isColour = false
    for index in line.indices {
      let byte = line[index]
      if byte == 0x1B { isColour = true }
      if !isColour {
        if width == columns { return place > 0 ? place : index }
        width += 1
        if byte == 0x20, width > indent { place = index + 1 }
      } else if byte == 0x6D {
        isColour = false
      }
    }
    return line.count
  }

  /// The columns that a line takes, less its colours.
  private static func width(of line: Span<UInt8>) -> Int {
    var width = 0
    var isColour = false
    for index in line.indices {
      if line[index] == 0x1B { isColour = true }
      if !isColour { width += 1 }
      if line[index] == 0x6D { isColour = false }
    }
    return width
  }

  /// Ends the line.
  private mutating func end(_ text: inout Text) {
    Self.append(line.bytes, columns: columns, to: &text)
    line.clear()
    text.append(lineEnd)
  }

  /// As much of a line as there is room for. Colours take none, and the last of them must be heard.
  @inline(never)
  private static func append(_ line: Span<UInt8>, columns: Int?, to text: inout Text) {
    var room = columns ?? Int.max
    var isColour = false
    var isCut = false
    for index in line.indices {
      let byte = line[index]
      if byte == 0x1B { isColour = true }
      if !isColour, byte & 0xC0 != 0x80 {
        isCut = room == 0
        if !isCut { room -= 1 }
      }
      if isColour || !isCut { text.append(byte: byte) }
      if byte == 0x6D { isColour = false }
    }
  }
}
