/// A line of a file in `failed/`: a notification that the spool takes, with one more member, which says why it is there.
///
/// ```json
/// {"failed":{"reason":"…","code":"invalid-token","file":"NAME","status":8,"offset":0},"token":"…","payload":{…}}
/// ```
///
/// `failed` comes first, so that the reason is known of a line that was cut. A line with nothing to send has no other member.
/// Version 0.1.0 wrote the members of `failed` at the top, and the notification as one of them: such a line is read, too.
/// This holds no bytes itself: the text of the line goes with it.
public struct FailedLine {
  /// Between the quotes.
  private var reason: Range<Int>?
  private var file: Range<Int> = 0..<0
  private var listName: Range<Int> = 0..<0
  private var token: Range<Int> = 0..<0
  /// The line of the file that was delivered, from 1 on; 0: the line does not say.
  public private(set) var line: UInt64 = 0
  /// The line of the recipients file which is wrong; 0: the file as a whole, or none.
  package private(set) var listLine: UInt64 = 0
  /// It is about a place in the file, and not about the file.
  package private(set) var hasPlace = false
  /// Of text that was no notification.
  private var shown: Range<Int> = 0..<0
  /// The notification in a line of version 0.1.0; empty: the line is none of these, or has none.
  package private(set) var wrapped: Range<Int> = 0..<0
  /// `failed` was found, and another member.
  private var (isCurrent, hasOther) = (false, false)

  /// There is more than the reason: a notification, right or wrong.
  package var hasNotification: Bool { isCurrent ? hasOther : !wrapped.isEmpty }

  /// Nil: the line is none of the agent's. Of a line that is cut, or torn, as much is known as stands before that.
  @inline(never)
  public init?(_ text: Span<UInt8>) {
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      guard try scanner.peek(text) == .openBrace else { return nil }
      if try scanner.openObject(text) {
        repeat { try takeMember(text, by: &scanner) } while try scanner.nextMember(text)
      }
    } catch {}
    guard reason != nil else { return nil }
  }

  private mutating func takeMember(
    _ text: Span<UInt8>, by scanner: inout JSONScanner
  ) throws(JSONProblem) {
    let key = text.extracting(try scanner.key(text))
    let first = try scanner.peek(text)
    switch EnvelopeKey(spelled: key) {
    case .failed where first == .openBrace:
      // What stands beside it is the sender's, whatever it is called.
      (reason, file, listName, line, listLine) = (nil, 0..<0, 0..<0, 0, 0)
      (hasPlace, wrapped, shown, isCurrent) = (false, 0..<0, 0..<0, true)
      guard try scanner.openObject(text) else { return }
      repeat {
        let key = text.extracting(try scanner.key(text))
        try takeDetail(key, try scanner.peek(text), text, by: &scanner)
      } while try scanner.nextMember(text)
      return
    case .token where first == .quote: token = try scanner.string(text)
    default:
      if isCurrent {
        try scanner.skipValue(text)
      } else {
        try takeDetail(key, first, text, by: &scanner)
      }
    }
    hasOther = true
  }

  /// - Parameter first: the value's first byte.
  private mutating func takeDetail(
    _ key: Span<UInt8>, _ first: UInt8, _ text: Span<UInt8>, by scanner: inout JSONScanner
  ) throws(JSONProblem) {
    let start = scanner.index
    switch first {
    case .quote:
      let string = try scanner.string(text)
      if key.equals("reason") {
        reason = string
      } else if key.equals("file") {
        file = string
      } else if key.equals("list") {
        listName = string
      } else if key.equals("text") {
        shown = string
      }
    case UInt8.digits:
      let number = try scanner.wholeNumber(text)
      if key.equals("offset") {
        hasPlace = true
      } else if key.equals("line") {
        line = number ?? 0
      } else if key.equals("list_line") {
        listLine = number ?? 0
      }
    default:
      try scanner.skipValue(text)
      if key.equals("notification"), first == .openBrace { wrapped = start..<scanner.index }
    }
  }

  /// In words, for a terminal: a control character is nothing to be seen.
  @inline(never)
  public func appendReason(of text: Span<UInt8>, to output: inout Text) {
    var reader = JSONStringReader()
    let words = text.extracting(reason ?? 0..<0)
    while let byte = reader.next(in: words) {
      output.append(byte: byte < .space || byte == .delete ? .space : byte)
    }
  }

  /// The same with what it is about: its line, and the token that was refused.
  @inline(never)
  public func describe(_ text: Span<UInt8>, saysLine: Bool, in output: inout Text) {
    output.append("refused: ")
    appendReason(of: text, to: &output)
    if saysLine, line > 0 {
      output.append(" (line ")
      output.append(line)
      output.append(")")
    }
    let recipient = recipient(in: text)
    guard recipient.count > 0 else { return }
    output.append(" (token ")
    output.append(bytes: recipient)
    output.append(")")
  }

  /// The 64 hex digits of the one who did not get what was sent; empty: the notification was not sent, for which the line
  /// says where it stands in its file.
  @_lifetime(copy text)
  package func recipient(in text: Span<UInt8>) -> Span<UInt8> {
    let isSent = line == 0 && token.count == DeviceToken.digitCount
    return text.extracting(isSent ? token : 0..<0)
  }

  /// The recipients file whose recipients did not get it; empty: it is no matter of such a file.
  @_lifetime(copy text)
  package func list(in text: Span<UInt8>) -> Span<UInt8> { text.extracting(listName) }

  /// Whether the file that was delivered had this name, as far as the name goes.
  package func isOfFile(_ name: Span<UInt8>, in text: Span<UInt8>) -> Bool {
    var reader = JSONStringReader()
    let said = text.extracting(file)
    var index = 0
    while let byte = reader.next(in: said) {
      guard index < name.count, name[index] == byte else { return false }
      index += 1
    }
    return index == name.count
  }
}

// MARK: - As a line is written

extension FailedLine {
  /// How each line begins, and how each of version 0.1.0 did.
  package static let beginning: StaticString = "{\"failed\":{\"reason\":\""
  package static let beginningBefore: StaticString = "{\"reason\":\""

  /// Begins a line, in place of what was there. More members of `failed` may follow, and one of the ends below.
  ///
  /// - Parameters:
  ///   - code: a word for the reason that stays the same; a space becomes a hyphen.
  ///   - file: the name of the file that was delivered.
  package static func begin(
    _ reason: borrowing Text, _ code: borrowing Text, file: Span<UInt8>, to output: inout Text
  ) {
    output.clear()
    output.append("{\"failed\":{\"reason\":")
    output.append(json: reason)
    output.append(",\"code\":\"")
    let word = code.bytes
    for index in word.indices { output.append(byte: word[index] == .space ? .hyphen : word[index]) }
    output.append("\",\"file\":")
    output.append(json: file)
  }

  /// One more member.
  package static func append<Number: FixedWidthInteger>(
    _ key: StaticString, _ number: Number, to output: inout Text
  ) {
    output.append(",\"")
    output.append(key)
    output.append("\":")
    output.append(number)
  }

  /// The recipients file whose recipients did not get it.
  package static func append(list name: Span<UInt8>, to output: inout Text) {
    output.append(",\"list\":")
    output.append(json: name)
  }

  /// There is nothing to send.
  package static func end(_ output: inout Text) { output.append("}}\n") }

  /// With text that is no notification.
  package static func end(text: Span<UInt8>, _ output: inout Text) {
    output.append(",\"text\":")
    output.append(json: text)
    end(&output)
  }

  /// With an object that was refused, as it stands: whoever checks the line finds the same again. It may be such a line
  /// itself, which somebody moved to `new/`: the text that it shows stays.
  package static func end(object: Span<UInt8>, _ output: inout Text) {
    if let before = FailedLine(object), !before.hasNotification, !before.shown.isEmpty {
      output.append(",\"text\":\"")
      output.append(bytes: object.extracting(before.shown))
      output.append("\"")
    }
    output.append("}")
    let start = output.count
    Readdressing.append(object, to: &output)
    close(&output, from: start)
  }

  /// With a notification for one token alone, in its language.
  package static func end(
    _ notification: Notification, of text: Span<UInt8>, for token: DeviceToken,
    _ language: LanguageTag?, _ output: inout Text
  ) {
    output.append("},")
    appendAddressed(notification, of: text, for: token, language, &output)
  }

  /// The members of a notification for one token alone, in its language, and the end of the line.
  ///
  /// - Parameter expiration: in place of its `ttl`; nil: that stays as it is.
  @inline(never)
  static func appendAddressed(
    _ notification: Notification, of text: Span<UInt8>, for token: DeviceToken,
    _ language: LanguageTag?, expiration: UInt32? = nil, _ output: inout Text
  ) {
    var alert: Alert?
    if let language, !notification.localized.isEmpty {
      alert = Localization.alert(for: language, in: notification.localized, of: text)
    }
    output.append("\"token\":\"")
    output.append(hex: token.bytes.span)
    output.append("\"")
    if let expiration { append("expiration", expiration, to: &output) }
    let start = output.count
    Readdressing.append(
      notification, of: text, alert: alert, keepsTtl: expiration == nil, to: &output)
    close(&output, from: start)
  }

  /// With a notification for one recipients file alone; nil: for nobody, which keeps it from being sent.
  package static func end(
    _ notification: Notification, of text: Span<UInt8>, forList list: Span<UInt8>?,
    _ output: inout Text
  ) {
    output.append("}")
    if let list {
      output.append(",\"to\":")
      output.append(json: list)
    }
    let start = output.count
    Readdressing.append(notification, of: text, alert: nil, to: &output)
    close(&output, from: start)
  }

  private static func close(_ output: inout Text, from start: Int) {
    output.putInOneLine(from: start)
    output.append("}\n")
  }
}
