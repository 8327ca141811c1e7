import Testing

@testable import Simulation
@testable import TinyPush

/// A token of 32 bytes, as programs print it.
private let forms: [String] = [
  "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad",
  "740F4707BEBCF74F9B7C25D48E3358945F6AA01DA5DDB387462C7EAF61BB78AD",
  "<740f4707 bebcf74f 9b7c25d4 8e335894 5f6aa01d a5ddb387 462c7eaf 61bb78ad>",
  "740f4707 bebcf74f 9b7c25d4 8e335894 5f6aa01d a5ddb387 462c7eaf 61bb78ad",
  "<740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad>",
  "dA9HB76890+bfCXUjjNYlF9qoB2l3bOHRix+r2G7eK0=", "dA9HB76890-bfCXUjjNYlF9qoB2l3bOHRix-r2G7eK0",
]

@Test(arguments: forms)
func `a token is read in each form that programs print`(form: String) throws {
  let token = try #require(forms.first.map { DeviceToken(hex: $0.bytes.span) } ?? nil)
  #expect(DeviceToken(printed: form.bytes.span) == token)
  let text = #"{"collapse-id":"a","token":"\#(form)","payload":{"aps":{"alert":"x"}}}"#
  #expect(remarks(text, Rules(.binary, payloadLimit: nil)) == [])
  func key(_ text: String) -> UInt64? {
    let bytes = text.bytes
    var reader = NotificationReader()
    var findings = Findings()
    guard
      case .notification(let notification) = reader.next(
        in: bytes.span, isWhole: true, Rules(), &findings)
    else { return nil }
    return notification.collapseKey
  }
  #expect(key(text) != nil && key(text) == key(text.replacing(form, with: forms[0])))
  for end in ["", " lang=de", "  registered=5 # Ann", "\t#"] {
    guard
      case .recipient(let recipient) = RecipientsFile.read((form + end).bytes.span, for: .binary)
    else {
      Issue.record("\(form + end)")
      continue
    }
    #expect(recipient.token == token)
    #expect((recipient.language != nil) == end.contains("lang"))
    #expect(recipient.registered == (end.contains("registered") ? 5 : 0))
  }
}

@Test func `base64 of each length is read as its bytes, and with an escaped slash`() {
  for count in 16...100 {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: 251 &* $0 &+ 3) }
    let padded = base64(bytes)
    for form in [padded, padded.replacing("=", with: ""), padded.replacing("/", with: #"\/"#)] {
      let token = DeviceToken(printed: form.bytes.span)
      #expect(token.map { [UInt8]($0.bytes) } == bytes, "\(form)")
    }
  }
  let long = base64((0..<101).map { UInt8(truncatingIfNeeded: 251 &* $0) })
  #expect(DeviceToken(printed: long.bytes.span) == nil)
}

@Test(arguments: [
  "", "<>", " ", "<7>", "740f4707 bebcf74",
  "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78aO",
  "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bbOlI",
  "dA9HB76890+bfCXUjjNYlF9qoB2l3bOHRix+r2G7eK1=",
  "dA9HB76890+bfCXUjjNYlF9qoB2l3bOHRix+r2G7eK0==", "dA9HB7689k+bfCXUjjNYlF9qoB2l3bOHRix+r2G7eK===",
  "dA9HB7689k+bfCXUjjNYlF9qoB2l3bOHRix+r", "dA9HB7689k+bfCXUjjNY=F9qoB2l3bOHRix+r2G7eK0=",
  "the family",
  "family", "740f4707-bebcf74f-9b7c25d4-8e335894-5f6aa01d-a5ddb387-462c7eaf-61bb78ad",
])
func `a text that no program prints for a token is none`(text: String) {
  #expect(DeviceToken(printed: text.bytes.span) == nil)
}

@Test(arguments: ["740f4707 bebcf74f de", "740f4707 de", "<740f4707 x", "740f4707 bebcf74g"])
func `a line with a group of another length than eight digits is wrong`(line: String) {
  guard case .wrong = RecipientsFile.read(line.bytes.span, for: .http2) else {
    Issue.record("a recipient, or nothing")
    return
  }
}

private func base64(_ bytes: [UInt8]) -> String {
  let alphabet = [Character]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  var text = ""
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let three = (0..<3).map { start + $0 < bytes.count ? Int(bytes[start + $0]) : 0 }
    let value = three[0] << 16 | three[1] << 8 | three[2]
    for place in 0..<4 {
      let isPadding = start + place > bytes.count
      text.append(isPadding ? "=" : alphabet[value >> (18 - 6 * place) & 63])
    }
  }
  return text
}
