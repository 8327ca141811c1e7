import CLinux

/// What the agent says: in the log, to the service manager, and on its page.
extension Agent {
  mutating func sayStarted() {
    var text = Text()
    text.append("delivering ")
    text.append(printable: config.spool.span)
    text.append(" to ")
    text.append(printable: gateway.span)
    if !config.courier.isOnce { log.write(.info, text) }
    clinux_notify("READY=1\nSTATUS=connecting")
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
    page.change(.up, words: text.bytes)
    clinux_notify("STATUS=connected")
    // A reconnect that only an answer brought about is no news.
    if !wasUp { log.write(.info, text) }
    wasUp = true
  }

  mutating func takeReports() {
    while let report = courier.takeReport() {
      var text = Text()
      let priority = report.describe(in: &text)
      log.write(priority, text)
      if case .cut = report { wasUp = false }
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
    if status == .tryLater { text.append("; the rest stays in the spool: try again later") }
    log.write(.info, text)
  }
}
