import CMbed
import TinyPush
import TinyPushAgent

/// Decides whether a message for a browser is accepted, from its request.
///
/// Sources: RFC 8030, RFC 8291, RFC 8292, and the answers of browsers' services. Inferred: the order
/// of the checks.
final class MessageCheck {
  /// The largest body that all services take.
  static let bodyMax = Int(CMBED_WEBPUSH_BODY)
  static let topicMax = 32

  private let bodyMax: Int
  /// The check of the binary protocol, which knows the tokens that are always refused.
  private let frameCheck: FrameCheck
  private let devices: Devices

  /// - Parameter payloadLimit: the value of `--payload-limit`; nil: the limit of the services.
  init(payloadLimit: Int?, frameCheck: FrameCheck, devices: Devices) {
    bodyMax = min(payloadLimit ?? Self.bodyMax, Self.bodyMax)
    self.frameCheck = frameCheck
    self.devices = devices
  }

  /// The content of an accepted request.
  struct Acceptance {
    var app: Installation
    var device: Device
    var browser: Browser
    var sender: SenderKey
    var urgency: Urgency
    /// How long the message may be stored, in seconds.
    var ttl: UInt32
  }

  /// Checks a request at a time in UNIX seconds.
  func check(
    _ request: PushRequest, id: Span<UInt8>, _ senders: inout SenderCheck, now: Int64
  ) throws(RequestCheck.Refusal) -> Acceptance {
    guard request.method.equals("POST") else {
      throw RequestCheck.Refusal(.methodNotAllowed, "the method is not POST")
    }
    guard !request.hasDuplicates else {
      throw RequestCheck.Refusal(.duplicateHeaders, "a header came twice")
    }
    let (app, device, browser) = try destination(id)
    let sender = try senders.check(request, now: now)
    if let first = browser.sender, !first.point.equals(sender.point) {
      throw RequestCheck.Refusal(
        .vapidKeyHashMismatch, "k is not the key of the subscription's first message")
    }
    if request.payloadBytes > 0, !request.contentEncoding.equals("aes128gcm") {
      throw RequestCheck.Refusal(.badWebPushRequest, "content-encoding is not aes128gcm")
    }
    guard let ttl = Config.number(request.ttl) else {
      throw RequestCheck.Refusal(.badTTL, "ttl is missing, or is not a number of seconds")
    }
    let urgency = try Self.urgency(request)
    try Self.checkTopic(request.messageTopic)
    guard request.payloadBytes <= bodyMax else {
      throw RequestCheck.Refusal(
        .payloadTooLarge, .bodySize(bytes: request.payloadBytes, limit: bodyMax))
    }
    return Acceptance(
      app: app, device: device, browser: browser, sender: sender, urgency: urgency,
      ttl: UInt32(clamping: ttl))
  }

  private func destination(
    _ id: Span<UInt8>
  ) throws(RequestCheck.Refusal) -> (Installation, Device, Browser) {
    guard let token = DeviceToken(hex: id), !frameCheck.isInvalid(token.bytes) else {
      throw RequestCheck.Refusal(.badPath, "there is no such subscription")
    }
    guard let (app, device) = devices.subscription(token.bytes) else {
      throw RequestCheck.Refusal(.badPath, "there is no such subscription")
    }
    guard app.isInstalled, app.token == token, let browser = app.browser else {
      throw RequestCheck.Refusal(.unregistered, "the browser has ended the subscription")
    }
    return (app, device, browser)
  }

  private static func urgency(
    _ request: PushRequest
  ) throws(RequestCheck.Refusal) -> Urgency {
    guard !request.urgency.isEmpty else { return .normal }
    guard let urgency = Urgency(name: request.urgency) else {
      throw RequestCheck.Refusal(.badUrgency, "urgency is not very-low, low, normal or high")
    }
    return urgency
  }

  /// Checks the header `topic`, which Apple's service decodes.
  private static func checkTopic(_ topic: Span<UInt8>) throws(RequestCheck.Refusal) {
    guard topic.count <= topicMax else {
      throw RequestCheck.Refusal(.badWebPushTopic, "topic has more than 32 characters")
    }
    var isRight = topic.count % 4 != 1
    for index in topic.indices where !topic[index].isBase64URL { isRight = false }
    guard isRight else {
      throw RequestCheck.Refusal(
        .badWebPushTopic,
        "topic is not base64 for URLs, which also has no length of 1, 5, 9 and so on")
    }
  }
}
