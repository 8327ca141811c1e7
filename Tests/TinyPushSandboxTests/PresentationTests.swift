import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

private func members(_ payload: String, _ screen: Screen = Screen()) throws -> NSDictionary {
  let line = try #require(screen.members(payload))
  #expect(line.utf8.count { $0 == 0x0A } == 1)
  return try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? NSDictionary)
}

@Test(
  arguments: [
    // Texts in the payload.
    (#""x""#, nil, "x"), (#"{"body":"x"}"#, nil, "x"),
    (#"{"title":"t","body":"x"}"#, "t", "x"), (#""""#, nil, nil),
    ("null", nil, nil), ("{}", nil, nil),
    (#"{"body":null,"title":null}"#, nil, nil), ("5", nil, "5"),
    // The names of texts, and their arguments.
    (#"{"loc-key":"B","loc-args":["1"]}"#, nil, "B (1)"),
    (
      #"{"title-loc-key":"T","title-loc-args":["2",3],"loc-key":"B","loc-args":[]}"#, "T (2, 3)",
      "B"
    ),
    (#"{"title":"t","title-loc-key":null,"title-loc-args":null,"body":"b"}"#, "t", "b"),
    (#"{"\u006coc-key":"\u0042","loc-args":"1"}"#, nil, "B"),
    (#"{"loc-args":["1"],"title-loc-key":null,"title-loc-args":["1"]}"#, nil, nil),
    (#"{"body":"b","loc-key":"B","loc-args":["1"],"title":"t","title-loc-key":"T"}"#, "t", "b"),
  ] as [(String, String?, String?)])
func `title and text of an alert are texts, or names of texts with arguments`(
  alert: String, title: String?, text: String?
) throws {
  let members = try members(#"{"aps":{"alert":\#(alert)}}"#)
  #expect(members["title"] as? String == title)
  #expect(members["text"] as? String == text)
  #expect(members["notes"] as? [String] == [])
  #expect(members["silent"] as? Bool == false)
}

@Test func `a category is reported by its name`() throws {
  for (aps, name): (String, String?) in [
    (#""category":"T\u0057O""#, "TWO"), (#""category":null"#, nil), (#""badge":1"#, nil),
  ] { try #expect(members(#"{"aps":{\#(aps)}}"#)["category"] as? String == name) }
}

@Test(
  arguments: [
    (#""sound":"default""#, "default", []), (#""sound":"drip.caf""#, "drip.caf", []),
    (#""sound":"with space.wav""#, "with space.wav", []),
    (#""sound":"drip\u002ecaf""#, "drip.caf", []),
    (#""sound":"""#, "default", []), (#""badge":1"#, nil, []),
    (#""sound":null,"badge":1"#, nil, []),
    (#""sound":1"#, nil, ["the sound is not a string: no sound is played"]),
  ] as [(String, String?, [String])])
func `a sound is reported by its name`(
  aps: String, sound: String?, notes: [String]
) throws {
  let members = try members(#"{"aps":{\#(aps)}}"#)
  #expect(members["sound"] as? String == sound)
  #expect(members["notes"] as? [String] == notes)
}

@Test(
  arguments: [
    (#""badge":5"#, 5), (#""badge":0"#, nil), (#""alert":"x""#, 3),
    (#""badge":9999999999"#, 9_999_999_999),
    (#""badge":10000000000"#, 3), (#""badge":-1"#, 3), (#""badge":1.5"#, 3), (#""badge":1e1"#, 3),
    (#""badge":"5""#, 3), (#""badge":"""#, 3), (#""badge":true"#, 3),
    (#""badge":null,"sound":"default""#, 3),
    (#""badge":[1]"#, 3),
  ] as [(String, Int?)])
func `a badge stays unless the payload has a valid number`(aps: String, badge: Int?) throws {
  var screen = Screen()
  screen.badge = 3
  let members = try members(#"{"aps":{\#(aps)}}"#, screen)
  #expect(members["badge"] as? Int == badge)
  let notes = try #require(members["notes"] as? [String])
  let isOdd = badge == 3 && aps.hasPrefix(#""badge""#) && !aps.contains("null")
  let odd = ["the badge is not a whole number from 0 on: the old badge stays"]
  #expect(notes == (isOdd ? odd : []))
}

@Test func `an app keeps its badge between notifications`() {
  let app = TinyPushSandbox.App(topic: "com.example".utf8.span)
  for (payload, badge): (String, UInt64) in [
    (#"{"aps":{"badge":2}}"#, 2), (#"{"aps":{"alert":"x"}}"#, 2), (#"{"aps":{"badge":"x"}}"#, 2),
    (#"{"aps":{"badge":0}}"#, 0),
  ] {
    let bytes = payload.bytes
    guard let summary = try? PayloadSummary(bytes.span) else { continue }
    app.take(summary, bytes.span)
    #expect(app.badge == badge)
  }
}

@Test(
  arguments: [
    (#""content-available":1"#, true, true), (#""content-available":1,"alert":"x""#, false, true),
    (#""content-available":1,"sound":"default""#, false, true),
    (#""content-available":1,"badge":0"#, false, true),
    (#""content-available":1,"alert":null"#, true, true),
    (#""content-available":0"#, false, false), (#""content-available":null"#, false, false),
    (#""alert":"x""#, false, false), ("", false, false),
  ])
func `a silent notification shows nothing and wakes the app`(
  aps: String, isSilent: Bool, wakesApp: Bool
) throws {
  let members = try members(#"{"aps":{\#(aps)}}"#)
  #expect(members["silent"] as? Bool == isSilent)
  #expect(members["wakesApp"] as? Bool == wakesApp)
}

@Test func `texts of more than 8192 bytes are cut, and a note says so`() throws {
  let members = try members(
    #"{"aps":{"alert":{"loc-key":"B\#(String(repeating: "é", count: 5000))"},"category":"TWO"}}"#)
  #expect(
    (members["text"] as? String)?.utf8.count == 8191, "the text is not cut inside a character")
  #expect(members["category"] == nil)
  let notes = try #require(members["notes"] as? [String])
  #expect(notes.last == "the texts are longer than 8192 bytes, and are cut")
}
