import CLinux
import CMbed
import TinyPush

/// What the agent writes to the log, the service manager and the status page.
extension Agent {
  mutating func logStart() {
    output.keepPage(at: config.status)
    var text = Text()
    text.append("delivering ", printable: config.spool.span, " to ")
    if config.courier.hasDevices { text.append(printable: gateway) }
    if config.courier.hasWebPush {
      text.append(config.courier.hasDevices ? ", and to browsers" : "browsers")
    }
    if config.courier.hasDevices {
      output.page.begin(gateway)
    } else {
      output.page.begin(Span())
      publishRest()
    }
    if !config.courier.isOnce { output.log.write(.info, text) }
    if spool.wasOpen {
      text.clear()
      text.append("spool ", printable: config.spool.span)
      text.append(
        ": other users could replace its directories or each other's files; corrected the modes (2750, and 3770 for new/ and tmp/)"
      )
      output.log.write(.notice, text)
    }
    knowCertificateEnd()
    clinux_notify("READY=1\nSTATUS=scanning the spool")
  }

  mutating func logStop() {
    output.log.write(
      .info, "stopping: waiting for answers to what was sent; the rest stays in the spool")
    // systemd must wait at least as long as the agent waits for answers.
    let patience = config.stopPatience + AgentEnding.patience + .seconds(5)
    var text = Text()
    text.append("STOPPING=1\nSTATUS=stopping: waiting for answers\nEXTEND_TIMEOUT_USEC=")
    text.append(patience.milliseconds * 1000)
    text.withCString { clinux_notify($0) }
  }

  mutating func logConnection() {
    var text = Text()
    text.append("connected to ", cString: channels.gateway(of: lane), " (")
    text.append(cString: connection.version)
    text.append(", ", cString: connection.suite)
    text.append(connection.isResumed ? ", resumed)" : ")")
    if isTold {
      if let version = connection.version, let suite = connection.suite {
        output.page.publish(version, suite)
      }
      knowCertificateEnd()
    }
    channels[lane].whyDown.clear()
    publish(.up, text.bytes)
    guard outage.connected(at: Clock.now(), in: &text) else { return }
    output.log.write(.info, text, about: .connection)
  }

  mutating func knowCertificateEnd() {
    let end = certificateEnd()
    // A renewal may be writing the file.
    guard end > 0 || knownCertificateEnd == 0 else { return }
    knownCertificateEnd = end
    output.page.publish(certificateEnd: knownCertificateEnd)
  }

  /// Returns when our certificate expires, in UNIX seconds; 0 if unknown.
  private func certificateEnd() -> Int64 {
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { text.deallocate() }
    var certificate = cmbed_certificate()
    let result = cmbed_certificate_read(
      &certificate, config.certificate.pointer, nil, nil, text)
    return result == CMBED_OK ? certificate.not_after : 0
  }

  mutating func takeReports() {
    while let report = courier.takeReport() {
      output.log(report, of: courier.nameReported(), at: Span())
    }
    // The step that follows belongs to this lane.
    let selected = lane
    defer { link.select(selected) }
    while let report = link.takeReport() {
      link.select(link.reportLane)
      let isOfBrowsers = lane != .devices && channels.has(lane)
      output.log(report, of: Span(), at: isOfBrowsers ? service : Span())
      if report.topic == .connection, channels.has(lane) {
        outage.ended()
        channels[lane].whyDown.clear()
        _ = report.describe(in: &channels[lane].whyDown)
      }
    }
  }

  mutating func logTotals(_ status: ExitStatus) {
    let counters = courier.counters
    var text = Text()
    text.append(counters.settled)
    text.append(" delivered (", counters.settledByProof, " proved), ")
    text.append(counters.refused + counters.failedCheck)
    text.append(" failed, ", counters.repeated, " repeated, ")
    text.append(counters.expired)
    text.append(" expired, ", counters.suppressed, " suppressed")
    if counters.limited > 0 {
      text.append(", ", counters.limited, " over the limit")
    }
    if counters.gone > 0 {
      text.append(", ", counters.gone, " to devices that are gone")
    }
    if counters.settledByTime > 0 {
      text.append("; no answer proves ", counters.settledByTime)
      text.append(" of the deliveries, but the gateway acknowledged and did not refuse them")
    }
    if status == .tryLater || status == .config {
      text.append("; the rest stays in the spool")
      if status == .tryLater { text.append(": try again later") }
      let problem = connectionProblem
      if problem.count > 0 {
        text.append(". The last connection: ", bytes: problem)
      }
    }
    output.log.write(.info, text)
  }
}
