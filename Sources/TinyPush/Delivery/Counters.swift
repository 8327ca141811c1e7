/// Counts of what became of the notifications since the agent started.
///
/// A notification counts as settled by proof only if an answer proved its delivery.
public struct Counters: BitwiseCopyable {
  /// Notifications written, repetitions included.
  public var sent: UInt64 = 0
  /// Notifications whose delivery an answer proved.
  public var settledByProof: UInt64 = 0
  /// Notifications that count as delivered because no refusal came in time.
  public var settledByTime: UInt64 = 0
  /// Notifications that the service refused.
  public var refused: UInt64 = 0
  /// Notifications that the check before sending refused.
  public var failedCheck: UInt64 = 0
  /// The notifications that the service refused, by the raw value of the reason.
  private var rejections: InlineArray<47, UInt64> = .init(repeating: 0)
  /// Notifications refused because the app is gone from the device.
  public var gone: UInt64 = 0
  /// Notifications written again after a connection ended or a request failed.
  public var repeated: UInt64 = 0
  /// Notifications that are sent again, by the raw value of the cause.
  private var retries: InlineArray<9, UInt64> = .init(repeating: 0)
  /// Notifications that may or may not have arrived before their connection ended.
  public var uncertain: UInt64 = 0
  /// Notifications that expired before they could be sent.
  public var expired: UInt64 = 0
  /// Notifications not sent because their token is suppressed.
  public var suppressed: UInt64 = 0
  /// Device tokens that the service's answers have put on the suppression list.
  public var tokensSuppressed: UInt64 = 0
  /// Notifications replaced by a newer one with the same collapse ID.
  public var superseded: UInt64 = 0
  /// Notifications put into `later/`, to be sent at their `not-before`, or when a limit or the
  /// service has room.
  public var postponed: UInt64 = 0
  /// Alerts over a limit that went to `failed/`.
  public var limited: UInt64 = 0
  /// Summaries of alerts over a limit.
  public var summaries: UInt64 = 0
  /// Notifications not sent because the same one went to the token within `again-after`.
  public var duplicates: UInt64 = 0
  /// Connections made.
  public var connections: UInt64 = 0
  /// TLS records written.
  public var records: UInt64 = 0

  /// Creates counters that are all 0.
  public init() {}

  /// Returns how many notifications were rejected for a reason.
  public func rejected(for reason: Rejection.Reason) -> UInt64 {
    rejections[Int(reason.rawValue)]
  }

  /// Calls `body` with each cause of sending again and its count.
  public func forEachRetry(_ body: (RetryCause, UInt64) -> Void) {
    for value in retries.indices {
      if let cause = RetryCause(rawValue: UInt8(value)) { body(cause, retries[value]) }
    }
  }

  /// Notifications that count as delivered, by proof or by time.
  public var settled: UInt64 { settledByProof + settledByTime }

  mutating func recordRejection(_ rejection: Rejection) {
    guard !rejection.isGone else {
      gone += 1
      return
    }
    refused += 1
    rejections[Int(rejection.reason.rawValue)] += 1
  }

  mutating func add(_ traffic: LinkTraffic) {
    sent += traffic.sent
    repeated += traffic.repeated
    uncertain += traffic.uncertain
    connections += traffic.connections
    records += traffic.records
    for index in retries.indices { retries[index] += traffic.retried[index] }
  }
}
