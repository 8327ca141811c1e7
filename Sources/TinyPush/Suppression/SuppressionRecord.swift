/// What is known of a device token: that it is not to be sent to since a time, or that it is good since then.
public struct SuppressionRecord: BitwiseCopyable {
  public enum Reason: UInt8, BitwiseCopyable, Sendable {
    /// The app registered it: it is not suppressed by anything that is older.
    case registered = 0
    /// The feedback service told it.
    case feedback = 1
    /// The gateway called it invalid.
    case invalidToken = 2
    /// Somebody said so.
    case byHand = 3
    /// The service said that the app is not on the device any more.
    case gone = 4

    public var text: StaticString {
      switch self {
      case .registered: "registered"
      case .feedback: "feedback"
      case .invalidToken: "invalid token"
      case .byHand: "by hand"
      case .gone: "gone"
      }
    }
  }

  public var token: DeviceToken
  /// UNIX seconds, UTC: when the app was found gone, or registered the token.
  public var time: UInt32
  public var reason: Reason

  public init(token: DeviceToken, time: UInt32, reason: Reason) {
    self.token = token
    self.time = time
    self.reason = reason
  }

  /// On disk: `token:32 | time:4 | reason:1 | 0:3`, big-endian.
  package static let byteCount = 40

  @inline(never)
  package init?(_ bytes: Span<UInt8>) {
    guard bytes.count == Self.byteCount, let reason = Reason(rawValue: bytes[36]),
      let token = DeviceToken(bytes: bytes.extracting(0..<DeviceToken.byteCount))
    else { return nil }
    self.token = token
    self.reason = reason
    time = bytes.bigEndian32(at: 32)
  }

  package func write(to buffer: borrowing FixedBuffer<UInt8>, at start: Int) {
    buffer.store(token.bytes.span, at: start)
    buffer.store(bigEndian: time, at: start + 32)
    buffer[start + 36] = reason.rawValue
    for index in 37..<Self.byteCount { buffer[start + index] = 0 }
  }

  /// Whether the token must not be sent to.
  ///
  /// - Parameter registered: UNIX seconds at which the app last registered it, as somebody else says, 0 if nobody does; only if
  ///   that is not before the time of this, it is good again.
  public func forbids(registered: UInt32 = 0) -> Bool {
    reason != .registered && (registered == 0 || registered < time)
  }

  /// Of two records of a token the one that holds: the later one; of the same second, the registration.
  public func outweighs(_ other: SuppressionRecord) -> Bool {
    guard time == other.time else { return time > other.time }
    // The registration, which is 0, weighs most.
    return reason.rawValue &- 1 > other.reason.rawValue &- 1
  }

  /// The one that holds; nil: there is neither.
  package static func heavier(_ one: Self?, _ other: Self?) -> Self? {
    guard let one, let other else { return one ?? other }
    return other.outweighs(one) ? other : one
  }

  /// A change that takes away what is known of a token: it outweighs all else, and is never written.
  package static func forgotten(_ token: DeviceToken) -> Self {
    Self(token: token, time: .max, reason: .registered)
  }

  package var isForgotten: Bool { reason == .registered && time == .max }
}

extension DeviceToken {
  /// In the order of the bytes.
  package static func < (left: DeviceToken, right: DeviceToken) -> Bool {
    left.bytes.span.sorts(before: right.bytes.span)
  }
}

extension Span<UInt8> {
  /// The number that four bytes spell.
  package func bigEndian32(at start: Int) -> UInt32 {
    var number: UInt32 = 0
    for index in start..<start + 4 { number = number << 8 | UInt32(self[index]) }
    return number
  }

  /// The number that eight bytes spell.
  func bigEndian64(at start: Int) -> UInt64 {
    UInt64(bigEndian32(at: start)) << 32 | UInt64(bigEndian32(at: start + 4))
  }
}

extension FixedBuffer<UInt8> {
  package func store(bigEndian number: UInt32, at start: Int) {
    for index in 0..<4 {
      self[start + index] = UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32(index)))
    }
  }

  func store(bigEndian64 number: UInt64, at start: Int) {
    store(bigEndian: UInt32(truncatingIfNeeded: number >> 32), at: start)
    store(bigEndian: UInt32(truncatingIfNeeded: number), at: start + 4)
  }
}
