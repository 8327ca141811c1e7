/// What is known about a device token, by its identity: suppressed since a time, or registered at a time.
public struct SuppressionRecord: BitwiseCopyable {
  /// The source of a record.
  public enum Reason: UInt8, BitwiseCopyable, Sendable {
    /// The app registered the token, which overrides all older records.
    case registered = 0
    /// The feedback service reported the device as gone.
    case feedback = 1
    /// The gateway called the token invalid.
    case invalidToken = 2
    /// The token was suppressed by a command.
    case byHand = 3
    /// The service said that the app is no longer on the device.
    case gone = 4

    /// The reason in words.
    public var text: StaticString {
      switch self {
      case .registered: "registered"
      case .feedback: "feedback"
      case .invalidToken: "invalid token"
      case .byHand: "by hand"
      case .gone: "gone"
      }
    }

    /// Whether nothing helps but a new subscription: the service said that a browser has ended its own.
    public func needsInvitation(isBrowser: Bool) -> Bool { isBrowser && self != .byHand }

    fileprivate init?(text: Span<UInt8>) {
      for value in UInt8(0)... {
        guard let reason = Reason(rawValue: value) else { return nil }
        guard !text.equals(reason.text) else {
          self = reason
          return
        }
      }
      return nil
    }
  }

  /// The identity of the token.
  public var token: TokenIdentity
  /// The time of the removal or the registration: UNIX seconds, UTC.
  public var time: UInt32
  /// The source of the record.
  public var reason: Reason

  /// Makes a record.
  public init(token: TokenIdentity, time: UInt32, reason: Reason) {
    self.token = token
    self.time = time
    self.reason = reason
  }

  private static let digitCount = 2 * TokenIdentity.byteCount
  /// The most bytes of a line: the token, the time in ten digits, the longest reason, the line end.
  package static let lineMax = digitCount + 1 + 10 + 1 + 13 + 1

  /// Reads a line `TOKEN TIME REASON`, which ends with a line end.
  @inline(never)
  init?(line: Span<UInt8>) {
    var end = Self.digitCount + 1
    while end < line.count, line[end] != .space { end += 1 }
    guard end + 1 < line.count, line[Self.digitCount] == .space, line[line.count - 1] == .lineFeed,
      let token = DeviceToken(hex: line.extracting(0..<Self.digitCount)),
      let time = line.extracting(Self.digitCount + 1..<end).wholeNumber,
      let seconds = UInt32(exactly: time),
      let reason = Reason(text: line.extracting(end + 1..<line.count - 1))
    else { return nil }
    self.init(token: token.identity, time: seconds, reason: reason)
  }

  /// Appends the line of this record.
  @inline(never)
  package func append(to text: inout Text) {
    text.append(hex: token.bytes)
    text.append(" ", time, " ")
    text.append(reason.text)
    text.append("\n")
  }

  /// Returns whether nothing may be sent to the token.
  ///
  /// - Parameter registered: UNIX seconds at which the app last registered the token according to
  ///   the notification; 0: not stated. The token is good again if this is not before ``time``.
  public func forbids(registered: UInt32 = 0) -> Bool {
    reason != .registered && (registered == 0 || registered < time)
  }

  /// Returns whether this record overrides another record of the same token.
  ///
  /// The later record does. In the same second, the registration does.
  public func overrides(_ other: SuppressionRecord) -> Bool {
    guard time == other.time else { return time > other.time }
    // The subtraction makes the registration, which is 0, the largest.
    return reason.rawValue &- 1 > other.reason.rawValue &- 1
  }

  /// Returns the record that overrides the other; nil if there is neither.
  package static func overriding(_ one: Self?, _ other: Self?) -> Self? {
    guard let one, let other else { return one ?? other }
    return other.overrides(one) ? other : one
  }

  /// Returns a change that removes all records of a token.
  ///
  /// It overrides every other record and is never written.
  package static func forgotten(_ token: TokenIdentity) -> Self {
    Self(token: token, time: .max, reason: .registered)
  }

  package var isForgotten: Bool { reason == .registered && time == .max }
}

extension Span<UInt8> {
  /// Returns the number in four big-endian bytes.
  package func bigEndian32(at start: Int) -> UInt32 {
    var number: UInt32 = 0
    for index in start..<start + 4 { number = number << 8 | UInt32(self[index]) }
    return number
  }

  /// Returns the number in eight big-endian bytes.
  package func bigEndian64(at start: Int) -> UInt64 {
    UInt64(bigEndian32(at: start)) << 32 | UInt64(bigEndian32(at: start + 4))
  }
}
