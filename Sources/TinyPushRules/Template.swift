import TinyPush

/// A text with expressions in braces, such as `{topic.2}: {payload.state}`.
///
/// `{topic}` is the topic, `{topic.2}` its second level (of a request: `{path}` and `{path.2}`),
/// `{payload}` the payload, and `{payload.a.0.b}` a value in a JSON payload. `{payload.t:.1f}` rounds
/// a number, and `{payload.contact:true=closed,false=open}` has words for values. `{{` and `}}` are
/// braces. An expression without a value, or with the value null, stands for nothing.
enum Template {
  /// A mistake in a template or an expression.
  enum Problem: Error {
    case unclosed
    case closedOnly
    case unknown
  }

  /// Checks a template.
  static func check(_ template: Span<UInt8>, _ source: RuleSource) throws(Problem) {
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
      let expression = template.extracting(start..<index)
      guard isExpression(expression.extracting(0..<formatStart(of: expression)), source) else {
        throw .unknown
      }
      index += 1
    }
  }

  /// Whether a text is an expression: `topic`, `topic.N`, `payload` or `payload.PATH`.
  static func isExpression(_ text: Span<UInt8>, _ source: RuleSource) -> Bool {
    if text.equals(source.word) || text.equals("payload") { return true }
    if let rest = rest(of: text, behind: "payload") { return rest.count > 0 }
    guard let rest = rest(of: text, behind: source.word) else { return false }
    return level(text.extracting(rest)) != nil
  }

  /// Whether a text begins as the expression of a part does: `topic.` or `payload.`.
  static func isPart(_ text: Span<UInt8>, _ source: RuleSource) -> Bool {
    rest(of: text, behind: "payload") != nil || rest(of: text, behind: source.word) != nil
  }

  private static let payload: StaticString = "payload"

  /// Whether a checked template has an expression of the payload.
  static func usesPayload(_ template: Span<UInt8>) -> Bool {
    var index = 0
    while index < template.count {
      let byte = template[index]
      index += 1
      guard byte == .openBrace, index < template.count else { continue }
      if template[index] == byte {
        index += 1
      } else if template.extracting(index..<template.count).begins(with: payload.span) {
        return true
      }
    }
    return false
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
      append(formatted: template.extracting(start..<index), of: message, to: &text)
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
    if expression.equals(message.source.word) {
      text.append(bytes: message.address)
      return true
    }
    if expression.equals("payload") {
      text.append(bytes: message.payload)
      return true
    }
    if let rest = rest(of: expression, behind: message.source.word),
      let number = level(expression.extracting(rest))
    {
      guard let level = TopicFilter.level(message.source.level(number), of: message.address) else {
        return false
      }
      text.append(bytes: message.address.extracting(level))
      return true
    }
    guard message.isJSON, let rest = rest(of: expression, behind: "payload"),
      let value = PayloadPath.find(expression.extracting(rest), in: message.payload)
    else { return false }
    append(value, of: message.payload, to: &text)
    return true
  }

  /// Appends each value of an expression to a text, and takes it off again after `body`, until that
  /// returns true.
  static func forEach(
    expression: Span<UInt8>, of message: MessageText, to text: inout Text,
    _ body: (borrowing Text) -> Bool
  ) {
    let start = text.count
    guard message.isJSON, let rest = rest(of: expression, behind: "payload") else {
      if append(expression: expression, of: message, to: &text) { _ = body(text) }
      return text.truncate(to: start)
    }
    PayloadPath.forEach(expression.extracting(rest), in: message.payload) { value in
      append(value, of: message.payload, to: &text)
      defer { text.truncate(to: start) }
      return body(text)
    }
  }

  private static func append(_ value: Range<Int>, of payload: Span<UInt8>, to text: inout Text) {
    if payload[value.lowerBound] == .quote {
      text.append(unescaping: payload.extracting(value.lowerBound + 1..<value.upperBound - 1))
    } else {
      text.append(bytes: payload.extracting(value))
    }
  }

  // MARK: - Formats

  /// Where the format of an expression begins, with its colon; the end: there is none.
  ///
  /// A colon may be in the name of a member.
  private static func formatStart(of expression: Span<UInt8>) -> Int {
    for index in expression.indices where expression[index] == .colon {
      let format = expression.extracting(index + 1..<expression.count)
      if places(format) != nil || areWords(format) { return index }
    }
    return expression.count
  }

  /// The number of decimal places of a format such as `.1f`.
  private static func places(_ format: Span<UInt8>) -> Int? {
    guard format.count == 3, format[0] == .dot, format[1].isDigit, format[2] == UInt8(ascii: "f")
    else { return nil }
    return Int(format[1].digitValue)
  }

  /// Whether a format has words for values: `true=closed,false=open`.
  private static func areWords(_ format: Span<UInt8>) -> Bool {
    var hasEquals = false
    for index in format.indices {
      if format[index] == .equals { hasEquals = true }
      guard format[index] == .comma else { continue }
      guard hasEquals else { return false }
      hasEquals = false
    }
    return hasEquals
  }

  /// Appends the value of an expression with a format behind it.
  private static func append(
    formatted expression: Span<UInt8>, of message: MessageText, to text: inout Text
  ) {
    let colon = formatStart(of: expression)
    let start = text.count
    let name = expression.extracting(0..<colon)
    _ = append(expression: name, of: message, to: &text)
    guard !text.isCut else { return }
    let value = text.unsafeBytes.extracting(start..<text.count)
    let isNull = value.equals("null") && isNull(name, of: message)
    let format = expression.extracting(min(colon + 1, expression.count)..<expression.count)
    if let places = places(format), let number = Condition.number(value),
      let rounded = Rounded(number, places)
    {
      text.truncate(to: start)
      text.append(rounded)
    } else if let word = word(for: value, in: format) {
      text.truncate(to: start)
      text.append(bytes: format.extracting(word))
    } else if isNull {
      text.truncate(to: start)
    }
  }

  /// Whether an expression is for null in a JSON payload, and not for a string.
  private static func isNull(_ expression: Span<UInt8>, of message: MessageText) -> Bool {
    guard message.isJSON, let rest = rest(of: expression, behind: "payload"),
      let value = PayloadPath.find(expression.extracting(rest), in: message.payload)
    else { return false }
    return message.payload.extracting(value).equals("null")
  }

  private static func word(for value: Span<UInt8>, in format: Span<UInt8>) -> Range<Int>? {
    var (start, equals) = (0, -1)
    for index in 0...format.count {
      if index < format.count, format[index] == .equals, equals < start { equals = index }
      guard index == format.count || format[index] == .comma else { continue }
      if equals >= start, format.extracting(start..<equals).equals(value) {
        return equals + 1..<index
      }
      start = index + 1
    }
    return nil
  }

  /// What follows a word and a dot; nil: the text does not begin so.
  private static func rest(of text: Span<UInt8>, behind word: StaticString) -> Range<Int>? {
    let count = word.utf8CodeUnitCount
    guard text.count > count, text.begins(with: word.span), text[count] == .dot else { return nil }
    return count + 1..<text.count
  }

  /// The number of a level, from 1 to 99.
  private static func level(_ text: Span<UInt8>) -> Int? {
    guard text.count == 1 || text.count == 2, text[0] != UInt8(ascii: "0") else { return nil }
    return text.wholeNumber.map { Int($0) }
  }
}

/// What rules read of a message.
struct MessageText: ~Escapable {
  /// The topic or the path.
  let address: Span<UInt8>
  let payload: Span<UInt8>
  let source: RuleSource
  /// Whether the payload is one JSON value.
  let isJSON: Bool

  /// Creates the text of a message.
  @_lifetime(copy address, copy payload)
  init(_ address: Span<UInt8>, payload: Span<UInt8>, of source: RuleSource) {
    self.address = address
    self.payload = payload
    self.source = source
    isJSON = Finding.inJSON(payload) == nil
  }
}

/// A number with decimal places, rounded half away from zero.
private struct Rounded {
  let isNegative: Bool
  /// The digits before and behind the point.
  let digits: UInt64
  let places: Int
  /// 10 to the power of the number of places.
  let scale: UInt64

  /// Rounds a number; nil: a Double has no such decimal places.
  init?(_ number: Double, _ places: Int) {
    var scale: UInt64 = 1
    for _ in 0..<places { scale *= 10 }
    let scaled = abs(number) * Double(scale) + 0.5
    guard scaled < 9_007_199_254_740_992 else { return nil }
    digits = UInt64(scaled)
    isNegative = number < 0 && digits > 0
    self.places = places
    self.scale = scale
  }
}

extension Text {
  fileprivate mutating func append(_ number: Rounded) {
    if number.isNegative { append("-") }
    append(number.digits / number.scale)
    guard number.places > 0 else { return }
    append(".")
    append(number.digits % number.scale, digits: number.places)
  }
}
