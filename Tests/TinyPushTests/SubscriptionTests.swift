import Testing

@testable import Simulation
@testable import TinyPush

/// The public key and the secret of the example in RFC 8291, section 5.
private let key =
  "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
private let secret = "BTBZMqHH6r4Tts7J_aSIgg"
private let endpoint = "https://push.example.net:8443/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV?a=b"
private let word = "\(endpoint)#\(key).\(secret)"
private let json =
  #"{"endpoint":"\#(endpoint)","expirationTime":null,"keys":{"p256dh":"\#(key)","auth":"\#(secret)"}}"#

private func problem(_ text: String) -> Subscription.Problem? {
  let bytes = text.bytes
  do throws(Subscription.Problem) {
    _ = try Subscription(bytes.span)
    return nil
  } catch { return error }
}

@Test(arguments: [
  word, json, json.replacing("\(key)\"", with: "\(key)=\"").replacing(secret, with: secret + "=="),
  #" {"keys": {"auth": "\#(secret)", "other": [1], "p256dh": "\#(key)"}, "endpoint": "\#(endpoint)"} "#
    .trimmingPrefix(" ") + "",
])
func `a subscription is read from a word and from JSON`(form: String) throws {
  let bytes = form.bytes
  let subscription = try Subscription(bytes.span)
  func part(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
  #expect(part(subscription.endpoint) == endpoint)
  #expect(part(subscription.authority) == "push.example.net:8443")
  #expect(part(subscription.path) == "/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV?a=b")
  #expect(text { subscription.append(of: bytes.span, to: &$0) } == word)
  let point = subscription.point(in: bytes.span)
  #expect(point[0] == 4 && point[1] == 0x25 && point[64] == 0x0E)
  let own = subscription.secretBytes(in: bytes.span)
  #expect(own[0] == 5 && own[15] == 0x82)
  let digest = SHA256.digest(endpoint.bytes.span)
  let token = subscription.token(in: bytes.span)
  #expect([UInt8](token.bytes) == (0..<32).map { digest[$0] })
}

@Test(
  arguments: [
    ("", .form), ("https://push.example/a", .form), ("https://push.example/a#key", .form),
    ("{}", .form), (json + "x", .form), (String(json.dropLast()), .form),
    (json.replacing("endpoint", with: "endpoints"), .form),
    (word.replacing("https:", with: "http:"), .endpoint),
    (word.replacing("push.example.net", with: "user@push.example.net"), .endpoint),
    (word.replacing("push.example.net", with: ""), .endpoint),
    (word.replacing("/push/", with: "/pu\u{E4}sh/"), .endpoint),
    (word.replacing("/push/", with: "/pu sh/"), .endpoint),
    (word.replacing("8443/push/", with: "8443?"), .endpoint),
    (word.replacing("8443", with: "0"), .endpoint),
    (word.replacing("8443", with: "65536"), .endpoint),
    (word.replacing("8443", with: "xx"), .endpoint),
    (word.replacing("8443", with: "-1"), .endpoint),
    (json.replacing("/push/", with: "/push/#"), .endpoint),
    (json.replacing("/", with: #"\/"#), .endpoint),
    (json.replacing("/push/", with: #"\/push\/"#), .backslash),
    (word.replacing("/push/", with: "/" + String(repeating: "x", count: 1200)), .endpointTooLong),
    (word.replacing(key, with: String(key.dropLast())), .key),
    (word.replacing(key, with: key + "A"), .key),
    (word.replacing("#BC", with: "#AC"), .key),
    (word.replacing(key, with: key.replacing("V", with: "!")), .key),
    (word.replacing(secret, with: String(secret.dropLast())), .secret),
    (word.replacing(secret, with: secret.dropLast() + "h"), .secret),
  ] as [(String, Subscription.Problem)])
func `a text that is not a whole subscription has a problem`(
  form: String, expected: Subscription.Problem
) {
  #expect(problem(form) == expected)
}

@Test func `a line of a recipients file may have a subscription, as a word or as JSON`() throws {
  for form in [word, json] {
    for end in ["", " lang=de", "  registered=5 # Ann's # phone", "\t#"] {
      let line = (form + end).bytes
      guard case .recipient(let recipient) = RecipientsFile.read(line.span, for: .binary) else {
        Issue.record("\(form + end)")
        continue
      }
      let bytes = word.bytes
      let subscription = try Subscription(bytes.span)
      #expect(recipient.token == subscription.token(in: bytes.span))
      #expect(String(decoding: line[recipient.subscription], as: UTF8.self) == form)
      #expect((recipient.language != nil) == end.contains("lang"))
      #expect(recipient.registered == (end.contains("registered") ? 5 : 0))
      let comment = RecipientsFile.comment(in: line.span)
      #expect(
        String(decoding: [UInt8](comment), as: UTF8.self)
          == (end.contains("Ann") ? "Ann's # phone" : ""))
    }
  }
  guard
    case .wrong(.subscription(.secret), 0) = RecipientsFile.read(
      (word + "A lang=de").bytes.span, for: .http2)
  else {
    Issue.record("a wrong secret was taken")
    return
  }
}

@Test func `the longest subscription fits into a line, with a language and a comment`() throws {
  let path = String(repeating: "x", count: Subscription.endpointBytesMax - "https://a.b/".count)
  let longest = "https://a.b/\(path)#\(key).\(secret)"
  #expect(longest.count == Subscription.wordBytesMax)
  #expect(problem(longest) == nil)
  let language = String(repeating: "x", count: LanguageTag.byteCountMax)
  let remark = String(
    (1...).lazy.map { String(repeating: "r", count: $0) }
      .prefix { RecipientsFile.isComment($0.bytes.span) }.reversed()[0])
  let line = "\(longest) lang=\(language) registered=\(UInt32.max) # \(remark)"
  #expect(line.utf8.count <= RecipientsFile.lineBytesMax)
  #expect(problem(longest.replacing("#", with: "x#")) == .endpointTooLong)
}
