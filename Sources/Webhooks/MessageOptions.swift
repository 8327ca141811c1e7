import TinyPush

/// The parameters of a request, from its query or from a form.
public struct MessageOptions: ~Copyable {
  /// The name of a parameter.
  public enum Key: Int, Sendable {
    case message
    case title
    case subtitle
    case sound
    case badge
    case level
    case collapseID
    case ttl
    case priority
    case token
    case click
  }

  /// A mistake in the parameters.
  public enum Problem: Error, Equatable {
    /// No parameter has this name.
    case unknown(nearest: Int?)
    case twice(Key)
    /// A percent sign is followed by something other than two hexadecimal digits.
    case escape
    case tooLarge
    /// A priority of another program is none of its values.
    case priority
    /// A header is encoded for mail, and not in UTF-8.
    case encoding
  }

  static var names: WordList {
    "message title subtitle sound badge level collapse-id ttl priority token click"
  }
  private static var count: Int { 11 }
  private static var bytesMax: Int { NotificationReader.objectBytesMax }

  private var values = Text(capacity: MessageOptions.bytesMax)
  private var places: InlineArray<11, Range<Int>?> = .init(repeating: nil)
  /// The device tokens, as a JSON array without its brackets.
  var tokens = Text(capacity: MessageOptions.bytesMax)

  /// Creates options without parameters.
  public init() {}

  /// Whether there are no parameters.
  public var isEmpty: Bool {
    for index in 0..<Self.count where places[index] != nil { return false }
    return true
  }

  /// Returns whether there is a parameter.
  public func has(_ key: Key) -> Bool { places[key.rawValue] != nil }

  /// Whether there is a parameter that a webhook does not take, since its alerts decide it.
  public var hasText: Bool {
    has(.message) || has(.title) || has(.subtitle) || has(.badge) || has(.collapseID)
      || has(.click)
  }

  /// Calls `body` with the value of a parameter, if there is one.
  @inline(__always)
  func with(_ key: Key, _ body: (Span<UInt8>) -> Void) {
    guard let place = places[key.rawValue] else { return }
    body(values.bytes.extracting(place))
  }

  /// Names in forms of Apprise that mean nothing for a notification.
  private static var unused: WordList { "version type" }

  /// Adds the parameters of a query or of a form.
  public mutating func read(_ text: Span<UInt8>, isForm: Bool = false) throws(Problem) {
    var reader = FormReader()
    var name = Text(capacity: 64)
    while let pair = reader.next(in: text) {
      name.clear()
      guard FormReader.decode(text.extracting(pair.name), to: &name) else { throw .escape }
      if isForm, Self.unused.index(of: name.bytes) != nil { continue }
      guard let number = Self.names.index(of: name.bytes), let key = Key(rawValue: number) else {
        throw .unknown(nearest: Self.names.nearest(to: name.bytes))
      }
      try add(key, text.extracting(pair.value))
    }
  }

  private mutating func add(_ key: Key, _ value: Span<UInt8>) throws(Problem) {
    guard key == .token || !has(key) else { throw .twice(key) }
    let start = values.count
    guard FormReader.decode(value, to: &values) else { throw .escape }
    guard !values.isCut else { throw .tooLarge }
    places[key.rawValue] = start..<values.count
    if key == .token { tokens.element(string: values.looseBytes.extracting(start..<values.count)) }
    guard !tokens.isCut else { throw .tooLarge }
  }

  /// Sets a parameter that a header or a member of a JSON object gives; one of the query counts more.
  mutating func set(_ key: Key, to value: Span<UInt8>) throws(Problem) {
    try set(key) { $0.append(bytes: value) }
  }

  /// Sets a parameter to the content of a JSON string, with its escapes.
  mutating func set(_ key: Key, toJSON content: Span<UInt8>) throws(Problem) {
    try set(key) { $0.append(unescaping: content) }
  }

  private mutating func set(_ key: Key, _ append: (inout Text) -> Void) throws(Problem) {
    guard !has(key) else { return }
    let start = values.count
    append(&values)
    guard !values.isCut else { throw .tooLarge }
    places[key.rawValue] = start..<values.count
  }

  /// Replaces a priority of another program, in its scale, by an interruption level.
  public mutating func takePriority(_ scale: SenderMessage.Scale) throws(Problem) {
    guard let place = places[Key.priority.rawValue] else { return }
    places[Key.priority.rawValue] = nil
    guard let level = scale.level(of: values.looseBytes.extracting(place)) else { throw .priority }
    if let level = level.name { try set(.level, to: level.span) }
  }

  /// Returns whether a body is a form: each name is that of a parameter, and one is `message`.
  ///
  /// The media type does not tell, because `curl -d` calls each text a form.
  public static func isForm(_ body: Span<UInt8>) -> Bool {
    var reader = FormReader()
    var hasMessage = false
    while let pair = reader.next(in: body) {
      let name = body.extracting(pair.name)
      if unused.index(of: name) != nil { continue }
      guard let number = names.index(of: name) else { return false }
      if number == Key.message.rawValue { hasMessage = true }
    }
    return hasMessage
  }
}

extension MessageOptions.Problem {
  /// A stable word for the problem, for programs.
  public var code: StaticString {
    switch self {
    case .unknown: "unknown-parameter"
    case .twice: "duplicate-parameter"
    case .escape: "escape"
    case .tooLarge: "too-large"
    case .priority: "priority"
    case .encoding: "encoding"
    }
  }

  /// Appends what is wrong and how to correct it.
  public func describe(in text: inout Text) {
    switch self {
    case .unknown(let nearest):
      text.append("unknown parameter: ")
      if let nearest {
        text.append("did you mean ", bytes: MessageOptions.names[nearest], "?")
      } else {
        text.append(
          "use message, title, subtitle, sound, badge, level, collapse-id, ttl, priority, token or click"
        )
      }
    case .twice(let key):
      text.append("the parameter ", bytes: MessageOptions.names[key.rawValue], " is given twice")
    case .escape: text.append("a % must be followed by two hexadecimal digits; %25 stands for %")
    case .priority:
      text.append("priority is a number, or min, low, default, high, urgent or max")
    case .encoding: text.append("a header is encoded as in mail (=?...?=): send it in UTF-8")
    case .tooLarge:
      text.append("the parameters have more than ", NotificationReader.objectBytesMax, " bytes")
    }
  }
}
