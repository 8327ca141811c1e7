import CLinux
import TinyPush
import TinyPushAgent

/// The agent's status page for people, printed once or redrawn on a terminal.
struct StatusScreen: ~Copyable {
  let terminal: Terminal
  let isWatched: Bool
  var bridge = BridgeState()
  private(set) var columns: Int?
  var line = Text(capacity: 2048)
  /// The highest numbers since the watching began.
  private var peaks: (files: UInt64, inFlight: UInt64) = (0, 0)

  init(to descriptor: Int32, isWatched: Bool = false) {
    terminal = Terminal(descriptor)
    self.isWatched = isWatched
  }

  deinit {}

  @inline(never)
  mutating func show(_ page: borrowing StatusPage, in text: inout Text) {
    let now = Clock.now()
    columns = terminal.columns
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

  /// Shows why the page cannot be read.
  mutating func explain(
    _ reason: StatusReading.Problem, _ config: borrowing Config, in text: inout Text
  ) {
    columns = terminal.columns
    print("not running", .red)
    end(&text)
    line.append("  ")
    StatusCommand.explain(reason, config, in: &line)
    wrap(indent: 2, &text)
    showKeys(&text)
  }

  // MARK: - Parts

  @inline(never)
  private mutating func showState(
    _ page: borrowing StatusPage, _ now: Instant, _ text: inout Text
  ) {
    let wall = Clock.wallSeconds()
    print(
      StatusPage.words(page.connectivity),
      page.connectivity == .up ? .green : page.isAlive ? .yellow : .red)
    if page.isAlive {
      line.append(page.connectivity == .connecting ? ", not connected for " : " for ")
      line.append(roundedSeconds: wall &- page.main.changedAt)
      line.append(", running for ")
      line.append(roundedSeconds: wall &- page.startedAt)
    }
    end(&text)
    line.append(page.isAlive ? "  " : "  when it ended: ")
    page.appendWords(to: &line)
    wrap(indent: 2, &text)
    if page.connectivity == .down, showWait(of: page.main, "  ", now) { end(&text) }
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
    if let reason = page.refusedConfiguration, !page.hasBrowsers {
      line.append("  ")
      showHold(reason, &text)
    }
    if let isRunning = bridge.isRunning {
      if !isRunning { terminal.begin(.red, in: &line) }
      line.append("  MQTT bridge: ", bridge.words)
      if !isRunning { terminal.end(in: &line) }
      wrap(indent: 2, &text)
    }
    let isAlive = page.isAlive
    if page.hasBrowsers { page.forEachService { showService($0, isAlive: isAlive, now, &text) } }
    if page.held & 1 != 0 { warn("  held: delivered files cannot be removed from taken/", &text) }
    if page.held & 2 != 0 { warn("  held: failed/ cannot be written to", &text) }
    if page.held & 4 != 0 { warn("  held: files cannot be moved from new/ to taken/", &text) }
  }

  @inline(never)
  private mutating func showHold(_ reason: Rejection.Reason, _ text: inout Text) {
    terminal.begin(.red, in: &line)
    line.append("held: the service refuses the configuration: ")
    Rejection(reason).appendText(to: &line)
    line.append("; ", Rejection(reason).advice)
    terminal.end(in: &line)
    wrap(indent: 2, &text)
  }

  /// Appends when the agent tries again, and returns whether it waits for that.
  @inline(never)
  private mutating func showWait(
    of service: borrowing StatusPage.Service, _ before: StaticString, _ now: Instant
  ) -> Bool {
    guard service.waitInstant > 0 else { return false }
    line.append(before, "next attempt in ")
    let wait = now.until(Instant(milliseconds: service.waitInstant))
    line.append(roundedSeconds: Int64(wait.milliseconds / 1000))
    return true
  }

  /// Shows a service in a line: its state, what became of notifications, and why it has none.
  @inline(never)
  private mutating func showService(
    _ service: borrowing StatusPage.Service, isAlive: Bool, _ now: Instant, _ text: inout Text
  ) {
    line.append("  ")
    service.appendHost(to: &line)
    line.append(": ")
    let state = service.connectivity
    if isAlive {
      print(StatusPage.words(state), state == .up ? .green : state == .idle ? .dim : .yellow)
      if state != .idle {
        line.append(" for ")
        line.append(roundedSeconds: Clock.wallSeconds() &- service.changedAt)
      }
      line.append("; ")
    }
    line.append(service.counts.accepted)
    line.append(" accepted")
    showCount(service.counts.refused, " refused")
    showCount(service.counts.gone, " gone")
    showCount(service.inFlight, " in flight")
    if isAlive {
      if state == .down {
        line.append("; ")
        service.appendWords(to: &line)
      }
      _ = showWait(of: service, "; ", now)
      // Without a connection, the words say the same.
      if state != .down, let reason = service.refusedConfiguration {
        line.append("; ")
        return showHold(reason, &text)
      }
    }
    wrap(indent: 4, &text)
  }

  private mutating func showCount(_ count: UInt64, _ words: StaticString) {
    guard count > 0 else { return }
    line.append(", ", count)
    line.append(words)
  }

  @inline(never)
  private mutating func showQueue(_ page: borrowing StatusPage, _ text: inout Text) {
    // Nobody has counted since the agent ended.
    guard page.isAlive else { return }
    peaks.files = max(peaks.files, page.files)
    peaks.inFlight = max(peaks.inFlight, page.inFlight)
    label("in the spool")
    number(page.files, 9)
    line.append(page.files == 1 ? " file" : " files")
    if page.isFilesExact == 0 { line.append(" or so") }
    if page.later > 0 {
      line.append(" and ", page.later, " for later")
    }
    bar(page.files, of: peaks.files)
    end(&text)
    label("in flight")
    number(page.inFlight, 9)
    bar(page.inFlight, of: peaks.inFlight)
    end(&text)
  }

  @inline(never)
  private mutating func showCounters(_ page: borrowing StatusPage, _ text: inout Text) {
    let counters = page.counters
    let values: InlineArray<12, UInt64> = [
      counters.sent, counters.refused, counters.repeated, counters.settledByProof,
      counters.failedCheck, counters.uncertain,
      page.pushProtocol == .binary ? counters.settledByTime : counters.gone, counters.suppressed,
      counters.expired, counters.connections, counters.superseded, counters.postponed,
    ]
    // For the binary protocol, some fields have other names.
    let others = page.pushProtocol == .binary ? 12 : 0
    let fieldsInLine = columns.map { $0 >= 75 ? 3 : $0 >= 58 ? 2 : 1 } ?? 3
    for row in stride(from: 0, to: 12, by: 3) {
      let isWide = fieldsInLine == 1
      field(row, others, values, isWide ? 22 : 18, isWide ? 6 : 8)
      if isWide { end(&text) }
      field(row + 1, others, values, 22, 6)
      if fieldsInLine == 3 { field(row + 2, others, values, 9, 6) }
      end(&text)
    }
    for row in 0..<4 where fieldsInLine < 3 {
      let isFirst = fieldsInLine == 2 && row % 2 == 0
      field(3 * row + 2, others, values, isFirst ? 18 : 22, isFirst ? 8 : 6)
      if !isFirst { end(&text) }
    }
    if line.count > 0 { end(&text) }
    if counters.limited > 0 || counters.summaries > 0 || counters.duplicates > 0 {
      let isWide = fieldsInLine == 1
      field("over the limit", counters.limited, isWide ? 22 : 18, isWide ? 6 : 8)
      if isWide { end(&text) }
      field("skipped duplicates", counters.duplicates, 22, 6)
      if fieldsInLine < 3 { end(&text) }
      let widths = fieldsInLine == 3 ? (9, 6) : isWide ? (22, 6) : (18, 8)
      field("summaries", counters.summaries, widths.0, widths.1)
      end(&text)
    }
    showRetries(counters, &text)
    showSuppressed(page, &text)
  }

  /// Shows how many tokens were suppressed because of the service's answers.
  private mutating func showSuppressed(_ page: borrowing StatusPage, _ text: inout Text) {
    let count = page.counters.tokensSuppressed
    guard count > 0, page.suppressedAt > 0 else { return }
    line.append("  tokens suppressed: ", count, "; the last one ")
    line.append(roundedSeconds: Clock.wallSeconds() &- page.suppressedAt)
    line.append(" ago: ")
    page.appendSuppressed(to: &line)
    wrap(indent: 4, &text)
  }

  private mutating func showRetries(_ counters: Counters, _ text: inout Text) {
    var isAny = false
    counters.forEachRetry { cause, count in
      guard count > 0 else { return }
      line.append(isAny ? ", " : "  sent again: ")
      isAny = true
      line.append(count)
      line.append(" ", cause.text)
    }
    if isAny { wrap(indent: 14, &text) }
  }

  @inline(never)
  private mutating func showTraffic(
    _ page: borrowing StatusPage, _ now: Instant, _ text: inout Text
  ) {
    let isNarrow = columns.map { $0 < 74 } ?? false
    let isBinary = page.pushProtocol == .binary
    let explanation: StaticString =
      isBinary ? "from the spool to the gateway" : "from the spool to the answer"
    terminal.begin(.dim, in: &line)
    line.append(isBinary ? "                  sent" : "              accepted")
    for _ in 3..<latencyWidth { line.append(" ") }
    line.append("p50")
    for _ in 3..<latencyWidth { line.append(" ") }
    line.append("p99")
    if isNarrow {
      terminal.end(in: &line)
      end(&text)
      terminal.begin(.dim, in: &line)
      line.append("  ")
    } else {
      line.append("   ")
    }
    line.append(explanation)
    terminal.end(in: &line)
    end(&text)
    let periods = StatusPeriod.all
    for index in periods.indices where page.isAlive || index == 2 {
      label(index == 0 ? "last minute" : index == 1 ? "last hour" : "since start")
      rate(periods[index].sent(page, at: now), in: periods[index].length(page, at: now))
      let latencies = periods[index].latencies(page, at: now)
      latency(latencies.percentile(50))
      latency(latencies.percentile(99))
      if index < 2 {
        if let columns, columns < 80 {
          end(&text)
          pad(to: columns < 52 ? 0 : 12)
        }
        sparkline(page, now, isMinutes: index == 1)
      }
      end(&text)
    }
  }

  @inline(never)
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

  @inline(never)
  private mutating func showKeys(_ text: inout Text) {
    guard isWatched else { return }
    end(&text)
    terminal.begin(.dim, in: &line)
    line.append("  q: quit")
    terminal.end(in: &line)
    end(&text)
  }
}
