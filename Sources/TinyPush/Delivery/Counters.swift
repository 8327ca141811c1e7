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
  /// Of those refused by the gateway: by status, from 1 to 8; under 0 all others.
  public private(set) var refusedByStatus: InlineArray<9, UInt64> = .init(repeating: 0)
  /// Frames written again after they, or what came before them, got no answer or were discarded.
  public var repeated: UInt64 = 0
  /// Notifications of which a cut connection left unknown whether they arrived.
  public var uncertain: UInt64 = 0
  public var expired: UInt64 = 0
  public var suppressed: UInt64 = 0
  public var superseded: UInt64 = 0
  /// Put aside until their `not-before`.
  public var postponed: UInt64 = 0
  public var connections: UInt64 = 0
  public var records: UInt64 = 0

  public init() {}

  public var settled: UInt64 { settledByProof + settledByTime }

  mutating func noteRefusal(_ status: Status) {
    refused += 1
    refusedByStatus[status.rawValue <= 8 ? Int(status.rawValue) : 0] += 1
  }
}
