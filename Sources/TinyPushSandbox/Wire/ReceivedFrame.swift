import TinyPush
import TinyPushBinary

/// A complete frame of which only the form has been checked.
///
/// A field is nil if the frame does not contain it. Ranges are indices in the reader's bytes.
public struct ReceivedFrame {
  /// The format, which the command byte names.
  public var format: FrameFormat
  /// The size of the whole frame.
  public var byteCount: Int
  /// The notification's identifier.
  public var identifier: UInt32?
  /// The expiration date, in UNIX seconds.
  public var expiration: UInt32?
  /// The priority.
  public var priority: UInt8?
  /// The range of the device token.
  public var token: Range<Int>?
  /// The range of the payload.
  public var payload: Range<Int>?

  init(format: FrameFormat, byteCount: Int) {
    self.format = format
    self.byteCount = byteCount
  }
}
