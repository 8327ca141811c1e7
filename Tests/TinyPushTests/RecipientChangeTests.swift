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
  let long = "MINE #" + String(repeating: "x", count: 1024)
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
  ("\u{1B}[2J", false), ("a\u{7F}", false), (String(repeating: "x", count: 751), true),
  (String(repeating: "x", count: 752), false),
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
