/// Tells a notification to one device from all others, and is the same each time that the notification is read: after a
/// cut, a crash or a reboot.
public struct Fingerprint: Equatable, BitwiseCopyable, Sendable {
  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// - Parameters:
  ///   - birth: when the file was made, in UNIX nanoseconds, since inodes are used again.
  ///   - offset: where in the file the notification's object begins.
  public init(inode: UInt64, birth: Int64, offset: Int64, token: DeviceToken) {
    high = Self.mix(inode ^ 0x243F_6A88_85A3_08D3, UInt64(bitPattern: birth))
    low = Self.mix(high, UInt64(bitPattern: offset))
    token.bytes.span.withUnsafeBytes { bytes in
      for index in 0..<4 {
        let word = bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
        high = Self.mix(high ^ low, word)
        low = Self.mix(low ^ high, word)
      }
    }
  }

  /// The finalizer of MurmurHash3 over both.
  private static func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
    var value = left ^ (right &* 0x9E37_79B9_7F4A_7C15)
    value = (value ^ value >> 33) &* 0xFF51_AFD7_ED55_8CCD
    value = (value ^ value >> 33) &* 0xC4CE_B9FE_1A85_EC53
    return value ^ value >> 33
  }
}
