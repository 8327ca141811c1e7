import TinyPush

/// The webhook of a monitoring system: a JSON object with an array of alerts.
///
/// Alertmanager and Grafana send the same members; Grafana adds some.
///
/// ```json
/// {"alerts": [{"status": "firing", "labels": {"alertname": "DiskFull", "instance": "nas"},
///   "annotations": {"summary": "95% used"}, "fingerprint": "c3f0a2b1", "generatorURL": "http://…"}]}
/// ```
///
/// Sources: the Alertmanager documentation, "Configuration", `webhook_config`; the Grafana
/// documentation, "Configure the webhook notifier".
public enum Webhook {
  /// The most alerts of a request.
  public static var alertsMax: Int { 1000 }

  /// A mistake in a webhook.
  public enum Problem: Error {
    /// The text is not JSON; the index of the byte at fault.
    case json(JSONProblem, at: Int)
    /// The object has no array `alerts`, or an alert is no object.
    case noAlerts(at: Int)
    case tooManyAlerts
  }

  /// Appends a notification for each alert, a line each.
  ///
  /// - Parameters:
  ///   - list: the name of the recipients file; empty: `default`, unless there is a token.
  ///   - options: `sound` and `level` are for alerts that fire, `ttl`, `priority` and `token` for
  ///     all alerts.
  /// - Returns: the number of alerts.
  public static func append(
    _ text: Span<UInt8>, _ format: WebhookFormat, to list: Span<UInt8>,
    _ options: borrowing MessageOptions, in lines: inout Text
  ) throws(Problem) -> Int {
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      try scanner.begin(text)
      try scanner.skipValue(text)
      scanner.skipSpace(text)
      guard scanner.index == text.count else { throw .expectedCommaOrBrace }
    } catch {
      throw .json(error, at: scanner.index)
    }
    var members = MemberReader(text, at: 0)
    while let member = members.next(text) {
      guard text.extracting(member.key).equals("alerts") else { continue }
      var alerts = ElementReader(text, at: member.value.lowerBound)
      var count = 0
      while let range = alerts.next(text) {
        guard text[range.lowerBound] == .openBrace else { throw .noAlerts(at: range.lowerBound) }
        guard count < alertsMax else { throw .tooManyAlerts }
        count += 1
        let alert = MonitoringAlert(text, at: range.lowerBound, format)
        alert.append(text, to: list, options, in: &lines)
      }
      guard count > 0 else { throw .noAlerts(at: member.value.lowerBound) }
      return count
    }
    throw .noAlerts(at: 0)
  }
}

extension Webhook.Problem {
  /// A stable word for the problem, for programs; empty for text that is not JSON.
  public var code: StaticString {
    switch self {
    case .json: ""
    case .noAlerts: "no-alerts"
    case .tooManyAlerts: "too-many-alerts"
    }
  }

  /// The message: what is wrong, and how to correct it.
  public var text: StaticString {
    switch self {
    case .json(let problem, _): problem.text
    case .noAlerts: "expected a webhook: an object with an array alerts, which has objects"
    case .tooManyAlerts: "more than 1000 alerts: lower max_alerts, or group the alerts"
    }
  }
}
