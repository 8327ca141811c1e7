import CLinux
import TinyPush
import TinyPushAgent

/// The agent's page as a line of JSON.
enum StatusJSON {
  @inline(never)
  static func write(_ page: borrowing StatusPage, in text: inout Text) {
    let now = Clock.now()
    var members = JSONMembers()
    var word = Text(capacity: 1280)
    members.add("state", string: StatusCommand.state(page).span)
    members.add("pid", number: UInt64(clamping: page.processID))
    members.add("started_at", number: UInt64(clamping: page.startedAt))
    members.add("changed_at", number: UInt64(clamping: page.changedAt))
    page.appendWords(to: &word)
    members.add("detail", string: word.bytes)
    if page.dialInstant > 0, page.link == .down {
      let wait = now.until(Instant(milliseconds: page.dialInstant))
      members.add("next_try_in_ms", number: wait.milliseconds)
    }
    if page.link == .up {
      word.clear()
      page.appendVersion(to: &word)
      members.add("tls_version", string: word.bytes)
      word.clear()
      page.appendSuite(to: &word)
      members.add("cipher_suite", string: word.bytes)
    }
    if page.certificateEnd > 0 {
      members.add("certificate_expires_at", number: UInt64(clamping: page.certificateEnd))
    }
    members.add("files", number: page.files)
    let isExact: StaticString = page.isFilesExact == 1 ? "true" : "false"
    members.add("files_exact", bare: isExact.span)
    members.add("later_files", number: page.later)
    members.add("in_flight", number: page.inFlight)
    let counters = StatusCounter.all(of: page)
    for index in counters.indices {
      members.add(counters[index].name, number: counters[index].value)
    }
    addRefusals(page, &members)
    addPeriods(page, now, &members)
    addProblems(page, &members)
    text.append("{")
    text.append(bytes: members.text.bytes)
    text.append("}\n")
  }

  private static func addRefusals(
    _ page: borrowing StatusPage, _ members: inout JSONMembers
  ) {
    var refusals = JSONMembers()
    for value in 0..<Rejection.Reason.count {
      guard let reason = Rejection.Reason(rawValue: UInt8(value)) else { continue }
      let count = page.counters.rejected(for: reason)
      if count > 0 { refusals.add(reason.name, number: count) }
    }
    members.add("refused_by_reason", "{", refusals.text, "}")
  }

  private static func addPeriods(
    _ page: borrowing StatusPage, _ now: Instant, _ members: inout JSONMembers
  ) {
    let periods = StatusPeriod.all
    var traffic = JSONMembers()
    for index in periods.indices {
      var facts = JSONMembers()
      facts.add("seconds", number: periods[index].length(page, at: now))
      facts.add("sent", number: periods[index].sent(page, at: now))
      let latencies = periods[index].latencies(page, at: now)
      if let median = latencies.percentile(50), let tail = latencies.percentile(99) {
        facts.add("p50_ms", number: median.milliseconds)
        facts.add("p99_ms", number: tail.milliseconds)
      }
      traffic.add(periods[index].name, "{", facts.text, "}")
    }
    members.add("traffic", "{", traffic.text, "}")
  }

  private static func addProblems(
    _ page: borrowing StatusPage, _ members: inout JSONMembers
  ) {
    var list = Text(capacity: 8192)
    for index in page.problems.indices where page.problems[index].count > 0 {
      let problem = page.problems[index]
      var facts = JSONMembers()
      var message = Text(capacity: 1280)
      problem.append(to: &message)
      facts.add("time", number: UInt64(clamping: problem.time))
      facts.add("count", number: UInt64(problem.count))
      let severity: StaticString = problem.isError == 1 ? "error" : "warning"
      facts.add("severity", string: severity.span)
      facts.add("message", string: message.bytes)
      if list.count > 0 { list.append(",") }
      list.append("{")
      list.append(bytes: facts.text.bytes)
      list.append("}")
    }
    members.add("problems", "[", list, "]")
  }
}
