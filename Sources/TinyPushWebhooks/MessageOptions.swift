import TinyPush

/// The parameters of a request, from its query, a form, headers or a message, as a draft of the
/// notification.
public struct MessageOptions: ~Copyable {
  /// A mistake in the parameters.
  public enum Problem: Error, Equatable {
    /// No parameter has this name.
    case unknown(nearest: Int?)
    /// The number of the parameter that is given twice.
    case twice(Int)
    /// A percent sign is followed by something other than two hexadecimal digits.
    case escape
    case tooLarge
    /// A priority of another program is none of its values.
    case priority
    /// A header is encoded for mail, and not in UTF-8.
    case encoding
    /// The message is to be delivered later.
    case delay
  }

  /// The names of parameters.
  ///
  /// Those behind the first four are names of ``Draft/Key``; `click` and `tags` are of ntfy.
  static var names: WordList {
    """
    message token click tags title subtitle sound badge category thread level url icon image group copy id \
    topic push-type collapse-id priority ttl expiration not-before again-after urgent
    """
  }

  /// The notification, without its recipients file.
  public var draft = Draft()
  /// The name of a parameter that is unknown.
  fileprivate var unknown = Text(capacity: 64)

  /// Creates options without parameters.
  public init() {}

  /// Whether there is a parameter that a webhook does not take, since its alerts decide it.
  public var hasText: Bool {
    draft.has(.alert) || draft.has(.title) || draft.has(.subtitle) || draft.has(.badge)
      || draft.has(.collapseID) || draft.hasData
  }

  /// Names in forms of Apprise that mean nothing for a notification.
  private static var unused: WordList { "version type" }

  private static func key(_ number: Int) -> Draft.Key? {
    switch number {
    case 0: .alert
    case 2: .url
    case 3: .subtitle
    default: Draft.Key(names[number])
    }
  }

  /// Adds the parameters of a query or of a form.
  public mutating func read(_ text: Span<UInt8>, isForm: Bool = false) throws(Problem) {
    var reader = FormReader()
    var name = Text(capacity: 64)
    var value = Text(capacity: NotificationReader.objectBytesMax)
    while let pair = reader.next(in: text) {
      name.clear()
      value.clear()
      guard FormReader.decode(text.extracting(pair.name), to: &name) else { throw .escape }
      if isForm, Self.unused.index(of: name.bytes) != nil { continue }
      guard let number = Self.names.index(of: name.bytes) else {
        unknown.append(bytes: name.bytes)
        throw .unknown(nearest: Self.names.nearest(to: name.bytes))
      }
      guard FormReader.decode(text.extracting(pair.value), to: &value) else { throw .escape }
      // A long text is shortened.
      guard !value.isCut || Self.key(number) == .alert else { throw .tooLarge }
      if let key = Self.key(number) {
        guard !draft.has(key) else { throw .twice(number) }
        draft.set(key, to: value.bytes)
      } else {
        draft.add(token: value.bytes)
      }
      guard !draft.isCut else { throw .tooLarge }
    }
  }

  /// Sets a value that a header or a member of a JSON object gives; one of the query counts more.
  mutating func set(_ key: Draft.Key, _ append: (inout Text) -> Void) throws(Problem) {
    guard !draft.has(key) else { return }
    draft.set(key, append)
    guard !draft.isCut else { throw .tooLarge }
  }

  /// Sets the text that ntfy gives a message without one.
  public mutating func setDefaultText() {
    if !draft.has(.alert) { draft.set(.alert, to: ("triggered" as StaticString).span) }
  }

  /// Replaces a priority of another program, in its scale, by an interruption level.
  public mutating func takePriority(_ scale: SenderMessage.Scale) throws(Problem) {
    guard draft.has(.priority) else { return }
    guard let level = scale.level(of: draft.content(.priority)) else { throw .priority }
    draft.remove(.priority)
    if let level = level.name { try set(.level) { $0.append(bytes: level.span) } }
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
      if number == 0 { hasMessage = true }
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
    case .delay: "delay"
    }
  }

  /// Appends what is wrong with the parameters, and how to correct it.
  public func describe(_ options: borrowing MessageOptions, in text: inout Text) {
    switch self {
    case .unknown(let nearest):
      text.append("unknown parameter ", printable: options.unknown.bytes)
      text.append(": ")
      if let nearest {
        text.append("did you mean ", bytes: MessageOptions.names[nearest], "?")
      } else {
        text.append("tinypush-http(1) has the names, such as message, title, level and ttl")
      }
    case .twice(let number):
      text.append("the parameter ", bytes: MessageOptions.names[number], " is given twice")
    case .escape: text.append("a % must be followed by two hexadecimal digits; %25 stands for %")
    case .priority:
      text.append("priority is a number, or min, low, default, high, urgent or max")
    case .encoding: text.append("a header is encoded as in mail (=?...?=): send it in UTF-8")
    case .delay: text.append("a delay is not possible: give not-before, in UNIX seconds")
    case .tooLarge:
      text.append("the parameters have more than ", NotificationReader.objectBytesMax, " bytes")
    }
  }
}
