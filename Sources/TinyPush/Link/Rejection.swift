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

    package static var names: WordList {
      "other processing_error missing_device_token missing_topic missing_payload invalid_token_size invalid_topic_size invalid_payload_size invalid_token connection_ended bad_device_token device_token_not_for_topic unregistered expired_token bad_collapse_id bad_expiration_date bad_message_id bad_priority bad_topic topic_disallowed invalid_push_type payload_empty payload_too_large duplicate_headers bad_certificate bad_certificate_environment forbidden expired_provider_token invalid_provider_token missing_provider_token bad_path method_not_allowed too_many_provider_token_updates too_many_requests internal_server_error service_unavailable shutdown bad_environment_key_id_in_token unrelated_key_id_in_token idle_timeout bad_jwt_token vapid_pk_hash_mismatch subscription_ended no_device_service no_web_push nothing_to_show bad_browser_key"
    }

    /// The name in JSON and metrics.
    public var name: Span<UInt8> { @_lifetime(immortal) get { Self.names[Int(rawValue)] } }

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
      let name = reason.name
      for index in name.indices {
        text.append(byte: name[index] == .underscore ? .space : name[index])
      }
      return
    }
    switch code {
    case 0: text.append("no error")
    case 10: text.append("shutdown")
    case 128: text.append("protocol error")
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
      "the browser has ended the subscription, and needs a new invitation: tinypush recipient invite NAME"
    case .badTopic, .topicDisallowed:
      "the topic is the app's bundle ID; the certificate or the signing key must be of the same team"
    case .badCertificate: "renew the push certificate"
    case .badCertificateEnvironment:
      "the certificate is for the other environment: set environment to production or development"
    case .forbidden, .invalidProviderToken:
      "check that signing-key, key-id and team-id belong together, that the key is not revoked, and that this machine's clock is right"
    case .badEnvironmentKeyIDInToken:
      "the signing key is for the other environment: set environment, or use a key for this one"
    case .unrelatedKeyIDInToken:
      "the signing key is not for this topic: use a key of the topic's team that may send to it"
    case .missingProviderToken: "set signing-key, key-id and team-id, or certificate"
    case .expiredProviderToken:
      "check this machine's clock: by that clock, the provider token is new"
    case .badJWTToken:
      "check this machine's clock, and set contact to a real address: the service refuses some"
    case .vapidPkHashMismatch:
      "the subscription was made with another vapid-key; the browser needs a new invitation: tinypush recipient invite NAME"
    case .noDeviceService:
      "this recipient is a device: set signing-key, key-id, team-id and topic, or certificate"
    case .noWebPush: "this recipient is a browser: set vapid-key and contact"
    case .badBrowserKey:
      "its key is wrong; the browser needs a new invitation: tinypush recipient invite NAME"
    case .nothingToShow: "a browser must show each notification: give the alert a text"
    case .badPath, .methodNotAllowed:
      "check that gateway names the push service itself, and no proxy"
    case .badCollapseID: "a collapse-id has 64 bytes at most"
    case .badExpirationDate: "expiration is in UNIX seconds"
    case .badMessageID: "an id is a UUID"
    case .badPriority: "the priority of a background push is 5 or 1"
    case .invalidPushType: "the push type must fit the payload and the topic"
    case .payloadEmpty: "add a payload"
    case .payloadTooLarge:
      "shorten the text: a payload has 4096 bytes at most, and 5120 with the push type voip; the services of browsers may take less"
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
