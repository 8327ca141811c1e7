/// A notification as a file holds it: where its parts stand in the text, and what they say. It holds no bytes itself, so
/// that it can be looked at without a copy: the text it was read from goes with it.
///
/// ```json
/// {"token": "64 hex digits", "payload": {"aps": {"alert": "Tank low"}}, "priority": 10, "ttl": 3600}
/// ```
public struct Notification {
  /// The whole object, braces included.
  public internal(set) var object: Range<Int>
  /// The payload object, and the bytes of it that go out: it less its white space.
  public internal(set) var payload: Range<Int>
  public internal(set) var payloadBytes: Int
  /// The hex digits of the first device token; the others are found by ``nextToken(after:in:)``.
  public internal(set) var firstToken: Int
  /// How many devices it goes to.
  public internal(set) var recipients: Int
  /// 10 (at once) or 5 (when it saves the device's power).
  public internal(set) var priority: UInt8
  public internal(set) var lifetime: Lifetime

  /// Until when the service may keep it for a device that is offline.
  public enum Lifetime: Equatable {
    /// The configuration's `ttl`.
    case configured
    /// Seconds from when the agent first saw it.
    case ttl(UInt32)
    /// UNIX seconds, UTC; 0: not at all.
    case until(UInt32)
  }

  /// The digits of the token behind the one at `token`, which must have one behind it.
  func nextToken(after token: Int, in text: Span<UInt8>) -> Int {
    var index = token + DeviceToken.digitCount + 1
    while text[index] != 0x22 { index += 1 }
    return index + 1
  }
}

/// Why a notification is refused before it is sent, and where.
public struct Refusal {
  public var reason: Reason
  /// The byte at fault, from the start of the text.
  public var offset: Int
  /// What the reason's words need besides: a size, a limit.
  public var found: Int
  public var limit: Int

  public init(reason: Reason, offset: Int, found: Int = 0, limit: Int = 0) {
    self.reason = reason
    self.offset = offset
    self.found = found
    self.limit = limit
  }

  public enum Reason: Equatable {
    case json(JSONProblem)
    case notAnObject
    case objectTooLarge
    case unknownKey
    case duplicateKey
    case missingPayload
    case missingToken
    case payloadNotObject
    case missingAps
    case apsNotObject
    case apsIsEmpty
    case alert
    case badge
    case sound
    case category
    case contentAvailable
    case payloadTooLarge
    case tokenNotString
    case tokenSize
    case tokenNotHex
    case tokenTwice
    case tokensNotArray
    case tokensEmpty
    case priority
    case prioritySilent
    case expiration
    case ttl
    case expirationAndTtl
    case notString
  }

  /// What is wrong, and how to mend it.
  public func describe(in text: inout Text) {
    switch reason {
    case .json(let problem): text.append(problem.text)
    case .notAnObject: text.append("expected '{': a notification is a JSON object")
    case .objectTooLarge:
      text.append("the notification is larger than ")
      text.append(limit)
      text.append(" bytes: give its tokens in several notifications")
    case .unknownKey:
      text.append(
        "no such key: a notification has payload, token or tokens, priority, expiration or ttl, topic, push-type and id"
      )
    case .duplicateKey: text.append("this key stands here twice: remove one")
    case .missingPayload:
      text.append("no payload: add \"payload\": {\"aps\": {\"alert\": \"…\"}}")
    case .missingToken:
      text.append(
        "no device token: add \"token\": \"64 hex digits\", or \"tokens\": [\"…\", \"…\"]")
    case .payloadNotObject:
      text.append("the payload must be an object: {\"aps\": {\"alert\": \"…\"}}")
    case .missingAps: text.append("the payload has no aps: add \"aps\": {\"alert\": \"…\"} to it")
    case .apsNotObject: text.append("aps must be an object: {\"alert\": \"…\"}")
    case .apsIsEmpty:
      text.append("aps is empty: give it an alert, a badge, a sound or content-available")
    case .alert: text.append("alert must be a string, or an object with title and body")
    case .badge: text.append("badge must be a number without quotes; 0 removes it")
    case .sound:
      text.append("sound must be a string: \"default\", or the name of a file in the app")
    case .category:
      text.append("category must be a string: the name of a set of actions in the app")
    case .contentAvailable: text.append("content-available must be 1, or left out")
    case .payloadTooLarge:
      text.append("the payload has ")
      text.append(found)
      text.append(" bytes without white space, and at most ")
      text.append(limit)
      text.append(" may be sent (payload-limit): shorten the alert, or let the app fetch the rest")
    case .tokenNotString: text.append("a device token must be a string of 64 hex digits")
    case .tokenSize:
      text.append("a device token has 64 hex digits, and this one has ")
      text.append(found)
      text.append(" characters")
    case .tokenNotHex:
      text.append("a device token has only the digits 0-9 and a-f, without spaces or <>")
    case .tokenTwice: text.append("give either token or tokens, not both")
    case .tokensNotArray: text.append("tokens must be an array: [\"64 hex digits\", …]")
    case .tokensEmpty: text.append("tokens is empty: there is nobody to send it to")
    case .priority:
      text.append("priority must be 10 (at once) or 5 (when it saves the device's power)")
    case .prioritySilent:
      text.append(
        "with only content-available, priority must be 5: the gateway refuses 10 when nothing is shown or heard"
      )
    case .expiration:
      text.append("expiration must be UNIX seconds, 0 to 4294967295 (0: do not store)")
    case .ttl: text.append("ttl must be whole seconds, 0 to 4294967295 (0: do not store)")
    case .expirationAndTtl: text.append("give either expiration or ttl, not both")
    case .notString: text.append("must be a string")
    }
  }
}
