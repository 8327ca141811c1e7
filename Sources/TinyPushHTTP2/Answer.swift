import CHTTP2
import TinyPush

/// The service's answer to one request.
struct Answer {
  /// The answer's meaning for the notification and for the connection.
  enum Meaning {
    case accepted
    /// The service does not take this notification, or its device is gone.
    case rejected(Rejection)
    /// The service refuses every notification: somebody must correct the configuration.
    case configuration(Rejection)
    /// The provider token is too old, so that no notification is taken.
    case expiredProviderToken
    /// The device was sent too many notifications.
    case tooManyRequests
    /// The service is in trouble.
    case trouble(Rejection)
    /// The service ends the connection and did not take this notification.
    case shutdown
  }

  let status: UInt16
  private(set) var reason = Rejection.Reason.other
  /// When the device token became invalid, in UNIX seconds; 0: unknown.
  private(set) var since: UInt32 = 0
  /// The start of the reason, or of the whole text, if the reason is not documented.
  private(set) var unknown = UnknownText(repeating: 0)

  init(_ answer: UnsafePointer<chttp2_answer>) {
    status = answer.pointee.status
    let body = Span(
      _unsafeStart: chttp2_answer_body(answer), count: Int(answer.pointee.body_count))
    do throws(JSONProblem) { try read(body) } catch {}
    if reason == .other, unknown[0] == 0 { keep(body) }
  }

  private mutating func keep(_ text: Span<UInt8>) {
    for index in 0..<min(text.count, unknown.count) { unknown[index] = text[index] }
  }

  /// Whether the answer is in no table.
  ///
  /// Most push services of browsers give no reason, and the status may tell enough.
  func isUnknown(isOfBrowsers: Bool) -> Bool {
    guard isOfBrowsers else { return status != 200 && status != 410 && reason == .other }
    return switch status {
    case 404, 406, 410, 413, 429: false
    default: status >= 400 && status < 500 && reason == .other
    }
  }

  private mutating func read(_ body: Span<UInt8>) throws(JSONProblem) {
    var scanner = JSONScanner(at: 0)
    guard body.count > 0, try scanner.openObject(body) else { return }
    repeat {
      let key = try scanner.key(body)
      let first = try scanner.peek(body)
      if first == .quote, body.extracting(key).equals("reason") {
        let name = body.extracting(try scanner.string(body))
        reason = Rejection.Reason(serviceName: name) ?? .other
        if reason == .other { keep(name) }
      } else if body.extracting(key).equals("timestamp") {
        var milliseconds: UInt64 = 0
        let start = scanner.index
        try scanner.skipValue(body)
        for index in start..<min(scanner.index, start + 16) {
          guard body[index].isDigit else { break }
          milliseconds = milliseconds * 10 + UInt64(body[index].digitValue)
        }
        since = UInt32(clamping: milliseconds / 1000)
      } else {
        try scanner.skipValue(body)
      }
    } while try scanner.nextMember(body)
  }

  /// Returns the answer's meaning.
  ///
  /// - Parameter namesTopic: whether the notification names its own topic, or its push type does.
  func meaning(namesTopic: Bool) -> Meaning {
    let rejection = Rejection(reason, code: status, since: since)
    switch status {
    case 200: return .accepted
    case 410:
      return .rejected(
        Rejection(rejection.isGone ? reason : .unregistered, code: status, since: since))
    case 429:
      // TooManyProviderTokenUpdates pauses as trouble does: the present token is kept.
      return reason == .tooManyProviderTokenUpdates ? .trouble(rejection) : .tooManyRequests
    // A proxy has got only half of the request, or none yet, or another connection is meant.
    case 408, 421, 425: return .trouble(rejection)
    case 400...499: if reason == .idleTimeout { return .shutdown }
    case 503 where reason == .shutdown: return .shutdown
    // Any other status is not a proper answer.
    default: return .trouble(rejection)
    }
    switch reason {
    case .expiredProviderToken: return .expiredProviderToken
    case .badTopic, .topicDisallowed, .missingTopic, .unrelatedKeyIDInToken:
      return namesTopic ? .rejected(rejection) : .configuration(rejection)
    default: break
    }
    // These concern the client's identity and the request's form, not the notification.
    switch status {
    case 401, 403, 404, 405, 407: return .configuration(rejection)
    default: return .rejected(rejection)
    }
  }

  /// The answer's meaning if it comes from a push service of browsers.
  ///
  /// A subscription was made for one key. So a refusal of the key concerns that subscription, if the
  /// service accepts messages to others.
  var meaningOfBrowsers: Meaning {
    let rejection = Rejection(reason, code: status)
    switch status {
    case 200...299: return .accepted
    case 404, 410: return .rejected(Rejection(.subscriptionEnded, code: status))
    case 413: return .rejected(Rejection(.payloadTooLarge, code: status))
    case 406, 429: return .tooManyRequests
    case 400, 401, 403: return .configuration(rejection)
    case 402, 405, 407, 409...420, 422...424, 426...499: return .rejected(rejection)
    // Redirections are not followed, since the browser chose the host.
    default: return .trouble(rejection)
    }
  }
}

extension Rejection.Reason {
  /// Creates the reason with the service's name for it, for example `BadDeviceToken`.
  init?(serviceName: Span<UInt8>) {
    // The service also shortens this name.
    if serviceName.equals("BadEnvironmentKeyInToken") {
      self = .badEnvironmentKeyIDInToken
      return
    }
    guard let value = Self.names.index(where: { Self.isSpelled(serviceName, $0) }) else {
      return nil
    }
    self.init(rawValue: UInt8(value))
  }

  /// Whether `text` is a name without underscores, ignoring case.
  private static func isSpelled(_ text: Span<UInt8>, _ name: Span<UInt8>) -> Bool {
    var index = 0
    for other in name.indices where name[other] != UInt8(ascii: "_") {
      guard index < text.count, text[index] | 0x20 == name[other] else { return false }
      index += 1
    }
    return index == text.count
  }
}
