import Testing

@testable import TinyPush

/// The tokens for MINE, which is changed, and OTHER.
private let mine = String(repeating: "0", count: 63) + "a"
private let other = String(repeating: "0", count: 63) + "b"

/// Applies a change to lines in which MINE and OTHER stand for tokens; returns text and outcome.
private func made(_ change: consuming RecipientChange, of file: [String]) -> String {
  var change = change
  let made = text(capacity: 8192) { text in
    for line in file {
      let whole = line.replacing("MINE", with: mine).replacing("OTHER", with: other) + "\n"
      change.take(Array(whole.utf8).span, to: &text)
    }
    change.finish(&text)
  }
  let shown = made.replacing(mine, with: "MINE").replacing(other, with: "OTHER")
  return shown + "\(change.outcome)"
}

private func detail(_ value: String?) -> RecipientChange.Detail {
  guard let value else { return .kept }
  var text = Text()
  text.append(bytes: Array(value.utf8).span)
  return .set(text)
}

private func added(
  _ file: [String], language: String? = nil, comment: String? = nil, registered: UInt32 = 0
) -> String {
  let token = DeviceToken(hex: Array(mine.utf8).span)!
  return made(
    RecipientChange(
      add: token, registered: registered, language: detail(language), comment: detail(comment)),
    of: file)
}

@Test(
  arguments: [
    ([], nil, nil, "MINE\nadded"),
    ([], "fr-CA", "Marie's # 1", "MINE lang=fr-CA # Marie's # 1\nadded"),
    (["OTHER"], "", "", "OTHER\nMINE\nadded"),
    (
      ["# all", "", "OTHER lang=de#x", "junk"], nil, "x",
      "# all\n\nOTHER lang=de#x\njunk\nMINE # x\nadded"
    ),
    (["MINE"], nil, nil, "MINE\nunchanged"),
    (["\tMINE\tlang=fr#"], nil, nil, "\tMINE\tlang=fr#\nMINE\nadded"),
    (["  MINE\tlang=fr  #  x y \r"], "fr", "x y", "  MINE\tlang=fr  #  x y \r\nunchanged"),
    (["MINE lang=FR-ca # x"], nil, "y", "MINE lang=FR-ca # y\nupdated"),
    (["MINE lang=fr # x"], "de", nil, "MINE lang=de # x\nupdated"),
    (["MINE lang=fr # x", "OTHER"], "", "", "MINE\nOTHER\nupdated"),
    (["MINE # 1", "OTHER", "MINE lang=fr # 2"], nil, nil, "MINE # 1\nOTHER\nupdated"),
    (["# MINE", "MINE langg=fr"], nil, nil, "# MINE\nMINE langg=fr\nMINE\nadded"),
  ] as [([String], String?, String?, String)])
func `a recipient is added once or gets another language or comment, and the rest stays`(
  file: [String], language: String?, comment: String?, result: String
) {
  #expect(added(file, language: language, comment: comment) == result)
}

@Test(
  arguments: [
    ([], nil, nil, "MINE registered=7\nadded"),
    (["MINE"], nil, nil, "MINE registered=7\nregistered"),
    (
      ["MINE registered=6 lang=fr # x", "OTHER"], nil, nil,
      "MINE lang=fr registered=7 # x\nOTHER\nregistered"
    ),
    (["MINE lang=fr # x"], "de", nil, "MINE lang=de registered=7 # x\nupdated"),
    // The clock was set back.
    (["MINE registered=8"], nil, nil, "MINE registered=8\nregistered"),
    (["MINE # 1", "MINE lang=fr # 2"], nil, nil, "MINE registered=7 # 1\nupdated"),
  ] as [([String], String?, String?, String)])
func `a recipient that is added again is registered again`(
  file: [String], language: String?, comment: String?, result: String
) {
  #expect(added(file, language: language, comment: comment, registered: 7) == result)
}

@Test func `a line that is too long does not count as the recipient's`() {
  let long = "MINE #" + String(repeating: "x", count: 2048)
  #expect(added([long]) == long + "\nMINE\nadded")
}

@Test func `a token matches in upper and lower case`() {
  #expect(added([mine.uppercased() + " # x"]) == mine.uppercased() + " # x\nunchanged")
}

@Test(
  arguments: [
    ([], "absent"), (["OTHER # MINE"], "OTHER # MINE\nabsent"),
    (["# a", "MINE lang=fr", "OTHER", "MINE # again"], "# a\nOTHER\nremoved"),
    (["MINE langg=fr"], "MINE langg=fr\nabsent"),
  ] as [([String], String)])
func `exactly the lines of a recipient are removed`(file: [String], result: String) {
  let token = DeviceToken(hex: Array(mine.utf8).span)!
  #expect(made(RecipientChange(remove: token), of: file) == result)
}

@Test(arguments: [
  ("", true), ("Marie's phone # 1", true), ("Zoë", true), ("a\nb", false), ("a\tb", false),
  ("\u{1B}[2J", false), ("a\u{7F}", false), (String(repeating: "x", count: 664), true),
  (String(repeating: "x", count: 665), false),
])
func `a comment has no control characters and fits the line`(text: String, isComment: Bool) {
  let bytes = Array(text.utf8)
  let found = RecipientsFile.isComment(bytes.span)
  #expect(found == isComment)
}

@Test func `bytes that are not UTF-8 are refused as a comment`() {
  for bytes: [UInt8] in [[0xFF], [0xC3], [0x61, 0xE2, 0x82]] {
    let found = RecipientsFile.isComment(bytes.span)
    #expect(!found)
  }
}

// MARK: - Subscriptions

private let key = "B" + String(repeating: "A", count: 86)
private let secret = String(repeating: "A", count: 21) + "g"

private func word(_ endpoint: String, key: String = key) -> String {
  "\(endpoint)#\(key).\(secret)"
}

private func json(_ endpoint: String) -> String {
  #"{"endpoint":"\#(endpoint)","expirationTime":null,"keys":{"p256dh":"\#(key)","auth":"\#(secret)"}}"#
}

/// Returns the digits of what stands for a subscription.
private func digits(_ endpoint: String, _ count: Int = 64) -> String {
  let bytes = Array(word(endpoint).utf8)
  let token = try! Subscription(bytes.span).token(in: bytes.span)
  return String(text { $0.append(hex: token.bytes) }.prefix(count))
}

private let one = "https://push.example/1"
private let two = "https://push.example/2"

@Test(
  arguments: [
    ([], "\(word(one)) registered=7\nadded"),
    (
      [word(one) + " lang=fr registered=6 # x"],
      "\(word(one)) lang=fr registered=7 # x\nregistered"
    ),
    // The browser has new keys, and the line had another form.
    (
      [word(one, key: "BB" + key.dropFirst(2)) + " # x"],
      "\(word(one)) registered=7 # x\nupdated"
    ),
    ([json(one) + " lang=fr", word(one)], "\(word(one)) lang=fr registered=7\nupdated"),
    ([word(two)], "\(word(two))\n\(word(one)) registered=7\nadded"),
  ] as [([String], String)])
func `a subscription has one line, which has the newest keys`(file: [String], result: String) {
  let token = DeviceToken(hex: Array(digits(one).utf8).span)!
  let change = RecipientChange(
    add: token, word: Text(Array(word(one).utf8).span), registered: 7, language: .kept,
    comment: .kept)
  #expect(made(change, of: file) == result)
}

@Test(
  arguments: [
    (64, "\(word(two))\nremoved"), (8, "\(word(two))\nremoved"), (30, "\(word(two))\nremoved"),
    (6, "\(word(one)) # x\n\(word(two))\nabsent"),
  ] as [(Int, String)])
func `a subscription is removed by eight or more of its digits`(count: Int, result: String) {
  let token = DeviceToken(hex: Array(digits(one, count).utf8).span)!
  #expect(made(RecipientChange(remove: token), of: [word(one) + " # x", word(two)]) == result)
}

@Test func `a device is removed only by its whole token, and digits of two subscriptions are told`()
{
  let device = digits(one)
  let eight = DeviceToken(hex: Array(digits(one, 8).utf8).span)!
  #expect(made(RecipientChange(remove: eight), of: [device]) == device + "\nabsent")
  // Two endpoints whose digests begin alike, found by trying.
  let (left, right) = ("https://push.example/226176", "https://push.example/307051")
  let file = [word(left), word(right), word(left)]
  let both = DeviceToken(hex: Array(digits(left, 8).utf8).span)!
  #expect(made(RecipientChange(remove: both), of: file).hasSuffix("ambiguous"))
}

@Test(
  arguments: [
    ("https://web.push.apple.com/QGu", "Safari on Apple's service"),
    ("https://fcm.googleapis.com/fcm/send/x", "Chrome or Edge on Google's service"),
    ("https://updates.push.services.mozilla.com/wpush/v2/x", "Firefox on Mozilla's service"),
    ("https://wns2-par02p.notify.windows.com/w/?token=x", "Edge on Microsoft's service"),
    ("https://push.example:8443/x", "push.example:8443"),
    ("https://evil-web.push.apple.com.example/x", "evil-web.push.apple.com.example"),
  ])
func `the service of a subscription is named, and nothing of its secrets`(
  endpoint: String, shown: String
) {
  let bytes = Array(word(endpoint).utf8)
  #expect(text { Subscription.appendService(of: bytes.span, to: &$0) } == shown)
}
