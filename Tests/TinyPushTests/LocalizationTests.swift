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
func `a language is a tag of subtags, in either case`(text: String, folded: String) {
  #expect(written(tag(text)) == folded)
}

@Test(arguments: [
  "", "-", "fr-", "-fr", "fr--CA", "french!", "abcdefghi", "fr ", "ü", "fr.CA", #"\u0066r"#,
  "abcdefgh-abcdefgh-abcdefgh-abcdefgh-a",
])
func `what is no language is none`(text: String) {
  #expect(written(tag(text)) == nil)
}

/// The alert of a notification that a device of a language gets, as text.
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
    // A single letter goes with what is behind it.
    ("de-x-me-too", #""de-x-me""#), ("de-x-other", #""de""#), ("de-x", #""de""#),
    // Any other language, and none: the default one.
    ("it", #""en""#), ("en-GB", #""en""#), (nil, #""en""#),
  ] as [(String?, String)])
func `a device gets the alert in its language, as a lookup finds it`(
  language: String?, expected: String
) {
  let localized =
    #"{"fr": "fr", "fr-CA": "fr-CA", "zh-Hant": "zh-Hant", "de": "de", "de-x-me": "de-x-me", "de-x": "never", "en": "en"}"#
  // As the RFC has it, "de-x" is looked for by nobody but who asks for just that.
  if language == "de-x" {
    #expect(alert(for: language, localized) == #""never""#)
  } else {
    #expect(alert(for: language, localized) == expected)
  }
}

@Test func `the default language is looked up like any other, and then the payload's own alert`() {
  let localized = #"{"fr": {"title": "t", "body": "fr"}, "pt": "pt"}"#
  #expect(alert(for: "it", default: "pt-BR", localized) == #""pt""#)
  #expect(alert(for: "it", localized) == #""own""#)
  #expect(alert(for: nil, localized) == #""own""#)
  #expect(alert(for: "fr-FR", localized) == #"{"title": "t", "body": "fr"}"#)
  #expect(alert(for: "it", own: nil, localized) == "refused")
  #expect(alert(for: "it", default: "pt-BR", own: nil, localized) == #""pt""#)
}

@Test func `the longest of several that fit is taken, wherever it stands`() {
  for localized in [#"{"fr":"a","fr-CA":"b"}"#, #"{"fr-CA":"b","fr":"a"}"#] {
    #expect(alert(for: "fr-CA", localized) == #""b""#)
    #expect(alert(for: "fr-FR", localized) == #""a""#)
  }
}
