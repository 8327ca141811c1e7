import Foundation
import Testing

@testable import Simulation
@testable import TinyPush

/// A text with ▸ before the place of each finding, and the findings, each as `CODE: WORDS`.
struct Remarked: Sendable, CustomStringConvertible {
  var marked: String
  var words: [String]

  init(_ marked: String, _ words: String...) {
    (self.marked, self.words) = (marked, words)
  }

  var description: String { "\(words.first ?? "nothing"): \(marked.prefix(120))" }
  var text: String { marked.replacing("▸", with: "") }
  /// The findings, each as `OFFSET CODE: WORDS`.
  var lines: [String] {
    let parts = marked.split(separator: "▸", omittingEmptySubsequences: false)
    var offset = 0
    return zip(parts, words).map { part, words in
      offset += part.utf8.count
      return "\(offset) \(words)"
    }
  }
}

/// Returns all findings about the one notification in a text, in order.
private func findings(
  _ text: String, _ rules: Rules = Rules(), capacity: Int = 100
) -> [Finding] {
  var findings = Findings(capacity: capacity)
  var reader = NotificationReader()
  let bytes = text.bytes
  let reading = reader.next(in: bytes.span, isWhole: true, rules, &findings)
  if case .notification = reading {
    #expect(findings.refusals == 0)
  } else {
    #expect(findings.refusals > 0)
  }
  return (0..<findings.count).map { findings[$0] }
}

private func words(_ finding: Finding) -> String {
  text {
    finding.appendCode(to: &$0)
    $0.append(": ")
    finding.describe(in: &$0)
  }
}

private func said(_ text: String, _ rules: Rules = Rules()) -> [String] {
  findings(text, rules).map { "\($0.offset) \(words($0))" }
}

/// Returns the findings of a text in words, for tests in other files.
func remarks(_ text: String, _ rules: Rules) -> [String] { said(text, rules) }

private let token = String(repeating: "0123456789abcdef", count: 4)
private let payload = #""payload":{"aps":{"alert":"x"}}"#
/// Returns a notification with a token, these members and a payload.
private func with(_ members: String) -> String { #"{"token":"\#(token)",\#(members),\#(payload)}"# }
/// Returns a notification with this value of `aps`.
private func aps(_ value: String) -> String {
  #"{"token":"\#(token)","payload":{"aps":\#(value)}}"#
}
private func alert(_ value: String) -> String { aps(#"{"alert":\#(value)}"#) }
private let x64 = String(repeating: "x", count: 64)

// MARK: - The notification

private let ofNotifications: [Remarked] = [
  Remarked(#"▸["a"]"#, "not-an-object: expected '{': a notification is a JSON object"),
  Remarked(
    "▸{\"id\":\"\(String(repeating: "x", count: 65_530))\",\(payload)}",
    "object-too-large: the notification is larger than 65536 bytes: make its texts shorter, or put its tokens into a recipients file"
  ),
  Remarked(with(#"▸"prority":5"#), "unknown-key: unknown key; did you mean priority?"),
  Remarked(with(#"▸"collapse_id":"a""#), "unknown-key: unknown key; did you mean collapse-id?"),
  Remarked(
    with(#"▸"not_before":1700000000"#), "unknown-key: unknown key; did you mean not-before?"),
  Remarked(with(#"▸"localised":{"fr":"x"}"#), "unknown-key: unknown key; did you mean localized?"),
  Remarked(
    with(#"▸"temperature":5"#),
    "unknown-key: unknown key: put data for the app into payload"),
  Remarked(with(#""id":"a",▸"id":"a""#), "duplicate-key: duplicate key: remove one"),
  Remarked(
    with(#""id":"a",▸"\u0069\u0064":"b""#), "duplicate-key: duplicate key: remove one"),
  Remarked(
    #"▸{"token":"\#(token)"}"#,
    #"missing-payload: no payload: add "payload": {"aps": {"alert": "..."}}"#),
  Remarked(
    #"▸{"failed":{"reason":"it was refused"},\#(payload)}"#,
    #"missing-recipient: no recipient: add "token": "HEX DIGITS", "tokens": ["...", "..."], or "to": "NAME" of a recipients file"#
  ),
  Remarked(
    "▸{}", #"missing-payload: no payload: add "payload": {"aps": {"alert": "..."}}"#),
  Remarked(
    with(#"▸"title":"Tank""#),
    #"text-outside: there is no key title here: write {"aps": {"alert": "TEXT"}}, or "payload": {"aps": {"alert": "TEXT"}} in a notification"#
  ),
  Remarked(
    #"{"token":"\#(token)","payload":▸"Tank low"}"#,
    #"payload-not-object: the payload must be an object: {"aps": {"alert": "..."}}"#),
  Remarked(
    #"{"token":"\#(token)",▸"aps":{"alert":"x"}}"#,
    #"aps-outside: aps belongs inside the payload: {"token": "...", "payload": {"aps": {"alert": "..."}}}"#
  ),
  Remarked(
    #"{▸"aps":{"alert":"x"},"to":"family"}"#,
    #"aps-outside: aps belongs inside the payload: {"token": "...", "payload": {"aps": {"alert": "..."}}}"#
  ),
  Remarked(
    #"{"token":"\#(token)","payload":▸{"alert":"x"}}"#,
    #"missing-aps: the payload has no aps: add "aps": {"alert": "..."} to it"#),
  // Recipients
  Remarked(
    #"{"token":▸12,\#(payload)}"#,
    "token-not-string: a device token must be a string of hex digits"),
  Remarked(
    #"{"tokens":["\#(token)",▸null],\#(payload)}"#,
    "token-not-string: a device token must be a string of hex digits"),
  Remarked(
    #"{"token":"▸12",\#(payload)}"#,
    "token-size: over the binary protocol a device token has 64 hex digits; this one has 2 characters: only protocol = http2 can send to it"
  ),
  Remarked(
    #"{"token":"▸1",\#(payload)}"#,
    "token-size: a device token has an even number of hex digits, from 2 to 200; this one has 1 character"
  ),
  Remarked(
    #"{"tokens":["▸1","\#(token)","▸"],\#(payload)}"#,
    "token-size: a device token has an even number of hex digits, from 2 to 200; this one has 1 character",
    "token-size: a device token has an even number of hex digits, from 2 to 200; this one has 0 characters"
  ),
  Remarked(
    #"{"token":"\#(token.dropLast())▸g",\#(payload)}"#,
    "token-not-hex: a device token is written in hex digits (0-9, a-f) or in base64"),
  Remarked(
    #"{"token":"▸https://push.example/a#key",\#(payload)}"#,
    "subscription: not a browser's subscription: copy all of the JSON that the page shows, with endpoint, p256dh and auth"
  ),
  Remarked(
    with(#"▸"tokens":["\#(token)"]"#), "token-and-tokens: give either token or tokens, not both"),
  Remarked(
    #"{"tokens":▸"\#(token)",\#(payload)}"#,
    #"tokens-not-array: tokens must be an array: ["HEX DIGITS", ...]"#),
  Remarked(
    #"{"tokens":▸[],\#(payload)}"#, "tokens-empty: tokens is empty: add a device token"),
  Remarked(
    #"{"to":▸true,\#(payload)}"#,
    "to: to must be the name of a recipients file, or an array of such names"),
  Remarked(
    #"{"to":["family",▸7],\#(payload)}"#,
    "to: to must be the name of a recipients file, or an array of such names"),
  Remarked(#"{"to":▸[],\#(payload)}"#, "to-empty: to is empty: add the name of a recipients file"),
  Remarked(
    #"{"to": [\#(Array(repeating: #""a""#, count: 16).joined(separator: ",")), ▸"b"], \#(payload)}"#,
    "too-many-lists: more than 16 recipients files: merge some of them"),
  Remarked(
    #"{"to":▸"../shadow",\#(payload)}"#,
    "list-name: not the name of a recipients file: use letters, digits and . _ - + @, no dot at the start, at most 64 characters"
  ),
  Remarked(
    #"{"to":["a",▸"","b"],\#(payload)}"#,
    "list-name: not the name of a recipients file: use letters, digits and . _ - + @, no dot at the start, at most 64 characters"
  ),
  Remarked(
    #"{"to":▸"\#(token)",\#(payload)}"#,
    "list-is-token: this is a device token: give it as token, or in tokens"),
  // Time and kind of the delivery
  Remarked(
    with(#""priority":▸7"#),
    "priority: priority must be 10 (at once) or 5 (when it saves the device's power)"),
  Remarked(
    with(#""priority":▸"high""#),
    "priority: priority must be 10 (at once) or 5 (when it saves the device's power)"),
  Remarked(
    with(#""priority":▸1"#),
    "priority: priority 1 is for protocol = http2: with protocol = binary it must be 10 (at once) or 5 (when it saves the device's power)"
  ),
  Remarked(
    #"{"token":"\#(token)","priority":▸10,"payload":{"aps":{"content-available":1}}}"#,
    "priority-silent: with only content-available, priority must be 5, or 1 over HTTP/2: the service refuses 10 when nothing is shown or heard"
  ),
  Remarked(
    with(#""expiration":▸"tomorrow""#),
    "expiration: expiration must be UNIX seconds, 0 to 4294967295 (0: do not store)"),
  Remarked(
    with(#""expiration":▸"2030-01-01T""#),
    "expiration: expiration must be UNIX seconds, 0 to 4294967295 (0: do not store)"),
  Remarked(
    with(#""expiration":▸1700000000000"#),
    "expiration: expiration must be UNIX seconds, 0 to 4294967295 (0: do not store); these look like milliseconds: divide by 1000"
  ),
  Remarked(
    with(#""expiration":▸3600"#),
    "expiration-past: expiration must be a date in UNIX seconds, and this one is long past: for seconds from now, use ttl"
  ),
  Remarked(
    with(#""ttl":▸-1"#), "ttl: ttl must be whole seconds, 0 to 4294967295 (0: do not store)"),
  Remarked(
    with(#""ttl":▸"1h""#), "ttl: ttl must be whole seconds, 0 to 4294967295 (0: do not store)"),
  Remarked(
    with(#""ttl":▸4294967296"#), "ttl: ttl must be whole seconds, 0 to 4294967295 (0: do not store)"
  ),
  Remarked(
    with(#""ttl":1,▸"expiration":1700000000"#),
    "expiration-and-ttl: give either expiration or ttl, not both"),
  Remarked(
    with(#""not-before":▸true"#), "not-before: not-before must be UNIX seconds, 0 to 4294967295"),
  Remarked(
    with(#""not-before":▸1700000000123"#),
    "not-before: not-before must be UNIX seconds, 0 to 4294967295; these look like milliseconds: divide by 1000"
  ),
  Remarked(
    with(#""not-before":▸60"#),
    "not-before-past: not-before must be a date in UNIX seconds, and this one is long past: add the present time"
  ),
  Remarked(
    with(#""registered":▸"yesterday""#),
    "registered: registered must be the UNIX seconds at which the app last registered the token"),
  Remarked(
    with(#""registered":▸1700000000123"#),
    "registered: registered must be the UNIX seconds at which the app last registered the token; these look like milliseconds: divide by 1000"
  ),
  Remarked(
    with(#""registered":▸1"#),
    "registered: registered must be the UNIX seconds at which the app last registered the token"),
  Remarked(
    with(#""collapse-id":▸"""#),
    "collapse-id: collapse-id must have 1 to 64 bytes; this one has 0"),
  Remarked(
    with(#""collapse-id":▸"\#(x64)x""#),
    "collapse-id: collapse-id must have 1 to 64 bytes; this one has 65"),
  Remarked(
    with(#""collapse-id":▸7"#), "not-string: collapse-id must be a string: put it in double quotes"),
  Remarked(with(#""trim":▸"true""#), "trim: trim must be true or false, without quotes"),
  Remarked(with(#""trim":▸1"#), "trim: trim must be true or false, without quotes"),
  Remarked(with(#""urgent":▸"yes""#), "urgent: urgent must be true or false, without quotes"),
  Remarked(with(#""urgent":true,"again-after":1800"#)),
  Remarked(
    with(#""again-after":▸"30m""#),
    "again-after: again-after must be a whole number of seconds, such as 1800 for half an hour"),
  Remarked(
    with(#""again-after":▸4294967296"#),
    "again-after: again-after must be a whole number of seconds, such as 1800 for half an hour"),
  Remarked(
    with(#""failed":▸true"#),
    "failed-not-object: failed must be an object that the agent wrote: remove it"),
  Remarked(with(#""failed":{"reason":"…","token":1}"#)),
  Remarked(with(#""topic":▸1"#), "not-string: topic must be a string: put it in double quotes"),
  Remarked(
    with(#""push-type":▸{}"#), "not-string: push-type must be a string: put it in double quotes"),
  Remarked(with(#""id":▸12"#), "not-string: id must be a string: put it in double quotes"),
  // Languages
  Remarked(
    with(#""localized":▸["x"]"#),
    #"localized: localized must be an object: {"fr": "...", "en": {"title": "...", "body": "..."}}"#
  ),
  Remarked(
    with(#""localized":▸{}"#),
    "localized-empty: localized is empty: give it an alert, or leave it out"),
  Remarked(
    with(#""localized":{▸"french!":"x"}"#),
    #"localized-language: not a language: write it as "fr" or "fr-CA""#),
  Remarked(
    with(#""localized":{"fr":"x",▸"fr":"y"}"#),
    "duplicate-key: duplicate key: remove one"),
  Remarked(
    with(#""localized":{"fr":▸1}"#),
    "alert: alert must be a string, or an object with title and body"),
  Remarked(
    with(#""localized":{"fr":{"title":▸1}}"#),
    "not-string: title must be a string: put it in double quotes"),
  Remarked(
    #"{"token":"\#(token)","localized":▸{"fr":"x"},"payload":{"aps":{"badge":1}}}"#,
    "localized-no-default: localized has no alert in the default language (default-language), and aps has no alert: add one of them"
  ),
]

// MARK: - The payload

private let sixtyFour = (0..<64).map { "\"k\($0)x\":0," }.joined()

private let showsNothing =
  "shows-nothing: nothing is shown or heard: give aps an alert with a text, a badge or a sound, or only content-available for a background push"
private let soundName =
  "sound-name: devices know \"default\" and files of the app whose names end in .caf, .aiff or .wav"
private func belongsInAlert(_ key: String) -> String {
  "belongs-in-alert: the service knows \(key) only inside alert: write {\"alert\": {\"\(key)\": ...}}"
}

private let ofPayloads: [Remarked] = [
  Remarked(aps(#"▸"x""#), #"aps-not-object: aps must be an object: {"alert": "..."}"#),
  Remarked(aps("▸[]"), #"aps-not-object: aps must be an object: {"alert": "..."}"#),
  Remarked(
    aps("▸{}"), "aps-empty: aps is empty: give it an alert, a badge, a sound or content-available"
  ),
  Remarked(
    aps(#"{"badge":1,▸"badge":2}"#), "duplicate-key: duplicate key: remove one"),
  Remarked(
    aps(#"{"alert":"x",▸"▸\u0061lert":"y"}"#),
    "duplicate-key: duplicate key: remove one",
    "long-escapes: unnecessary escapes: the characters themselves, in UTF-8, save 5 bytes"
  ),
  Remarked(
    aps(#"{"alert":"x","mine":1,▸"mi▸\u006ee":2}"#),
    "duplicate-key: duplicate key: remove one",
    "long-escapes: unnecessary escapes: the characters themselves, in UTF-8, save 5 bytes"
  ),
  Remarked(
    aps(#"{"mi▸\u006ee":{"mine":[1]},"alert":"x",▸"mine":2}"#),
    "long-escapes: unnecessary escapes: the characters themselves, in UTF-8, save 5 bytes",
    "duplicate-key: duplicate key: remove one"),
  Remarked(
    alert(#"{"title":"x","body":"x",▸"body":"y"}"#),
    "duplicate-key: duplicate key: remove one"),
  Remarked(
    #"{"token":"\#(token)","payload":{"aps":{"badge":1},▸"▸\u0061ps":{"badge":2}}}"#,
    "duplicate-key: duplicate key: remove one",
    "long-escapes: unnecessary escapes: the characters themselves, in UTF-8, save 5 bytes"
  ),
  Remarked(
    aps(#"{\#(sixtyFour)▸"a":1,▸"b":2}"#),
    "aps-too-many: more than 64 keys that the service does not know: move them into an object of your own",
    "aps-too-many: more than 64 keys that the service does not know: move them into an object of your own"
  ),
  Remarked(
    aps(#"{"content-available":▸1.0}"#),
    "content-available: content-available must be 1, or left out"),
  Remarked(
    aps(#"{"alert":"x","badge":▸1.5}"#),
    "badge-not-whole: a badge should be a whole number, 0 or more: devices may show a different number"
  ),
  Remarked(
    aps(#"{"badge":▸-1}"#),
    "badge-not-whole: a badge should be a whole number, 0 or more: devices may show a different number"
  ),
  Remarked(
    #"{"aps":{"alert":"x"},▸"ttl":60,"id":7,"topic":"x"}"#,
    "belongs-outside: here ttl is data for the app: to set ttl for the delivery, write {\"ttl\": ..., \"payload\": {\"aps\": ...}}"
  ),
  Remarked(
    #"{"token":"\#(token)",▸"aps":{"alert":"x"},"ttl":60}"#,
    "aps-outside: aps belongs inside the payload: {\"token\": \"...\", \"payload\": {\"aps\": {\"alert\": \"...\"}}}"
  ),
  // What shows something else than was meant
  Remarked(aps(#"▸{▸"loc-key":"A"}"#), showsNothing, belongsInAlert("loc-key")),
  Remarked(aps(#"▸{"foo":1}"#), showsNothing),
  Remarked(aps(#"{"content-available":1,"alert":▸{}}"#), showsNothing),
  Remarked(aps(#"{"alert":▸""}"#), showsNothing),
  Remarked(aps(#"{"alert":▸{"title":"","title-loc-key":null}}"#), showsNothing),
  Remarked(alert(#"▸{"launch-image":"a.png"}"#), showsNothing),
  Remarked(alert(#"{"title-loc-key":"A"}"#)),
  Remarked(aps(#"{"badge":0}"#)),
  Remarked(aps(#"{"alert":"x",▸"body":"y"}"#), belongsInAlert("body")),
  Remarked(
    alert(#"{"body":"x","title":"y",▸"badge":1}"#),
    "belongs-in-aps: the service knows badge only in aps, beside alert"),
  Remarked(
    alert(#"{"body":"x","title":"y",▸"sound":"default"}"#),
    "belongs-in-aps: the service knows sound only in aps, beside alert"),
  Remarked(aps(#"{"sound":▸"bell"}"#), soundName),
  Remarked(aps(#"{"sound":▸"bell.mp3"}"#), soundName),
  Remarked(aps(#"{"sound":▸""}"#), soundName),
  Remarked(aps(#"{"sound":"bell.caf"}"#)),
  Remarked(aps(#"{"sound":"a.b.AIFF"}"#)),
  Remarked(aps(#"{"sound":"default"}"#)),
  Remarked(
    alert(#"▸{"loc-args":["a"],"body":"b"}"#),
    "arguments-without-key: loc-args is not used: the alert lacks the key of the text that it completes"
  ),
  Remarked(
    alert(#"▸{"title-loc-args":["a"],"loc-key":"b"}"#),
    "arguments-without-key: title-loc-args is not used: the alert lacks the key of the text that it completes"
  ),
  // Waste
  Remarked(
    alert(#"▸{"body":"x"}"#),
    "only-body: an alert with only a body can be a plain string, which saves 9 bytes"
  ),
  Remarked(
    #"{"token":"\#(token)","payload":▸{ "aps":{"alert":"x y"}}}"#,
    "white-space: 1 byte of white space in the payload, not sent"),
  Remarked(
    "{\"token\":\"\(token)\",\"payload\":▸{\n  \"aps\": {\"badge\": 1}\r\n\t}}",
    "white-space: 8 bytes of white space in the payload, not sent"),
  Remarked(
    alert(#""▸\u00fc""#),
    "long-escapes: unnecessary escapes: the characters themselves, in UTF-8, save 4 bytes"
  ),
  Remarked(
    alert(#""\n▸\/""#),
    "long-escapes: unnecessary escapes: the characters themselves, in UTF-8, save 1 byte"
  ),
  Remarked(
    alert(#""\"\\▸\uD83D\uDE00 \u20AC""#),
    "long-escapes: unnecessary escapes: the characters themselves, in UTF-8, save 11 bytes"
  ),
  Remarked(
    aps(#"{▸"Alert":"x","badge":1}"#),
    "strange-key: the service does not know this key; did you mean alert?"),
  Remarked(
    aps(#"▸{▸"content_available":1}"#), showsNothing,
    "strange-key: the service does not know this key; did you mean content-available?"),
  Remarked(
    aps(#"{"badge":0,▸"category_":"c"}"#),
    "strange-key: the service does not know this key; did you mean category?"),
  Remarked(
    alert(#"{"title":"x",▸"bodi":"x"}"#),
    "strange-key: the service does not know this key; did you mean body?"),
  Remarked(
    alert(#"{"loc-key":"x",▸"loc-arg":["x"]}"#),
    "strange-key: the service does not know this key; did you mean loc-args?"),
  Remarked(aps(#"{"badge":0,"temperature":5,"x":{"y":[1,2]}}"#)),
]

/// Each row of the tables with valid and invalid values.
private let ofTables: [Remarked] = {
  var all: [Remarked] = []
  for key in ["alert", "badge", "sound", "category", "content-available"] {
    let string = key == "sound" ? #""1.caf""# : #""1""#
    for value in ["1", "0", string, "true", "null", "[]", "{}"] {
      let isRight: Bool
      let words: String
      switch key {
      case "alert":
        isRight = value == string || value == "{}"
        words = "alert: alert must be a string, or an object with title and body"
      case "badge":
        isRight = value == "1" || value == "0"
        words = "badge: badge must be a number without quotes; 0 removes it"
      case "content-available":
        isRight = value == "1"
        words = "content-available: content-available must be 1, or left out"
      case "sound":
        isRight = value == string
        words = "not-string: sound must be a string: \"default\", or the name of a file in the app"
      default:
        isRight = value == string
        words = "not-string: category must be a string: the name of a set of actions in the app"
      }
      let other = key == "badge" ? #""sound":"default""# : #""badge":1"#
      all.append(
        isRight
          ? Remarked(aps("{\(other),\"\(key)\":\(value)}"))
          : Remarked(aps("{\(other),\"\(key)\":▸\(value)}"), words))
    }
  }
  for key in ["title", "body", "loc-key", "launch-image", "title-loc-key", "action-loc-key"] {
    let orNull = key.hasSuffix("e-loc-key") || key.hasPrefix("action")
    for value in [#""x""#, #""""#] + (orNull ? ["null"] : []) {
      all.append(Remarked(alert("{\"subtitle\":1,\"\(key)\":\(value)}")))
    }
    for value in ["1", "true", #"["x"]"#, #"{"x":"y"}"#] + (orNull ? [] : ["null"]) {
      let words =
        orNull
        ? "not-string-or-null: \(key) must be a string, or null: put it in double quotes"
        : "not-string: \(key) must be a string: put it in double quotes"
      all.append(Remarked(alert("{\"subtitle\":1,\"\(key)\":▸\(value)}"), words))
    }
  }
  let keys = #""loc-key":"x","title-loc-key":"y""#
  for key in ["loc-args", "title-loc-args"] {
    let orNull = key == "title-loc-args"
    for value in ["[]", #"["x"]"#, #"["x","%@",""]"#] + (orNull ? ["null"] : []) {
      all.append(Remarked(alert("{\(keys),\"\(key)\":\(value)}")))
    }
    let wrong = [#"▸"x""#, "▸1", "▸{}", "▸true", "[▸1]", #"["x",▸null,3]"#, #"["x",▸["y"]]"#]
    for value in wrong + (orNull ? [] : ["▸null"]) {
      let words =
        orNull
        ? "not-strings-or-null: \(key) must be an array of strings, or null: put numbers in quotes"
        : "not-strings: \(key) must be an array of strings: put numbers in quotes"
      all.append(Remarked(alert("{\(keys),\"\(key)\":\(value)}"), words))
    }
  }
  return all
}()

// MARK: - JSON

private let ofJSON: [Remarked] = [
  Remarked(
    "▸\u{FEFF}{}",
    "byte-order-mark: the text begins with a byte order mark: write the text without it (\"without BOM\")"
  ),
  Remarked(
    #"{"token":▸'x'}"#,
    "expected-value: expected a value: a string in double quotes, a number, an object, an array, true, false or null"
  ),
  Remarked(#"{▸token:1}"#, "expected-key: expected a key in double quotes"),
  Remarked(
    "{▸\u{A0}\"token\":1}",
    "expected-key: expected a key in double quotes; here is a space that JSON does not know, such as U+00A0: write a plain space"
  ),
  Remarked(
    "{▸\u{201C}token\u{201D}:1}",
    "expected-key: expected a key in double quotes; here is a typographic quote: write the plain quote \""
  ),
  Remarked(#"{"id"▸="x"}"#, "expected-colon: expected ':' after the key"),
  Remarked(
    #"{"id":"x"▸"topic":"y"}"#,
    "missing-comma: expected ',' or '}': is a comma missing before this?"),
  Remarked(
    #"{"tokens":["\#(token)"▸"\#(token)"]}"#,
    "missing-comma: expected ',' or ']': is a comma missing before this?"),
  Remarked(
    #"{"id":"x",▸}"#, "trailing-comma: nothing follows the comma before this: remove the comma"),
  Remarked(
    #"{"payload":{"aps":{"badge":0▸7}}}"#,
    "invalid-number: not a JSON number (no leading zeros or plus, digits on both sides of the point)"
  ),
  Remarked(
    #"{"id":"▸\x41"}"#,
    #"invalid-escape: unknown escape: JSON has \" \\ \/ \b \f \n \r \t and \uXXXX"#),
  Remarked(
    #"{"id":"▸\uDE00"}"#,
    #"lone-surrogate: half of a surrogate pair: \uD800 to \uDBFF must be followed by \uDC00 to \uDFFF"#
  ),
  Remarked(
    "{\"id\":\"▸\t\"}",
    #"control-character: a control character inside a string: write it as \n, \t or \u00XX"#),
  Remarked(
    #"{"id":"x"▸"#,
    "unexpected-end: the text ends in the middle of an object: is a brace, a bracket or a quote missing?"
  ),
]

@Test(arguments: ofNotifications + ofPayloads + ofTables + ofJSON)
func `each finding about a notification has its code, words, place and advice`(_ case: Remarked) {
  #expect(said(`case`.text) == `case`.lines)
}

@Test func `bytes that are not UTF-8 and too deep nesting have their findings`() {
  var bytes = with(#""id":"ab""#).bytes
  bytes[bytes.firstRange(of: "ab\"".bytes)!.lowerBound] = 0xFF
  var found = Findings(capacity: 2)
  var reader = NotificationReader()
  _ = reader.next(in: bytes.span, isWhole: true, Rules(), &found)
  #expect(found.count == 1)
  #expect(words(found[0]) == "invalid-utf-8: not UTF-8: write the text in UTF-8")
  #expect(bytes[found[0].offset] == 0xFF)
  let deep = findings(#"{"payload":{"x":"# + String(repeating: "[", count: 40))
  #expect(deep.map(words) == ["too-deep: nested deeper than 32 levels"])
}

/// Returns a number for each reason; a new reason does not compile until it is here.
private func number(_ reason: Finding.Reason) -> Int {
  switch reason {
  case .json(let problem): 100 + Int(problem.rawValue)
  case .notAnObject: 0
  case .objectTooLarge: 1
  case .unknownKey: 2
  case .duplicateKey: 3
  case .missingPayload: 4
  case .missingRecipient: 5
  case .payloadNotObject: 6
  case .apsOutside: 7
  case .missingAps: 8
  case .apsNotObject: 9
  case .apsIsEmpty: 10
  case .apsTooMany: 11
  case .alert: 12
  case .badge: 13
  case .contentAvailable: 14
  case .notString: 15
  case .notStringOrNull: 16
  case .notStrings: 17
  case .notStringsOrNull: 18
  case .tokenNotString: 19
  case .tokenSize: 20
  case .tokenSizeOfBinary: 75
  case .tokenNotHex: 21
  case .subscription: 82
  case .tokenTwice: 22
  case .tokensNotArray: 23
  case .tokensEmpty: 24
  case .to: 25
  case .toEmpty: 26
  case .listName: 27
  case .tooManyLists: 50
  case .notObject: 52
  case .date: 53
  case .sound: 54
  case .critical: 55
  case .volume: 56
  case .mutableContent: 57
  case .interruptionLevel: 58
  case .relevanceScore: 59
  case .event: 60
  case .priorityOne: 61
  case .priorityOfHTTP2: 62
  case .collapseIDCharacters: 63
  case .topic: 64
  case .topicSuffix: 65
  case .identifier: 66
  case .pushType: 67
  case .pushTypeAlert: 68
  case .pushTypeBackground: 69
  case .liveActivity: 70
  case .liveActivityStart: 71
  case .topicEnding: 72
  case .listIsToken: 28
  case .priority: 29
  case .prioritySilent: 30
  case .expiration: 31
  case .expirationPast: 32
  case .ttl: 33
  case .expirationAndTtl: 34
  case .notBefore: 35
  case .notBeforePast: 36
  case .registered: 37
  case .collapseID: 38
  case .trim: 39
  case .urgent: 73
  case .againAfter: 74
  case .textOutside: 76
  case .localized: 40
  case .localizedEmpty: 41
  case .localizedLanguage: 42
  case .localizedNoDefault: 43
  case .mustBeString: 44
  case .failedNotObject: 51
  case .onlyBody: 45
  case .whiteSpace: 46
  case .longEscapes: 47
  case .strangeKey: 48
  case .badgeNotWhole: 49
  case .belongsInAlert: 77
  case .belongsInAps: 78
  case .showsNothing: 79
  case .soundName: 80
  case .argumentsWithoutKey: 81
  case .belongsOutside: 83
  // Findings about sizes and about files are tested below.
  case .nothing, .payloadTooLarge, .trimTooLarge, .listMissing, .listMissingDefault, .listEmpty,
    .listUnreadable, .listsElsewhere, .priorityNotSent:
    -1
  }
}

@Test func `every reason is tested above, and its code is in the manual`() throws {
  let all =
    (ofNotifications + ofPayloads + ofTables + ofJSON).flatMap { findings($0.text) }
    + ofHTTP2.flatMap { findings($0.text, Rules(.http2, payloadLimit: nil)) }
  let numbers = Set(all.map { number($0.reason) })
  #expect((0..<84).filter { !numbers.contains($0) } == [])
  let problems = (0...).lazy.map(JSONProblem.init(rawValue:)).prefix { $0 != nil }.map { $0! }
  let apart: [JSONProblem] = [.invalidUTF8, .tooDeep, .byteOrderMark]
  #expect(
    problems.filter { !numbers.contains(100 + Int($0.rawValue)) && !apart.contains($0) } == [])
  let page = try String(
    contentsOf: URL(filePath: #filePath)
      .appending(path: "../../../board/man/tinypush-check.1").standardized, encoding: .utf8)
  let section = try #require(
    page.components(separatedBy: "\n.Sh ").first { $0.hasPrefix("CODES\n") })
  let documented = section.matches(of: /(?m)^\.It Ic ([a-z0-9-]+)$/).map { String($0.1) }
  let others = [
    Finding.Reason.payloadTooLarge, .trimTooLarge, .listMissing, .listMissingDefault, .listEmpty,
    .listUnreadable, .listsElsewhere, .priorityNotSent, .nothing, .json(.invalidUTF8),
    .json(.tooDeep), .json(.byteOrderMark),
  ].map { Finding($0, at: 0) }
  let problemsOfLists: [RecipientsFile.Problem] = [
    .tokenSize, .tokenSizeOfBinary, .tokenNotHex, .subscription(.key), .word, .language,
    .registered, .tooLong,
  ]
  let codes =
    (all + others).map { String(words($0).prefix { $0 != ":" }) }
    + problemsOfLists.map { "\($0.code)" }
  for code in Set(codes) { #expect(code.wholeMatch(of: /[a-z0-9]+(-[a-z0-9]+)*/) != nil) }
  #expect(documented.count == Set(documented).count)
  #expect(Set(documented).subtracting(codes) == [], "no finding has these codes")
  #expect(Set(codes).subtracting(documented) == [], "the manual lacks these codes")
}

@Test(
  arguments: [
    (
      .nothing,
      "nothing: there is no notification: did the program that wrote the file fail, or is the disk full?"
    ),
    (
      .listMissing,
      "list-missing: no recipients file has this name: tinypush recipient add NAME RECIPIENT creates it"
    ),
    (
      .listMissingDefault,
      "list-missing: a payload without recipients goes to the recipients file default, which does not exist: tinypush recipient add default RECIPIENT creates it"
    ),
    (
      .listEmpty,
      "list-empty: this recipients file has no recipient: add one with tinypush recipient add NAME RECIPIENT"
    ),
    (
      .listUnreadable,
      "list-unreadable: this user may not read the recipients file of this name: it is unknown whether the agent may"
    ),
    (
      .listsElsewhere,
      "lists-elsewhere: there is no directory of recipients files here: the recipients were not checked"
    ),
  ] as [(Finding.Reason, String)])
func `each finding about recipients files has its code and words`(
  reason: Finding.Reason, expected: String
) {
  #expect(words(Finding(reason, at: 0)) == expected)
}

@Test func `all findings about a notification are reported in the order of their places`() {
  let all = Remarked(
    #"{▸"tokn":"\#(token)",▸"prio":5,"ttl":▸-1,"payload":▸{ "aps":{"alert":▸{"body":▸1},"badge":▸"3","sound":▸5}}}"#,
    "unknown-key: unknown key; did you mean token?",
    "unknown-key: unknown key: put data for the app into payload",
    "ttl: ttl must be whole seconds, 0 to 4294967295 (0: do not store)",
    "white-space: 1 byte of white space in the payload, not sent",
    "only-body: an alert with only a body can be a plain string, which saves 9 bytes",
    "not-string: body must be a string: put it in double quotes",
    "badge: badge must be a number without quotes; 0 removes it",
    "not-string: sound must be a string: \"default\", or the name of a file in the app")
  #expect(said(all.text) == all.lines)
}

@Test func `the first of many findings are kept, and the one that causes the refusal`() {
  let wrong = (0..<300).map { _ in #""1""# }.joined(separator: ",")
  let text = #"{"tokens":[\#(wrong)],"payload":{"aps":{"alert":"x",}}}"#
  let bytes = text.bytes
  var found = Findings(capacity: 100)
  var reader = NotificationReader()
  let reading = reader.next(in: bytes.span, isWhole: true, Rules(), &found)
  guard case .refused(let refusal, _) = reading else {
    Issue.record("not refused")
    return
  }
  #expect(refusal.reason == .json(.trailingComma))
  #expect(found.count == 100)
  #expect(found.refusals == 301)
  #expect(found[99].reason == .json(.trailingComma))
  #expect(found[98].reason == .tokenSize)
}

// MARK: - Sizes

/// Returns a payload of this many bytes.
private func payload(of bytes: Int) -> String {
  #"{"aps":{"alert":"\#(String(repeating: "ü", count: (bytes - 20) / 2))\#(bytes % 2 == 0 ? "" : "x")"}}"#
}

private func tooLarge(_ bytes: Int, _ limit: Int) -> String {
  "payload-too-large: the payload has \(bytes) bytes without white space; the limit is \(limit) (payload-limit): shorten the alert, add \"trim\": true (send: --trim), or let the app fetch the rest"
}

@Test(arguments: [256, 2048, 4096])
func `a payload of the limit is accepted, and one byte more is refused`(limit: Int) {
  let rules = Rules(payloadLimit: limit)
  for bytes in [limit - 1, limit, limit + 1] {
    #expect(payload(of: bytes).utf8.count == bytes)
    let whole = Remarked(
      #"{"token":"\#(token)","payload":▸\#(payload(of: bytes))}"#, tooLarge(bytes, limit))
    #expect(said(whole.text, rules) == (bytes > limit ? whole.lines : []))
    // White space does not count.
    let spaced = Remarked(
      #"{"token":"\#(token)","payload":▸\#(payload(of: bytes).replacing(":", with: " :\n "))}"#,
      tooLarge(bytes, limit))
    let space = "white-space: 6 bytes of white space in the payload, not sent"
    let saidOfSpace = spaced.lines[0].prefix { $0 != " " } + " " + space
    let expected = bytes > limit ? [String(saidOfSpace), spaced.lines[0]] : [String(saidOfSpace)]
    #expect(said(spaced.text, rules).sorted() == expected.sorted())
    // The limit is the same for a payload alone.
    #expect(
      said(payload(of: bytes), rules) == (bytes > limit ? ["0 " + tooLarge(bytes, limit)] : []))
    // With trim the payload is always accepted.
    let trimmed = #"{"token":"\#(token)","trim":true,"payload":\#(payload(of: bytes))}"#
    #expect(said(trimmed, rules) == [])
  }
}

@Test func `old frames have short payloads and no priority`() {
  var rules = Rules()
  rules.isOfOldFrames = true
  #expect(said(payload(of: 256), rules) == [])
  #expect(said(payload(of: 257), rules) == ["0 " + tooLarge(257, 256)])
  let low = Remarked(
    #"{"token":"\#(token)","priority":▸5,\#(payload)}"#,
    "priority-not-sent: frames of format 0 and 1 have no priority: the gateway delivers at once")
  #expect(said(low.text, rules) == low.lines)
  #expect(said(low.text) == [])
  rules.payloadLimit = 2048
  #expect(said(payload(of: 257), rules) == [])
}

@Test func `an alert in a language counts against the payload limit`() {
  func text(_ bytes: Int, _ members: String = "") -> Remarked {
    // {"aps":{"badge":1,"alert":"…"}}
    let alert = String(repeating: "x", count: bytes - 30)
    return Remarked(
      #"{"token":"\#(token)",\#(members)"localized":{"en":"x","fr":▸"\#(alert)"},"payload":{"aps":{"badge":1}}}"#,
      tooLarge(bytes, 256))
  }
  let rules = Rules(payloadLimit: 256)
  #expect(said(text(256).text, rules) == [])
  #expect(said(text(257).text, rules) == text(257).lines)
  #expect(said(text(257, #""trim":true,"#).text, rules) == [])
}

@Test func `a payload that trim cannot shorten enough is refused`() {
  let words =
    "trim-too-large: the payload has 276 bytes without white space; the limit is 256 (payload-limit), and trim would remove the whole text of the alert: let the app fetch the rest"
  let rest = String(repeating: "x", count: 237)
  for alert in [#""alert":"abc""#, #""alert":{"body":"abc"}"#] {
    let example = Remarked(
      #"{"token":"\#(token)","trim":true,"payload":▸{"aps":{\#(alert)},"my":"\#(rest)"}}"#, words)
    let bytes = #"{"aps":{\#(alert)},"my":"\#(rest)"}"#.utf8.count
    #expect(
      said(example.text, Rules(payloadLimit: 256)).prefix(1)
        == example.lines.map { $0.replacing("276", with: "\(bytes)") }[...])
  }
}

// MARK: - Examples in the form of Apple's documents

private let examples: [Remarked] = [
  Remarked(
    #"{"token":"\#(token)","payload":{"aps":{"alert":"Someone is at the door"},"rooms":["cellar","attic"]}}"#
  ),
  Remarked(
    #"{"token":"\#(token)","payload":{"aps":{"alert":{"title":"Cellar","body":"The tank is low","action-loc-key":"FILL"},"badge":5,▸},"level":"12 %","since":[1,2]}}"#,
    "trailing-comma: nothing follows the comma before this: remove the comma"),
  Remarked(
    #"{"token":"\#(token)","payload":{"aps":{"alert":{"title":"Cellar","body":"The tank is low","action-loc-key":"FILL"},"badge":5},"level":"12 %","since":[1,2]}}"#
  ),
  Remarked(
    #"{"token":"\#(token)","payload":{"aps":{"alert":"The wash is done","badge":9,"sound":"gong.aiff"},"machine":"left","minutes":74}}"#
  ),
  Remarked(
    #"{"token":"\#(token)","payload":{"aps":{"alert":{"loc-key":"IN_ROOM_SINCE","loc-args":["Cellar","noon"]},"sound":"drip.aiff"},"sensor":"7"}}"#
  ),
  Remarked(
    #"{"token":"\#(token)","payload":{"aps":{"category":"DOOR"▸"alert":{"body":"Someone rings","action-loc-key":"OPEN",},"badge":1,}}}"#,
    "missing-comma: expected ',' or '}': is a comma missing before this?"),
]

@Test(arguments: examples)
func `the documents' examples are accepted, except for their wrong commas`(_ case: Remarked) {
  #expect(said(`case`.text) == `case`.lines)
}
