import TinyPush

/// An app on a device: its name, what it brought along, and the badge on its icon.
///
/// ```swift
/// let app = App(topic: topic, directory: "…/devices/kitchen/com.example.cellar")
/// app.take(summary, payload)                        // nobody looks
/// let presentation = app.receive(summary, payload)  // somebody does:
/// card.write(presentation, of: app, on: name, at: time, lateSeconds: 180, to: &out)
/// presentation.write(of: app, as: line, to: &out)
/// ```
final class App {
  /// The directory of its files, or empty; see ``AppBundle``.
  private let directory: CString
  private let topicText: CString
  /// On its icon; 0: none.
  private(set) var badge: UInt64 = 0

  /// - Parameters:
  ///   - topic: of the certificate whose notifications reach it, such as `com.example.cellar`.
  ///   - directory: need not exist, nor hold any file; nil: it has none.
  init(topic: Span<UInt8>, directory: UnsafePointer<CChar>?) {
    topicText = CString(topic)
    self.directory = CString(cString: directory ?? ("" as StaticString).cString)
  }

  var topic: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(topicText.pointer) }
  }

  /// What a person calls it: the last part of its topic.
  var name: Span<UInt8> {
    @_lifetime(immortal) get {
      let topic = topic
      var start = topic.count
      while start > 0, topic[start - 1] != 0x2E { start -= 1 }
      return topic.extracting(start...)
    }
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
