import TinyPush

/// Makes a notification of a text and the parameters of its request.
public enum TextMessage {
  /// Appends the notification: one JSON object in one line.
  ///
  /// Values are not checked here: the check of the notification names what is wrong with them. The
  /// agent shortens a text that is too long, since its sender may not look at answers.
  ///
  /// - Parameters:
  ///   - body: the text. Line ends after it are left out. Empty: `message` has the text, if any.
  ///   - list: the name of the recipients file; empty: `default`, unless there is a token.
  public static func append(
    _ body: Span<UInt8>, to list: Span<UInt8>, _ options: borrowing MessageOptions,
    in line: inout Text
  ) {
    line.beginObject()
    appendRecipients(list, options, in: &line)
    options.with(.collapseID) { line.member("collapse-id", string: $0) }
    appendDelivery(options, in: &line)
    line.key("payload")
    line.beginObject()
    line.key("aps")
    line.beginObject()
    appendAlert(body, options, in: &line)
    options.with(.sound) { line.member("sound", string: $0) }
    options.with(.badge) { line.member("badge", digits: $0) }
    options.with(.level) { line.member("interruption-level", string: $0) }
    line.endObject()
    options.with(.click) { line.member("url", string: $0) }
    line.endObject()
    line.endLine()
  }

  /// Returns whether a text is a notification or a payload in JSON, sent with another media type.
  public static func isNotification(_ body: Span<UInt8>) -> Bool {
    if Payload.isNotification(body) { return true }
    var members = MemberReader(body, at: 0)
    while let member = members.next(body) {
      if body.extracting(member.key).equals("aps") { return true }
    }
    return false
  }

  static func appendRecipients(
    _ list: Span<UInt8>, _ options: borrowing MessageOptions, in line: inout Text
  ) {
    if list.count > 0 {
      line.key("to")
      line.beginArray()
      line.element(string: list)
      line.endArray()
    } else if options.tokens.count == 0 {
      line.member("to", string: Notification.defaultList.span)
    }
    if options.tokens.count > 0 {
      line.key("tokens")
      line.beginArray()
      line.append(options.tokens)
      line.endArray()
    }
  }

  static func appendDelivery(_ options: borrowing MessageOptions, in line: inout Text) {
    options.with(.ttl) { line.member("ttl", seconds: $0) }
    options.with(.priority) { line.member("priority", digits: $0) }
    line.member("trim", bool: true)
  }

  private static func appendAlert(
    _ body: Span<UInt8>, _ options: borrowing MessageOptions, in line: inout Text
  ) {
    // More than a payload can have: the agent trims it further.
    var end = min(body.count, 2 * Rules.payloadBytes)
    while end > 0, body[end - 1] == .lineFeed || body[end - 1] == .carriageReturn { end -= 1 }
    let text = body.extracting(0..<end)
    let hasBody = text.count > 0 || options.has(.message)
    guard options.has(.title) || options.has(.subtitle) else {
      guard hasBody else { return }
      line.key("alert")
      return append(text, options, in: &line)
    }
    line.key("alert")
    line.beginObject()
    options.with(.title) { line.member("title", string: $0) }
    options.with(.subtitle) { line.member("subtitle", string: $0) }
    if hasBody {
      line.key("body")
      append(text, options, in: &line)
    }
    line.endObject()
  }

  private static func append(
    _ text: Span<UInt8>, _ options: borrowing MessageOptions, in line: inout Text
  ) {
    if text.count > 0 {
      line.append(json: text)
    } else {
      options.with(.message) { line.append(json: $0) }
    }
  }
}

extension Text {
  /// Appends a member whose value is a number of seconds, given with a unit or without: `1h`.
  mutating func member(_ name: StaticString, seconds value: Span<UInt8>) {
    let units: WordList = "s m h d"
    let scales: [4 of UInt64] = [1, 60, 3600, 86_400]
    guard value.count >= 2, value.count <= 10,
      let unit = units.index(of: value.extracting(value.count - 1..<value.count))
    else { return member(name, digits: value) }
    var number: UInt64 = 0
    for index in 0..<value.count - 1 {
      guard value[index].isDigit else { return member(name, digits: value) }
      number = number * 10 + UInt64(value[index].digitValue)
    }
    member(name, number: number * scales[unit])
  }

  /// Appends a member whose value is a number.
  ///
  /// A value that is no number becomes a string, so that the check of the notification refuses it
  /// with its reason.
  mutating func member(_ name: StaticString, digits value: Span<UInt8>) {
    var isNumber = value.count > 0 && value.count <= 10
    for index in value.indices where !value[index].isDigit { isNumber = false }
    // A number has no zeros in front.
    if value.count > 1, value[0] == UInt8(ascii: "0") { isNumber = false }
    if isNumber { member(name, raw: value) } else { member(name, string: value) }
  }
}
