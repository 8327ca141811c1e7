import TinyPush

/// Makes a notification of a text and the parameters of its request.
public enum TextMessage {
  /// Appends the notification: one JSON object in one line.
  ///
  /// The agent shortens a text that is too long, since its sender may not look at answers.
  ///
  /// - Parameters:
  ///   - body: the text. Line ends after it are left out. Empty: `message` has the text, if any.
  ///   - list: the name of the recipients file; empty: `default`, unless there is a token.
  public static func append(
    _ body: Span<UInt8>, to list: Span<UInt8>, _ options: inout MessageOptions, in line: inout Text
  ) {
    var end = body.count
    while end > 0, body[end - 1] == .lineFeed || body[end - 1] == .carriageReturn { end -= 1 }
    if end > 0 { options.draft.set(.alert, to: body.extracting(0..<end)) }
    address(&options.draft, to: list)
    options.draft.append(to: &line)
  }

  /// Adds the recipients file, and lets the agent shorten the text.
  static func address(_ draft: inout Draft, to list: Span<UInt8>) {
    if list.count > 0 { draft.add(list: list) }
    draft.set(.trim, to: ("true" as StaticString).span)
  }

  /// Returns whether a text is a notification or a payload in JSON, sent with another media type.
  public static func isNotification(_ body: Span<UInt8>) -> Bool {
    if Payload.isNotification(body) { return true }
    var members = JSONMembers(body)
    while let member = members.next(body) {
      if body.extracting(member.key).equals("aps") { return true }
    }
    return false
  }
}
