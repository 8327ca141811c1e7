import TinyPush
import TinyPushWebPush

/// The text of a message in the form that a browser shows without a script: declarative web push.
///
/// A text without `web_push` is shown by the script of the page, and needs no `navigate`.
///
/// ```
/// {"web_push":8030,"notification":{"title":"Water","body":"40 cm","navigate":"https://…"}}
/// ```
///
/// Source: Push API, "Declarative push message".
struct DeclarativeMessage: ~Copyable {
  /// The notification as the payload of an app's notification, which ``Presentation`` shows.
  private(set) var payload: Text
  /// The range of `tag` in the message's text; nil: there is none.
  private(set) var tag: Range<Int>?

  /// The members of `notification` that are strings, in the order of ``strings``.
  private static var names: WordList { "title body navigate tag icon image lang dir app_badge" }
  private static let title = 0, body = 1, navigate = 2, tagNumber = 3, icon = 4, image = 5
  private static let badge = 8

  /// Why a browser shows nothing.
  enum Problem: Error {
    case notJSON, notDeclarative, noNotification, noTitle, noNavigate, relativeNavigate
    case notString(Int), notSilent

    func describe(in text: inout Text) {
      switch self {
      case .notJSON: text.append("its text is not a JSON object")
      case .notDeclarative:
        text.append("its text is not declarative web push, since its web_push is not 8030")
      case .noNotification: text.append("its text has no object notification")
      case .noTitle: text.append("its notification has no title")
      case .noNavigate: text.append("its notification has no navigate")
      case .relativeNavigate:
        text.append(
          "the navigate of its notification is no absolute address of a page, and Safari drops the message"
        )
      case .notString(let name):
        text.append("the ", bytes: DeclarativeMessage.names[name])
        text.append(" of its notification is not a string")
      case .notSilent: text.append("the silent of its notification is not true or false")
      }
    }
  }

  /// What was found in a text.
  private struct Content {
    /// Whether there is a member `web_push`, and it is 8030.
    var isDeclarative: Bool?
    var hasNotification = false
    /// The strings without their quotes.
    var strings: InlineArray<9, Range<Int>?> = .init(repeating: nil)
    /// A badge that is a number.
    var badge: Range<Int>?
    var isSilent = false
  }

  init(_ text: Span<UInt8>) throws(Problem) {
    let content = try Self.read(text)
    guard content.isDeclarative != false else { throw .notDeclarative }
    guard content.hasNotification else { throw .noNotification }
    guard let title = content.strings[Self.title], !title.isEmpty else { throw .noTitle }
    let navigate = content.strings[Self.navigate] ?? 0..<0
    if content.isDeclarative == true {
      guard !navigate.isEmpty else { throw .noNavigate }
      guard WebAddress.isGood(text.extracting(navigate)) else { throw .relativeNavigate }
    }
    tag = content.strings[Self.tagNumber]
    payload = Text(capacity: text.count + 256)
    payload.append("{\"aps\":{\"alert\":{\"title\":\"", bytes: text.extracting(title))
    if let body = content.strings[Self.body] {
      payload.append("\",\"body\":\"", bytes: text.extracting(body))
    }
    payload.append("\"}")
    if let badge = content.strings[Self.badge] {
      // The number may be a string.
      let isNumber = text.extracting(badge).wholeNumber != nil
      payload.append(isNumber ? ",\"badge\":" : ",\"badge\":\"", bytes: text.extracting(badge))
      if !isNumber { payload.append("\"") }
    } else if let badge = content.badge {
      payload.append(",\"badge\":", bytes: text.extracting(badge))
    }
    if !content.isSilent { payload.append(",\"sound\":\"default\"") }
    payload.append("}")
    if !navigate.isEmpty { payload.append(",\"url\":\"", bytes: text.extracting(navigate), "\"") }
    if let icon = content.strings[Self.icon] {
      payload.append(",\"icon\":\"", bytes: text.extracting(icon), "\"")
    }
    if let image = content.strings[Self.image] {
      payload.append(",\"image\":\"", bytes: text.extracting(image), "\"")
    }
    payload.append("}")
  }

  private static func read(_ text: Span<UInt8>) throws(Problem) -> Content {
    var content = Content()
    var scanner = JSONScanner()
    var problem: Problem?
    do throws(JSONProblem) {
      guard try scanner.peek(text) == .openBrace else { throw JSONProblem.expectedValue }
      if try scanner.openObject(text) {
        repeat {
          let key = try text.extracting(scanner.key(text))
          let first = try scanner.peek(text)
          if key.equals("notification"), first == .openBrace {
            content.hasNotification = true
            problem = try readNotification(text, &scanner, &content)
          } else {
            let value = try scanner.value(text)
            if key.equals("web_push") {
              content.isDeclarative = text.extracting(value).equals("8030") && first != .quote
            } else if key.equals("app_badge") {
              content.badge = value
            }
          }
        } while try scanner.nextMember(text)
      }
      scanner.skipSpace(text)
      guard scanner.index == text.count else { throw JSONProblem.expectedValue }
    } catch {
      throw .notJSON
    }
    if let problem { throw problem }
    return content
  }

  /// Reads the object `notification`, and returns the first value that has a wrong type.
  private static func readNotification(
    _ text: Span<UInt8>, _ scanner: inout JSONScanner, _ content: inout Content
  ) throws(JSONProblem) -> Problem? {
    var problem: Problem?
    guard try scanner.openObject(text) else { return nil }
    repeat {
      let key = try text.extracting(scanner.key(text))
      let first = try scanner.peek(text)
      let value = try scanner.value(text)
      if key.equals("silent") {
        content.isSilent = first == UInt8(ascii: "t")
        if first != UInt8(ascii: "t"), first != UInt8(ascii: "f") {
          problem = problem ?? .notSilent
        }
      } else if let number = names.index(of: key) {
        if first == .quote {
          content.strings[number] = value
        } else if number == badge {
          content.badge = value
        } else {
          problem = problem ?? .notString(number)
        }
      }
    } while try scanner.nextMember(text)
    return problem
  }
}
