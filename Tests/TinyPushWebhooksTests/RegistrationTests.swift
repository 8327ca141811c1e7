import Testing
import TinyPush
import TinyPushWebhooks

private struct Parts: Equatable {
  var code: String
  var recipient: String
  var language = ""
}

private func parts(_ body: String) throws -> Parts {
  let bytes = Array(body.utf8)
  let registration = try Registration(bytes.span)
  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
  return Parts(
    code: text(registration.code), recipient: text(registration.recipient),
    language: text(registration.language))
}

@Test(
  arguments: [
    (#"{"code":"c","token":"0a"}"#, Parts(code: "c", recipient: "0a")),
    (
      #" { "code" : "c" , "subscription" : {"keys": {}} , "language" : "fr-CA" } "#,
      Parts(code: "c", recipient: #"{"keys": {}}"#, language: "fr-CA")
    ),
    (
      #"{"code":"c","subscription":"https://h/1#k.s","language":null,"other":[{"code":"x"}]}"#,
      Parts(code: "c", recipient: "https://h/1#k.s")
    ),
  ] as [(String, Parts)])
private func `a registration has a code and a recipient, and perhaps a language`(
  body: String, expected: Parts
) throws {
  #expect(try parts(body) == expected)
}

@Test(
  arguments: [
    ("", .json), ("[]", .form), ("{}", .form), (#"{"code":"c"}"#, .form),
    (#"{"token":"0a"}"#, .form), (#"{"code":1,"token":"0a"}"#, .form),
    (#"{"code":"c","token":"0a","subscription":{}}"#, .form),
    (#"{"code":"c","token":"0a"} {}"#, .json),
    (#"{"code":"c","token":"0a","language":"a b"}"#, .language),
    (#"{"code":"c","token":"0a""#, .json),
  ] as [(String, Registration.Problem)])
func `anything else is no registration`(body: String, problem: Registration.Problem) {
  #expect(throws: problem) { try parts(body) }
}
