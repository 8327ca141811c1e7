import TinyPush

/// The webhook of a monitoring system: a JSON object with an array of alerts.
///
/// Alertmanager and Grafana send the same members, and Grafana adds some.
///
/// ```json
/// {"alerts": [{"status": "firing", "labels": {"alertname": "DiskFull", "instance": "nas"},
///   "annotations": {"summary": "95% used"}, "fingerprint": "c3f0a2b1", "generatorURL": "http://…"}]}
/// ```
///
/// Sources: the Alertmanager documentation, "Configuration", `webhook_config`; the Grafana
/// documentation, "Configure webhook notifications".
public enum Webhook {
  /// A mistake in a webhook.
  public enum Problem: Error {
    /// The text is not JSON; the index of the byte at fault.
    case json(JSONProblem, at: Int)
    /// The object has no array `alerts`, or an alert is no object.
    case noAlerts(at: Int)
  }

  /// Appends a notification for each alert, a line each.
  ///
  /// If the sender left alerts out (`truncatedAlerts`), a last notification says how many.
  ///
  /// - Parameters:
  ///   - limit: the most bytes of a payload. Texts are shortened to fit.
  ///   - list: the name of the recipients file; empty: `default`, unless there is a token.
  ///   - options: `sound` and `level` are for alerts that fire, `ttl`, `priority` and `token` for
  ///     all alerts.
  public static func append(
    _ text: Span<UInt8>, to list: Span<UInt8>, _ options: inout MessageOptions, limit: Int,
    in lines: inout Text
  ) throws(Problem) {
    try check(text)
    TextMessage.address(&options.draft, to: list)
    var draft = Draft()
    var alerts = 0
    var count = 0
    var omitted = 0..<0
    var group = 0..<0
    var members = MemberReader(text, at: 0)
    while let member = members.next(text) {
      let key = text.extracting(member.key)
      if key.equals("alerts") {
        alerts = member.value.lowerBound
        var elements = ElementReader(text, at: alerts)
        while let range = elements.next(text) {
          guard text[range.lowerBound] == .openBrace else { throw .noAlerts(at: range.lowerBound) }
          count += 1
          let alert = MonitoringAlert(text, at: range.lowerBound)
          draft.copy(options.draft)
          alert.complete(&draft, text, limit: limit)
          draft.append(to: &lines)
        }
      } else if key.equals("truncatedAlerts") {
        omitted = member.value
      } else if key.equals("groupKey") {
        group = member.content(text)
      }
    }
    guard count > 0 else { throw .noAlerts(at: alerts) }
    let number = text.extracting(omitted)
    guard number.count > 0, number.count < 10,
      (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(number[0])
    else { return }
    draft.copy(options.draft)
    MonitoringAlert.complete(&draft, omitted: number, of: text.extracting(group))
    draft.append(to: &lines)
  }

  /// Checks that a text is one JSON value.
  public static func check(_ text: Span<UInt8>) throws(Problem) {
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      try scanner.begin(text)
      try scanner.skipValue(text)
      scanner.skipSpace(text)
      guard scanner.index == text.count else { throw .expectedCommaOrBrace }
    } catch {
      throw .json(error, at: scanner.index)
    }
  }
}

extension Webhook.Problem {
  /// A stable word for the problem, for programs; empty for text that is not JSON.
  public var code: StaticString {
    switch self {
    case .json: ""
    case .noAlerts: "no-alerts"
    }
  }

  /// The message: what is wrong, and how to correct it.
  public var text: StaticString {
    switch self {
    case .json(let problem, _): problem.text
    case .noAlerts: "expected a webhook: an object with an array alerts, which has objects"
    }
  }
}
