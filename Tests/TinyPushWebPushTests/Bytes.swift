@testable import TinyPush

/// Returns what `body` writes into a text.
func text(_ body: (inout Text) -> Void) -> String {
  var text = Text()
  body(&text)
  return String(decoding: text.bytes.indices.map { text.bytes[$0] }, as: UTF8.self)
}
