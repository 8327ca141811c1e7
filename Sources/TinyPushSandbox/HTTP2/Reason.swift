import TinyPush

/// Why the service does not take a request. Source: Handling notification responses from APNs, its tables of statuses and
/// of error strings.
public enum Reason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
  case badCollapseID, badDeviceToken, badExpirationDate, badMessageID, badPriority, badTopic
  case deviceTokenNotForTopic, duplicateHeaders, idleTimeout, invalidPushType, missingDeviceToken
  case missingTopic, payloadEmpty, topicDisallowed
  case badCertificate, badCertificateEnvironment, badEnvironmentKeyIDInToken, expiredProviderToken
  case forbidden, invalidProviderToken, missingProviderToken, unrelatedKeyIDInToken
  case badPath, methodNotAllowed, expiredToken, unregistered, payloadTooLarge
  case tooManyProviderTokenUpdates, tooManyRequests
  case internalServerError, serviceUnavailable, shutdown

  /// The answer's status.
  var status: Int32 {
    switch self {
    case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority,
      .badTopic, .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType,
      .missingDeviceToken, .missingTopic, .payloadEmpty, .topicDisallowed:
      400
    case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIDInToken,
      .expiredProviderToken, .forbidden, .invalidProviderToken, .missingProviderToken,
      .unrelatedKeyIDInToken:
      403
    case .badPath: 404
    case .methodNotAllowed: 405
    case .expiredToken, .unregistered: 410
    case .payloadTooLarge: 413
    case .tooManyProviderTokenUpdates, .tooManyRequests: 429
    case .internalServerError: 500
    case .serviceUnavailable, .shutdown: 503
    }
  }

  var name: StaticString {
    switch self {
    case .badCollapseID: "BadCollapseId"
    case .badDeviceToken: "BadDeviceToken"
    case .badExpirationDate: "BadExpirationDate"
    case .badMessageID: "BadMessageId"
    case .badPriority: "BadPriority"
    case .badTopic: "BadTopic"
    case .deviceTokenNotForTopic: "DeviceTokenNotForTopic"
    case .duplicateHeaders: "DuplicateHeaders"
    case .idleTimeout: "IdleTimeout"
    case .invalidPushType: "InvalidPushType"
    case .missingDeviceToken: "MissingDeviceToken"
    case .missingTopic: "MissingTopic"
    case .payloadEmpty: "PayloadEmpty"
    case .topicDisallowed: "TopicDisallowed"
    case .badCertificate: "BadCertificate"
    case .badCertificateEnvironment: "BadCertificateEnvironment"
    case .badEnvironmentKeyIDInToken: "BadEnvironmentKeyIdInToken"
    case .expiredProviderToken: "ExpiredProviderToken"
    case .forbidden: "Forbidden"
    case .invalidProviderToken: "InvalidProviderToken"
    case .missingProviderToken: "MissingProviderToken"
    case .unrelatedKeyIDInToken: "UnrelatedKeyIdInToken"
    case .badPath: "BadPath"
    case .methodNotAllowed: "MethodNotAllowed"
    case .expiredToken: "ExpiredToken"
    case .unregistered: "Unregistered"
    case .payloadTooLarge: "PayloadTooLarge"
    case .tooManyProviderTokenUpdates: "TooManyProviderTokenUpdates"
    case .tooManyRequests: "TooManyRequests"
    case .internalServerError: "InternalServerError"
    case .serviceUnavailable: "ServiceUnavailable"
    case .shutdown: "Shutdown"
    }
  }

  /// The one that Apple's table spells so.
  init?(name: Span<UInt8>) {
    var raw: UInt8 = 0
    while let reason = Reason(rawValue: raw) {
      if name.equals(reason.name) {
        self = reason
        return
      }
      raw += 1
    }
    return nil
  }

  /// The one that was most likely meant.
  static func nearest(to name: Span<UInt8>) -> Reason? {
    var best: Reason?
    var bestDistance = Nearest.distanceMax(name) + 1
    var raw: UInt8 = 0
    while let reason = Reason(rawValue: raw) {
      let edits = Nearest.distance(name, reason.name.span)
      if edits < bestDistance { (best, bestDistance) = (reason, edits) }
      raw += 1
    }
    return best
  }
}
