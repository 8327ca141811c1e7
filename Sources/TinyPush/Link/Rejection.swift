/// Why the service refused a notification.
public struct Rejection: Equatable, Sendable, BitwiseCopyable {
  /// A reason for a refusal.
  public enum Reason: UInt8, Sendable, BitwiseCopyable {
    /// The service gave a reason that is not documented.
    case other
    case processingError
    case missingDeviceToken
    case missingTopic
    case missingPayload
    case invalidTokenSize
    case invalidTopicSize
    case invalidPayloadSize
    case invalidToken
    /// Connections die when this notification is sent, and live without it.
    case endsConnections

    // The reasons of the HTTP/2 service.
    case badDeviceToken, deviceTokenNotForTopic, unregistered, expiredToken, badCollapseID
    case badExpirationDate, badMessageID, badPriority, badTopic, topicDisallowed
    case invalidPushType, payloadEmpty, payloadTooLarge, duplicateHeaders, badCertificate
    case badCertificateEnvironment, forbidden, expiredProviderToken, invalidProviderToken
    case missingProviderToken, badPath, methodNotAllowed, tooManyProviderTokenUpdates
    case tooManyRequests, internalServerError, serviceUnavailable, shutdown
    case badEnvironmentKeyIDInToken, unrelatedKeyIDInToken, idleTimeout

    // The reasons of browsers' services.
    case badJWTToken, vapidPkHashMismatch, subscriptionEnded

    // Reasons of the agent itself.
    case noDeviceService, noWebPush, nothingToShow, badBrowserKey

    /// The number of reasons.
    public static let count = 47

    /// The name in JSON and metrics.
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
      case .badDeviceToken: "bad_device_token"
      case .deviceTokenNotForTopic: "device_token_not_for_topic"
      case .unregistered: "unregistered"
      case .expiredToken: "expired_token"
      case .badCollapseID: "bad_collapse_id"
      case .badExpirationDate: "bad_expiration_date"
      case .badMessageID: "bad_message_id"
      case .badPriority: "bad_priority"
      case .badTopic: "bad_topic"
      case .topicDisallowed: "topic_disallowed"
      case .invalidPushType: "invalid_push_type"
      case .payloadEmpty: "payload_empty"
      case .payloadTooLarge: "payload_too_large"
      case .duplicateHeaders: "duplicate_headers"
      case .badCertificate: "bad_certificate"
      case .badCertificateEnvironment: "bad_certificate_environment"
      case .forbidden: "forbidden"
      case .expiredProviderToken: "expired_provider_token"
      case .invalidProviderToken: "invalid_provider_token"
      case .missingProviderToken: "missing_provider_token"
      case .badPath: "bad_path"
      case .methodNotAllowed: "method_not_allowed"
      case .tooManyProviderTokenUpdates: "too_many_provider_token_updates"
      case .tooManyRequests: "too_many_requests"
      case .internalServerError: "internal_server_error"
      case .serviceUnavailable: "service_unavailable"
      case .shutdown: "shutdown"
      case .badEnvironmentKeyIDInToken: "bad_environment_key_id_in_token"
      case .unrelatedKeyIDInToken: "unrelated_key_id_in_token"
      case .idleTimeout: "idle_timeout"
      case .badJWTToken: "bad_jwt_token"
      case .vapidPkHashMismatch: "vapid_pk_hash_mismatch"
      case .subscriptionEnded: "subscription_ended"
      case .noDeviceService: "no_device_service"
      case .noWebPush: "no_web_push"
      case .nothingToShow: "nothing_to_show"
      case .badBrowserKey: "bad_browser_key"
      }
    }

    /// Whether the agent itself refuses the notification, and not the service.
    public var isOfAgent: Bool {
      switch self {
      case .noDeviceService, .noWebPush, .nothingToShow, .badBrowserKey: true
      default: false
      }
    }
  }

  /// The reason.
  public var reason: Reason
  /// Whether the service never names what it refuses.
  public var isNeverNamed = false
  /// The service's own number.
  ///
  /// In the binary protocol it is the status of the error response; in HTTP/2, the status of the
  /// answer.
  public var code: UInt16
  /// The UNIX second since which the recipient is gone; 0: not given.
  public var since: UInt32

  /// Creates a rejection.
  public init(_ reason: Reason, code: UInt16 = 0, since: UInt32 = 0) {
    self.reason = reason
    self.code = code
    self.since = since
  }

  /// Whether the service says that the device token is invalid.
  public var suppressesToken: Bool { reason == .invalidToken || reason == .badDeviceToken }

  /// Whether the app is gone from the device, or the browser has ended the subscription.
  public var isGone: Bool {
    switch reason {
    case .unregistered, .expiredToken, .subscriptionEnded: true
    default: false
    }
  }

  /// Appends the reason in words.
  @inline(never)
  public func appendText(to text: inout Text) {
    guard reason == .other else {
      let name = reason.name.span
      for index in name.indices {
        text.append(byte: name[index] == .underscore ? .space : name[index])
      }
      return
    }
    switch code {
    case 0: text.append("no error")
    case 10: text.append("shutdown")
    case 255: text.append("unknown")
    case 256...: text.append("an unknown answer")
    default: text.append("undocumented")
    }
  }

  /// What the sender or the operator can do.
  public var advice: StaticString {
    switch reason {
    case .missingTopic, .invalidTopicSize:
      "check that the certificate is a push certificate of this app"
    case .invalidTokenSize: "over the binary protocol a device token has 64 hex digits"
    case .invalidPayloadSize:
      "the gateway accepts only smaller payloads: set payload-limit to its limit"
    case .invalidToken, .badDeviceToken:
      "the token belongs to another app, or to the other environment (production, development), or is made up"
    case .deviceTokenNotForTopic:
      "the token belongs to another app: give the topic of that app, or a token of this one"
    case .unregistered, .expiredToken:
      "the app is no longer on this device: stop sending to this token"
    case .subscriptionEnded:
      "the browser has ended the subscription: invite the person again (tinypush recipient invite)"
    case .badTopic, .topicDisallowed:
      "the topic is the app's bundle ID; the certificate or the signing key must be of the same team"
    case .badCertificate: "renew the push certificate"
    case .badCertificateEnvironment:
      "the certificate is for the other environment: set environment to production or development"
    case .forbidden, .invalidProviderToken:
      "check that signing-key, key-id and team-id belong together, and that the key is not revoked"
    case .badEnvironmentKeyIDInToken:
      "the signing key is for the other environment: set environment, or use a key for this one"
    case .unrelatedKeyIDInToken:
      "the signing key is not for this topic: use a key of the topic's team that may send to it"
    case .missingProviderToken: "set signing-key, key-id and team-id, or certificate"
    case .expiredProviderToken:
      "check this machine's clock: by it the provider token is new"
    case .badJWTToken:
      "check this machine's clock, and set contact to a real address: the service refuses some"
    case .vapidPkHashMismatch:
      "the subscription was made with another vapid-key: subscribe again on that device"
    case .noDeviceService:
      "this recipient is a device: set signing-key, key-id, team-id and topic, or certificate"
    case .noWebPush: "this recipient is a browser: set vapid-key and contact"
    case .badBrowserKey: "its key is wrong: have the browser register again"
    case .nothingToShow: "a browser must show each notification: give the alert a text"
    case .badPath, .methodNotAllowed:
      "check that gateway names the push service itself, and no proxy"
    case .badCollapseID: "a collapse-id has 64 bytes at most"
    case .badExpirationDate: "expiration is in UNIX seconds"
    case .badMessageID: "an id is a UUID"
    case .badPriority: "the priority of a background push is 5 or 1"
    case .invalidPushType: "the push type must fit the payload and the topic"
    case .payloadEmpty: "add a payload"
    case .payloadTooLarge: "a payload has 4096 bytes at most, and 5120 with the push type voip"
    case .tooManyProviderTokenUpdates, .tooManyRequests, .internalServerError,
      .serviceUnavailable, .shutdown, .idleTimeout:
      "nothing to do: it is sent again"
    case .endsConnections:
      isNeverNamed
        ? "most likely its token is invalid (format 0 has no error responses)"
        : "look for something unusual in it"
    case .other, .processingError, .missingDeviceToken, .missingPayload, .duplicateHeaders:
      "send it again; if it is refused again, look at the payload"
    }
  }
}
