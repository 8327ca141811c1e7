/// A language, as recipients files and the configuration name it (BCP 47).
public struct LanguageTag: Sendable, BitwiseCopyable {
  /// RFC 5646 section 4.4.1: what every implementation must take.
  public static let byteCountMax = 35

  private var bytes: InlineArray<35, UInt8>
  private var count: Int

  /// Subtags of one to eight letters or digits, hyphens between them; an underscore passes for a hyphen.
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

  /// Whether a lookup of this language comes to `key`: it is the language, or what is left of it when subtags are taken from
  /// its end, and a single letter or digit with the one behind it. Source: RFC 4647 section 3.4.
  func comesTo(_ key: Span<UInt8>) -> Bool {
    guard key.count > 0, key.count <= count else { return false }
    for index in key.indices where Self.folded(key[index]) != bytes[index] { return false }
    guard key.count < count else { return true }
    return bytes[key.count] == .hyphen && !(key.count > 1 && bytes[key.count - 2] == .hyphen)
  }

  public borrowing func append(to text: inout Text) {
    text.append(bytes: bytes.span.extracting(0..<count))
  }
}

/// The alerts of a notification in several languages: `{"fr": {"title": "…", "body": "…"}, "en": "…"}`. Its text must have
/// been found valid.
package enum Localization {
  /// The alert that a lookup of `language` comes to last: the one with the longest tag.
  package static func alert(
    for language: LanguageTag, in object: Range<Int>, of text: Span<UInt8>
  ) -> Alert? {
    var best: Alert?
    var bestCount = 0
    forEach(in: object, of: text) { key, alert in
      guard key.count > bestCount, language.comesTo(text.extracting(key)) else { return }
      best = alert
      bestCount = key.count
    }
    return best
  }

  /// Each alert, with its language.
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
