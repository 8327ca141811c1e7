/// Where the messages come from of which rules make notifications.
public enum RuleSource: Sendable {
  /// A broker: a message has a topic.
  case topics
  /// Clients of HTTP: a request has a path, which begins with a slash.
  case paths

  /// The expression for the topic or the path.
  public var word: StaticString { self == .topics ? "topic" : "path" }

  /// The most bytes of a payload that conditions compare.
  public static let payloadBytesMax = 1_048_576

  /// The number of a level of a topic for the part of a path with this number.
  ///
  /// In front of the first slash of a path is an empty level.
  func level(_ number: Int) -> Int { self == .topics ? number : number + 1 }
}
