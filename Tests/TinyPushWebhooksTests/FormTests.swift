import Testing
import TinyPush
import TinyPushWebhooks

/// The pairs of a query, each as `name>value`.
private func pairs(_ query: String) -> [String] {
  let bytes = Array(query.utf8)
  var reader = FormReader()
  var found: [String] = []
  while let pair = reader.next(in: bytes.span) {
    found.append(
      String(decoding: bytes[pair.name], as: UTF8.self) + ">"
        + String(decoding: bytes[pair.value], as: UTF8.self))
  }
  return found
}

@Test(arguments: [
  ("", []), ("a=b", ["a>b"]), ("a=b&c=d", ["a>b", "c>d"]), ("a", ["a>"]), ("a=", ["a>"]),
  ("=b", [">b"]), ("&&a=b&&", ["a>b"]), ("a=b=c", ["a>b=c"]), ("Tank low", ["Tank low>"]),
])
func `a query has pairs of names and values`(query: String, expected: [String]) {
  #expect(pairs(query) == expected)
}

@Test(arguments: [
  ("Tank+low", "Tank low"), ("%54ank%20low%21", "Tank low!"), ("%C3%A9", "é"), ("%c3%a9", "é"),
  ("100%25", "100%"), ("a%2Bb", "a+b"), ("", ""),
])
func `escapes are decoded`(text: String, expected: String) {
  var output = Text()
  let isRight = FormReader.decode(Array(text.utf8).span, to: &output)
  #expect(isRight)
  #expect(output.string == expected)
}

@Test(arguments: ["100%", "%4", "%zz", "a%2"])
func `a percent sign without two digits is refused`(text: String) {
  var output = Text()
  let isRight = FormReader.decode(Array(text.utf8).span, to: &output)
  #expect(!isRight)
}

@Test func `a plus sign in a path stays`() {
  var output = Text()
  let isRight = FormReader.decode(Array("a+b%40c".utf8).span, isPath: true, to: &output)
  #expect(isRight)
  #expect(output.string == "a+b@c")
}

@Test(arguments: [
  ("message=Hi", true), ("title=T&message=Hi", true), ("title=T", false), ("Tank low", false),
  ("a=b", false), ("message=1&x=2", false), ("", false), ("temperature=30", false),
])
func `a form has a message and only parameters`(body: String, isForm: Bool) {
  let found = MessageOptions.isForm(Array(body.utf8).span)
  #expect(found == isForm)
}

@Test(arguments: [
  ("tile=x", MessageOptions.Problem.unknown(nearest: 4)), ("qqqqqqq=x", .unknown(nearest: nil)),
  ("title=a&title=b", .twice(4)), ("title=%", .escape), ("%=x", .escape),
  ("title=" + String(repeating: "a", count: 70_000), .tooLarge),
])
func `wrong parameters are refused`(query: String, problem: MessageOptions.Problem) {
  #expect(throws: problem) {
    var options = MessageOptions()
    try options.read(Array(query.utf8).span)
  }
}
