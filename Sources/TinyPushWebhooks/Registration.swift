import TinyPush

/// A request to register a recipient, with the code of an invitation.
///
/// ```
/// {"code": "…", "subscription": {"endpoint": "https://…", "keys": {…}}, "language": "fr"}
/// {"code": "…", "token": "0123…cdef", "language": "fr"}
/// ```
public struct Registration {
  /// Why a body is no registration.
  public enum Problem: Error, Equatable {
    case json(JSONProblem)
    case form
    case language

    /// A stable word for the problem, for programs.
    public var code: StaticString {
      switch self {
      case .json: "json"
      case .form: "registration"
      case .language: "language"
      }
    }

    /// The message: what is wrong, and how to correct it.
    public var text: StaticString {
      switch self {
      case .json: "the body is not JSON"
      case .form:
        "send an object with code, and either subscription, as a browser gives it, or token"
      case .language: "language is not a language: send fr or fr-CA"
      }
    }
  }

  /// The most bytes of a request's body.
  public static let bodyBytesMax = 8192

  /// The code of the invitation.
  public let code: Range<Int>
  /// The subscription or the device token, as `tinypush recipient add` takes it.
  public let recipient: Range<Int>
  /// The language of the device; empty: unknown.
  public let language: Range<Int>

  /// Reads the body of a request; names that are not known have no meaning.
  @inline(never)
  public init(_ body: Span<UInt8>) throws(Problem) {
    var members = Members()
    do throws(JSONProblem) { try members.read(body) } catch { throw .json(error) }
    guard members.isObject, let code = members.code, let recipient = members.recipient,
      !members.isDouble
    else { throw .form }
    self.code = code
    self.recipient = recipient
    language = members.language ?? 0..<0
    guard language.isEmpty || LanguageTag(body.extracting(language)) != nil else {
      throw .language
    }
  }

  private struct Members {
    var isObject = false
    var code: Range<Int>?
    var recipient: Range<Int>?
    var language: Range<Int>?
    /// Whether there are two recipients, of which one would be lost.
    var isDouble = false

    mutating func read(_ text: Span<UInt8>) throws(JSONProblem) {
      var scanner = JSONScanner()
      scanner.skipSpace(text)
      guard scanner.index < text.count, text[scanner.index] == .openBrace else { return }
      if try scanner.openObject(text) {
        repeat { try readMember(text, by: &scanner) } while try scanner.nextMember(text)
      }
      scanner.skipSpace(text)
      isObject = scanner.index == text.count
    }

    private mutating func readMember(
      _ text: Span<UInt8>, by scanner: inout JSONScanner
    ) throws(JSONProblem) {
      let name = text.extracting(try scanner.key(text))
      let isText = try scanner.peek(text) == .quote
      if name.equals("subscription"), !isText {
        let start = scanner.index
        try scanner.skipValue(text)
        take(start..<scanner.index)
      } else if !isText {
        try scanner.skipValue(text)
      } else {
        let value = try scanner.string(text)
        if name.equals("code") {
          code = value
        } else if name.equals("subscription") || name.equals("token") {
          take(value)
        } else if name.equals("language") {
          language = value
        }
      }
    }

    private mutating func take(_ value: Range<Int>) {
      isDouble = isDouble || recipient != nil
      recipient = value
    }
  }
}
