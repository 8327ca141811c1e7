/// A payload as it goes out to one device: with the alert in the device's language, its text shortened where it must be.
package struct Rendition {
  /// As it goes out: without white space.
  package private(set) var bytes: Int
  /// Stands in the place of the payload's own alert.
  private(set) var alert: Alert
  /// Where the alert's text is cut, and followed by an ellipsis; nil: nowhere.
  private(set) var cut: Int?
  /// Whether it is anything but the payload as it stands.
  package private(set) var isChanged = false

  static let ellipsis: StaticString = "…"
  /// What an alert needs besides, where the payload has none.
  static let key: StaticString = "\"alert\":"

  /// The payload as it stands.
  @inline(__always)
  init(_ payload: Payload) {
    bytes = payload.bytes
    alert = payload.alert
  }

  /// With another alert.
  init(_ payload: Payload, _ alert: Alert) {
    self.alert = alert
    isChanged = true
    bytes = payload.bytes - payload.alert.bytes + alert.bytes
    guard payload.alert.range.isEmpty else { return }
    bytes += Self.key.utf8CodeUnitCount + (payload.isApsEmpty ? 0 : 1)
  }

  /// For a device of this language: as a lookup finds it, else in the default language, else as the payload has it.
  @inline(__always)
  package init(
    _ notification: Notification, for language: LanguageTag?, in text: Span<UInt8>, _ rules: Rules
  ) {
    self.init(notification.payload)
    if !notification.localized.isEmpty { localize(notification, language, text, rules) }
    guard notification.isTrimmed else { return }
    let limit = rules.payloadLimit(for: notification.pushType)
    if bytes > limit { _ = trim(to: limit, in: text) }
  }

  private mutating func localize(
    _ notification: Notification, _ language: LanguageTag?, _ text: Span<UInt8>, _ rules: Rules
  ) {
    let localized = notification.localized
    let alert =
      language.flatMap { Localization.alert(for: $0, in: localized, of: text) }
      ?? Localization.alert(for: rules.defaultLanguage, in: localized, of: text)
    if let alert { self = Rendition(notification.payload, alert) }
  }

  /// Shortens the alert's text until it fits, between two characters. Whether that can be done and leaves at least one.
  mutating func trim(to limit: Int, in text: Span<UInt8>) -> Bool {
    let whole = alert.text
    let room = whole.count - (bytes - limit) - Self.ellipsis.utf8CodeUnitCount
    var index = whole.lowerBound
    var end: Int?
    var wasJoiner = false
    var indicators = 0
    while index < whole.upperBound, index - whole.lowerBound <= room {
      let unit = JSONUnit(in: text, at: index)
      let belongs =
        unit.isExtending || wasJoiner || unit.isRegionalIndicator && indicators % 2 == 1
      if !belongs, index > whole.lowerBound, !isSpace(before: index, in: text) { end = index }
      wasJoiner = unit.isJoiner
      indicators = unit.isRegionalIndicator ? indicators + 1 : 0
      index += unit.length
    }
    guard let end else { return false }
    cut = end
    isChanged = true
    bytes -= whole.upperBound - end - Self.ellipsis.utf8CodeUnitCount
    return true
  }

  private func isSpace(before index: Int, in text: Span<UInt8>) -> Bool {
    text[index - 1] == .space
  }
}
