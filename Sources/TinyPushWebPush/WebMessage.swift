import TinyPush

/// The text that a browser gets for a notification: a declarative push message, if the notification or
/// the configuration has an address that a click opens.
///
/// ```json
/// {"web_push":8030,"notification":{"navigate":"https://…","tag":"tank","app_badge":"3",
///  "title":"Cellar","body":"Tank low"}}
/// ```
///
/// Safari shows it by itself, and the service worker of the page shows the same in other browsers. Without
/// an address there is no `web_push`, and the service worker shows the message in Safari, too.
///
/// - The title is the alert's title, else its subtitle. A text without either, such as a plain string,
///   is the title itself: its first line, or the first 40 columns if the line is longer. The rest of
///   the text is the body, so that a device shows all of it.
/// - The body is the subtitle and the body, with a line end between them.
/// - `navigate`, which a click opens, is the payload's `url` if that is a web address, else the page of
///   the configuration.
/// - A notification without a sound is `silent`.
/// - `app_badge` is a string, which Safari reads up to 64 bits.
/// - The member `web` of the payload is taken instead of all that, with `navigate` added if `web` has
///   none.
///
/// Source: W3C Push API, "Declarative push message"; WebKit's `NotificationJSONParser`, which drops a
/// whole message for one wrong member, and takes only an absolute address.
public struct WebMessage {
  /// The most bytes of a message, since a push service takes 4,096 of an encrypted one.
  public static let bytesMax = 3993
  /// The most bytes of the page's address.
  public static let pageBytesMax = 512
  /// The most bytes of a tag: a collapse ID of 64 characters, all of them escaped.
  public static let tagBytesMax = 384
  /// The most bytes of a `url`; a longer one would leave too little for the texts.
  private static let urlBytesMax = 2048
  /// A larger badge may not fit into 64 bits.
  private static let badgeDigitsMax = 18

  private static let start: StaticString = "{\"web_push\":8030,\"notification\":"
  private static let undeclaredStart: StaticString = "{\"notification\":"

  /// Why a browser cannot show a notification.
  public enum Problem: Equatable, Sendable {
    /// There is no text, only a badge, a sound or `content-available`.
    case showsNothing
    /// The alert has only keys of texts in an app.
    case hasOnlyKeys
    /// The member `web` is not an object with a title, or has another `navigate` than a string.
    case web
    /// The member `web` is too large.
    case webTooLarge

    /// What is wrong, and how to correct it.
    public var words: StaticString {
      switch self {
      case .showsNothing:
        "a browser shows only a text, and this notification has none: give it a title or a body"
      case .hasOnlyKeys:
        "a browser has no texts of an app, and this alert has only their keys: give it a title or a body"
      case .web:
        "web must be an object with a title, and navigate in it must be a string"
      case .webTooLarge:
        "web is too large for a browser's push service, which takes 3993 bytes"
      }
    }
  }

  /// Why a browser cannot show the notification; nil: it can.
  public private(set) var problem: Problem?

  private var alert = AlertTexts()
  private var hasSound = false
  /// The digits of the badge; empty: there is none.
  private var badge = 0..<0
  /// The content of `url`; empty: there is none that a browser opens.
  private var url = 0..<0
  /// The value of `web`; empty: there is none.
  private var web = 0..<0
  /// The content of the address in `web`; empty: there is none.
  private var webAddress = 0..<0

  /// Reads a payload.
  @inline(never)
  public init(_ payload: Span<UInt8>) {
    read(payload)
    do throws(JSONProblem) {
      problem = web.isEmpty ? problemOfAlert(payload) : try problemOfWeb(payload)
    } catch {
      // The payload was read before, so that this cannot be.
      problem = .showsNothing
    }
  }

  // MARK: - Reading

  private mutating func read(_ text: Span<UInt8>) {
    var members = JSONMembers(text)
    while let member = members.next(text) {
      let key = text.extracting(member.key)
      if PayloadReader.isAps(key) {
        readAps(text, at: member.value.lowerBound)
      } else if key.equals("web") {
        web = member.value
      } else if key.equals("url") {
        let content = Self.content(of: member.value, in: text)
        let isUsed =
          content.count <= Self.urlBytesMax && WebAddress.isGood(text.extracting(content))
        url = isUsed ? content : 0..<0
      }
    }
  }

  private mutating func readAps(_ text: Span<UInt8>, at start: Int) {
    var members = JSONMembers(text, at: start)
    while let member = members.next(text) {
      let value = member.value
      switch PayloadKey(spelled: text.extracting(member.key), isInAlert: false) {
      case .alert: alert = AlertTexts(text, value)
      case .badge:
        let isUsed = text.extracting(value).isWhole && value.count <= Self.badgeDigitsMax
        badge = isUsed ? value : 0..<0
      case .sound:
        hasSound =
          text[value.lowerBound] == .openBrace || !Self.content(of: value, in: text).isEmpty
      default: break
      }
    }
  }

  private func problemOfAlert(_ text: Span<UInt8>) -> Problem? {
    guard texts(text).title.isEmpty else { return nil }
    return alert.hasKeys ? .hasOnlyKeys : .showsNothing
  }

  private mutating func problemOfWeb(_ text: Span<UInt8>) throws(JSONProblem) -> Problem? {
    guard text[web.lowerBound] == .openBrace else { return .web }
    var scanner = JSONScanner(at: web.lowerBound)
    guard try scanner.openObject(text) else { return .web }
    var hasTitle = false
    repeat {
      let key = text.extracting(try scanner.key(text))
      _ = try scanner.peek(text)
      let start = scanner.index
      try scanner.skipValue(text)
      let content = Self.content(of: start..<scanner.index, in: text)
      if key.equals("title") {
        hasTitle = !content.isEmpty
      } else if key.equals("navigate") {
        guard !content.isEmpty else { return .web }
        webAddress = content
      }
    } while try scanner.nextMember(text)
    guard hasTitle else { return .web }
    let added =
      webAddress.isEmpty ? "\"navigate\":\"\",".utf8.count + max(url.count, Self.pageBytesMax) : 0
    let bytes = Self.start.utf8CodeUnitCount + web.count - scanner.spaceBytes + added + 1
    return bytes > Self.bytesMax ? .webTooLarge : nil
  }

  /// Returns the content of a string; an empty range for another value.
  private static func content(of value: Range<Int>, in text: Span<UInt8>) -> Range<Int> {
    guard value.count > 2, text[value.lowerBound] == .quote else { return 0..<0 }
    return value.lowerBound + 1..<value.upperBound - 1
  }

  // MARK: - Texts

  /// The texts that a device shows; empty: there is none.
  private struct Texts {
    var title = 0..<0
    /// Whether the title goes on in the body.
    var isTitleCut = false
    var first = 0..<0
    var second = 0..<0
  }

  private func texts(_ text: Span<UInt8>) -> Texts {
    let title = Self.content(of: alert.title, in: text)
    let subtitle = Self.content(of: alert.subtitle, in: text)
    let body = Self.content(of: alert.body, in: text)
    guard title.isEmpty else {
      return subtitle.isEmpty
        ? Texts(title: title, first: body) : Texts(title: title, first: subtitle, second: body)
    }
    guard subtitle.isEmpty else { return Texts(title: subtitle, first: body) }
    let heading = Heading(of: body, in: text)
    return Texts(title: heading.title, isTitleCut: heading.isCut, first: heading.rest)
  }

  // MARK: - Writing

  /// Writes the message at `start`, and returns the number of bytes; ``problem`` must be nil.
  ///
  /// - Parameters:
  ///   - payload: the text that was read.
  ///   - page: the address of the page; empty: it is not known. It and the tag are the contents of JSON
  ///     strings.
  ///   - tag: what this message and those that replace it have in common; empty: none replaces it.
  @inline(never)
  public func write(
    _ payload: Span<UInt8>, page: Span<UInt8>, tag: Span<UInt8>,
    to buffer: borrowing FixedBuffer<UInt8>, at start: Int = 0
  ) -> Int {
    precondition(
      problem == nil && page.count <= Self.pageBytesMax && tag.count <= Self.tagBytesMax)
    var writer = Writer(end: start, limit: start + Self.bytesMax)
    let own = payload.extracting(webAddress.isEmpty ? url : webAddress)
    let address = own.count > 0 ? own : page
    writer.put((WebAddress.isGood(address) ? Self.start : Self.undeclaredStart).span, buffer)
    writer.put(("{" as StaticString).span, buffer)
    if webAddress.isEmpty { writer.putString("\"navigate\":\"", address, buffer) }
    if web.isEmpty {
      writer.putString("\"tag\":\"", tag, buffer)
      if !hasSound { writer.put(("\"silent\":true," as StaticString).span, buffer) }
      writer.putString("\"app_badge\":\"", payload.extracting(badge), buffer)
      put(texts(payload), payload, &writer, buffer)
      writer.put(("}}" as StaticString).span, buffer)
    } else {
      let members = payload.extracting(web.lowerBound + 1..<web.upperBound)
      writer.end = buffer.store(json: members, at: writer.end)
      writer.put(("}" as StaticString).span, buffer)
    }
    return writer.end - start
  }

  /// Writes the title and the body, shortened where they do not fit.
  @inline(never)
  private func put(
    _ texts: Texts, _ text: Span<UInt8>, _ writer: inout Writer,
    _ buffer: borrowing FixedBuffer<UInt8>
  ) {
    let bodyStart: StaticString = "\",\"body\":\""
    let lineEnd: StaticString = "\\n"
    writer.put(("\"title\":\"" as StaticString).span, buffer)
    let room = writer.limit - writer.end - bodyStart.utf8CodeUnitCount - "\"}}".utf8.count
    writer.putText(texts.title, text, within: texts.first.isEmpty ? room : room / 2, buffer)
    if texts.isTitleCut { writer.put(Rendition.ellipsis.span, buffer) }
    if !texts.first.isEmpty {
      writer.put(bodyStart.span, buffer)
      if texts.isTitleCut { writer.put(Rendition.ellipsis.span, buffer) }
      writer.putText(texts.first, text, within: writer.limit - writer.end - 3, buffer)
      let room = writer.limit - writer.end - lineEnd.utf8CodeUnitCount - 3
      if !texts.second.isEmpty, room >= Writer.roomMin {
        writer.put(lineEnd.span, buffer)
        writer.putText(texts.second, text, within: room, buffer)
      }
    }
    writer.put(("\"" as StaticString).span, buffer)
  }
}
