import Testing
import TinyPush
import TinyPushHTTP

private let secret = "0123456789abcdef"

@Test(arguments: [
  ("Bearer \(secret)", true), ("bearer \(secret)", true), ("BEARER \(secret)", true),
  ("Bearer \(secret)0", false), ("Bearer 0123456789abcde", false), ("Bearer ", false),
  ("Bearer", false), ("Basic \(secret)", false), ("", false), (secret, false),
  ("Bearer 0123456789abcdeg", false), ("Bearer \(secret)\(secret)", false),
  ("Bearer  \(secret)", false),
])
func `only the whole token is accepted`(header: String, matches: Bool) {
  let found = BearerToken.matches(Array(header.utf8).span, Array(secret.utf8).span)
  #expect(found == matches)
}

@Test(arguments: [
  (secret, true), ("short", false), ("0123456789 abcdef", false), ("0123456789abcdé", false),
  (String(repeating: "a", count: 256), true), (String(repeating: "a", count: 257), false),
])
func `a token is visible ASCII of a sensible length`(token: String, isValid: Bool) {
  let found = BearerToken.isValid(Array(token.utf8).span)
  #expect(found == isValid)
}

@Test func `no header matches an empty token`() {
  let empty: [UInt8] = []
  let found = BearerToken.matches(Array("Bearer x".utf8).span, empty.span)
  #expect(!found)
}

@Test(arguments: [(0, 1, 1), (1, 1, 2), (3, 2, 1), (5, 2, 2), (99, 2, 3)])
func `a place is counted in lines and characters`(index: Int, line: Int, column: Int) {
  let text = Array("ab\néd".utf8)
  let place = TextPlace(index, in: text.span)
  #expect(place.line == line)
  #expect(place.column == column)
}
