/// The settings that a notification is checked against, besides the service's tables.
public struct Rules: Sendable, BitwiseCopyable {
  /// The protocol of the push service or gateway.
  public var pushProtocol = PushProtocol.binary
  /// The app that shows the notifications without a topic of their own.
  public var app = App.own
  /// Whether alerts for ``app`` are encrypted.
  public var isEncrypted = false
  /// The configured limit of the payload in bytes; nil: the limit of the service.
  public var payloadLimit: Int?
  /// Whether frames of format 0 or 1 are sent: they have no priority, and payloads are short.
  public var isOfOldFrames = false
  /// The language for devices with no known language, or with one that the notification lacks.
  public var defaultLanguage = LanguageTag("en")

  /// An app that shows notifications.
  public enum App: UInt8, BitwiseCopyable, Sendable {
    /// An app of the sender's own, which gets each payload as it is.
    case own
    /// Bark, which shows what anybody sends.
    case bark
  }

  /// Makes the rules of the binary protocol.
  public init() {}

  /// Makes the rules of a protocol.
  public init(_ pushProtocol: PushProtocol = .binary, payloadLimit: Int?) {
    self.pushProtocol = pushProtocol
    self.payloadLimit = payloadLimit
  }

  /// Returns the most bytes that a payload of this type may have when it is sent.
  ///
  /// For the binary protocol the configured limit applies, since gateways differ by their age. For
  /// HTTP/2 the configured limit can only lower the limit of the service.
  @inline(__always)
  public func payloadLimit(for type: PushType) -> Int {
    guard pushProtocol == .http2 else {
      return payloadLimit
        ?? (isOfOldFrames ? Self.payloadBytesOfOldFrames : Self.payloadBytesOfBinary)
    }
    let bytes = type == .voip ? Self.payloadBytesOfVoIP : Self.payloadBytes
    guard let payloadLimit, payloadLimit < bytes else { return bytes }
    return payloadLimit
  }

  /// The bytes of a device token in the binary protocol.
  ///
  /// Source: Local and Remote Notification Programming Guide, 2015-10, table 5-1.
  public static let tokenBytesOfBinary = 32
  /// The limit of the binary protocol.
  ///
  /// Source: Local and Remote Notification Programming Guide, 2015-10, The Remote Notification
  /// Payload.
  public static let payloadBytesOfBinary = 2048
  /// The limit of the binary protocol's formats 0 and 1.
  ///
  /// Source: Local and Push Notification Programming Guide, 2013 and earlier, The Notification
  /// Payload.
  static let payloadBytesOfOldFrames = 256
  /// The limit of the service of HTTP/2.
  ///
  /// Source: Generating a remote notification.
  public static let payloadBytes = 4096
  /// The limit of the service of HTTP/2 for VoIP notifications.
  ///
  /// Source: Generating a remote notification.
  public static let payloadBytesOfVoIP = 5120
}
