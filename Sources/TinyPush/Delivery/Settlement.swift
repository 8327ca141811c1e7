/// How a notification to one recipient was settled.
///
/// It goes to the log, and to a sender that waits for it.
public struct Settlement {
  /// What became of a notification.
  public enum Outcome: Equatable, BitwiseCopyable, Sendable {
    /// The service has the notification: proved by an answer, or no refusal came in time.
    case accepted(isProved: Bool)
    /// The service refused the notification.
    case rejected(Rejection)
    /// The check refused the notification before it was sent; the failure says why.
    case failedCheck
    /// A newer notification with the same collapse ID replaced this one.
    case superseded
    /// The notification expired before it could be sent.
    case expired
    /// The token is suppressed since a UNIX second.
    case suppressed(SuppressionRecord.Reason, since: UInt32)
    /// The alert was over a limit; the failure says which.
    case limited
    /// The same content went to the token within the notification's `again-after`.
    case duplicate
    /// The notification may or may not have arrived, and is configured not to be sent again.
    case dropped
    /// The notification waits in `later/`.
    case postponed
  }

  /// What became of the notification.
  public var outcome: Outcome
  /// The recipient; nil: the outcome applies to all recipients.
  public var token: DeviceToken?
  /// Whether the recipient is a browser.
  public var isBrowser = false
  /// The offset of the notification in its file, in bytes.
  public var offset: Int64 = 0
  /// The line of the notification in its file, from 1 on; 0: not counted.
  public var line: Int64 = 0

  package init(
    outcome: Outcome, token: DeviceToken? = nil, offset: Int64 = 0, line: Int64 = 0
  ) {
    self.outcome = outcome
    self.token = token
    self.offset = offset
    self.line = line
  }
}

extension Settlement {
  /// Creates the settlement of a notification, for one recipient or all.
  init(_ outcome: Outcome, of text: Outbox.TextEntry, to entry: Outbox.Entry? = nil) {
    self.init(outcome: outcome, token: entry?.token, offset: text.offset, line: text.lineNumber)
    isBrowser = entry.map { $0.subscription != Outbox.none } ?? false
  }
}
