import CommandArguments
import TinyPush
import TinyPushAgent

/// Warnings for the sender of a notification about recipients that are suppressed at present.
struct SuppressionWarnings: ~Copyable {
  /// The most tokens that are printed; further ones are only counted.
  private static let shownMax = 20

  private var recipients: SuppressedRecipients
  private var count = 0

  init(_ config: borrowing Config) { recipients = SuppressedRecipients(config) }

  deinit {}

  @inline(never)
  mutating func look(
    at notification: Notification, in text: Span<UInt8>, _ arguments: borrowing Arguments
  ) {
    var count = count
    recipients.forEach(of: notification, in: text) { token, isBrowser, record in
      count += 1
      guard count <= Self.shownMax else { return }
      var text = Text()
      let shown = isBrowser ? RecipientChange.digitBytesMin : token.count
      text.append(isBrowser ? "browser " : "token ")
      text.append(hex: token.bytes.extracting(0..<shown))
      text.append(" has been suppressed since ")
      text.append(utc: record.time)
      text.append(" (", record.reason.text)
      if record.reason.needsInvitation(isBrowser: isBrowser) {
        text.append("); the browser needs a new invitation: tinypush recipient invite NAME")
      } else {
        text.append("); to send to it again: tinypush token register ")
        text.append(hex: token.bytes)
      }
      arguments.warn(text)
    }
    self.count = count
  }

  func end(_ arguments: borrowing Arguments) {
    guard count > Self.shownMax else { return }
    var text = Text()
    text.append("suppressed tokens in all: ", count)
    arguments.warn(text)
  }
}
