import Foundation
import Testing

@testable import TinyPush
@testable import TinyPushWebPush

@Test func `a topic is the start of the hash, in base64url`() {
  // printf tank | openssl dgst -sha256 -binary | base64 | tr +/ -_ | cut -c -32
  #expect(
    text { $0.append(bytes: Topic(Array("tank".utf8).span).text) }
      == "KBo3R393LngheJlWpt5AhoLY0skyrVpl")
  // The 24 bytes of the hash need both characters that base64 for URLs has instead of + and /.
  var seen = Set<Character>()
  for number in 0..<100 {
    let name = text { $0.append(bytes: Topic(Array("\(number)".utf8).span).text) }
    #expect(name.count == 32)
    seen.formUnion(name)
  }
  #expect(seen.count == 64 && seen.contains("-") && seen.contains("_"))
}

@Test func `topics are equal if their names are`() {
  #expect(Topic(Array("a".utf8).span) == Topic(Array("a".utf8).span))
  #expect(Topic(Array("a".utf8).span) != Topic(Array("b".utf8).span))
}
