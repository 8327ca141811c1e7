/// A payload as it is sent to one device.
///
/// The alert is in the device's language, and its text is shortened if necessary.
package struct Rendition: BitwiseCopyable {
  /// The number of bytes that are sent: without white space.
  package private(set) var bytes: Int
  /// The alert that is sent.
  private(set) var alert: Alert
  /// The index at which the alert's text is cut and an ellipsis appended; nil: the text is not cut.
  private(set) var cut: Int?
  /// Whether the payload differs from the one in the text.
  package private(set) var isChanged = false

  package static let ellipsis: StaticString = "…"
  /// The key to insert before an alert if the payload has none.
  static let key: StaticString = "\"alert\":"

  /// Takes the payload unchanged.
  @inline(__always)
  init(_ payload: Payload) {
    bytes = payload.bytes
    alert = payload.alert
  }

  /// Replaces the alert of the payload.
  init(_ payload: Payload, _ alert: Alert) {
    self.alert = alert
    isChanged = true
    bytes = payload.bytes - payload.alert.bytes + alert.bytes
    guard payload.alert.range.isEmpty else { return }
    bytes += Self.key.utf8CodeUnitCount + (payload.isApsEmpty ? 0 : 1)
  }

  /// Makes the payload for a device of a language.
  ///
  /// The alert is the one that a lookup of the language finds, else the one in the default
  /// language, else the payload's own.
  @inline(__always)
  package init(
    _ notification: Notification, for language: LanguageTag?, in text: Span<UInt8>, _ rules: Rules
  ) {
    self.init(notification.payload)
    if !notification.localized.isEmpty { localize(notification, language, text, rules) }
    guard notification.isTrimmed else { return }
    let limit = notification.payloadLimit(rules)
    if bytes > limit { _ = trim(to: limit, in: text) }
  }

  @inline(never)
  private mutating func localize(
    _ notification: Notification, _ language: LanguageTag?, _ text: Span<UInt8>, _ rules: Rules
  ) {
    let localized = notification.localized
    let alert =
      language.flatMap { Localization.alert(for: $0, in: localized, of: text) }
      ?? Localization.alert(for: rules.defaultLanguage, in: localized, of: text)
    if let alert { self = Rendition(notification.payload, alert) }
  }

  /// Shortens the alert's text so that the payload fits; returns whether that is possible.
  ///
  /// The cut is between two characters, and at least one character must remain.
  mutating func trim(to limit: Int, in text: Span<UInt8>) -> Bool {
    let whole = alert.text
    let room = whole.count - (bytes - limit) - Self.ellipsis.utf8CodeUnitCount
    guard let end = JSONUnit.cut(whole, to: room, in: text) else { return false }
    cut = end
    isChanged = true
    bytes -= whole.upperBound - end - Self.ellipsis.utf8CodeUnitCount
    return true
  }
}
