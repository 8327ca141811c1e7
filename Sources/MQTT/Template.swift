import TinyPush

/// A text with expressions in braces, such as `{topic.2}: {payload.state}`.
///
/// `{topic}` is the topic, `{topic.2}` its second level, `{payload}` the payload, and
/// `{payload.a.0.b}` a value in a JSON payload. `{{` and `}}` are braces. An expression without a
/// value stands for nothing.
enum Template {
  /// A mistake in a template or an expression.
  enum Problem: Error {
    case unclosed
    case closedOnly
    case unknown
  }

  /// Checks a template.
  static func check(_ template: Span<UInt8>) throws(Problem) {
    var index = 0
    while index < template.count {
      let byte = template[index]
      index += 1
      guard byte == .openBrace || byte == .closeBrace else { continue }
      if index < template.count, template[index] == byte {
        index += 1
        continue
      }
      guard byte == .openBrace else { throw .closedOnly }
      let start = index
      while index < template.count, template[index] != .closeBrace { index += 1 }
      guard index < template.count else { throw .unclosed }
      guard isExpression(template.extracting(start..<index)) else { throw .unknown }
      index += 1
    }
  }

  /// Whether a text is an expression: `topic`, `topic.N`, `payload` or `payload.PATH`.
  static func isExpression(_ text: Span<UInt8>) -> Bool {
    if text.equals("topic") || text.equals("payload") { return true }
    if let rest = rest(of: text, behind: "payload.") { return !rest.isEmpty }
    guard let rest = rest(of: text, behind: "topic.") else { return false }
    return level(text.extracting(rest)) != nil
  }

  /// Appends a checked template with its expressions replaced by values of a message.
  static func append(
    _ template: Span<UInt8>, of message: MessageText, to text: inout Text
  ) {
    var index = 0
    var plain = 0
    while index < template.count {
      let byte = template[index]
      index += 1
      guard byte == .openBrace || byte == .closeBrace else { continue }
      if index < template.count, template[index] == byte {
        text.append(bytes: template.extracting(plain..<index))
        index += 1
        plain = index
        continue
      }
      text.append(bytes: template.extracting(plain..<index - 1))
      let start = index
      while index < template.count, template[index] != .closeBrace { index += 1 }
      _ = append(expression: template.extracting(start..<index), of: message, to: &text)
      index += 1
      plain = index < template.count ? index : template.count
    }
    text.append(bytes: template.extracting(plain..<template.count))
  }

  /// Appends the value of an expression; whether there is one.
  ///
  /// A JSON string is appended as it reads, any other value as it is written.
  static func append(
    expression: Span<UInt8>, of message: MessageText, to text: inout Text
  ) -> Bool {
    if expression.equals("topic") {
      text.append(bytes: message.topic)
      return true
    }
    if expression.equals("payload") {
      text.append(bytes: message.payload)
      return true
    }
    if let rest = rest(of: expression, behind: "topic."),
      let number = level(expression.extracting(rest))
    {
      guard let level = TopicFilter.level(number, of: message.topic) else { return false }
      text.append(bytes: message.topic.extracting(level))
      return true
    }
    guard message.isJSON, let rest = rest(of: expression, behind: "payload."),
      let value = PayloadPath.find(expression.extracting(rest), in: message.payload)
    else { return false }
    if message.payload[value.lowerBound] == .quote {
      let string = message.payload.extracting(value.lowerBound + 1..<value.upperBound - 1)
      var reader = JSONStringReader()
      while let byte = reader.next(in: string) { text.append(byte: byte) }
    } else {
      text.append(bytes: message.payload.extracting(value))
    }
    return true
  }

  private static func rest(of text: Span<UInt8>, behind prefix: StaticString) -> Range<Int>? {
    text.begins(with: prefix.span) ? prefix.utf8CodeUnitCount..<text.count : nil
  }

  /// The number of a level, from 1 to 99.
  private static func level(_ text: Span<UInt8>) -> Int? {
    guard text.count == 1 || text.count == 2, text[0] != UInt8(ascii: "0") else { return nil }
    var value = 0
    for index in text.indices {
      guard text[index].isDigit else { return nil }
      value = value * 10 + Int(text[index].digitValue)
    }
    return value
  }
}

/// Topic and payload of a message.
struct MessageText: ~Escapable {
  let topic: Span<UInt8>
  let payload: Span<UInt8>
  /// Whether the payload is one JSON value.
  let isJSON: Bool

  /// Creates the text of a message.
  @_lifetime(copy topic, copy payload)
  init(topic: Span<UInt8>, payload: Span<UInt8>) {
    self.topic = topic
    self.payload = payload
    isJSON = PayloadPath.isJSON(payload)
  }
}
