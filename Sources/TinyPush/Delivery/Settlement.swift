/// How a notification to one recipient was settled: for the log, and for a sender that waits to know.
public struct Settlement {
  public enum Outcome: Equatable, BitwiseCopyable, Sendable {
    /// The service has the notification: an answer proved that, or no refusal came in time.
    case accepted(isProved: Bool)
    /// The service does not take the notification.
    case rejected(Rejection)
    /// The notification was refused before it was sent; the failure says why.
    case refused
    /// A newer notification with the same `collapse-id` has taken the place of this one.
    case superseded
    /// The notification's time was over before it could be sent.
    case expired
    /// The token is not sent to since a UNIX second.
    case suppressed(SuppressionRecord.Reason, since: UInt32)
    /// More notifications came than a limit allows; the failure says which.
    case limited
    /// The same went to the token within the notification's `again-after`.
    case duplicate
    /// Nobody knows whether the notification arrived, and the configuration says not to send it again.
    case dropped
    /// The notification waits in `later/` for its time.
    case postponed
  }

  public var outcome: Outcome
  /// The recipient; nil: the outcome holds for all recipients.
  public var token: DeviceToken?
  /// Bytes of the file before the notification.
  public var offset: Int64 = 0
  /// The line of the file, from 1 on; 0: the line was not counted.
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

/// How notifications are settled one by one, where somebody wants to know.
extension Courier {
  /// Whether somebody wants to know of each notification of a file how it was settled.
  func reportsSettlements(of claim: ClaimNumber) -> Bool {
    settings.reportsSettlements || claims.isAwaited(claim)
  }

  /// A notification is settled, and nothing of it is to be recorded.
  @inline(never)
  mutating func settle(
    _ outcome: Settlement.Outcome, _ notification: Notification, _ token: DeviceToken?,
    of now: inout Reading
  ) {
    recorder.settle(outcome, notification, token, of: &now, in: reader.input)
  }

  /// How the notification was settled with which ``Step/record`` deals, unless that is a summary (``isSummarizing``).
  public var settlement: Settlement { recorder.pending!.settlement }

  /// The name under which the notification that ``isPostponing`` comes back to `new/`.
  public func appendPostponedName(to text: inout Text) {
    LaterName(laterFileName())?.appendReleased(laterFileName(), to: &text)
  }

  /// Whether ``failure()`` is to be recorded: otherwise the settlement is only to be told.
  public var hasFailure: Bool { recorder.pending?.kind != .settled }

  /// Whether the sender of the notification waits to know how it was settled.
  public var isSettlementAwaited: Bool {
    recorder.pending.map { claims.isAwaited($0.claim) } ?? false
  }

  /// Whether the sender of the settled file waits to know what became of it.
  public var isSettledAwaited: Bool { claims.isAwaited(claims.nextSettled!) }
}
