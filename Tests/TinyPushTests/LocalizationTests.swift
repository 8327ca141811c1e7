import Testing

@testable import Simulation
@testable import TinyPush

private let token = String(repeating: "0123456789abcdef", count: 4)

private func tag(_ text: String) -> LanguageTag? {
  let bytes = text.bytes
  return LanguageTag(bytes.span)
}

private func written(_ tag: LanguageTag?) -> String? {
  tag.map { tag in text { tag.append(to: &$0) } }
}

@Test(arguments: [
  ("fr", "fr"), ("FR", "fr"), ("fr_CA", "fr-ca"), ("zh-Hant-TW", "zh-hant-tw"),
  ("de-CH-1996", "de-ch-1996"), ("x-mine", "x-mine"), ("es-419", "es-419"),
  ("abcdefgh-abcdefgh-abcdefgh-abcdefgh", "abcdefgh-abcdefgh-abcdefgh-abcdefgh"),
])
func `a language tag is folded to lower case with hyphens`(text: String, folded: String) {
  #expect(written(tag(text)) == folded)
}

@Test(arguments: [
  "", "-", "fr-", "-fr", "fr--CA", "french!", "abcdefghi", "fr ", "ü", "fr.CA", #"\u0066r"#,
  "abcdefgh-abcdefgh-abcdefgh-abcdefgh-a",
])
func `invalid language tags are refused`(text: String) {
  #expect(written(tag(text)) == nil)
}

/// Returns the alert that a device of a language gets, as text.
private func alert(
  for language: String?, default: StaticString = "en", own: String? = "own", _ localized: String
) -> String {
  let aps = own.map { #""alert":"\#($0)""# } ?? #""badge":1"#
  let bytes = #"{"token":"\#(token)","localized":\#(localized),"payload":{"aps":{\#(aps)}}}"#.bytes
  var rules = Rules()
  rules.defaultLanguage = LanguageTag(`default`)
  var reader = NotificationReader()
  var findings = Findings(capacity: 10)
  guard
    case .notification(let notification) = reader.next(
      in: bytes.span, isWhole: true, rules, &findings)
  else { return "refused" }
  let rendition = Rendition(notification, for: language.flatMap(tag), in: bytes.span, rules)
  return String(decoding: bytes[rendition.alert.range], as: UTF8.self)
}

@Test(
  arguments: [
    // RFC 4647 section 3.4: the tag is shortened from its end until it is there.
    ("fr-CA", #""fr-CA""#), ("fr-ca", #""fr-CA""#), ("fr_CA", #""fr-CA""#), ("fr-CH", #""fr""#),
    ("fr", #""fr""#), ("FR", #""fr""#), ("fr-CA-x-me", #""fr-CA""#), ("fry", #""en""#),
    ("zh-Hant-TW", #""zh-Hant""#), ("zh-Hans-CN", #""en""#), ("zh", #""en""#),
    // A single letter is removed with the subtag behind it.
    ("de-x-me-too", #""de-x-me""#), ("de-x-other", #""de""#),
    // By the RFC, only the tag "de-x" itself finds "de-x".
    ("de-x", #""never""#),
    // Other languages and no language get the default one.
    ("it", #""en""#), ("en-GB", #""en""#), (nil, #""en""#),
  ] as [(String?, String)])
func `a device gets the alert that the lookup of RFC 4647 finds`(
  language: String?, expected: String
) {
  let localized =
    #"{"fr": "fr", "fr-CA": "fr-CA", "zh-Hant": "zh-Hant", "de": "de", "de-x-me": "de-x-me", "de-x": "never", "en": "en"}"#
  #expect(alert(for: language, localized) == expected)
}

@Test func `the lookup goes on with the default language and then the payload's own alert`() {
  let localized = #"{"fr": {"title": "t", "body": "fr"}, "pt": "pt"}"#
  #expect(alert(for: "it", default: "pt-BR", localized) == #""pt""#)
  #expect(alert(for: "it", localized) == #""own""#)
  #expect(alert(for: nil, localized) == #""own""#)
  #expect(alert(for: "fr-FR", localized) == #"{"title": "t", "body": "fr"}"#)
  #expect(alert(for: "it", own: nil, localized) == "refused")
  #expect(alert(for: "it", default: "pt-BR", own: nil, localized) == #""pt""#)
}

@Test func `the longest matching tag wins in any order`() {
  for localized in [#"{"fr":"a","fr-CA":"b"}"#, #"{"fr-CA":"b","fr":"a"}"#] {
    #expect(alert(for: "fr-CA", localized) == #""b""#)
    #expect(alert(for: "fr-FR", localized) == #""a""#)
  }
}
