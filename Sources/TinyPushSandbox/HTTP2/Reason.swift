import TinyPush

/// The reason why the service refuses a request.
///
/// Source: Handling notification responses from APNs, the tables of statuses and of error strings;
/// for browsers, Sending web push notifications in web apps and browsers.
public enum Reason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
  case badCollapseID, badDeviceToken, badExpirationDate, badMessageID, badPriority, badTopic
  case deviceTokenNotForTopic, duplicateHeaders, idleTimeout, invalidPushType, missingDeviceToken
  case missingTopic, payloadEmpty, topicDisallowed
  case badTTL, badUrgency, badWebPushRequest, badWebPushTopic
  case badCertificate, badCertificateEnvironment, badEnvironmentKeyIDInToken, expiredProviderToken
  case forbidden, invalidProviderToken, missingProviderToken, unrelatedKeyIDInToken
  case badJWTToken, badVAPIDPublicKey, vapidKeyHashMismatch
  case badPath, methodNotAllowed, expiredToken, unregistered, payloadTooLarge
  case tooManyProviderTokenUpdates, tooManyRequests
  case internalServerError, serviceUnavailable, shutdown

  /// The answer's status.
  var status: Int32 {
    switch self {
    case .badPath: 404
    case .methodNotAllowed: 405
    case .expiredToken, .unregistered: 410
    case .payloadTooLarge: 413
    case .tooManyProviderTokenUpdates, .tooManyRequests: 429
    case .internalServerError: 500
    case .serviceUnavailable, .shutdown: 503
    default: rawValue < Reason.badCertificate.rawValue ? 400 : 403
    }
  }

  /// The names in the spelling of Apple's tables, in the order of the cases.
  private static var names: WordList {
    "BadCollapseId BadDeviceToken BadExpirationDate BadMessageId BadPriority BadTopic DeviceTokenNotForTopic DuplicateHeaders IdleTimeout InvalidPushType MissingDeviceToken MissingTopic PayloadEmpty TopicDisallowed BadTtl BadUrgency BadWebPushRequest BadWebPushTopic BadCertificate BadCertificateEnvironment BadEnvironmentKeyIdInToken ExpiredProviderToken Forbidden InvalidProviderToken MissingProviderToken UnrelatedKeyIdInToken BadJwtToken BadVapidPublicKey VapidPkHashMismatch BadPath MethodNotAllowed ExpiredToken Unregistered PayloadTooLarge TooManyProviderTokenUpdates TooManyRequests InternalServerError ServiceUnavailable Shutdown"
  }

  var name: Span<UInt8> { @_lifetime(immortal) get { Self.names[Int(rawValue)] } }

  /// Returns the reason of this name.
  init?(name: Span<UInt8>) {
    guard let number = Self.names.index(of: name) else { return nil }
    self.init(rawValue: UInt8(number))
  }

  /// Returns the reason whose name is most similar, if one is similar enough.
  static func nearest(to name: Span<UInt8>) -> Reason? {
    names.nearest(to: name).flatMap { Reason(rawValue: UInt8($0)) }
  }
}
