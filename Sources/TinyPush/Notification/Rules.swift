/// What a notification is held against, besides the service's tables.
public struct Rules: Sendable, BitwiseCopyable {
  public var service = PushProtocol.binary
  /// The bytes a payload may have as it goes out, as the configuration says; nil: as many as the service takes.
  public var payloadLimit: Int?
  /// For devices of which no language is known, or none that the notification speaks.
  public var defaultLanguage = LanguageTag("en")

  public init() {}

  public init(_ service: PushProtocol = .binary, payloadLimit: Int?) {
    self.service = service
    self.payloadLimit = payloadLimit
  }

  /// The bytes that a payload of this type may have as it goes out. What the configuration says holds for the gateways of
  /// the binary protocol, which differ by their age, and lowers what the service of HTTP/2 takes.
  @inline(__always)
  public func payloadLimit(for type: PushType) -> Int {
    guard service == .http2 else { return payloadLimit ?? Self.payloadBytesOfBinary }
    let bytes = type == .voip ? Self.payloadBytesOfVoIP : Self.payloadBytes
    guard let payloadLimit, payloadLimit < bytes else { return bytes }
    return payloadLimit
  }

  /// Source: Local and Remote Notification Programming Guide, 2015-10, The Remote Notification Payload.
  public static let payloadBytesOfBinary = 2048
  /// Source: Generating a remote notification.
  public static let payloadBytes = 4096
  public static let payloadBytesOfVoIP = 5120
}
