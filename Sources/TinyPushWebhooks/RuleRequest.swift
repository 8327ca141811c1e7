import TinyPush

/// A request of which rules make notifications.
public enum RuleRequest {
  /// The longest path that rules are for.
  public static var pathBytesMax: Int { 1024 }

  /// Appends the field `payload` with which a form begins, in which GitHub sends its JSON.
  ///
  /// - Returns: whether the body is such a form.
  public static func appendPayload(ofForm body: Span<UInt8>, to text: inout Text) -> Bool {
    var reader = FormReader()
    guard let field = reader.next(in: body), body.extracting(field.name).equals("payload") else {
      return false
    }
    return FormReader.decode(body.extracting(field.value), to: &text)
  }

  /// Returns the mistake in a body that is meant as JSON; nil: it is JSON, or a text.
  ///
  /// Not all programs name the media type of their JSON. A text does not begin with a brace or a
  /// bracket, and goes to the rules as it is.
  ///
  /// - Parameter isJSON: whether the media type is that of JSON; false: it is that of a text; nil: it
  ///   says nothing.
  public static func mistake(in body: Span<UInt8>, isJSON: Bool?) -> Finding? {
    guard isJSON != false else { return nil }
    var start = 0
    while start < body.count, body[start] <= .space { start += 1 }
    let isMeant = start < body.count && (body[start] == .openBrace || body[start] == .openBracket)
    guard isJSON == true || isMeant else { return nil }
    return Finding.inJSON(body)
  }
}
