import CMbed
import TinyPush
import TinyPushAgent

/// Decides whether a request is accepted.
///
/// Sources: Sending notification requests to APNs and Handling notification responses from APNs.
/// Comments say "Inferred" where these leave something open. Inferred: the order of the checks.
final class RequestCheck {
  /// The largest payload of all push types but voip.
  ///
  /// Source: Generating a remote notification.
  static let payloadMaxOthers = 4096
  static let payloadMaxVoIP = 5120
  static let collapseIDMax = 64

  /// The value of `--payload-limit`; nil: the limits of the service.
  private let payloadLimit: Int?
  /// The size of the largest payload that may be accepted.
  var payloadMax: Int { payloadLimit ?? Self.payloadMaxVoIP }
  /// The check of the binary protocol, which knows the tokens that are always refused.
  private let frameCheck: FrameCheck
  /// The devices; nil: every token is accepted, as if it had a device.
  private let devices: Devices?
  private let key: SigningKey

  init(
    payloadLimit: Int?, frameCheck: FrameCheck, devices: Devices?, key: SigningKey
  ) {
    self.payloadLimit = payloadLimit
    self.frameCheck = frameCheck
    self.devices = devices
    self.key = key
  }

  /// The content of an accepted request.
  struct Acceptance {
    var token: DeviceToken
    var type: PushType
    /// The app's topic, without the suffix of a push type.
    var topic: Topic
    var summary: PayloadSummary
    var destination: Destination
    var priority: UInt8
    /// The expiration in UNIX seconds; 0: must not be stored; nil: not given.
    var expiration: UInt32?
  }

  /// Why a request is refused.
  struct Refusal: Error {
    var reason: Reason
    var cause: RefusalCause
    /// When the app was found gone: UNIX seconds; 0: it is not gone.
    var since: Int64 = 0

    init(_ reason: Reason, _ cause: RefusalCause, since: Int64 = 0) {
      (self.reason, self.cause, self.since) = (reason, cause, since)
    }

    init(_ reason: Reason, _ words: StaticString) { self.init(reason, .words(words)) }
  }

  /// Checks a request at a time in UNIX seconds.
  func check(
    _ request: PushRequest, of client: ClientIdentity, _ tokens: inout ProviderTokenCheck,
    now: Int64
  ) throws(Refusal) -> Acceptance {
    guard request.method.equals("POST") else {
      throw Refusal(.methodNotAllowed, "the method is not POST")
    }
    guard let digits = request.deviceToken else {
      throw Refusal(.badPath, "the path is not /3/device/ and a device token")
    }
    guard !request.hasDuplicates else { throw Refusal(.duplicateHeaders, "a header came twice") }
    try identify(client, request, &tokens, now)
    guard request.id.isEmpty || request.id.isUUID else {
      throw Refusal(.badMessageID, "apns-id is not a UUID")
    }
    guard request.collapseID.count <= Self.collapseIDMax else {
      throw Refusal(.badCollapseID, "apns-collapse-id has more than 64 bytes")
    }
    let expiration = try Self.expiration(request)
    let summary = try summary(request)
    let type = try Self.type(request, summary)
    let priority = try Self.priority(request, type)
    let topic = try topic(request, of: client, type)
    guard digits.count > 0 else {
      throw Refusal(.missingDeviceToken, "the path ends without a device token")
    }
    guard let token = DeviceToken(hex: digits) else {
      throw Refusal(
        .badDeviceToken, "the device token is not an even number of hex digits, at most 200")
    }
    let destination = try destination(token, topic, now)
    return Acceptance(
      token: token, type: type, topic: topic, summary: summary, destination: destination,
      priority: priority, expiration: expiration)
  }

  // MARK: - The client

  private func identify(
    _ client: ClientIdentity, _ request: PushRequest, _ tokens: inout ProviderTokenCheck,
    _ now: Int64
  ) throws(Refusal) {
    guard client.hasCertificate else {
      do throws(ProviderTokenCheck.Problem) {
        try tokens.check(request.authorization, by: key, now: now)
      } catch {
        throw Refusal(error.reason, error.words)
      }
      return
    }
    guard !client.isForOtherEnvironment else {
      throw Refusal(
        .badCertificateEnvironment,
        "the certificate is only for production; this is the development environment")
    }
    guard client.topic.text.count > 0 else {
      throw Refusal(.badCertificate, "the certificate has no topic")
    }
  }

  private func topic(
    _ request: PushRequest, of client: ClientIdentity, _ type: PushType
  ) throws(Refusal) -> Topic {
    var wanted = request.topic
    if wanted.isEmpty {
      guard client.hasCertificate, !client.hasSeveralTopics else {
        throw Refusal(
          .missingTopic,
          client.hasCertificate
            ? "apns-topic is missing, and the certificate has several topics"
            : "apns-topic is missing; without a certificate each request needs the topic")
      }
      wanted = client.topic.text
    }
    guard Installation.isTopic(wanted) else {
      throw Refusal(.badTopic, .topic(bytes: wanted.count))
    }
    if client.hasCertificate, !client.allows(wanted) {
      throw Refusal(.topicDisallowed, "the certificate is not for this topic")
    }
    let suffix = type.topicSuffix
    if suffix.utf8CodeUnitCount > 0 {
      guard type.suffix(behind: wanted).utf8CodeUnitCount == 0 else {
        throw Refusal(.badTopic, .suffix(type))
      }
      wanted = wanted.extracting(0..<wanted.count - suffix.utf8CodeUnitCount)
    }
    if !client.hasCertificate, let devices, !devices.haveApp(topic: wanted) {
      throw Refusal(.topicDisallowed, "no device of the sandbox has an app with this topic")
    }
    return Topic(wanted)
  }

  // MARK: - The headers

  private static func expiration(_ request: PushRequest) throws(Refusal) -> UInt32? {
    guard !request.expiration.isEmpty else { return nil }
    guard let seconds = Config.number(request.expiration) else {
      throw Refusal(.badExpirationDate, "apns-expiration is not a time in UNIX seconds")
    }
    return UInt32(clamping: seconds)
  }

  /// Returns the push type of the header, or else of the topic or the payload.
  private static func type(
    _ request: PushRequest, _ summary: PayloadSummary
  ) throws(Refusal) -> PushType {
    if request.type.isEmpty {
      return PushType(ofTopic: request.topic) ?? (summary.isSilent ? .background : .alert)
    }
    guard let type = PushType(name: request.type) else {
      throw Refusal(.invalidPushType, "apns-push-type is not a known push type")
    }
    guard !type.needsAps || summary.hasAps else {
      throw Refusal(.payloadEmpty, .payload(.noAps))
    }
    return type
  }

  private static func priority(
    _ request: PushRequest, _ type: PushType
  ) throws(Refusal) -> UInt8 {
    if request.priority.isEmpty { return type == .background ? 5 : 10 }
    let known: WordList = "10 5 1"
    guard known.index(of: request.priority) != nil, let priority = Config.number(request.priority)
    else { throw Refusal(.badPriority, "apns-priority is not 10, 5 or 1") }
    guard priority != 10 || type != .background else {
      throw Refusal(.badPriority, "a background push must have priority 5 or 1, not 10")
    }
    return UInt8(priority)
  }

  // MARK: - The payload

  /// Returns the summary of the payload.
  ///
  /// Inferred: a payload that is not a JSON object is refused like an empty payload, since the
  /// table has no other reason.
  private func summary(_ request: PushRequest) throws(Refusal) -> PayloadSummary {
    let count = request.payloadBytes
    guard count > 0 else { throw Refusal(.payloadEmpty, .noPayload) }
    let limit =
      payloadLimit ?? (request.type.equals("voip") ? Self.payloadMaxVoIP : Self.payloadMaxOthers)
    guard count <= limit else {
      throw Refusal(.payloadTooLarge, .payloadSize(bytes: count, limit: limit))
    }
    do throws(PayloadProblem) {
      return try PayloadSummary(request.payload, needsAps: request.type.isEmpty)
    } catch {
      throw Refusal(.payloadEmpty, .payload(error))
    }
  }

  // MARK: - The device

  private func destination(
    _ token: DeviceToken, _ topic: Topic, _ now: Int64
  ) throws(Refusal) -> Destination {
    guard !frameCheck.isInvalid(token.bytes) else {
      throw Refusal(.badDeviceToken, .tokenListed)
    }
    switch devices?.address(token.bytes, topic: topic.text) {
    case nil: return .anybody
    case .app(let app, let device)?:
      if let since = devices?.findGone(app, from: device, now: now) {
        throw Refusal(.unregistered, .words("the app is gone from the device"), since: since)
      }
      return .app(app, device)
    case .invalid(.otherTopic)?:
      throw Refusal(.deviceTokenNotForTopic, "the device token belongs to another app")
    case .invalid(let problem)?: throw Refusal(.badDeviceToken, .tokenInvalid(problem))
    }
  }
}
