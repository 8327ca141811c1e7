/// Why the service did not take a notification: a reason, with the service's own number for it.
public struct Rejection: Equatable, Sendable, BitwiseCopyable {
  public enum Reason: UInt8, Sendable, BitwiseCopyable {
    /// The service gave a reason that is not in its table.
    case other
    case processingError
    case missingDeviceToken
    case missingTopic
    case missingPayload
    case invalidTokenSize
    case invalidTopicSize
    case invalidPayloadSize
    case invalidToken
    /// Connections end whenever this notification is sent, and live without it.
    case endsConnections

    public static let count = 10

    /// A name for programs.
    public var name: StaticString {
      switch self {
      case .other: "other"
      case .processingError: "processing_error"
      case .missingDeviceToken: "missing_device_token"
      case .missingTopic: "missing_topic"
      case .missingPayload: "missing_payload"
      case .invalidTokenSize: "invalid_token_size"
      case .invalidTopicSize: "invalid_topic_size"
      case .invalidPayloadSize: "invalid_payload_size"
      case .invalidToken: "invalid_token"
      case .endsConnections: "connection_ended"
      }
    }
  }

  public var reason: Reason
  /// The service's number: of the binary protocol, the status of the error response.
  public var code: UInt16

  public init(_ reason: Reason, code: UInt16 = 0) {
    self.reason = reason
    self.code = code
  }

  /// Whether the service says that no notification can reach this device token.
  public var suppressesToken: Bool { reason == .invalidToken }

  /// What the service's table calls it.
  public var text: StaticString {
    switch reason {
    case .other:
      switch code {
      case 0: "no error"
      case 10: "shutdown"
      case 255: "unknown"
      default: "undocumented"
      }
    case .processingError: "processing error"
    case .missingDeviceToken: "missing device token"
    case .missingTopic: "missing topic"
    case .missingPayload: "missing payload"
    case .invalidTokenSize: "invalid token size"
    case .invalidTopicSize: "invalid topic size"
    case .invalidPayloadSize: "invalid payload size"
    case .invalidToken: "invalid token"
    case .endsConnections: "connection ended"
    }
  }

  /// What the sender or the operator can do.
  public var advice: StaticString {
    switch reason {
    case .missingTopic, .invalidTopicSize:
      "check that the certificate is a push certificate of this app"
    case .invalidTokenSize: "a device token is 64 hex digits"
    case .invalidPayloadSize:
      "the gateway takes less than was sent: set payload-limit to its limit"
    case .invalidToken:
      "the token belongs to another app, or to the other environment (production, sandbox), or is made up"
    case .endsConnections: "look for what is unusual in it"
    case .other, .processingError, .missingDeviceToken, .missingPayload:
      "send it again; if it is refused again, look at the payload"
    }
  }
}
