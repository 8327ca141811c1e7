import TinyPush

/// What the target of a request stands for.
///
/// ```
/// /                      the service itself; POST: a notification, or a text for `default`
/// /health                whether the service works
/// /NAME                  a text for a recipients file
/// /NAME/publish          the same with GET, as ntfy has it; also send and trigger
/// /message               a message of a program that knows Gotify
/// /grafana/NAME          alerts of Grafana; without a name: for `default`
/// /alertmanager/NAME     alerts of Alertmanager, which are read in the same way
/// /web/FILE              the page on which browsers register
/// /register              a registration with the code of an invitation
/// ```
///
/// The rules of the service may be for any other path, and for these, too.
public enum Route: Equatable, Sendable {
  case root
  case health
  /// A path with one part: the name of a recipients file, with its escapes.
  case list(Range<Int>)
  /// The name of a recipients file, for a text in the query.
  case publish(Range<Int>)
  /// Gotify's path for messages.
  case gotify
  /// A webhook; an empty range stands for `default`.
  case webhook(Range<Int>)
  /// A file of the page for browsers; an empty range stands for the page itself.
  case page(Range<Int>)
  case registration
  case unknown

  /// Reads the target of a request: a path, and perhaps a query.
  ///
  /// - Parameter hasPage: whether the service has the page for browsers. Its paths are otherwise those of
  ///   recipients files with these names.
  public init(_ target: Span<UInt8>, hasPage: Bool = false) {
    let end = Self.pathEnd(of: target)
    guard end > 0, target[0] == .slash else {
      self = .unknown
      return
    }
    var slash = 1
    while slash < end, target[slash] != .slash { slash += 1 }
    let first = target.extracting(1..<slash)
    // A slash at the end changes nothing.
    let rest = slash < end ? slash + 1..<end : end..<end
    if first.count == 0 {
      self = rest.isEmpty ? .root : .unknown
    } else if first.equals("grafana") || first.equals("alertmanager") {
      self = .webhook(rest)
    } else if hasPage, first.equals("web"), slash < end {
      self = .page(rest)
    } else if hasPage, first.equals("register"), rest.isEmpty {
      self = .registration
    } else if !rest.isEmpty {
      let verbs: WordList = "publish send trigger"
      let isPublishing = verbs.index(of: target.extracting(rest)) != nil
      self = isPublishing ? .publish(1..<slash) : .unknown
    } else if first.equals("message") {
      self = .gotify
    } else if first.equals("health") {
      self = .health
    } else {
      self = .list(1..<slash)
    }
  }

  /// Appends the path of a target, without its escapes and without a slash at its end, for rules.
  ///
  /// - Returns: whether there is one with a name, and each percent sign begins an escape. The path
  ///   `/` is that of notifications, and of no rule.
  public static func appendPath(of target: Span<UInt8>, to path: inout Text) -> Bool {
    var end = pathEnd(of: target)
    while end > 1, target[end - 1] == .slash { end -= 1 }
    guard end > 1 else { return false }
    return FormReader.decode(target.extracting(0..<end), isPath: true, to: &path) && !path.isCut
  }

  /// Returns the query of a target, without the question mark; empty: none.
  public static func query(of target: Span<UInt8>) -> Range<Int> {
    let end = pathEnd(of: target)
    return min(end + 1, target.count)..<target.count
  }

  /// Returns the value of a parameter of the query, with its escapes; empty: there is none.
  public static func value(of name: StaticString, in target: Span<UInt8>) -> Range<Int> {
    let query = query(of: target)
    var reader = FormReader()
    while let pair = reader.next(in: target.extracting(query)) {
      guard target.extracting(query).extracting(pair.name).equals(name) else { continue }
      return query.lowerBound + pair.value.lowerBound..<query.lowerBound + pair.value.upperBound
    }
    return query.upperBound..<query.upperBound
  }

  private static func pathEnd(of target: Span<UInt8>) -> Int {
    var end = 0
    while end < target.count, target[end] != UInt8(ascii: "?") { end += 1 }
    return end
  }
}
