import CMbed
import TinyPush

/// A recipient that a person or a page names: a device token, or a browser's subscription.
public struct NamedRecipient: ~Copyable {
  /// Why a text names no recipient.
  public enum Problem: Error {
    case token
    case subscription(Subscription.Problem)
  }

  /// The most bytes of a text: a subscription in JSON, with spaces and what browsers add.
  public static let bytesMax = 8192

  /// The device token, or what stands for the subscription.
  public let token: DeviceToken
  /// The subscription as one word; empty: a device token.
  private let word: Text

  /// Reads a device token in any form, or a subscription in either form.
  ///
  /// - Parameter isNew: whether to check that messages can be encrypted for the subscription.
  @inline(never)
  public init(_ text: Span<UInt8>, isNew: Bool) throws(Problem) {
    let text = text.trimmed()
    guard Subscription.isMeant(text) else {
      guard let token = DeviceToken(printed: text) else { throw .token }
      self.token = token
      word = Text(capacity: 0)
      return
    }
    let subscription: Subscription
    do throws(Subscription.Problem) { subscription = try Subscription(text) } catch {
      throw .subscription(error)
    }
    let point = subscription.point(in: text)
    let isGood = point.span.withUnsafeBufferPointer { cmbed_point_is_good($0.baseAddress) != 0 }
    guard !isNew || isGood else { throw .subscription(.key) }
    var word = Text(capacity: Subscription.wordBytesMax)
    subscription.append(of: text, to: &word)
    token = subscription.token(in: text)
    self.word = word
  }

  deinit {}

  /// Whether it is a browser's subscription.
  public var isSubscription: Bool { word.count > 0 }

  /// Whether a device token, if it is one, has a size that a protocol knows.
  public func canBeSent(by pushProtocol: PushProtocol) -> Bool {
    pushProtocol == .http2 || isSubscription || token.count == Rules.tokenBytesOfBinary
  }

  /// Appends what may be shown: a device token, or what stands for a subscription, and its service.
  public borrowing func append(to text: inout Text) {
    guard isSubscription else { return text.append(hex: token.bytes) }
    text.append(hex: token.bytes.extracting(0..<RecipientChange.digitBytesMin))
    text.append(" ")
    Subscription.appendService(of: word.bytes, to: &text)
  }

  /// Returns the change that adds it to a recipients file.
  public consuming func addition(
    language: consuming RecipientChange.Detail, comment: consuming RecipientChange.Detail
  ) -> RecipientChange {
    let now = UInt32(clamping: Clock.time().wallSeconds ?? 0)
    return RecipientChange(
      add: token, word: Text(word.bytes), registered: now, language: language, comment: comment)
  }
}
