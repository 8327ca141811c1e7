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
  /// The object has no array `alerts`, or an alert is no object.
  public struct NoAlerts: Error {
    /// The index of the byte at fault.
    public let index: Int
    /// A stable word for the problem, for programs.
    public static var code: StaticString { "no-alerts" }
    /// The message: what is wrong, and how to correct it.
    public static var text: StaticString {
      "expected a webhook: an object with an array alerts, which has objects"
    }
  }

  /// Appends a notification for each alert, a line each.
  ///
  /// If the sender left alerts out (`truncatedAlerts`), a last notification says how many.
  ///
  /// - Parameters:
  ///   - text: valid JSON.
  ///   - limit: the most bytes of a payload. Texts are shortened to fit.
  ///   - list: the name of the recipients file; empty: `default`, unless there is a token.
  ///   - options: `sound`, `level` and `again-after` are for alerts that fire, `ttl`, `priority`
  ///     and `token` for all alerts.
  public static func append(
    _ text: Span<UInt8>, to list: Span<UInt8>, _ options: inout MessageOptions, limit: Int,
    in lines: inout Text
  ) throws(NoAlerts) {
    TextMessage.address(&options.draft, to: list)
    var draft = Draft()
    var alerts = 0
    var count = 0
    var omitted = 0..<0
    var group = 0..<0
    var members = JSONMembers(text)
    while let member = members.next(text) {
      let key = text.extracting(member.key)
      if key.equals("alerts") {
        alerts = member.value.lowerBound
        var elements = JSONMembers(text, at: alerts, isArray: true)
        while let element = elements.next(text) {
          let start = element.value.lowerBound
          guard text[start] == .openBrace else { throw NoAlerts(index: start) }
          count += 1
          let alert = MonitoringAlert(text, at: start)
          draft.copy(options.draft)
          alert.complete(&draft, text, limit: limit)
          draft.append(to: &lines)
          if lines.isCut { break }
        }
      } else if key.equals("truncatedAlerts") {
        omitted = member.value
      } else if key.equals("groupKey") {
        group = member.content(text)
      }
    }
    guard count > 0 else { throw NoAlerts(index: alerts) }
    let number = text.extracting(omitted)
    guard number.count > 0, number.count < 10,
      (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(number[0])
    else { return }
    draft.copy(options.draft)
    MonitoringAlert.complete(&draft, omitted: number, of: text.extracting(group))
    draft.append(to: &lines)
  }
}
