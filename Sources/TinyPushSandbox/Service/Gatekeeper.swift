import TinyPush
import TinyPushAgent

/// Decides what becomes of a notification, by its frame alone. Sources: Local and Remote Notification
/// Programming Guide, 2015-10, tables 5-1 and 5-3; what those leave open says "Inferred".
final class Gatekeeper {
  /// Inferred: no document names a size; above any bundle identifier in use, and below what a certificate's topic is
  /// read to (127 bytes).
  static let topicBytesMax = 100

  private let payloadLimit: Int
  private let invalidTokens: TokenList
  /// nil: every token leads to somebody who is there.
  private let devices: Devices?

  init(payloadLimit: Int, invalidTokens: consuming TokenList, devices: Devices?) {
    self.payloadLimit = payloadLimit
    self.invalidTokens = invalidTokens
    self.devices = devices
  }

  func judge(
    _ frame: ReceivedFrame, for topic: Topic, by reader: borrowing FrameReader
  ) -> Verdict {
    if topic.text.count == 0 { return .refused(.missingTopic, .noTopic) }
    guard topic.text.count <= Self.topicBytesMax else {
      return .refused(.invalidTopicSize, .topic(bytes: topic.text.count))
    }
    // Inferred: commands 0 and 1 can leave a token out only by an empty one, so that an empty one is a missing one.
    guard let token = frame.token, token.count > 0 else {
      return .refused(.missingDeviceToken, .noToken)
    }
    guard token.count == DeviceToken.byteCount else {
      if DeviceToken(hex: reader.bytes(token)) != nil {
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
    switch devices?.address(reader.bytes(token), topicDigest: topic.digest) {
    case nil: destination = .anybody
    case .app(let app, let device)?: destination = .app(app, device)
    case .gone?: destination = .gone(topic)
    case .invalid(let problem)?: return .refused(.invalidToken, .tokenInvalid(problem))
    }
    do throws(PayloadProblem) {
      let summary = try PayloadSummary(reader.bytes(payload))
      return judge(frame.priority, of: summary, destination)
    } catch {
      return .refused(.processingError, .payload(error))
    }
  }

  private func judge(
    _ priority: UInt8?, of summary: PayloadSummary, _ destination: Destination
  ) -> Verdict {
    switch priority {
    // Without the item 10 is only implied, and a silent notification is not refused for it.
    case nil, 5: .accepted(summary, destination)
    case 10:
      summary.isSilent
        ? .refused(.processingError, .silentAtOnce) : .accepted(summary, destination)
    case let other?: .refused(.processingError, .priority(other))
    }
  }

  /// Whether a token of 32 bytes is one of those that are always refused.
  func isInvalid(_ token: Span<UInt8>) -> Bool {
    var bits: UInt8 = 0
    for index in 0..<token.count { bits |= token[index] }
    return bits == 0 || invalidTokens.contains(token)
  }
}

/// The topic of a connection: the app whose notifications its certificate may send.
final class Topic {
  var text: Span<UInt8> { @_lifetime(immortal) get { CString.span(string.pointer) } }
  private let string: CString
  let digest: UInt64

  init(_ text: Span<UInt8>) {
    digest = TokenContent.digest(topic: text)
    string = CString(text)
  }

  convenience init(of stream: borrowing TLSStream) {
    var text = Text(capacity: 128)
    stream.writeTopic(in: &text)
    self.init(text.bytes)
  }
}

/// Where a notification goes.
enum Destination {
  /// To somebody who is always there, whatever the token.
  case anybody
  case app(Installation, Device)
  /// To a device of this sandbox's that is not there any more.
  case gone(Topic)
}

/// What is decided.
enum Verdict {
  case accepted(PayloadSummary, Destination)
  case refused(Status, Objection)
}

/// Why a notification is refused, in more detail than its status.
enum Objection {
  case noTopic
  case topic(bytes: Int)
  case noToken
  case token(bytes: Int)
  case tokenInHex
  case tokenListed
  case tokenInvalid(TokenProblem)
  case noPayload
  case payloadSize(bytes: Int, limit: Int)
  case payload(PayloadProblem)
  case priority(UInt8)
  case silentAtOnce
  /// The push type demands that the topic ends so.
  case suffix(PushType)
  case words(StaticString)
  /// It was to be refused, whatever it is.
  case fault
  case frame(FrameProblem)

  func describe(in text: inout Text) {
    switch self {
    case .noTopic: text.append("the client's certificate bears no topic")
    case .topic(let bytes):
      text.append("the topic, of ", bytes)
      text.append(" bytes, is longer than 100, or not all letters, digits, \".\", \"_\" and \"-\"")
    case .noToken: text.append("the frame has no device token")
    case .token(let bytes):
      text.append("the device token has ", bytes)
      text.append(bytes == 1 ? " byte instead of 32" : " bytes instead of 32")
      text.append(" (agents send such a frame to prove what came before it)")
    case .tokenInHex:
      text.append(
        "the device token is sent as 64 hex digits: send the 32 bytes that the digits stand for (hex decoded)"
      )
    case .tokenListed: text.append("the device token is one of those to be refused")
    case .tokenInvalid(let problem): text.append(problem.text)
    case .noPayload: text.append("the frame has no payload")
    case .payloadSize(let bytes, let limit):
      text.append("the payload has ", bytes)
      text.append(" bytes, and may have 1 to ", limit)
    case .payload(let problem): problem.describe(in: &text)
    case .priority(let priority):
      text.append("priority ", priority, " is neither 10 nor 5")
    case .suffix(let type):
      text.append("the topic of a push of type ", type.name)
      text.append(" must end with ", type.topicSuffix)
    case .words(let words): text.append(words)
    case .silentAtOnce:
      text.append("priority 10, and nothing but content-available to deliver: use priority 5")
    case .fault: text.append("a fault is played; nothing is wrong with it")
    case .frame(let problem): problem.describe(in: &text)
    }
  }
}
