/// A hash that identifies a notification to one device.
///
/// It is the same at each reading of the notification, also after a crash or a reboot.
public struct Fingerprint: Equatable, BitwiseCopyable, Sendable {
  /// The first half.
  public var high: UInt64
  /// The second half.
  public var low: UInt64

  /// Creates a fingerprint from its halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Creates the fingerprint of a notification to one device.
  ///
  /// - Parameter identity: the identity of the notification.
  public init(identity: UInt64, token: TokenIdentity) {
    high = Self.mix(identity ^ 0x243F_6A88_85A3_08D3, 0)
    low = Self.mix(high, identity)
    token.bytes.withUnsafeBytes { bytes in
      for index in 0..<4 {
        let word = bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
        high = Self.mix(high ^ low, word)
        low = Self.mix(low ^ high, word)
      }
    }
  }

  /// Mixes two values by the finalizer of MurmurHash3.
  private static func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
    var value = left ^ (right &* 0x9E37_79B9_7F4A_7C15)
    value = (value ^ value >> 33) &* 0xFF51_AFD7_ED55_8CCD
    value = (value ^ value >> 33) &* 0xC4CE_B9FE_1A85_EC53
    return value ^ value >> 33
  }
}
