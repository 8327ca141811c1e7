import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

/// Returns what a browser shows of a text, or why it shows nothing.
private func shown(_ message: String) -> (card: String?, tag: String, problem: String) {
  let bytes = message.bytes
  do throws(DeclarativeMessage.Problem) {
    let message = try DeclarativeMessage(bytes.span)
    let tag = String(bytes.span.extracting(message.tag ?? 0..<0))
    return (Screen().card(String(message.payload.bytes)), tag, "")
  } catch {
    return (nil, "", text { error.describe(in: &$0) })
  }
}

@Test func `a browser shows the card of a declarative message`() {
  let all = shown(
    #"""
     {"notification": {"navigate": "https:\/\/x.test\/?a=1&b=\"2\"", "title": "Cellar 🌊",
      "body": "Tank\nlow", "tag": "tank", "lang": "fr", "dir": "ltr", "silent": false,
      "icon": "https://x.test/i.png", "image": "https://x.test/t.png", "app_badge": "3",
      "data": {"title": "no"}}, "mutable": true, "web_push": 8030}
    """#)
  #expect(
    all.card == """
      ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
      │ Cellar 🌊                                                            │
      │ Tank                                                                 │
      │ low                                                                  │
      │ url https://x.test/?a=1&b="2"                                        │
      │ icon https://x.test/i.png                                            │
      │ image https://x.test/t.png                                           │
      ╰─ badge 3 ─ default sound ────────────────────────────────────────────╯

      """)
  #expect(all.tag == "tank")
  let least = shown(
    #"{"web_push":8030,"notification":{"title":"T","navigate":"https://x.test/","silent":true},"app_badge":7}"#
  )
  #expect(
    least.card == """
      ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
      │ T                                                                    │
      │ url https://x.test/                                                  │
      ╰─ badge 7 ────────────────────────────────────────────────────────────╯

      """)
  #expect(least.tag == "")
  let undeclared = shown(#"{"notification":{"title":"T","silent":true}}"#)
  #expect(
    undeclared.card == """
      ╭─ cellar on kitchen ────────────────────────────────── 14:05:59, now ─╮
      │ T                                                                    │
      ╰──────────────────────────────────────────────────────────────────────╯

      """)
  let odd = shown(
    #"{"web_push":8030,"notification":{"title":"T","navigate":"https://x.test/","app_badge":"many"}}"#
  )
  #expect(odd.card?.contains("the badge is not a whole number") == true)
}

@Test(arguments: [
  ("", "its text is not a JSON object"), ("Tank low", "its text is not a JSON object"),
  ("[]", "its text is not a JSON object"),
  (#"{"web_push":8030} x"#, "its text is not a JSON object"),
  (#"{"web_push":8030,"notification":{"title":"T""#, "its text is not a JSON object"),
  ("{}", "no object notification"),
  (#"{"web_push":"8030","notification":{}}"#, "web_push is not 8030"),
  (#"{"aps":{"alert":"Tank low"}}"#, "no object notification"),
  (#"{"web_push":8030}"#, "no object notification"),
  (#"{"web_push":8030,"notification":"T"}"#, "no object notification"),
  (#"{"web_push":8030,"notification":{}}"#, "has no title"),
  (#"{"web_push":8030,"notification":{"title":"","navigate":"https://x.test/"}}"#, "has no title"),
  (#"{"web_push":8030,"notification":{"title":"T"}}"#, "has no navigate"),
  (#"{"notification":{"body":"B"}}"#, "has no title"),
  (
    #"{"web_push":8030,"notification":{"title":"T","navigate":"./"}}"#,
    "navigate of its notification is no absolute address"
  ),
  (
    #"{"web_push":8030,"notification":{"title":1,"navigate":"https://x.test/"}}"#,
    "the title of its notification is not a string"
  ),
  (
    #"{"web_push":8030,"notification":{"title":"T","navigate":"https://x.test/","body":null}}"#,
    "the body of its notification is not a string"
  ),
  (
    #"{"web_push":8030,"notification":{"title":"T","navigate":"https://x.test/","silent":"yes"}}"#,
    "the silent of its notification is not true or false"
  ),
])
func `a browser shows nothing of another text, and the sandbox says why`(
  message: String, words: String
) {
  let shown = shown(message)
  #expect(shown.card == nil)
  #expect(shown.problem.contains(words), "\(shown.problem)")
}
