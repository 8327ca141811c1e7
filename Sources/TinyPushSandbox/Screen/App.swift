import TinyPush
import TinyPushAgent

/// An app on a device: its topic, what it brought along, and the badge on its icon.
///
/// ```swift
/// let app = App(topic: topic, directory: "…/devices/kitchen/com.example.cellar")
/// app.take(summary, payload)                        // nobody looks
/// let presentation = app.receive(summary, payload)  // somebody does:
/// card.write(presentation, of: topic, badge: app.badge, on: device, at: time, lateSeconds: 180, to: &out)
/// presentation.write(badge: app.badge, to: &out)
/// ```
final class App {
  /// The directory of its files, or empty; see ``AppBundle``.
  private let directory: CString
  private let topicText: CString
  /// On its icon; 0: none.
  private(set) var badge: UInt64

  /// - Parameters:
  ///   - topic: of the certificate whose notifications reach it, such as `com.example.cellar`.
  ///   - directory: need not exist, nor hold any file; nil: it has none.
  ///   - badge: on its icon already.
  init(topic: Span<UInt8>, directory: UnsafePointer<CChar>?, badge: UInt64 = 0) {
    self.badge = badge
    topicText = CString(topic)
    self.directory = CString(cString: directory ?? ("" as StaticString).cString)
  }

  var topic: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(topicText.pointer) }
  }

  /// Takes a notification: its badge is on the icon from now on. Returns what the device shows of it.
  func receive(_ summary: PayloadSummary, _ payload: Span<UInt8>) -> Presentation {
    take(summary, payload)
    let bundle = AppBundle(directory.isEmpty ? nil : directory.pointer, for: summary)
    return Presentation(summary, payload, of: bundle)
  }

  /// Takes a notification while nobody looks: only the badge remains of it.
  func take(_ summary: PayloadSummary, _ payload: Span<UInt8>) {
    if let number = summary.badgeNumber(payload) { badge = number }
  }
}
