import TinyPush

/// Finds the recipients of a notification that are suppressed.
public struct SuppressedRecipients: ~Copyable {
  private var suppressed: SuppressionLists
  private let lists: RecipientsLookup

  /// Opens the suppression list; if it cannot be read, no token counts as suppressed.
  public init(_ config: borrowing Config) {
    suppressed = SuppressionLists(state: config.state.pointer)
    lists = RecipientsLookup(config.recipients.span, config.courier.rules.service)
  }

  deinit {}

  /// Returns since when and why a token is suppressed; nil: it is not.
  public mutating func record(of token: TokenIdentity) -> SuppressionRecord? {
    suppressed.find(token).flatMap { $0.forbids() ? $0 : nil }
  }

  /// Calls `body` with each suppressed recipient of a notification, and its record.
  ///
  /// - Parameter text: the text with the notification.
  public mutating func forEach(
    of notification: Notification, in text: Span<UInt8>,
    _ body: (DeviceToken, SuppressionRecord) -> Void
  ) {
    // Without a suppression list the recipients files need not be read.
    guard !suppressed.isEmpty else { return }
    Self.forEach(of: notification, in: text, &suppressed, lists, body)
  }

  @inline(never)
  private static func forEach(
    of notification: Notification, in text: Span<UInt8>, _ suppressed: inout SuppressionLists,
    _ lists: borrowing RecipientsLookup, _ body: (DeviceToken, SuppressionRecord) -> Void
  ) {
    let registered = notification.registered
    var digits = notification.firstToken
    for number in 0..<notification.tokens {
      if number > 0 { digits = notification.nextString(after: digits.upperBound, in: text) }
      if let token = DeviceToken(ofRecipient: text.extracting(digits)) {
        find(token, registered, &suppressed, body)
      }
    }
    var name = notification.firstList
    for number in 0..<notification.lists {
      if number > 0 { name = notification.nextString(after: name.upperBound, in: text) }
      let list = notification.isForDefault ? Notification.defaultList.span : text.extracting(name)
      _ = lists.forEachRecipient(in: list) { recipient in
        find(recipient.token, max(registered, recipient.registered), &suppressed, body)
        return true
      }
    }
  }

  private static func find(
    _ token: DeviceToken, _ registered: UInt32, _ suppressed: inout SuppressionLists,
    _ body: (DeviceToken, SuppressionRecord) -> Void
  ) {
    guard let record = suppressed.find(token.identity), record.forbids(registered: registered)
    else {
      return
    }
    body(token, record)
  }
}
