/// A notification that is being composed: its texts, how it is delivered, and its recipients.
///
/// All that compose notifications for people use the same names and the same rules. Values are not
/// checked here: the check of the notification names what is wrong with them.
public struct Draft: ~Copyable {
  /// What a notification may have once, by the names of settings, options and parameters.
  public enum Key: UInt8, BitwiseCopyable, Sendable {
    case alert, title, subtitle, sound, badge, category, thread, level, contentAvailable
    case url, icon, image, group, copy
    case id, topic, pushType, collapseID, priority, ttl, expiration, notBefore, registered
    case againAfter, urgent, trim

    static var count: Int { 26 }
    private static var names: WordList {
      """
      alert title subtitle sound badge category thread level content-available url icon image group \
      copy id topic push-type collapse-id priority ttl expiration not-before registered again-after \
      urgent trim
      """
    }

    /// The key of a name.
    public init?(_ name: Span<UInt8>) {
      guard let number = Self.names.index(of: name) else { return nil }
      self.init(rawValue: UInt8(number))
    }

    /// The name of a setting, an option or a parameter.
    public var name: Span<UInt8> { @_lifetime(immortal) get { Self.names[Int(rawValue)] } }

    /// The name of the member.
    fileprivate var member: Span<UInt8> {
      @_lifetime(immortal) get {
        switch self {
        case .thread: ("thread-id" as StaticString).span
        case .level: ("interruption-level" as StaticString).span
        default: name
        }
      }
    }

    fileprivate enum Kind { case text, number, seconds, flag }

    fileprivate var kind: Kind {
      switch self {
      case .badge, .contentAvailable, .priority, .expiration, .notBefore, .registered: .number
      case .ttl, .againAfter: .seconds
      case .urgent, .trim: .flag
      default: .text
      }
    }
  }

  private static var bytesMax: Int { NotificationReader.objectBytesMax + 1 }
  /// The most bytes of an alert, of which no payload can hold more.
  package static var alertBytesMax: Int { 2 * Rules.payloadBytes }

  /// The contents of JSON strings, with their escapes.
  private var values = Text(capacity: bytesMax)
  private var places: InlineArray<26, Range<Int>?> = .init(repeating: nil)
  /// The elements and members of arrays and objects, without the brackets.
  private var lists = Text(capacity: bytesMax)
  private var tokens = Text(capacity: bytesMax)
  private var languages = Text(capacity: bytesMax)
  private var data = Text(capacity: bytesMax)

  /// Creates an empty draft.
  public init() {}

  deinit {}

  /// Whether something did not fit.
  public var isCut: Bool {
    values.isCut || lists.isCut || tokens.isCut || languages.isCut || data.isCut
  }

  /// Removes everything.
  public mutating func clear() {
    values.clear()
    lists.clear()
    tokens.clear()
    languages.clear()
    data.clear()
    places = .init(repeating: nil)
  }

  /// Becomes the same as another draft.
  public mutating func copy(_ other: borrowing Draft) {
    clear()
    values.append(other.values)
    lists.append(other.lists)
    tokens.append(other.tokens)
    languages.append(other.languages)
    data.append(other.data)
    places = other.places
  }

  // MARK: - Values

  /// Whether there is a value.
  public func has(_ key: Key) -> Bool { places[Int(key.rawValue)] != nil }

  /// Whether there are recipients.
  public var hasRecipients: Bool { lists.count > 0 || tokens.count > 0 }

  /// Whether there are device tokens.
  public var hasTokens: Bool { tokens.count > 0 }

  /// Whether the app gets something besides `aps`.
  public var hasData: Bool {
    for number in Key.url.rawValue...Key.copy.rawValue where places[Int(number)] != nil {
      return true
    }
    return data.count > 0
  }

  /// Whether there is something that a device shows or does.
  public var hasContent: Bool {
    for number in 0...Key.contentAvailable.rawValue {
      if let value = places[Int(number)], !value.isEmpty { return true }
    }
    return hasData || languages.count > 0
  }

  /// Whether the draft says nothing at all.
  public var isEmpty: Bool {
    for number in 0..<Key.count where places[number] != nil { return false }
    return !hasRecipients && data.count == 0 && languages.count == 0
  }

  /// Sets a value.
  public mutating func set(_ key: Key, to value: Span<UInt8>) {
    if key == .collapseID, setCollapseID(value) { return }
    set(key) { $0.append(escaping: key == .alert ? Self.prefix(of: value) : value) }
  }

  /// Sets a value to what `body` appends: the content of a JSON string, with its escapes.
  public mutating func set(_ key: Key, _ body: (inout Text) -> Void) {
    let start = values.count
    body(&values)
    places[Int(key.rawValue)] = start..<values.count
  }

  /// Sets a value to a number.
  public mutating func set(_ key: Key, to number: UInt64) { set(key) { $0.append(number) } }

  /// Sets the collapse ID to a value, or to its hash if the service does not take the value; returns
  /// whether there is one.
  ///
  /// The service takes at most 64 bytes, no control characters, and no space at either end.
  public mutating func setCollapseID(_ value: Span<UInt8>) -> Bool {
    let value = value.trimmed()
    guard value.count > 0 else { return false }
    var isFit = value.count <= 64
    for index in value.indices where value[index] < .space || value[index] == .delete {
      isFit = false
    }
    if isFit {
      set(.collapseID) { $0.append(escaping: value) }
    } else {
      var hash = Hash()
      hash.add(value)
      set(.collapseID) { $0.append(hex: hash.value) }
    }
    return true
  }

  /// Removes a value.
  public mutating func remove(_ key: Key) { places[Int(key.rawValue)] = nil }

  /// The content of a value, with the escapes of JSON; empty: there is none.
  @_lifetime(borrow self)
  public func content(_ key: Key) -> Span<UInt8> {
    values.bytes.extracting(places[Int(key.rawValue)] ?? 0..<0)
  }

  /// Adds a recipients file.
  public mutating func add(list name: Span<UInt8>) { lists.element(string: name) }

  /// Adds a device token, as people have it, or a browser's subscription.
  public mutating func add(token digits: Span<UInt8>) {
    var text = Text(capacity: digits.count + DeviceToken.digitCountMax)
    if Subscription.isMeant(digits) {
      do throws(Subscription.Problem) {
        try Subscription(digits).append(of: digits, to: &text)
      } catch {}
    } else if let token = DeviceToken(printed: digits) {
      text.append(hex: token.bytes)
    }
    if text.count == 0 { text.append(bytes: digits) }
    tokens.element(string: text.bytes)
  }

  /// Adds a text for the app, beside `aps`.
  public mutating func add(data key: Span<UInt8>, text: Span<UInt8>) {
    data.key(escaping: key)
    data.append(json: text)
  }

  /// Adds JSON for the app, beside `aps`.
  public mutating func add(data key: Span<UInt8>, json: Span<UInt8>) {
    data.key(escaping: key)
    data.append(bytes: json)
  }

  /// Adds the alert for a language, with the title and the subtitle that are set.
  public mutating func add(language tag: Span<UInt8>, alert: Span<UInt8>) {
    var text = Text(capacity: Self.bytesMax)
    appendAlert(hasBody: true, to: &text) { $0.append(json: Self.prefix(of: alert)) }
    languages.key(escaping: tag)
    languages.append(text)
  }

  /// The beginning of a text: as much as a payload may hold of an alert, or fewer bytes.
  @_lifetime(copy text)
  package static func prefix(
    of text: Span<UInt8>, bytesMax: Int = alertBytesMax
  ) -> Span<UInt8> {
    var end = min(text.count, bytesMax)
    if end < text.count { while end > 0, text[end] & 0xC0 == 0x80 { end -= 1 } }
    return text.extracting(0..<end)
  }

  // MARK: - The notification

  /// Appends the notification: one JSON object in one line.
  ///
  /// Without recipients the notification is for the recipients file `default`.
  public func append(to line: inout Text) {
    appendEnvelope(to: &line)
    line.beginObject()
    line.key("aps")
    line.beginObject()
    // With texts only by language, a lone title would be an alert for the other languages.
    if has(.alert) || (has(.title) || has(.subtitle)) && languages.count == 0 {
      line.key("alert")
      appendAlert(hasBody: has(.alert), to: &line) { appendString(.alert, to: &$0) }
    }
    appendMembers(.sound, .contentAvailable, to: &line)
    // The app shows the alerts of a group together, and so does the device.
    if has(.group), !has(.thread) {
      line.key("thread-id")
      appendString(.group, to: &line)
    }
    line.endObject()
    appendMembers(.url, .copy, to: &line)
    if data.count > 0 { line.append(",", data) }
    line.endObject()
    line.endLine()
  }

  /// Appends the notification with a payload that is JSON already.
  public func append(payload: Span<UInt8>, to line: inout Text) {
    appendEnvelope(to: &line)
    line.append(bytes: payload)
    line.endLine()
  }

  /// Appends everything in front of the payload.
  private func appendEnvelope(to line: inout Text) {
    line.beginObject()
    if lists.count > 0 {
      line.key("to")
      line.append("[", lists, "]")
    }
    if tokens.count > 0 {
      line.key("tokens")
      line.append("[", tokens, "]")
    }
    if !hasRecipients { line.member("to", string: Notification.defaultList.span) }
    if languages.count > 0 {
      line.key("localized")
      line.append("{", languages, "}")
    }
    appendMembers(.id, .trim, to: &line)
    line.key("payload")
  }

  private func appendAlert(hasBody: Bool, to text: inout Text, _ body: (inout Text) -> Void) {
    guard has(.title) || has(.subtitle) else { return body(&text) }
    text.beginObject()
    appendMembers(.title, .subtitle, to: &text)
    if hasBody {
      text.key("body")
      body(&text)
    }
    text.endObject()
  }

  private func appendMembers(_ first: Key, _ last: Key, to text: inout Text) {
    for number in first.rawValue...last.rawValue {
      guard let key = Key(rawValue: number), has(key) else { continue }
      text.key(escaping: key.member)
      let content = content(key)
      switch key.kind {
      case .number where content.isWholeNumber: text.append(bytes: content)
      case .flag where content.equals("true") || content.equals("false"):
        text.append(bytes: content)
      case .seconds where content.isWholeNumber: text.append(bytes: content)
      case .seconds where content.seconds != nil: text.append(content.seconds!)
      // The check of the notification refuses a string with its reason.
      default: appendString(key, to: &text)
      }
    }
  }

  private func appendString(_ key: Key, to text: inout Text) {
    text.append("\"", bytes: content(key), "\"")
  }
}

extension Span<UInt8> {
  /// Whether these are digits of a number in JSON, which has no zeros in front.
  fileprivate var isWholeNumber: Bool {
    guard count > 0, count < 20, count == 1 || self[0] != UInt8(ascii: "0") else { return false }
    for index in indices where !self[index].isDigit { return false }
    return true
  }

  /// The seconds of a time with a unit, such as `1h`.
  fileprivate var seconds: UInt64? {
    let units: WordList = "s m h d"
    let scales: [4 of UInt64] = [1, 60, 3600, 86_400]
    guard count >= 2, count <= 10, let unit = units.index(of: extracting(count - 1..<count)),
      let number = extracting(0..<count - 1).wholeNumber
    else { return nil }
    return number * scales[unit]
  }
}
