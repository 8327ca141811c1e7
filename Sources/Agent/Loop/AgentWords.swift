import CLinux
import CMbed
import TinyPush

/// What the agent says: in the log, to the service manager, and on its page.
extension Agent {
  /// Says in the log something that may come and go, see ``LogFolding``; and on the page if it is wrong.
  mutating func say(_ priority: Log.Priority, _ text: borrowing Text, about topic: Log.Topic) {
    page.note(priority, text.bytes)
    log.write(priority, text, about: topic)
  }

  /// Keeps the page where the configuration says, and says once that it cannot be.
  mutating func keepPage() {
    let problem = page.keep(at: config.status.pointer)
    guard problem != pageProblem else { return }
    pageProblem = problem
    var text = Text()
    text.append("the status page ")
    text.append(printable: config.status.span)
    switch problem {
    case 0: text.append(" can be kept again")
    case MappedStatusPage.isAnotherAgents:
      text.append(" is another agent's: set status to another file for each agent")
    case MappedStatusPage.isSomethingElse:
      text.append(" cannot be kept: something else is there, which stays as it is")
    default:
      text.append(" cannot be kept: ")
      text.append(cString: clinux_error_text(problem))
    }
    say(problem == 0 ? .notice : .warning, text, about: .page)
  }

  mutating func sayStarted() {
    keepPage()
    var text = Text()
    text.append("delivering ")
    text.append(printable: config.spool.span)
    text.append(" to ")
    text.append(printable: gateway.span)
    if !config.courier.isOnce { log.write(.info, text) }
    if spool.wasOpen {
      text.clear()
      text.append("spool ")
      text.append(printable: config.spool.span)
      text.append(
        ": other users could replace its directories, or files of each other; they cannot any more (modes 2750, 3770 for new/ and tmp/)"
      )
      log.write(.notice, text)
    }
    page.know(certificateEnd: certificateEnd())
    clinux_notify("READY=1\nSTATUS=looking through the spool")
  }

  mutating func sayStopping() {
    log.write(.info, "stopping: what was sent is confirmed, the rest stays in the spool")
    // However long `settle` is, systemd is to wait for it.
    let patience = config.courier.settle + Self.stopPatience + .seconds(5)
    var text = Text()
    text.append("STOPPING=1\nSTATUS=stopping: what was sent is confirmed\nEXTEND_TIMEOUT_USEC=")
    text.append(patience.milliseconds * 1000)
    text.withCString { clinux_notify($0) }
  }

  /// Says of the connection on the page and to the service manager.
  func tell(_ link: StatusPage.Link, _ words: Span<UInt8>) {
    page.change(link, words: words)
    var text = Text()
    text.append("STATUS=")
    if link == .connecting { text.append("connecting to ") }
    text.append(bytes: words)
    text.withCString { clinux_notify($0) }
  }

  mutating func sayConnected() {
    var text = Text()
    text.append("connected to ")
    text.append(cString: gateway.pointer)
    text.append(" (")
    text.append(cString: connection.version)
    text.append(", ")
    text.append(cString: connection.suite)
    text.append(connection.isResumed ? ", resumed)" : ")")
    if let version = connection.version, let suite = connection.suite { page.know(version, suite) }
    page.know(certificateEnd: certificateEnd())
    whyDown.clear()
    tell(.up, text.bytes)
    guard outage.connected(at: Clock.now(), in: &text) else { return }
    log.write(.info, text, about: .connection)
  }

  /// UNIX seconds: when our certificate expires; 0: nobody knows.
  func certificateEnd() -> Int64 {
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { text.deallocate() }
    var certificate = cmbed_certificate()
    let result = cmbed_certificate_read(
      &certificate, config.certificate.pointer, nil, nil, text)
    return result == CMBED_OK ? certificate.not_after : 0
  }

  mutating func takeReports() {
    while let report = courier.takeReport() ?? link.takeReport() {
      var text = Text()
      let priority = report.describe(in: &text)
      say(priority, text, about: report.topic)
      guard report.topic == .connection else { continue }
      outage.ended()
      whyDown.clear()
      whyDown.append(text)
    }
  }

  mutating func saySum(_ status: ExitStatus) {
    let counters = courier.counters
    var text = Text()
    text.append(counters.settled)
    text.append(" delivered (")
    text.append(counters.settledByProof)
    text.append(" proved), ")
    text.append(counters.refused + counters.failedCheck)
    text.append(" failed, ")
    text.append(counters.repeated)
    text.append(" repeated, ")
    text.append(counters.expired)
    text.append(" expired, ")
    text.append(counters.suppressed)
    text.append(" suppressed")
    if counters.settledByTime > 0 {
      text.append("; nothing proves that ")
      text.append(counters.settledByTime)
      text.append(
        " of those delivered arrived, but the gateway acknowledged and did not refuse them")
    }
    if status == .tryLater || status == .config {
      text.append("; the rest stays in the spool")
      if status == .tryLater { text.append(": try again later") }
      if connection.problem.count > 0 {
        text.append(". The last connection: ")
        text.append(bytes: connection.problem.bytes)
      }
    }
    log.write(.info, text)
  }
}
