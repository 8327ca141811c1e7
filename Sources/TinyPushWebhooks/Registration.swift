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
    case json
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
    guard Finding.inJSON(body) == nil else { throw .json }
    var code: Range<Int>?
    var recipient: Range<Int>?
    var language = 0..<0
    var members = JSONMembers(body)
    while let member = members.next(body) {
      let name = body.extracting(member.key)
      let isText = body[member.value.lowerBound] == .quote
      if name.equals("subscription") || isText && name.equals("token") {
        // One of two recipients would be lost.
        guard recipient == nil else { throw .form }
        recipient = isText ? member.content(body) : member.value
      } else if isText, name.equals("code") {
        code = member.content(body)
      } else if isText, name.equals("language") {
        language = member.content(body)
      }
    }
    guard let code, let recipient else { throw .form }
    self.code = code
    self.recipient = recipient
    self.language = language
    guard language.isEmpty || LanguageTag(body.extracting(language)) != nil else {
      throw .language
    }
  }
}
