import Testing

@testable import Simulation
@testable import TinyPushSandbox

@Test(arguments: [
  (
    #"{"aps":{"alert":"Door open"}}"#,
    """
    ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
    │ Door open                                                            │
    ╰──────────────────────────────────────────────────────────────────────╯

    """
  ),
  (
    #"{"aps":{"alert":{"title":"Game Request","body":"Bob wants to play poker"},"badge":5,"sound":"default"}}"#,
    """
    ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
    │ Game Request                                                         │
    │ Bob wants to play poker                                              │
    ╰─ badge 5 ─ default sound ────────────────────────────────────────────╯

    """
  ),
  (
    #"{"aps":{"alert":{"loc-key":"GAME_PLAY_REQUEST_FORMAT","loc-args":["Jenna","Frank"]},"sound":"chime.aiff","category":"INVITE"}}"#,
    """
    ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
    │ GAME_PLAY_REQUEST_FORMAT (Jenna, Frank)                              │
    ╰─ sound chime.aiff ─ category INVITE ─────────────────────────────────╯

    """
  ),
  (
    #"{"aps":{"alert":{"title":"Water","subtitle":"Cellar","body":"40 cm"},"sound":{"critical":1,"name":"chime.aiff","volume":0.5},"interruption-level":"critical"}}"#,
    """
    ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
    │ Water                                                                │
    │ Cellar                                                               │
    │ 40 cm                                                                │
    ╰─ critical ─ critical sound chime.aiff ───────────────────────────────╯

    """
  ),
  (
    #"{"aps":{"timestamp":1700000000,"event":"update","content-state":{"level":40}}}"#,
    """
    ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
    │ {"level":40}                                                         │
    ╰─ update ─────────────────────────────────────────────────────────────╯

    """
  ),
  (
    #"{"aps":{"alert":"One","category":"NEWS","content-available":1}}"#,
    """
    ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
    │ One                                                                  │
    ╰─ the app is woken ─ category NEWS ───────────────────────────────────╯

    """
  ),
  (
    #"{"aps":{"alert":{"title":"地下室 🌊","body":"日本語の長い文章はどこでも折り返すことができます。なぜなら単語の間に空白がないからです。\nZweite Zeile, e\#u{301}tranger"}}}"#,
    """
    ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
    │ 地下室 🌊                                                            │
    │ 日本語の長い文章はどこでも折り返すことができます。なぜなら単語の間に │
    │ 空白がないからです。                                                 │
    │ Zweite Zeile, e\u{301}tranger                                               │
    ╰──────────────────────────────────────────────────────────────────────╯

    """
  ),
  (
    #"{"aps":{"content-available":1}}"#,
    """
    ╭╌ cellar on kitchen ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 14:05:59, now ╌╮
    ╰╌ silent: the app is woken ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╯

    """
  ),
  (
    #"{"aps":{"badge":0}}"#,
    """
    ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
    ╰─ no badge ───────────────────────────────────────────────────────────╯

    """
  ),
  (
    #"{"aps":{"alert":{"loc-key":"NO","title":"T"},"badge":-1,"sound":"x","category":"Y"}}"#,
    """
    ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
    │ T                                                                    │
    │ NO                                                                   │
    ╰─ sound x ─ category Y ───────────────────────────────────────────────╯
      the badge is not a whole number from 0 on: the old badge stays

    """
  ),
])
func `a card shows the texts, category, badge, sound and notes of a notification`(
  payload: String, card: String
) {
  #expect(Screen().card(payload) == card)
}

@Test(arguments: [
  (Int64(0), "14:05:59, now"), (-5, "14:05:59, now"), (1, "14:05:59, 1 s late"),
  (179, "14:05:59, 3 min late"), (7200, "14:05:59, 2 h late"), (172_800, "14:05:59, 2 days late"),
])
func `a card says how late the notification is`(late: Int64, words: String) throws {
  var screen = Screen()
  screen.late = late
  let head = try #require(screen.card(#"{"aps":{"alert":"x"}}"#)).split(separator: "\n")[0]
  #expect(head.hasSuffix(" \(words) ─╮"))
  #expect(columns(head) == 72)
}

@Test(arguments: [(1, 40), (40, 40), (57, 57), (80, 80), (300, 80), (0, 72)])
func `a card is as wide as the terminal, but has 40 to 80 columns`(
  columns terminal: Int, width: Int
) throws {
  var screen = Screen()
  screen.columns = terminal
  screen.topic = "com.example." + String(repeating: "日本", count: 40)
  screen.device = String(repeating: "d", count: 32)
  screen.late = 1_000_000_000_000
  let word = String(repeating: "lang", count: 60)
  let card = try #require(
    screen.card(
      #"""
      {"aps":{"alert":{"title":"\#(word)","body":"\#(word) 日本 \#(word)"},
      "badge":9999999999,"sound":"\#(word)","category":"日本語\#(word)","content-available":1}}
      """#))
  for line in card.split(separator: "\n") where !line.hasPrefix("  ") {
    #expect(columns(line) == width, "\(line)")
  }
}

@Test func `a card shows at most 2 lines of a title and 12 lines of a text`() throws {
  let body = (1...40).map { "line \($0)" }.joined(separator: "\\n")
  let card = try #require(
    Screen().card(#"{"aps":{"alert":{"title":"\#(body)","body":"\#(body)"}}}"#))
  let lines = card.split(separator: "\n")
  #expect(lines.count == 1 + 2 + 12 + 1)
  #expect(lines[2].hasPrefix("│ line 2… "))
  #expect(lines[14].hasPrefix("│ line 12… "))
  #expect(lines.allSatisfy { columns($0) == 72 })
}

@Test func `a payload cannot control the terminal`() throws {
  // Control characters, plain and escaped, bidirectional controls and invisible characters.
  let hostile = #"\u001b[2J\u009b31m\u0007\b\r\f\#u{9B}\#u{7F}\#u{202E}\u2066\u200b\ufeff\u2028x"#
  let payload = #"""
    {"aps":{"alert":{"body":"\#(hostile)","title-loc-key":"\#(hostile)",
    "title-loc-args":["\#(hostile)"]},"sound":"\#(hostile)","category":"\#(hostile)"}}
    """#
  let card = try #require(Screen().card(payload))
  for scalar in card.unicodeScalars where scalar != "\n" {
    #expect(!scalar.properties.isBidiControl, "\(scalar.escaped(asASCII: true))")
    #expect(scalar.properties.generalCategory != .control, "\(scalar.escaped(asASCII: true))")
    #expect(scalar.properties.generalCategory != .format, "\(scalar.escaped(asASCII: true))")
  }
  for line in card.split(separator: "\n") where !line.hasPrefix("  ") {
    #expect(columns(line) == 72, "\(line)")
  }
}

@Test func `a card on a terminal has a bold title, and each line ends its styles`() throws {
  var screen = Screen()
  screen.palette = .terminal
  let card = try #require(
    screen.card(
      #"{"aps":{"alert":{"title":"T","body":"B"},"category":"INVITE","badge":1}}"#
    ))
  #expect(card.contains(" \u{1B}[1mT\u{1B}[0m "))
  for line in card.split(separator: "\n") {
    let begun = line.components(of: "\u{1B}[").filter { !$0.hasPrefix("0m") }.count - 1
    let ended = line.components(of: "\u{1B}[0m").count - 1
    #expect(begun == ended, "\(line)")
  }
}

extension Substring {
  fileprivate func components(of separator: String) -> [Substring] {
    split(separator: separator, omittingEmptySubsequences: false)
  }
}

@Test func `a card names the push type and says that it replaces an earlier notification`() {
  var screen = Screen()
  screen.push = .voip
  screen.replacing = .other
  let card = screen.card(#"{"aps":{"alert":"One"}}"#)
  #expect(
    card?.hasSuffix(
      "╰─ replaces an earlier one ─ voip ─────────────────────────────────────╯\n") == true,
    "\(card!)")
}

@Test func `a notification replaces the one with its collapse ID on the same device`() {
  var screens = LockScreens()
  func show(_ payload: String, _ token: String, _ collapseID: String) -> LockScreens.Replacing {
    let (payload, token, collapseID) = (payload.bytes, token.bytes, collapseID.bytes)
    return screens.show(payload.span, on: token.span, collapseID: collapseID.span)
  }
  #expect(show("a", "phone", "") == .nothing)
  #expect(show("a", "phone", "") == .nothing)
  #expect(show("a", "phone", "tank") == .nothing)
  #expect(show("a", "phone", "tank") == .same)
  #expect(show("b", "phone", "tank") == .other)
  #expect(show("b", "pad", "tank") == .nothing)
  for number in 1...255 { #expect(show("a", "phone", "\(number)") == .nothing) }
  #expect(show("b", "pad", "tank") == .same)
  #expect(show("b", "phone", "tank") == .nothing, "only 256 collapse IDs are remembered")
}
