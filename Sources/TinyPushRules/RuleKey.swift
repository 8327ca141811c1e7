import TinyPush

/// The keys of a rule.
public enum RuleKey: UInt8, BitwiseCopyable {
  case when, to, token, title, subtitle, alert, sound, badge, category, thread, level, data
  case url, icon, image, group, copy
  case collapseID, priority, ttl, againAfter, urgent, topic, pushType, retained, goOn
  case onChange, silentFor

  static var names: WordList {
    """
    when to token title subtitle alert sound badge category thread level data url icon image group \
    copy collapse-id priority ttl again-after urgent topic push-type retained continue on-change \
    silent-for
    """
  }

  /// The name as a configuration spells it.
  public var name: Span<UInt8> { @_lifetime(immortal) get { Self.names[Int(rawValue)] } }

  /// The key of a name.
  public init?(_ name: Span<UInt8>) {
    guard let number = Self.names.index(of: name) else { return nil }
    self.init(rawValue: UInt8(number))
  }

  /// The key that somebody most likely meant.
  public static func nearest(to name: Span<UInt8>) -> RuleKey? {
    names.nearest(to: name).flatMap { RuleKey(rawValue: UInt8($0)) }
  }

  /// What the key is in a notification; nil: nothing, or a list.
  var part: Draft.Key? { Draft.Key(name) }

  /// Whether a rule may have the key several times.
  var isList: Bool { self == .when || self == .to || self == .token || self == .data }
  /// Whether the value is a number of seconds, a number or a word, and no template.
  var isFixed: Bool {
    switch self {
    case .priority, .ttl, .againAfter, .urgent, .level, .pushType: true
    case .retained, .goOn, .onChange, .silentFor: true
    default: false
    }
  }
  /// Whether the value goes to the end of the line, and may contain `#` and `;`.
  public var isText: Bool {
    switch self {
    case .when, .title, .subtitle, .alert, .data, .copy: true
    default: false
    }
  }
  /// Whether the key is about the messages that come.
  var isOfMessage: Bool { self == .retained || self == .goOn || self == .onChange }
  /// Whether the key is of no use for requests: a broker repeats states, and a service that ends
  /// between requests remembers none.
  var isOfBroker: Bool { self == .retained || self == .onChange || self == .silentFor }
  /// Whether the key makes a device show or do something.
  var isContent: Bool {
    switch self {
    case .title, .alert, .sound, .badge, .data: true
    default: false
    }
  }
}

/// A mistake in a rule.
public enum RuleProblem: Error, Equatable {
  case filter
  case twice
  case braces
  case expression
  case condition
  case data
  case empty
  case silence
  case broker
  case tooMany
}
