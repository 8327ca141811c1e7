import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

private let app = Screen(
  strings: #"""
    "T" = "Title of %@"; "B" = "Body %@%%";
    """#, categories: "# buttons\n\nTWO = A,B\nFIVE=1,2,3,4,5\nNONE=\nodd\nTWO=C,D\n")

private func members(_ payload: String, _ screen: Screen = app) throws -> NSDictionary {
  let line = try #require(screen.members(payload))
  #expect(line.utf8.count { $0 == 0x0A } == 1)
  return try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? NSDictionary)
}

@Test(
  arguments: [
    // Texts in the payload.
    (#""x""#, nil, "x", []), (#"{"body":"x"}"#, nil, "x", []),
    (#"{"title":"t","body":"x"}"#, "t", "x", []), (#""""#, nil, nil, []),
    ("null", nil, nil, []), ("{}", nil, nil, []),
    (#"{"body":null,"title":null}"#, nil, nil, []), ("5", nil, "5", []),
    // Texts of Localizable.strings.
    (#"{"loc-key":"B","loc-args":["1"]}"#, nil, "Body 1%", []),
    (
      #"{"title-loc-key":"T","title-loc-args":["2"],"loc-key":"B","loc-args":["1"]}"#, "Title of 2",
      "Body 1%", []
    ),
    (
      #"{"title":"t","title-loc-key":null,"title-loc-args":null,"body":"b"}"#, "t", "b", []
    ),
    (#"{"\u006coc-key":"\u0042","loc-args":["1"]}"#, nil, "Body 1%", []),
    // A text of Localizable.strings takes precedence over the text in the payload.
    (
      #"{"body":"b","loc-key":"B","loc-args":["1"],"title":"t","title-loc-key":"T","title-loc-args":["2"]}"#,
      "Title of 2", "Body 1%", []
    ),
    (#"{"body":"b","loc-key":"NO"}"#, nil, "b", [#"Localizable.strings has no "NO""#]),
    // Without either the key is shown, which may be a format.
    (
      #"{"loc-key":"%@ is open","loc-args":["Door"]}"#, nil, "Door is open",
      [#"Localizable.strings has no "%@ is open""#]
    ),
    (#"{"loc-key":"B"}"#, nil, "Body %@%", [#"there are too few arguments for "B""#]),
    (
      #"{"loc-key":"%d","loc-args":["1"]}"#, nil, "%d",
      [
        #"Localizable.strings has no "%d""#,
        #"only %@, %n$@ and %% are known, but others occur in "%d""#,
      ]
    ),
  ] as [(String, String?, String?, [String])])
func `title and text of an alert come from the payload or from Localizable.strings`(
  alert: String, title: String?, text: String?, notes: [String]
) throws {
  let members = try members(#"{"aps":{"alert":\#(alert)}}"#)
  #expect(members["title"] as? String == title)
  #expect(members["text"] as? String == text)
  #expect(members["notes"] as? [String] == notes)
  #expect(members["silent"] as? Bool == false)
}

@Test(
  arguments: [
    (#""category":"TWO""#, ["A", "B"], []), (#""category":"\u0054WO""#, ["A", "B"], []),
    (
      #""category":"FIVE""#, ["1", "2", "3", "4"],
      ["the category has more than four buttons: only four are shown"]
    ),
    (#""category":"NONE""#, [], []),
    (
      #""category":"odd""#, [],
      ["categories:6: expected NAME=Button,Button", #"the app has no category "odd""#]
    ),
    (
      ##""category":"# buttons""##, [],
      ["categories:6: expected NAME=Button,Button", ##"the app has no category "# buttons""##]
    ),
    (#""category":null"#, [], []),
  ] as [(String, [String], [String])])
func `a category has at most four buttons, which the app's file lists`(
  aps: String, buttons: [String], notes: [String]
) throws {
  let members = try members(#"{"aps":{"alert":"x",\#(aps)}}"#)
  #expect(members["buttons"] as? [String] == buttons)
  #expect(members["notes"] as? [String] == notes)
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
  var screen = app
  screen.badge = 3
  let members = try members(#"{"aps":{\#(aps)}}"#, screen)
  #expect(members["badge"] as? Int == badge)
  let notes = try #require(members["notes"] as? [String])
  let isOdd = badge == 3 && aps.hasPrefix(#""badge""#) && !aps.contains("null")
  let odd = ["the badge is not a whole number from 0 on: the old badge stays"]
  #expect(notes == (isOdd ? odd : []))
}

@Test func `an app keeps its badge between notifications`() {
  let app = TinyPushSandbox.App(topic: "com.example".utf8.span, directory: nil)
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
    (#""alert":"x""#, false, false), ("", false, false),
  ])
func `a silent notification shows nothing and wakes the app`(
  aps: String, isSilent: Bool, wakesApp: Bool
) throws {
  let members = try members(#"{"aps":{\#(aps)}}"#)
  #expect(members["silent"] as? Bool == isSilent)
  #expect(members["wakesApp"] as? Bool == wakesApp)
}

@Test func `a strings file with an error is not used, and the error is noted once`() throws {
  var screen = app
  screen.strings += "\n\"X\" = \"y\""
  let members = try members(
    #"{"aps":{"alert":{"title-loc-key":"T","loc-key":"B"}}}"#, screen)
  #expect(members["title"] as? String == "T")
  #expect(members["text"] as? String == "B")
  #expect(
    members["notes"] as? [String] == [
      "Localizable.strings:2:10: expected ';' after the text: is it missing, or does the text have a quote without a \\?"
    ])
}

@Test func `texts of more than 8192 bytes are cut, and a note says so`() throws {
  let members = try members(
    #"{"aps":{"alert":{"loc-key":"B%1$@\#(String(repeating: "%1$@", count: 400))","loc-args":["\#(String(repeating: "é", count: 800))"]},"category":"TWO"}}"#
  )
  #expect(
    (members["text"] as? String)?.utf8.count == 8191, "the text is not cut inside a character")
  #expect(members["buttons"] as? [String] == [])
  let notes = try #require(members["notes"] as? [String])
  #expect(notes.last == "the texts are longer than 8192 bytes, and are cut")
}

// MARK: - Files

/// Runs `body` with a directory that holds an app's files, and removes the directory.
private func withDirectory(_ files: [String: Data], _ body: (String) throws -> Void) throws {
  let directory = FileManager.default.temporaryDirectory.appending(path: "app-\(UUID())")
  try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  for (name, data) in files { try data.write(to: directory.appending(path: name)) }
  try body(directory.path)
}

private let everything =
  #"{"aps":{"alert":{"loc-key":"K"},"category":"C","sound":"s.wav","badge":1}}"#

/// Returns what a device shows of `everything`, with an app whose files are in `directory`.
private func shown(_ directory: String) throws -> NSDictionary {
  let payload = everything.bytes
  let topic = "t".bytes
  let app = TinyPushSandbox.App(topic: topic.span, directory: directory)
  let summary = try PayloadSummary(payload.span)
  let line = text {
    let presentation = app.receive(summary, payload.span)
    $0.beginObject()
    presentation.write(badge: app.badge, to: &$0)
    $0.endLine()
  }
  return try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? NSDictionary)
}

@Test func `an app's files are read again for each notification that needs them`() throws {
  let files = [
    "Localizable.strings": Data("\"K\" = \"é\";".utf8),
    "categories": Data("C=Yes,No".utf8),
  ]
  try withDirectory(files) { directory in
    let members = try shown(directory)
    #expect(members["text"] as? String == "é")
    #expect(members["buttons"] as? [String] == ["Yes", "No"])
    #expect(members["sound"] as? String == "s.wav")
    #expect(members["badge"] as? Int == 1)
    #expect(members["notes"] as? [String] == [])
    try Data("\"K\" = \"new\";".utf8).write(to: URL(filePath: directory + "/Localizable.strings"))
    try #expect(shown(directory)["text"] as? String == "new")
  }
}

@Test func `a missing file, a file that is too large and a directory count as empty`() throws {
  try withDirectory([:]) { directory in
    let missing = [
      #"Localizable.strings has no "K""#, #"the app has no category "C""#,
    ]
    try #expect(shown(directory)["notes"] as? [String] == missing)
    try #expect(shown(directory + "/nowhere")["notes"] as? [String] == missing)
    try Data(repeating: 0x20, count: 262_145).write(
      to: URL(filePath: directory + "/Localizable.strings"))
    try FileManager.default.createDirectory(
      atPath: directory + "/categories", withIntermediateDirectories: false)
    let members = try shown(directory)
    #expect(members["text"] as? String == "K")
    #expect(
      members["notes"] as? [String] == [
        "Localizable.strings is ignored, since it is larger than 262144 bytes",
        "categories cannot be read: it is not a regular file",
      ] + missing)
  }
}
