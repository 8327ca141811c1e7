/// A recipients file: the recipients of a notification with `"to": "NAME"`.
///
/// Each line has a device token or a browser's subscription, and perhaps its language and when it was
/// registered. `#` begins a comment.
///
/// ```
/// # the family
/// 0123…cdef lang=fr-CA registered=1795591391
/// https://push.example/a1b2#BCVx…xaI.jk7E…4w lang=fr
/// ```
public enum RecipientsFile {
  /// The longest line in bytes.
  ///
  /// Inferred: a subscription, a language, and room for a comment.
  public static let lineBytesMax = 2048

  /// From this number of hexadecimal digits on, a name could be mistaken for a token.
  static let tokenDigitsMin = 64

  /// Returns whether a name is a valid file name of a recipients file.
  ///
  /// Such a name cannot lead outside the directory of these files.
  public static func isName(_ name: Span<UInt8>) -> Bool {
    guard name.count > 0, name.count <= Envelope.listNameBytesMax, name[0] != .dot else {
      return false
    }
    for index in name.indices {
      switch name[index] {
      case UInt8.digits, UInt8.capitals, UInt8.smallLetters, .plus, .hyphen, .dot, .at, .underscore:
        break
      default: return false
      }
    }
    return name.count < tokenDigitsMin || DeviceToken.firstNonDigit(name) != nil
  }

  /// A recipient.
  public struct Recipient: BitwiseCopyable {
    /// The device token, or what stands for the subscription.
    public let token: DeviceToken
    /// The language of the device.
    public internal(set) var language: LanguageTag?
    /// When the app last registered the token, in UNIX seconds; 0: unknown.
    ///
    /// This ends a suppression that began before.
    public internal(set) var registered: UInt32 = 0

    /// The subscription in its text; empty: the recipient is a device.
    @TextRange public private(set) var subscription: Range<Int> = 0..<0

    init(_ token: DeviceToken) { self.token = token }

    /// Reads a device token or a subscription, which is written to `address` as one word.
    init?(printed text: Span<UInt8>, address: inout Text) {
      guard Subscription.isMeant(text) else {
        guard let token = DeviceToken(printed: text) else { return nil }
        self.init(token)
        return
      }
      do throws(Subscription.Problem) {
        let subscription = try Subscription(text)
        address.clear()
        subscription.append(of: text, to: &address)
        self.init(subscription, text, at: 0..<text.count)
      } catch { return nil }
    }

    /// Makes the recipient of a subscription.
    ///
    /// - Parameter place: where in the text the subscription is.
    init(_ subscription: Subscription, _ text: Span<UInt8>, at place: Range<Int>) {
      token = subscription.token(in: text)
      self.subscription = place
    }
  }

  /// The content of a line.
  public enum Line {
    case nothing
    case recipient(Recipient)
    /// A mistake, and the index of the byte at fault.
    case wrong(Problem, at: Int)
  }

  /// A mistake in a line.
  public enum Problem: Error {
    case tokenSize
    /// The token has a size that the binary protocol does not have.
    case tokenSizeOfBinary
    case tokenNotHex
    case subscription(Subscription.Problem)
    case word
    case language
    case registered
    case tooLong

    /// A stable word for the problem, for programs.
    public var code: StaticString {
      switch self {
      case .tokenSize, .tokenSizeOfBinary: "token-size"
      case .tokenNotHex: "token-not-hex"
      case .subscription: Subscription.Problem.code
      case .word: "recipient-word"
      case .language: "recipient-language"
      case .registered: "recipient-registered"
      case .tooLong: "line-too-long"
      }
    }

    /// The message: what is wrong, and how to correct it.
    public var text: StaticString {
      switch self {
      case .tokenSize:
        "a device token has an even number of hex digits, from 2 to 200; this one has a different number"
      case .tokenSizeOfBinary:
        "over the binary protocol a device token has 64 hex digits; this one has a different number: only protocol = http2 can send to it"
      case .tokenNotHex: "a device token is written in hex digits (0-9, a-f) or in base64"
      case .subscription(let problem): problem.text
      case .word:
        "only lang=LANGUAGE, registered=SECONDS or a # comment may follow the token"
      case .language: "not a language: write lang=fr or lang=fr-CA"
      case .registered:
        "registered= takes the UNIX seconds at which the app registered the token: tinypush recipient add writes them"
      case .tooLong: "longer than 2048 bytes: put each token on a line of its own"
      }
    }
  }

  /// Reads a line, without its end.
  ///
  /// - Parameter pushProtocol: the protocol that must be able to carry the token.
  public static func read(_ line: Span<UInt8>, for pushProtocol: PushProtocol) -> Line {
    var place = 0
    let token = token(line, from: &place)
    guard token.count > 0 else { return .nothing }
    let printed = line.extracting(token)
    if Subscription.isMeant(printed) { return readSubscription(line, token) }
    guard let device = DeviceToken(printed: printed) else {
      guard let wrong = DeviceToken.firstNonDigit(printed), DeviceToken.isDigitCount(printed.count)
      else {
        return .wrong(.tokenSize, at: token.lowerBound)
      }
      return .wrong(.tokenNotHex, at: token.lowerBound + wrong)
    }
    guard pushProtocol == .http2 || device.count == Rules.tokenBytesOfBinary else {
      return .wrong(.tokenSizeOfBinary, at: token.lowerBound)
    }
    return readWords(line, from: place, of: Recipient(device))
  }

  @inline(never)
  private static func readSubscription(_ line: Span<UInt8>, _ place: Range<Int>) -> Line {
    let text = line.extracting(place)
    do throws(Subscription.Problem) {
      let subscription = try Subscription(text)
      return readWords(
        line, from: place.upperBound, of: Recipient(subscription, text, at: place))
    } catch { return .wrong(.subscription(error), at: place.lowerBound) }
  }

  /// Reads the words behind the recipient of a line.
  private static func readWords(
    _ line: Span<UInt8>, from start: Int, of recipient: consuming Recipient
  ) -> Line {
    var place = start
    var recipient = recipient
    while true {
      let word = word(line, from: &place)
      guard word.count > 0 else { return .recipient(recipient) }
      if let value = value(of: languageName, word, line), recipient.language == nil {
        recipient.language = LanguageTag(line.extracting(value))
        guard recipient.language != nil else { return .wrong(.language, at: value.lowerBound) }
      } else if let value = value(of: registeredName, word, line), recipient.registered == 0 {
        guard let seconds = seconds(line.extracting(value)), seconds > 0 else {
          return .wrong(.registered, at: value.lowerBound)
        }
        recipient.registered = seconds
      } else {
        return .wrong(.word, at: word.lowerBound)
      }
    }
  }

  static let languageName: StaticString = "lang="
  static let registeredName: StaticString = "registered="

  /// Returns the value in a word `NAME=VALUE`; nil: the word has another name, or no value.
  private static func value(
    of name: StaticString, _ word: Range<Int>, _ line: Span<UInt8>
  ) -> Range<Int>? {
    let start = word.lowerBound + name.utf8CodeUnitCount
    guard start < word.upperBound, line.extracting(word.lowerBound..<start).equals(name) else {
      return nil
    }
    return start..<word.upperBound
  }

  private static func seconds(_ digits: Span<UInt8>) -> UInt32? {
    digits.wholeNumber.flatMap { UInt32(exactly: $0) }
  }

  /// Returns the language of a valid line as written there; empty: none.
  @_lifetime(copy line)
  public static func language(in line: Span<UInt8>) -> Span<UInt8> {
    var place = 0
    _ = token(line, from: &place)
    while true {
      let word = word(line, from: &place)
      if word.count == 0 { return line.extracting(word) }
      if let value = value(of: languageName, word, line) { return line.extracting(value) }
    }
  }

  /// Returns the comment of a line without its end; empty: none.
  @_lifetime(copy line)
  public static func comment(in line: Span<UInt8>) -> Span<UInt8> {
    var place = 0
    _ = token(line, from: &place)
    while word(line, from: &place).count > 0 {}
    var end = line.count
    if place < end { place += 1 }
    while place < end, isSpace(line[place]) { place += 1 }
    while end > place, isSpace(line[end - 1]) { end -= 1 }
    return line.extracting(place..<end)
  }

  /// Returns whether a text may be written as a comment.
  ///
  /// The text must be UTF-8 without control characters, and must leave room for what is before it.
  public static func isComment(_ text: Span<UInt8>) -> Bool {
    var index = 0
    while index < text.count {
      let byte = text[index]
      guard byte >= .space, byte != .delete else { return false }
      let length = byte < 0x80 ? 1 : UTF8Sequence.length(in: text, at: index)
      guard length > 0 else { return false }
      index += length
    }
    return text.count <= lineBytesMax - Subscription.wordBytesMax - LanguageTag.byteCountMax - 38
  }

  /// Returns the token at the start: a word, or groups of eight digits with spaces between them, as
  /// in `<740f4707 bebcf74f>`, or JSON.
  @inline(never)
  private static func token(_ line: Span<UInt8>, from place: inout Int) -> Range<Int> {
    let first = word(line, from: &place)
    if first.count > 0, line[first.lowerBound] == .openBrace {
      var scanner = JSONScanner(at: first.lowerBound)
      do throws(JSONProblem) { try scanner.skipValue(line) } catch { scanner.index = line.count }
      place = scanner.index
      return first.lowerBound..<place
    }
    var end = first.upperBound
    var group = first
    while isGroup(line.extracting(group)) {
      end = group.upperBound
      place = end
      group = word(line, from: &place)
    }
    place = end
    return first.lowerBound..<end
  }

  private static func isGroup(_ word: Span<UInt8>) -> Bool {
    var digits = 0
    for index in word.indices where DeviceToken.hexValue(word[index]) != nil { digits += 1 }
    let isFirst = word.count > 0 && word[0] == UInt8(ascii: "<")
    let isLast = word.count > 0 && word[word.count - 1] == UInt8(ascii: ">")
    return digits == 8 && word.count == digits + (isFirst ? 1 : 0) + (isLast ? 1 : 0)
  }

  /// Returns the next word; empty at the end and before a comment.
  private static func word(_ line: Span<UInt8>, from place: inout Int) -> Range<Int> {
    while place < line.count, isSpace(line[place]) { place += 1 }
    guard place < line.count, line[place] != .hash else { return place..<place }
    let start = place
    while place < line.count, !isSpace(line[place]) { place += 1 }
    return start..<place
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == .space || byte == .tab || byte == .carriageReturn
  }
}
