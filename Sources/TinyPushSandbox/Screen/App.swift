import CLinux
import TinyPush
import TinyPushAgent

/// An app on a device: its topic, its encryption key, and the badge on its icon.
///
/// ```swift
/// let app = App(topic: topic)
/// app.take(summary, payload)                        // changes only the badge
/// let presentation = app.receive(summary, payload)  // also returns what to show:
/// card.write(
///   presentation, of: topic, badge: app.badge, on: device, at: time, lateSeconds: 180, to: &out)
/// presentation.write(badge: app.badge, to: &out)
/// ```
final class App {
  /// The file with the key that is set in the app Bark, which need not exist; empty: none.
  private let keyFile: Text
  private let topicText: CString
  /// The number on the icon; 0: none.
  private(set) var badge: UInt64

  /// Creates an app.
  ///
  /// - Parameters:
  ///   - topic: the topic of notifications to the app, such as `com.example.cellar`.
  ///   - keyFile: the file with the key that is set in the app, which need not exist; empty: none.
  ///   - badge: the number on the icon.
  init(topic: Span<UInt8>, keyFile: Span<UInt8> = Span(), badge: UInt64 = 0) {
    self.badge = badge
    topicText = CString(topic)
    self.keyFile = Text(keyFile)
  }

  var topic: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(topicText.pointer) }
  }

  /// Takes a notification, which may change the badge, and returns what the device shows.
  func receive(_ summary: PayloadSummary, _ payload: Span<UInt8>) -> Presentation {
    guard summary.ciphertext != nil else {
      take(summary, payload)
      return Presentation(summary, payload)
    }
    var key = Text(capacity: 64)
    let error = keyFile.count > 0 ? Home.read(keyFile, into: &key) : ENOENT
    if let text = SealedPayload.open(payload, summary, key: key.bytes.trimmed()),
      let shown = present(text)
    {
      return shown
    }
    take(summary, payload)
    return Presentation(summary, payload, note: Self.note(error))
  }

  /// Says why the app could not decrypt an alert.
  ///
  /// - Parameter error: why its key could not be read (errno), or 0.
  private static func note(_ error: Int32) -> StaticString {
    switch error {
    case 0: "the alert was encrypted under another key, or in another mode\n"
    case ENOENT: "the alert is encrypted, and the app has no key\n"
    default: "the alert is encrypted, and the app's file encryption-key cannot be read\n"
    }
  }

  /// Takes a decrypted payload; nil: the payload cannot be read.
  private func present(_ payload: borrowing Text) -> Presentation? {
    guard let summary = try? PayloadSummary(payload.bytes) else { return nil }
    take(summary, payload.bytes)
    return Presentation(summary, payload.bytes, wasSealed: true)
  }

  /// Takes a notification without showing it: only the badge may change.
  func take(_ summary: PayloadSummary, _ payload: Span<UInt8>) {
    if let number = summary.badgeNumber(payload) { badge = number }
  }
}
