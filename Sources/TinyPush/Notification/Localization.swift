/// A language tag (BCP 47), as recipients files and the configuration use it.
public struct LanguageTag: Sendable, BitwiseCopyable {
  /// The longest tag.
  ///
  /// RFC 5646 section 4.4.1: the length that every implementation must support.
  public static let byteCountMax = 35

  private var bytes: InlineArray<35, UInt8>
  private var count: Int

  /// Reads subtags of one to eight letters or digits, separated by hyphens or underscores.
  public init?(_ text: Span<UInt8>) {
    guard text.count > 0, text.count <= Self.byteCountMax else { return nil }
    bytes = .init(repeating: 0)
    count = text.count
    var subtag = 0
    for index in text.indices {
      let byte = Self.folded(text[index])
      if byte == .hyphen {
        guard subtag > 0 else { return nil }
        subtag = 0
      } else {
        subtag += 1
        guard subtag <= 8, UInt8.smallLetters.contains(byte) || byte.isDigit else {
          return nil
        }
      }
      bytes[index] = byte
    }
    guard subtag > 0 else { return nil }
  }

  /// Makes a tag from a literal, which must be valid.
  public init(_ text: StaticString) {
    self.init(text.span)!
  }

  private static func folded(_ byte: UInt8) -> UInt8 {
    switch byte {
    case .underscore: .hyphen
    case UInt8.capitals: byte | 0x20
    default: byte
    }
  }

  /// Returns whether a lookup of this language matches the tag `key`.
  ///
  /// `key` must be the language itself, or the language with subtags removed from its end. A subtag
  /// of a single letter or digit is removed together with the one after it. Source: RFC 4647
  /// section 3.4.
  func matches(_ key: Span<UInt8>) -> Bool {
    guard key.count > 0, key.count <= count else { return false }
    for index in key.indices where Self.folded(key[index]) != bytes[index] { return false }
    guard key.count < count else { return true }
    return bytes[key.count] == .hyphen && !(key.count > 1 && bytes[key.count - 2] == .hyphen)
  }

  /// The tag in lower case.
  package var text: Span<UInt8> {
    @_lifetime(borrow self) get { bytes.span.extracting(0..<count) }
  }

  /// Appends the tag in lower case.
  public borrowing func append(to text: inout Text) { text.append(bytes: self.text) }
}

/// The alerts of a notification in several languages.
///
/// `{"fr": {"title": "…", "body": "…"}, "en": "…"}`. The text must be valid.
package enum Localization {
  /// Returns the alert with the longest tag that a lookup of `language` matches.
  @inline(never)
  package static func alert(
    for language: LanguageTag, in object: Range<Int>, of text: Span<UInt8>
  ) -> Alert? {
    var best: Alert?
    var bestCount = 0
    forEach(in: object, of: text) { key, alert in
      guard key.count > bestCount, language.matches(text.extracting(key)) else { return }
      best = alert
      bestCount = key.count
    }
    return best
  }

  /// Calls `body` with each language and its alert.
  static func forEach(
    in object: Range<Int>, of text: Span<UInt8>, _ body: (Range<Int>, Alert) -> Void
  ) {
    var scanner = JSONScanner(at: object.lowerBound)
    do throws(JSONProblem) {
      guard try scanner.openObject(text) else { return }
      repeat {
        let key = try scanner.key(text)
        body(key, try Alert(text, by: &scanner))
      } while try scanner.nextMember(text)
    } catch {}
  }
}
