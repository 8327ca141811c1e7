import TinyPush
import TinyPushAgent
import TinyPushBinary

/// Decides whether a notification is accepted, from its frame.
///
/// Sources: Local and Remote Notification Programming Guide, 2015-10, tables 5-1 and 5-3. Comments
/// say "Inferred" where these leave something open.
final class FrameCheck {
  /// The longest topic, in bytes.
  ///
  /// Inferred: no document names a limit. The value is above all bundle identifiers in use, and
  /// below the 127 bytes that are read of a certificate's topic.
  static let topicBytesMax = 100

  private let payloadLimit: Int
  private let invalidTokens: [DeviceToken]
  /// The devices; nil: every token is accepted, as if it had a device.
  private let devices: Devices?

  init(payloadLimit: Int, invalidTokens: [DeviceToken], devices: Devices?) {
    self.payloadLimit = payloadLimit
    self.invalidTokens = invalidTokens
    self.devices = devices
  }

  func check(
    _ frame: ReceivedFrame, for topic: Topic, by reader: borrowing FrameReader
  ) -> Decision {
    if topic.text.count == 0 { return .refused(.missingTopic, .noTopic) }
    guard topic.text.count <= Self.topicBytesMax else {
      return .refused(.invalidTopicSize, .topic(bytes: topic.text.count))
    }
    // Inferred: in commands 0 and 1 an empty token is the only way to leave out the token.
    guard let token = frame.token, token.count > 0 else {
      return .refused(.missingDeviceToken, .noToken)
    }
    guard token.count == Frame.tokenByteCount else {
      if token.count == 2 * Frame.tokenByteCount, DeviceToken(hex: reader.bytes(token)) != nil {
        return .refused(.invalidTokenSize, .tokenInHex)
      }
      return .refused(.invalidTokenSize, .token(bytes: token.count))
    }
    guard let payload = frame.payload else { return .refused(.missingPayload, .noPayload) }
    guard payload.count > 0 && payload.count <= payloadLimit else {
      return .refused(
        .invalidPayloadSize, .payloadSize(bytes: payload.count, limit: payloadLimit))
    }
    if isInvalid(reader.bytes(token)) { return .refused(.invalidToken, .tokenListed) }
    let destination: Destination
    switch devices?.address(reader.bytes(token), topic: topic.text) {
    case nil: destination = .anybody
    case .app(let app, let device)?: destination = .app(app, device)
    case .invalid(let problem)?: return .refused(.invalidToken, .tokenInvalid(problem))
    }
    do throws(PayloadProblem) {
      let summary = try PayloadSummary(reader.bytes(payload))
      return check(frame.priority, of: summary, destination)
    } catch {
      return .refused(.processingError, .payload(error))
    }
  }

  private func check(
    _ priority: UInt8?, of summary: PayloadSummary, _ destination: Destination
  ) -> Decision {
    switch priority {
    // Without the item, priority 10 is only implied: then a silent notification is not refused.
    case nil, 5: .accepted(summary, destination)
    case 10:
      summary.isSilent
        ? .refused(.processingError, .silentAtOnce) : .accepted(summary, destination)
    case let other?: .refused(.processingError, .priority(other))
    }
  }

  /// Whether a token is always refused: zeros, or a token of `--invalid`.
  func isInvalid(_ token: Span<UInt8>) -> Bool {
    var bits: UInt8 = 0
    for index in 0..<token.count { bits |= token[index] }
    if bits == 0 { return true }
    for invalid in invalidTokens where invalid.bytes.equals(token) { return true }
    return false
  }
}

/// A topic: the app to which a client may send notifications.
final class Topic {
  var text: Span<UInt8> { @_lifetime(immortal) get { CString.span(string.pointer) } }
  private let string: CString

  init(_ text: Span<UInt8>) { string = CString(text) }

  convenience init(of stream: borrowing TLSStream) {
    var text = Text(capacity: 128)
    stream.writeTopic(in: &text)
    self.init(text.bytes)
  }
}

/// The destination of an accepted notification.
enum Destination {
  /// A nameless device, where every token is accepted.
  case anybody
  case app(Installation, Device)
}

/// Whether a notification is accepted or refused.
enum Decision {
  case accepted(PayloadSummary, Destination)
  case refused(Status, RefusalCause)
}

/// Why a notification is refused, in more detail than the status of the answer.
enum RefusalCause {
  case noTopic
  case topic(bytes: Int)
  case noToken
  case token(bytes: Int)
  case tokenInHex
  case tokenListed
  case tokenInvalid(TokenProblem)
  case noPayload
  case payloadSize(bytes: Int, limit: Int)
  /// The size of the body of a message for a browser.
  case bodySize(bytes: Int, limit: Int)
  case payload(PayloadProblem)
  case priority(UInt8)
  case silentAtOnce
  /// The topic lacks the suffix that the push type demands.
  case suffix(PushType)
  case words(StaticString)
  /// A fault refuses the notification, which is correct.
  case fault
  case frame(FrameProblem)

  func describe(in text: inout Text) {
    switch self {
    case .noTopic: text.append("the client's certificate has no topic")
    case .topic(let bytes):
      text.append("the topic has ", bytes)
      text.append(" bytes: at most 100 letters, digits, \".\", \"_\" and \"-\" are allowed")
    case .noToken: text.append("the frame has no device token")
    case .token(let bytes):
      text.append("the device token has ", bytes)
      text.append(bytes == 1 ? " byte instead of 32" : " bytes instead of 32")
      text.append(" (such a frame may be a barrier, which confirms the notifications before it)")
    case .tokenInHex:
      text.append(
        "the device token is sent as 64 hex digits: send the 32 bytes that the digits stand for (hex decoded)"
      )
    case .tokenListed: text.append("the device token is on the list of tokens to refuse")
    case .tokenInvalid(let problem): text.append(problem.text)
    case .noPayload: text.append("the frame has no payload")
    case .payloadSize(let bytes, let limit):
      text.append("the payload has ", bytes)
      text.append(" bytes, but may have 1 to ", limit)
    case .bodySize(let bytes, let limit):
      text.append("the body has ", bytes)
      text.append(" bytes, but may have at most ", limit)
    case .payload(let problem): problem.describe(in: &text)
    case .priority(let priority):
      text.append("priority ", priority, " is neither 10 nor 5")
    case .suffix(let type):
      text.append("the topic of a push of type ", type.name)
      text.append(" must end with ", type.topicSuffix)
    case .words(let words): text.append(words)
    case .silentAtOnce:
      text.append("priority 10, but the payload has only content-available: use priority 5")
    case .fault: text.append("a fault is played; the notification is correct")
    case .frame(let problem): problem.describe(in: &text)
    }
  }
}
