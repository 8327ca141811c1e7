import TinyPush
import TinyPushAgent

/// An app on a device: its topic, its files, and the badge on its icon.
///
/// ```swift
/// let app = App(topic: topic, directory: "…/devices/kitchen/com.example.cellar")
/// app.take(summary, payload)                        // changes only the badge
/// let presentation = app.receive(summary, payload)  // also returns what to show:
/// card.write(
///   presentation, of: topic, badge: app.badge, on: device, at: time, lateSeconds: 180, to: &out)
/// presentation.write(badge: app.badge, to: &out)
/// ```
final class App {
  /// The directory of the app's files, or empty; see ``AppBundle``.
  private let directory: CString
  private let topicText: CString
  /// The number on the icon; 0: none.
  private(set) var badge: UInt64

  /// Creates an app.
  ///
  /// - Parameters:
  ///   - topic: the topic of notifications to the app, such as `com.example.cellar`.
  ///   - directory: the directory of the app's files, which need not exist; nil if absent.
  ///   - badge: the number on the icon.
  init(topic: Span<UInt8>, directory: UnsafePointer<CChar>?, badge: UInt64 = 0) {
    self.badge = badge
    topicText = CString(topic)
    self.directory = CString(cString: directory ?? ("" as StaticString).cString)
  }

  var topic: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(topicText.pointer) }
  }

  /// Takes a notification, which may change the badge, and returns what the device shows.
  func receive(_ summary: PayloadSummary, _ payload: Span<UInt8>) -> Presentation {
    var bundle = AppBundle(directory.isEmpty ? nil : directory.pointer, for: summary)
    if summary.ciphertext != nil {
      if let text = SealedPayload.open(
        payload, summary, key: bundle.encryptionKey.bytes.trimmed()),
        let shown = present(text, of: bundle)
      {
        return shown
      }
      bundle.noteSealed()
    }
    take(summary, payload)
    return Presentation(summary, payload, of: bundle)
  }

  /// Takes a decrypted payload; nil: it cannot be read.
  private func present(_ text: borrowing Text, of bundle: borrowing AppBundle) -> Presentation? {
    do throws(PayloadProblem) {
      let summary = try PayloadSummary(text.bytes)
      take(summary, text.bytes)
      return Presentation(summary, text.bytes, of: bundle, wasSealed: true)
    } catch {
      return nil
    }
  }

  /// Takes a notification without showing it: only the badge may change.
  func take(_ summary: PayloadSummary, _ payload: Span<UInt8>) {
    if let number = summary.badgeNumber(payload) { badge = number }
  }
}
