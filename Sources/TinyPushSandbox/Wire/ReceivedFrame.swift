import TinyPush

/// A frame as it came: whole, and nothing in it judged but its form. The ranges are of its reader's bytes.
public struct ReceivedFrame {
  public var format: FrameFormat
  /// Of the whole frame.
  public var byteCount: Int
  /// What the frame does not hold, or its command does not have, is nil.
  public var identifier: UInt32?
  public var expiration: UInt32?
  public var priority: UInt8?
  public var token: Range<Int>?
  public var payload: Range<Int>?

  init(format: FrameFormat, byteCount: Int) {
    self.format = format
    self.byteCount = byteCount
  }
}
