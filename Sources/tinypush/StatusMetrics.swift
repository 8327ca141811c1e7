import CLinux
import TinyPush
import TinyPushAgent

/// The agent's status page as metrics in the text format of Prometheus.
enum StatusMetrics {
  /// Writes the only metric of an agent that does not run.
  static func writeDown(in text: inout Text) {
    head("up", "gauge", "Whether the agent runs.", &text)
    value("up", 0, &text)
  }

  @inline(never)
  static func write(_ page: borrowing StatusPage, in text: inout Text) {
    guard page.isAlive else {
      // The counters of an agent that has ended would look current.
      writeDown(in: &text)
      return
    }
    gauge("up", "Whether the agent runs.", 1, &text)
    gauge(
      "connected", "Whether the agent is connected to the service.",
      page.connectivity == .up ? 1 : 0,
      &text)
    gauge(
      "start_time_seconds", "When the agent started, in UNIX seconds.",
      UInt64(clamping: page.startedAt),
      &text)
    if page.certificateEnd > 0 {
      gauge(
        "certificate_expiry_time_seconds", "When the push certificate expires, in UNIX seconds.",
        UInt64(clamping: page.certificateEnd), &text)
    }
    gauge("spool_files", "Files in the spool with unsettled notifications.", page.files, &text)
    gauge("later_files", "Files in later/, which are not due yet.", page.later, &text)
    gauge(
      "in_flight_notifications", "Notifications read and not settled.", page.inFlight, &text)
    gauge(
      "held", "Whether the disk refuses to change files of the spool.",
      page.held == 0 ? 0 : 1, &text)
    gauge(
      "configuration_refused",
      "Whether a service refuses the configuration, so that its notifications wait.",
      page.refusedConfiguration == nil ? 0 : 1, &text)
    StatusCounter.forEach(of: page) { name, help, value in
      guard !name.equals("refused") else { return }
      counter(name, help, &text)
      text.append("tinypush_", bytes: name, "_total ")
      end(value, &text)
    }
    writeRefusals(page, &text)
    writeRetries(page, &text)
    writeLatencies(page, &text)
    if page.hasBrowsers { for index in 0..<serviceMetrics.count { write(index, page, &text) } }
  }

  /// A metric with a value for each service.
  private static let serviceMetrics: InlineArray<5, (StaticString, StaticString)> = [
    ("service_connected", "Whether the agent is connected to the service."),
    ("service_in_flight_notifications", "Notifications for the service that are not settled."),
    ("service_accepted_total", "Notifications that the service accepted."),
    ("service_refused_total", "Notifications that the service refused."),
    ("service_gone_total", "Notifications to devices that the service called gone."),
  ]

  @inline(never)
  private static func write(_ index: Int, _ page: borrowing StatusPage, _ text: inout Text) {
    let (name, help) = serviceMetrics[index]
    head(name.span, index < 2 ? "gauge" : "counter", help.span, suffix: " ", &text)
    page.forEachService { service in
      var host = Text(capacity: 1280)
      service.appendHost(to: &host)
      text.append("tinypush_", name, "{service=")
      text.append(json: host)
      text.append(",recipients=\"", service.recipients, "\"} ")
      let values: InlineArray<5, UInt64> = [
        service.connectivity == .up ? 1 : 0, service.inFlight, service.counts.accepted,
        service.counts.refused, service.counts.gone,
      ]
      end(values[index], &text)
    }
  }

  private static func writeRefusals(_ page: borrowing StatusPage, _ text: inout Text) {
    counter(
      ("refused" as StaticString).span,
      ("Notifications refused by the service, by the reason that it gave." as StaticString).span,
      &text)
    for value in 0..<Rejection.Reason.count {
      guard let reason = Rejection.Reason(rawValue: UInt8(value)) else { continue }
      text.append("tinypush_refused_total{reason=\"", bytes: reason.name, "\"} ")
      end(page.counters.rejected(for: reason), &text)
    }
  }

  private static func writeRetries(_ page: borrowing StatusPage, _ text: inout Text) {
    counter(
      ("retried" as StaticString).span,
      ("Notifications that were sent again, by the cause." as StaticString).span, &text)
    page.counters.forEachRetry { cause, count in
      text.append("tinypush_retried_total{cause=\"", bytes: cause.name, "\"} ")
      end(count, &text)
    }
  }

  /// Writes a histogram whose bounds are powers of four, from 4 ms to 18 hours.
  private static func writeLatencies(_ page: borrowing StatusPage, _ text: inout Text) {
    head(
      "send_latency_seconds", "histogram",
      "Time from a file's arrival in the spool to the service's answer, or with the binary protocol to the first writing.",
      &text)
    let latencies = page.traffic.latencies(in: .start, at: Clock.now())
    var bound: UInt64 = 4
    while bound <= 67_108_864 {
      text.append("tinypush_send_latency_seconds_bucket{le=\"")
      seconds(bound, &text)
      text.append("\"} ")
      end(latencies.count(below: .milliseconds(bound)), &text)
      bound *= 4
    }
    text.append("tinypush_send_latency_seconds_bucket{le=\"+Inf\"} ")
    end(latencies.count, &text)
    text.append("tinypush_send_latency_seconds_sum ")
    seconds(page.traffic.latencySum, &text)
    text.append("\ntinypush_send_latency_seconds_count ")
    end(latencies.count, &text)
  }

  // MARK: - Lines

  @inline(never)
  private static func gauge(
    _ name: StaticString, _ help: StaticString, _ number: UInt64, _ text: inout Text
  ) {
    head(name, "gauge", help, &text)
    value(name, number, &text)
  }

  private static func counter(_ name: Span<UInt8>, _ help: Span<UInt8>, _ text: inout Text) {
    head(name, "counter", help, suffix: "_total ", &text)
  }

  private static func head(
    _ name: StaticString, _ type: StaticString, _ help: StaticString, _ text: inout Text
  ) {
    head(name.span, type, help.span, suffix: " ", &text)
  }

  @inline(never)
  private static func head(
    _ name: Span<UInt8>, _ type: StaticString, _ help: Span<UInt8>, suffix: StaticString,
    _ text: inout Text
  ) {
    text.append("# HELP tinypush_", bytes: name)
    text.append(suffix)
    text.append(bytes: help)
    text.append("\n# TYPE tinypush_", bytes: name)
    text.append(suffix)
    text.append(type)
    text.append("\n")
  }

  @inline(never)
  private static func value(_ name: StaticString, _ number: UInt64, _ text: inout Text) {
    text.append("tinypush_", name, " ")
    end(number, &text)
  }

  @inline(never)
  private static func end(_ number: UInt64, _ text: inout Text) {
    text.append(number)
    text.append("\n")
  }

  /// Appends milliseconds as seconds.
  @inline(never)
  private static func seconds(_ milliseconds: UInt64, _ text: inout Text) {
    text.append(milliseconds / 1000)
    guard milliseconds % 1000 > 0 else { return }
    text.append(".")
    text.append(milliseconds % 1000, digits: 3)
  }
}
