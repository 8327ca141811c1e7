/// A line of a file in `failed/`: a notification, with a member `failed` that gives the reason.
///
/// ```json
/// {"failed":{"reason":"…","code":"invalid-token","file":"NAME","status":8,"offset":0},
///  "token":"…","payload":{…}}
/// ```
///
/// In the file, this is one line. The spool accepts such a line as a notification.
///
/// `failed` comes first, so that a truncated line still has its reason. A line with nothing to send
/// has no other member. This type holds ranges only: callers keep the text of the line.
public struct FailedLine {
  /// The reason, without its quotes.
  private var reason: Range<Int>?
  private var file: Range<Int> = 0..<0
  private var listName: Range<Int> = 0..<0
  private var token: Range<Int> = 0..<0
  /// The line of the delivered file, from 1 on; 0: not stated.
  public private(set) var line: UInt64 = 0
  /// The wrong line of the recipients file; 0: not stated, or the file as a whole.
  package private(set) var listLine: UInt64 = 0
  /// Whether the line concerns a place in the delivered file rather than the whole file.
  package private(set) var hasPlace = false
  /// The shown text of input that is not a notification.
  private var shown: Range<Int> = 0..<0

  /// Whether the line has a notification, valid or not, besides the reason.
  package private(set) var hasNotification = false

  /// Reads a line; nil if the agent did not write it.
  ///
  /// Of a truncated line, everything before the cut is read.
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
      guard try scanner.openObject(text) else { return }
      repeat {
        let key = text.extracting(try scanner.key(text))
        try takeDetail(key, try scanner.peek(text), text, by: &scanner)
      } while try scanner.nextMember(text)
      return
    case .token where first == .quote: token = try scanner.string(text)
    default: try scanner.skipValue(text)
    }
    hasNotification = true
  }

  /// - Parameter first: the value's first byte.
  private mutating func takeDetail(
    _ key: Span<UInt8>, _ first: UInt8, _ text: Span<UInt8>, by scanner: inout JSONScanner
  ) throws(JSONProblem) {
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
    default: try scanner.skipValue(text)
    }
  }

  /// Appends the reason for a terminal, with control characters replaced by spaces.
  @inline(never)
  public func appendReason(of text: Span<UInt8>, to output: inout Text) {
    var reader = JSONStringReader()
    let words = text.extracting(reason ?? 0..<0)
    while let byte = reader.next(in: words) {
      output.append(byte: byte < .space || byte == .delete ? .space : byte)
    }
  }

  /// Appends the reason, the line number and the token that was refused.
  @inline(never)
  public func describe(_ text: Span<UInt8>, saysLine: Bool, in output: inout Text) {
    output.append("refused: ")
    appendReason(of: text, to: &output)
    if saysLine, line > 0 {
      output.append(" (line ", line, ")")
    }
    var digits = Text(capacity: 2 * DeviceToken.byteCountMax)
    let service = appendRecipient(of: text, to: &digits)
    guard digits.count > 0 else { return }
    // A browser is named as in the log.
    output.append(service.isEmpty ? " (token " : " (browser ")
    output.append(bytes: digits.bytes.extracting(0..<(service.isEmpty ? digits.count : 8)))
    if !service.isEmpty { output.append(" at ", printable: service) }
    output.append(")")
  }

  /// Appends the hex digits of the recipient that a sent notification did not reach: of its device
  /// token, or of what stands for its subscription.
  ///
  /// - Returns: the host of the subscription's push service; empty: the recipient is no browser.
  @inline(never)
  @_lifetime(copy text)
  package func appendRecipient(of text: Span<UInt8>, to digits: inout Text) -> Span<UInt8> {
    let word = text.extracting(line == 0 ? token : 0..<0)
    do throws(Subscription.Problem) {
      let subscription = try Subscription(word)
      digits.append(hex: subscription.token(in: word).bytes)
      return word.extracting(subscription.authority)
    } catch {
      digits.append(bytes: recipient(in: text))
      return text.extracting(0..<0)
    }
  }

  /// Returns the hex digits of the recipient that a sent notification did not reach.
  ///
  /// Returns an empty span for a notification that was not sent; its line then states a line
  /// number.
  @_lifetime(copy text)
  private func recipient(in text: Span<UInt8>) -> Span<UInt8> {
    let isSent = line == 0 && DeviceToken(hex: text.extracting(token)) != nil
    return text.extracting(isSent ? token : 0..<0)
  }

  /// Returns the name of the recipients file that was not served; empty: none.
  @_lifetime(copy text)
  package func list(in text: Span<UInt8>) -> Span<UInt8> { text.extracting(listName) }

  /// Returns whether the delivered file had this name.
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

// MARK: - Writing a line

extension FailedLine {
  /// The beginning of every line.
  package static let beginning: StaticString = "{\"failed\":{\"reason\":\""

  /// Clears `output` and begins a line.
  ///
  /// More members of `failed` may follow, then a call of one of the `end` functions.
  ///
  /// - Parameters:
  ///   - code: a stable word for the reason; spaces and underscores become hyphens.
  ///   - file: the name of the delivered file.
  static func begin(
    _ reason: borrowing Text, _ code: borrowing Text, file: Span<UInt8>, to output: inout Text
  ) {
    output.clear()
    output.append("{\"failed\":{\"reason\":")
    output.append(json: reason)
    output.append(",\"code\":\"")
    let word = code.bytes
    for index in word.indices {
      let isKept = word[index] != .space && word[index] != .underscore
      output.append(byte: isKept ? word[index] : .hyphen)
    }
    output.append("\",\"file\":")
    output.append(json: file)
  }

  /// Appends a number to `failed`.
  static func append<Number: FixedWidthInteger>(
    _ key: StaticString, _ number: Number, to output: inout Text
  ) {
    output.append(",\"", key, "\":")
    output.append(number)
  }

  /// Appends the name of the recipients file that was not served.
  static func append(list name: Span<UInt8>, to output: inout Text) {
    output.append(",\"list\":")
    output.append(json: name)
  }

  /// Ends a line that has nothing to send.
  static func end(_ output: inout Text) { output.append("}}\n") }

  /// Ends a line with text that is not a notification.
  static func end(text: Span<UInt8>, _ output: inout Text) {
    output.append(",\"text\":")
    output.append(json: text)
    end(&output)
  }

  /// Ends a line with an object that was refused, unchanged.
  ///
  /// A check of the line then finds the same mistakes. If the object is itself such a line, moved
  /// to `new/`, the text in its `failed` is kept.
  static func end(object: Span<UInt8>, _ output: inout Text) {
    if let before = FailedLine(object), !before.hasNotification, !before.shown.isEmpty {
      output.append(",\"text\":\"", bytes: object.extracting(before.shown), "\"")
    }
    output.append("}")
    let start = output.count
    Readdressing.append(object, to: &output)
    close(&output, from: start)
  }

  /// Ends a line with a notification for one recipient, in the language of that.
  ///
  /// - Parameter subscription: the recipient's subscription, as one word; empty: a device.
  static func end(
    _ notification: Notification, of text: Span<UInt8>, for token: DeviceToken,
    _ subscription: Span<UInt8>, _ language: LanguageTag?, _ output: inout Text
  ) {
    output.append("},")
    appendAddressed(notification, of: text, for: token, subscription, language, &output)
  }

  /// Appends the members of a notification for one recipient, in its language, and ends the line.
  ///
  /// - Parameter subscription: the recipient's subscription, as one word; empty: a device.
  @inline(never)
  static func appendAddressed(
    _ notification: Notification, of text: Span<UInt8>, for token: DeviceToken,
    _ subscription: Span<UInt8>, _ language: LanguageTag?, _ output: inout Text
  ) {
    var alert: Alert?
    if let language, !notification.localized.isEmpty {
      alert = Localization.alert(for: language, in: notification.localized, of: text)
    }
    output.append("\"token\":\"")
    if subscription.count > 0 {
      output.append(bytes: subscription)
    } else {
      output.append(hex: token.bytes)
    }
    output.append("\"")
    let start = output.count
    Readdressing.append(notification, of: text, alert: alert, to: &output)
    close(&output, from: start)
  }

  /// Ends a line with a notification for one recipients file.
  ///
  /// - Parameter list: the name of the file; nil: no recipient, so that the line cannot be sent.
  static func end(
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
