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

  /// Reads an alert; the scanner is at its value.
  package init(_ text: Span<UInt8>, by scanner: inout JSONScanner) throws(JSONProblem) {
    let start = scanner.index
    guard text[start] == .openBrace else {
      try scanner.skipValue(text)
      body = start..<scanner.index
      return
    }
    guard try scanner.openObject(text) else { return }
    repeat {
      let key = PayloadKey(spelled: text.extracting(try scanner.key(text)), isInAlert: true)
      _ = try scanner.peek(text)
      let start = scanner.index
      try scanner.skipValue(text)
      let value = start..<scanner.index
      switch key {
      case .title: title = value
      case .subtitle: subtitle = value
      case .body: body = value
      case .titleLocKey, .subtitleLocKey, .locKey: hasKeys = true
      default: break
      }
    } while try scanner.nextMember(text)
  }
}
