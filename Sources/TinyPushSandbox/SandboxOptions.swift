import TinyPush

/// The options of a sandbox.
public struct SandboxOptions: ~Copyable {
  /// The directory for certificates, configurations and spool, created if missing.
  ///
  /// The memory must outlive the sandbox.
  public var directory: UnsafePointer<CChar>
  /// The port of the gateway; 0: any free port.
  public var port: UInt16 = 2195
  /// The port of the feedback service; 0: any free port.
  public var feedbackPort: UInt16 = 2196
  /// Whether events are printed as JSON Lines.
  public var isJSON = false
  /// Whether only the sums at the end are printed, and no single events.
  public var isQuiet = false
  /// The largest accepted payload, in bytes; nil: the limit of the protocol.
  public var payloadLimit: Int?
  /// The tokens that are refused as invalid.
  public var invalidTokens: [DeviceToken] = []
  /// Whether every other token is accepted, as if it had a device.
  public var isAnyToken = false
  /// Whether the certificates must have RSA keys, for clients without EC keys.
  public var isRSA = false
  /// The faults to play.
  public var faults = Faults()
  /// The seed of the faults by chance; nil: a random seed.
  public var seed: UInt64?

  /// The largest payload over the binary protocol, in bytes.
  ///
  /// Source: Local and Remote Notification Programming Guide, 2015-10, table 5-1.
  public static let payloadLimitDefault = 2048
  /// The largest payload that the head of an item can announce, in bytes.
  public static let payloadLimitMax = 65_535

  /// Creates the options for a sandbox in a directory.
  public init(directory: UnsafePointer<CChar>) {
    self.directory = directory
  }
}
