/// A device that is gone, as the feedback service tells it: `timestamp:4 | tokenLength:2 | token`, big-endian. Source:
/// Local and Remote Notification Programming Guide, 2015-10, figure 5-3.
public struct FeedbackTuple {
  /// When the app was found gone: UNIX seconds, UTC.
  public var timestamp: UInt32
  public var token: DeviceToken

  public static let byteCount = 6 + DeviceToken.byteCount

  public init(timestamp: UInt32, token: DeviceToken) {
    self.timestamp = timestamp
    self.token = token
  }

  /// Writes its bytes.
  public func write(to buffer: borrowing FixedBuffer<UInt8>, at start: Int) -> Int {
    for index in 0..<4 {
      buffer[start + index] = UInt8(truncatingIfNeeded: timestamp >> (24 - 8 * UInt32(index)))
    }
    buffer[start + 4] = 0
    buffer[start + 5] = UInt8(DeviceToken.byteCount)
    buffer.store(token.bytes.span, at: start + 6)
    return start + Self.byteCount
  }
}
