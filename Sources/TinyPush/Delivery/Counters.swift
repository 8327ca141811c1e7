/// What became of the notifications, since the agent started. Each is honest: nothing counts as settled by proof that no
/// error response proved.
public struct Counters: BitwiseCopyable {
  /// Frames written, repetitions included.
  public var sent: UInt64 = 0
  public var settledByProof: UInt64 = 0
  public var settledByTime: UInt64 = 0
  /// Refused by the gateway, and by the check before sending.
  public var refused: UInt64 = 0
  public var failedCheck: UInt64 = 0
  /// Of those refused by the service: by the raw value of the reason.
  private var rejections: InlineArray<37, UInt64> = .init(repeating: 0)
  /// Left out, since the service says that the device is gone.
  public var gone: UInt64 = 0
  /// Frames written again after they, or what came before them, got no answer or were discarded.
  public var repeated: UInt64 = 0
  /// Notifications that were sent and go again: by the raw value of the cause.
  private var retries: InlineArray<9, UInt64> = .init(repeating: 0)
  /// Notifications of which a cut connection left unknown whether they arrived.
  public var uncertain: UInt64 = 0
  public var expired: UInt64 = 0
  public var suppressed: UInt64 = 0
  /// Device tokens that the service's answers have put on the suppression list.
  public var tokensSuppressed: UInt64 = 0
  public var superseded: UInt64 = 0
  /// Put aside until their `not-before`.
  public var postponed: UInt64 = 0
  /// Alerts over a limit that went to `failed/`, and summaries of these.
  public var limited: UInt64 = 0
  public var summaries: UInt64 = 0
  /// Left out, since the same went to the same token within `again-after`.
  public var duplicates: UInt64 = 0
  public var connections: UInt64 = 0
  public var records: UInt64 = 0

  public init() {}

  /// How many were rejected for a reason.
  public func rejected(for reason: Rejection.Reason) -> UInt64 {
    rejections[Int(reason.rawValue)]
  }

  /// How many go again for each cause.
  public func forEachRetry(_ body: (RetryCause, UInt64) -> Void) {
    for value in retries.indices {
      if let cause = RetryCause(rawValue: UInt8(value)) { body(cause, retries[value]) }
    }
  }

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
