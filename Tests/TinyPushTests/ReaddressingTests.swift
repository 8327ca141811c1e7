import Foundation
import Testing

@testable import Simulation
@testable import TinyPush

/// A notification rewritten for one of its recipients.
@Suite struct ReaddressingTests {
  private static let token = String(repeating: "0123456789abcdef", count: 4)

  private func readdressed(_ text: String, language: StaticString? = nil) throws -> String {
    let bytes = [UInt8](text.utf8)
    var reader = NotificationReader()
    var findings = Findings()
    guard
      case .notification(let notification) = reader.next(
        in: bytes.span, isWhole: true, Rules(), &findings)
    else { throw Refused() }
    let alert = language.flatMap {
      Localization.alert(for: LanguageTag($0), in: notification.localized, of: bytes.span)
    }
    return TinyPushTests.text(capacity: 4096) {
      Readdressing.append(notification, of: bytes.span, alert: alert, to: &$0)
    }
  }

  private struct Refused: Error {}

  @Test(arguments: [
    (
      #"{"token":"\#(token)","payload":{"aps":{"badge":1}},"ttl":60}"#,
      #","payload":{"aps":{"badge":1}},"ttl":60"#
    ),
    (
      #"{ "tokens": ["\#(token)"], "to": ["a", "b"], "payload": { "aps": {} , "x":[1, 2]}, "i\u0064":"}" }"#
        .replacing("{} ", with: #"{"sound":"s"} "#),
      #","payload":{ "aps": {"sound":"s"} , "x":[1, 2]},"i\u0064":"}""#
    ),
    (#"{"aps":{"badge":1},"x":2}"#, #","payload":{"aps":{"badge":1},"x":2}"#),
  ])
  func `a readdressed notification keeps its members except its recipients`(
    text: String, expected: String
  ) throws {
    #expect(try readdressed(text) == expected)
  }

  @Test(arguments: [
    (#"{"alert":"Tank low","badge":1}"#, #"{"alert":"Cuve vide","badge":1}"#),
    (#"{"badge":1}"#, #"{"alert":"Cuve vide","badge":1}"#),
    ("{}", #"{"alert":"Cuve vide"}"#),
  ])
  func `a readdressed notification keeps only the alert in the recipient's language`(
    aps: String, expected: String
  ) throws {
    let text =
      #"{"to":"all","localized":{"fr":"Cuve vide","en":"Tank low"},"payload":{"aps":\#(aps)}}"#
    #expect(
      try readdressed(text, language: "fr-CA") == #","payload":{"aps":\#(expected)}"#
    )
    #expect(
      try readdressed(text, language: "de")
        == #","localized":{"fr":"Cuve vide","en":"Tank low"},"payload":{"aps":\#(aps)}"#
    )
  }
}
