import TinyPush

extension BinaryLink {
  /// The settings that only the binary protocol has.
  public struct Settings: Sendable, BitwiseCopyable {
    /// The format of a frame.
    public var format = FrameFormat.items
    /// How long no refusal must come before a notification counts as delivered.
    public var settle = Duration.seconds(10)
    /// When a barrier is sent.
    public var confirm = Confirm.drain
    /// The shortest time between two barriers in normal operation.
    public var barrierInterval = Duration.seconds(60)

    /// Creates the default settings.
    public init() {}
  }

  /// When a barrier is sent.
  ///
  /// A barrier is a frame that the gateway must refuse. Its answer proves that everything before it
  /// arrived.
  public enum Confirm: UInt8, Sendable, BitwiseCopyable {
    /// At the end of `--once`, at a stop, and when no more notifications may be in flight.
    case drain
    /// Also when a burst ends.
    case barrier
    /// Never: only time settles.
    case settle
  }
}
