import Testing

@testable import Simulation
@testable import TinyPush

@Test(arguments: [
  ("", "", 0), ("a", "", 1), ("", "abc", 3), ("linger", "linger", 0), ("lnger", "linger", 1),
  ("lingger", "linger", 1), ("lingar", "linger", 1), ("ab", "ba", 1), ("kitten", "sitting", 3),
  ("abc", "xyz", 3),
])
func `the distance is the smallest number of edits`(left: String, right: String, edits: Int) {
  #expect(Nearest.distance(left.bytes.span, right.bytes.span) == edits)
  #expect(Nearest.distance(right.bytes.span, left.bytes.span) == edits)
}

@Test(arguments: [
  ("setle", "settle"), ("certificat", "certificate"), ("paylod-limit", "payload-limit"),
  ("keey", "key"), ("cs", "ca"), ("enviroment", "environment"), ("window-size", nil),
  ("zzzzzz", nil), ("x", nil), ("qqy", nil), (String(repeating: "a", count: 200), nil), ("", nil),
])
func `the nearest word is found unless it is too far away`(word: String, meant: String?) {
  let known: WordList = "settle certificate payload-limit key ca environment spool"
  let found = known.nearest(to: word.bytes.span)
  #expect(found.map { String(known[$0]) } == meant)
}

@Test func `a word of a table is found only by all its letters`() {
  let known: WordList = "key ca key-id"
  for (number, word) in ["key", "ca", "key-id"].enumerated() {
    #expect(known.index(of: word.bytes.span) == number)
    #expect(String(known[number]) == word)
  }
  for word in ["", "k", "keys", "key-", "c", "key ca", " "] {
    #expect(known.index(of: word.bytes.span) == nil)
  }
  #expect(("" as WordList).index(of: "a".bytes.span) == nil)
}
