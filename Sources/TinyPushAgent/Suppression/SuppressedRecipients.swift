import TinyPush

/// Finds the recipients of a notification that are suppressed.
public struct SuppressedRecipients: ~Copyable {
  private var suppressed: SuppressionLists
  private let lists: RecipientsFiles

  /// Opens the suppression list; if it cannot be read, no token counts as suppressed.
  public init(_ config: borrowing Config) {
    suppressed = SuppressionLists(state: config.state.pointer)
    lists = RecipientsFiles(config.recipients.span, config.courier.rules.pushProtocol)
  }

  deinit {}

  /// Returns since when and why a token is suppressed; nil: it is not.
  ///
  /// - Parameter registered: when the app last registered the token, in UNIX seconds; 0: not stated.
  public mutating func record(
    of token: TokenIdentity, registered: UInt32 = 0
  ) -> SuppressionRecord? {
    suppressed.find(token).flatMap { $0.forbids(registered: registered) ? $0 : nil }
  }

  /// Counts the recipients in a file up to the first one that is not suppressed.
  @inline(never)
  mutating func count(in list: Span<UInt8>) -> (recipients: Int, reached: Int) {
    Self.count(in: list, lists, &suppressed)
  }

  private static func count(
    in list: Span<UInt8>, _ lists: borrowing RecipientsFiles,
    _ suppressed: inout SuppressionLists
  ) -> (recipients: Int, reached: Int) {
    var (recipients, reached) = (0, 0)
    let error = lists.forEachRecipient(in: list) { recipient in
      recipients += 1
      let record = suppressed.find(recipient.token.identity)
      if record?.forbids(registered: recipient.registered) != true { reached += 1 }
      return reached == 0
    }
    // What this user cannot read may reach somebody.
    return (recipients, error == 0 ? reached : 1)
  }

  /// Calls `body` with each suppressed recipient of a notification, whether that is a browser, and
  /// its record.
  ///
  /// - Parameter text: the text with the notification.
  public mutating func forEach(
    of notification: Notification, in text: Span<UInt8>,
    _ body: (DeviceToken, Bool, SuppressionRecord) -> Void
  ) {
    // Without a suppression list the recipients files need not be read.
    guard !suppressed.isEmpty else { return }
    Self.forEach(of: notification, in: text, &suppressed, lists, body)
  }

  @inline(never)
  private static func forEach(
    of notification: Notification, in text: Span<UInt8>, _ suppressed: inout SuppressionLists,
    _ lists: borrowing RecipientsFiles, _ body: (DeviceToken, Bool, SuppressionRecord) -> Void
  ) {
    let registered = notification.registered
    var digits = notification.firstToken
    for number in 0..<notification.tokens {
      if number > 0 { digits = notification.nextString(after: digits.upperBound, in: text) }
      let recipient = text.extracting(digits)
      if let token = DeviceToken(ofRecipient: recipient) {
        find(
          token, Subscription.isMeant(recipient), registered, &suppressed,
          body)
      }
    }
    notification.forEachList(in: text) { list, _ in
      _ = lists.forEachRecipient(in: list) { recipient in
        find(
          recipient.token, !recipient.subscription.isEmpty,
          max(registered, recipient.registered), &suppressed, body)
        return true
      }
    }
  }

  private static func find(
    _ token: DeviceToken, _ isBrowser: Bool, _ registered: UInt32,
    _ suppressed: inout SuppressionLists, _ body: (DeviceToken, Bool, SuppressionRecord) -> Void
  ) {
    guard let record = suppressed.find(token.identity), record.forbids(registered: registered)
    else {
      return
    }
    body(token, isBrowser, record)
  }
}
