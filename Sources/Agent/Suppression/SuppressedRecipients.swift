import TinyPush

/// Finds the recipients of a notification to whom the agent would not send it.
public struct SuppressedRecipients: ~Copyable {
  private var suppressed: SuppressionLists
  private let lists: RecipientsLookup

  /// Where the suppression list cannot be read, nothing is known of any token.
  public init(_ config: borrowing Config) {
    suppressed = SuppressionLists(state: config.state.pointer)
    lists = RecipientsLookup(config.recipients.span)
  }

  deinit {}

  /// - Parameters:
  ///   - text: where the notification stands.
  ///   - body: is given what is known of each.
  public mutating func forEach(
    of notification: Notification, in text: Span<UInt8>, _ body: (SuppressionRecord) -> Void
  ) {
    // Most senders need not read their recipients files.
    guard !suppressed.isEmpty else { return }
    Self.forEach(of: notification, in: text, &suppressed, lists, body)
  }

  @inline(never)
  private static func forEach(
    of notification: Notification, in text: Span<UInt8>, _ suppressed: inout SuppressionLists,
    _ lists: borrowing RecipientsLookup, _ body: (SuppressionRecord) -> Void
  ) {
    let registered = notification.registered
    var digits = notification.firstToken..<notification.firstToken + DeviceToken.digitCount
    for number in 0..<notification.tokens {
      if number > 0 { digits = notification.nextString(after: digits.upperBound, in: text) }
      if let token = DeviceToken(hex: text.extracting(digits)) {
        look(at: token, registered, &suppressed, body)
      }
    }
    var name = notification.firstList
    for number in 0..<notification.lists {
      if number > 0 { name = notification.nextString(after: name.upperBound, in: text) }
      let list = notification.isBare ? Notification.defaultList.span : text.extracting(name)
      _ = lists.forEachRecipient(in: list) { token in
        look(at: token, registered, &suppressed, body)
        return true
      }
    }
  }

  private static func look(
    at token: DeviceToken, _ registered: UInt32, _ suppressed: inout SuppressionLists,
    _ body: (SuppressionRecord) -> Void
  ) {
    guard let record = suppressed.find(token), record.forbids(registered: registered) else {
      return
    }
    body(record)
  }
}
