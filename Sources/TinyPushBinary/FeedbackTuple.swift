import TinyPush

/// A device that the feedback service reports as gone.
///
/// `timestamp:4 | tokenLength:2 | token`, big-endian. Source: Local and Remote Notification
/// Programming Guide, 2015-10, figure 5-3.
public struct FeedbackTuple {
  /// The time at which the service found that the app was removed: UNIX seconds, UTC.
  public var timestamp: UInt32
  /// The token of the device.
  public var token: DeviceToken

  /// The length of the longest tuple.
  public static let byteCountMax = 6 + DeviceToken.byteCountMax
  /// The length of the tuple.
  public var byteCount: Int { 6 + token.count }

  /// Makes a tuple.
  public init(timestamp: UInt32, token: DeviceToken) {
    self.timestamp = timestamp
    self.token = token
  }

  /// Writes the tuple at `start` and returns the place after it.
  public func write(to buffer: borrowing FixedBuffer<UInt8>, at start: Int) -> Int {
    for index in 0..<4 {
      buffer[start + index] = UInt8(truncatingIfNeeded: timestamp >> (24 - 8 * UInt32(index)))
    }
    buffer[start + 4] = 0
    buffer[start + 5] = UInt8(token.count)
    buffer.store(token.bytes, at: start + 6)
    return start + byteCount
  }
}
