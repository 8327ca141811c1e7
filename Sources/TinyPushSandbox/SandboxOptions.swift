import TinyPush

/// What a sandbox is started with.
public struct SandboxOptions: ~Copyable {
  /// Where certificates, config and spool are kept; made if it is not there. Must outlive the sandbox.
  public var directory: UnsafePointer<CChar>
  /// On which the gateway listens; 0: any that is free.
  public var port: UInt16 = 2195
  /// On which the feedback service listens; 0: any that is free.
  public var feedbackPort: UInt16 = 2196
  /// Whether events go out as JSON Lines instead of words.
  public var isJSON = false
  /// Whether nothing is said of single notifications and connections, and only the sums at the end.
  public var isQuiet = false
  /// The largest payload that is accepted, in bytes; nil: as large as the protocol says.
  public var payloadLimit: Int?
  /// Tokens that are answered with status 8.
  public var invalidTokens = TokenList()
  /// Whether every other token is taken for that of a device that is there.
  public var isAnyToken = false
  /// Whether the certificates must have RSA keys, for clients that take no others.
  public var isRSA = false
  /// What is to go wrong.
  public var faults = Faults()
  /// What the faults by chance depend on; nil: any number.
  public var seed: UInt64?

  /// Of the binary protocol. Source: Local and Remote Notification Programming Guide, 2015-10, table 5-1.
  public static let payloadLimitDefault = 2048
  /// What an item's head can announce.
  public static let payloadLimitMax = 65_535

  public init(directory: UnsafePointer<CChar>) {
    self.directory = directory
  }
}
