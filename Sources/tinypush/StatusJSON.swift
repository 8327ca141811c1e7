import CLinux
import TinyPush
import TinyPushAgent

/// The agent's status page as a line of JSON.
enum StatusJSON {
  /// Writes the line if there is no page.
  @inline(never)
  static func write(notRunning why: borrowing Text) {
    var text = Text(capacity: 1024)
    text.beginObject()
    text.member("state", word: StatusPage.words(nil))
    text.member("detail", string: why)
    text.endLine()
    text.write(to: STDOUT_FILENO)
  }

  @inline(never)
  static func write(
    _ page: borrowing StatusPage, _ bridge: borrowing BridgeState, in text: inout Text
  ) {
    let now = Clock.now()
    var word = Text(capacity: 1280)
    text.beginObject()
    text.member("state", word: StatusPage.words(page.connectivity))
    text.member("pid", number: UInt64(clamping: page.processID))
    text.member("started_at", number: UInt64(clamping: page.startedAt))
    text.member("changed_at", number: UInt64(clamping: page.main.changedAt))
    page.appendWords(to: &word)
    text.member("detail", string: word)
    text.member("protocol", word: page.pushProtocol.name)
    if let reason = page.refusedConfiguration {
      text.member("configuration_refused", string: reason.name)
    }
    if page.connectivity == .down { writeWait(of: page.main, now, in: &text) }
    if page.connectivity == .up {
      word.clear()
      page.appendVersion(to: &word)
      text.member("tls_version", string: word)
      word.clear()
      page.appendSuite(to: &word)
      text.member("cipher_suite", string: word)
    }
    if page.certificateEnd > 0 {
      text.member("certificate_expires_at", number: UInt64(clamping: page.certificateEnd))
    }
    if let isRunning = bridge.isRunning {
      text.member("mqtt_running", bool: isRunning)
      text.member("mqtt_detail", string: bridge.words)
    }
    if page.isAlive {
      text.member("files", number: page.files)
      text.member("files_exact", bool: page.isFilesExact == 1)
      text.member("later_files", number: page.later)
      text.member("in_flight", number: page.inFlight)
    }
    text.member("held", bool: page.held != 0)
    StatusCounter.forEach(of: page) { name, _, value in
      text.key(escaping: name)
      text.append(value)
    }
    writeServices(page, now, in: &text)
    if page.suppressedAt > 0 {
      word.clear()
      page.appendSuppressed(to: &word)
      text.member("last_suppressed", string: word)
      text.member("last_suppressed_at", number: UInt64(clamping: page.suppressedAt))
    }
    writeRefusals(page, in: &text)
    writeRetries(page, in: &text)
    writePeriods(page, now, in: &text)
    writeProblems(page, in: &text)
    text.endLine()
  }

  @inline(never)
  private static func writeWait(
    of service: borrowing StatusPage.Service, _ now: Instant, in text: inout Text
  ) {
    guard service.waitInstant > 0 else { return }
    let wait = now.until(Instant(milliseconds: service.waitInstant))
    text.member("next_try_in_ms", number: wait.milliseconds)
  }

  private static func writeServices(
    _ page: borrowing StatusPage, _ now: Instant, in text: inout Text
  ) {
    let isAlive = page.isAlive
    text.key("services")
    text.beginArray()
    page.forEachService { service in
      var word = Text(capacity: 1280)
      service.appendHost(to: &word)
      text.beginObject()
      text.member("service", string: word)
      text.member("recipients", word: service.recipients)
      text.member("state", word: StatusPage.words(isAlive ? service.connectivity : nil))
      text.member("changed_at", number: UInt64(clamping: service.changedAt))
      if isAlive {
        word.clear()
        service.appendWords(to: &word)
        text.member("detail", string: word)
        writeWait(of: service, now, in: &text)
      }
      if let reason = service.refusedConfiguration {
        text.member("configuration_refused", string: reason.name)
      }
      text.member("accepted", number: service.counts.accepted)
      text.member("refused", number: service.counts.refused)
      text.member("gone", number: service.counts.gone)
      if isAlive { text.member("in_flight", number: service.inFlight) }
      text.endObject()
    }
    text.endArray()
  }

  private static func writeRefusals(_ page: borrowing StatusPage, in text: inout Text) {
    text.key("refused_by_reason")
    text.beginObject()
    for value in 0..<Rejection.Reason.count {
      guard let reason = Rejection.Reason(rawValue: UInt8(value)) else { continue }
      let count = page.counters.rejected(for: reason)
      guard count > 0 else { continue }
      text.key(escaping: reason.name)
      text.append(count)
    }
    text.endObject()
  }

  private static func writeRetries(_ page: borrowing StatusPage, in text: inout Text) {
    text.key("retried_by_cause")
    text.beginObject()
    page.counters.forEachRetry { cause, count in
      guard count > 0 else { return }
      text.key(escaping: cause.name)
      text.append(count)
    }
    text.endObject()
  }

  private static func writePeriods(
    _ page: borrowing StatusPage, _ now: Instant, in text: inout Text
  ) {
    let periods = StatusPeriod.all
    text.key("traffic")
    text.beginObject()
    for index in periods.indices {
      text.key(periods[index].name)
      text.beginObject()
      text.member("seconds", number: periods[index].length(page, at: now))
      text.member("sent", number: periods[index].sent(page, at: now))
      let latencies = periods[index].latencies(page, at: now)
      if let median = latencies.percentile(50), let tail = latencies.percentile(99) {
        text.member("p50_ms", number: median.milliseconds)
        text.member("p99_ms", number: tail.milliseconds)
      }
      text.endObject()
    }
    text.endObject()
  }

  private static func writeProblems(_ page: borrowing StatusPage, in text: inout Text) {
    text.key("problems")
    text.beginArray()
    for index in page.problems.indices where page.problems[index].count > 0 {
      let problem = page.problems[index]
      var message = Text(capacity: 1280)
      problem.append(to: &message)
      text.beginObject()
      text.member("time", number: UInt64(clamping: problem.time))
      text.member("count", number: UInt64(problem.count))
      text.member("severity", word: problem.isError == 1 ? "error" : "warning")
      text.member("message", string: message)
      text.endObject()
    }
    text.endArray()
  }
}
