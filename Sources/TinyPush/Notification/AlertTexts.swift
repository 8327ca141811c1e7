/// The texts of an alert: the values of its members, or the alert itself if it is a string.
///
/// An empty range: there is none. The JSON must be valid.
package struct AlertTexts {
  package private(set) var title = 0..<0
  package private(set) var subtitle = 0..<0
  package private(set) var body = 0..<0
  /// Whether the alert names a text of the app by its key.
  package private(set) var hasKeys = false

  /// Makes the texts of an absent alert.
  package init() {}

  /// Reads an alert: a string, or an object.
  package init(_ text: Span<UInt8>, _ alert: Range<Int>) {
    guard text[alert.lowerBound] == .openBrace else {
      body = alert
      return
    }
    var members = JSONMembers(text, at: alert.lowerBound)
    while let member = members.next(text) {
      switch PayloadKey(spelled: text.extracting(member.key), isInAlert: true) {
      case .title: title = member.value
      case .subtitle: subtitle = member.value
      case .body: body = member.value
      case .titleLocKey, .subtitleLocKey, .locKey: hasKeys = true
      default: break
      }
    }
  }
}
