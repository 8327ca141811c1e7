import Foundation
import Testing

/// Every frame format, read by the sandbox and written by the agent, with Tests/Tools as the peer.
@Suite(.sideBySide) struct FormatTests {
  private struct Content {
    var token: String
    var payload: String
    var expiration = 4_000_000_000
    var priority = 10
    var line: String {
      #"{"token":"\#(token)","payload":\#(payload),"expiration":\#(expiration),"priority":\#(priority)}"#
        + "\n"
    }
  }

  private static let contents = [
    Content(token: token(1), payload: #"{"aps":{"alert":"Tank low"}}"#),
    Content(
      token: String(repeating: "ff", count: 32),
      payload: #"{"aps":{"badge":0},"a":[1,2.5e3,null]}"#,
      expiration: 0, priority: 5),
    Content(token: token(3), payload: #"{"aps":{"alert":"Füllstand ☀ \"niedrig\""}}"#),
    Content(
      token: token(4), payload: #"{"aps":{"alert":"\#(String(repeating: "x", count: 2028))"}}"#,
      expiration: 4_294_967_295),
    Content(token: token(5), payload: #"{"aps":{"content-available":1}}"#, priority: 5),
  ]

  private static func legacy(
    _ format: Int, token: String = CommandTests.token(7), payload: String = #"{"aps":{}}"#
  ) -> String {
    let payload = payload.utf8.map { hex(Int($0), 1) }.joined()
    return (format == 1 ? "01" + hex(9, 4) + hex(0, 4) : "00") + hex(token.count / 2, 2) + token
      + hex(payload.count / 2, 2) + payload
  }

  /// For each format, a frame that every gateway refuses.
  private static let barriers = [
    legacy(0, token: "00"), legacy(1, token: "00"),
    "0200000023" + "030004" + hex(9, 4) + "01000100" + "02000a" + "7b22617073223a7b7d7d" + "040004"
      + hex(0, 4) + "05000105",
  ]

  @Test(arguments: [0, 1, 2], [16_384, 7, 1])
  func `the sandbox reads every format, split into records of any size`(
    format: Int, recordBytes: Int
  ) throws {
    let notes = try box.write(Self.contents.map(\.line).joined(), to: "notes")
    let stream = box.path + "/stream"
    let made = try box.run([
      "sh", "-ec", #"python3 "$1" "$2" --print --format "$3" >"$4""#, "sh",
      Build.tools + "/expect.py", notes, "\(format)", stream,
    ])
    #expect(made.status == 0, "\(made.errors)")
    let sandbox = try Sandbox(in: box)
    let client = try sandbox.client(
      box, ["--cut", "\(recordBytes)", "@" + stream, Self.barriers[format]])
    #expect(try client.wait() == 0, "\(client.errors)")
    #expect(client.output == (format == 0 ? "connected\n\n" : "connected\n080500000009\n"))
    #expect(try sandbox.child.terminate() == 0)
    let accepted = try sandbox.events("accepted")
    #expect(accepted.allSatisfy { $0["command"] as? Int == format })
    let numbers: [Int?] = format == 0 ? [nil, nil, nil, nil, nil] : [1, 2, 3, 4, 5]
    #expect(accepted.map { $0["identifier"] as? Int } == numbers)
    #expect(accepted.map { $0["token"] as? String } == Self.contents.map(\.token))
    #expect(
      accepted.map { $0["expiration"] as? Int }
        == Self.contents.map { format == 0 ? nil : $0.expiration })
    #expect(
      accepted.map { $0["priority"] as? Int }
        == Self.contents.map { format == 2 ? $0.priority : 10 })
    for (one, content) in zip(accepted, Self.contents) {
      let payload = try objects(content.payload).at(0)
      #expect(one["payload"] as? NSDictionary == payload as NSDictionary)
    }
    try #expect(sandbox.events("refused").map { $0["status"] as? Int } == [5])
  }

  @Test(arguments: [0, 1, 2])
  func `the agent writes every format`(format: Int) throws {
    let notes = try box.write(
      Self.contents.map { $0.line.replacing(":", with: " :\n\t ") }.joined(), to: "notes")
    try box.drop(box.text("notes"), as: "notes")
    let gateway = try Gateway(in: box)
    let agent = try box.deliver(
      gateway, ["format=\(format)", "payload-limit=2048", "settle=500ms"])
    #expect(agent.status == 0, "\(agent.errors)")
    try gateway.readsAll(from: agent)
    try #expect(
      gateway.compare(.stream, with: [notes], in: box, ["--format", "\(format)"])
        == "5 notifications, byte for byte")
  }

  // MARK: - Wrong frames

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var status: Int
    var token = CommandTests.token(7)
    var payload = #"{"aps":{}}"#
    init(
      _ name: String, _ status: Int, token: String = CommandTests.token(7),
      payload: String = #"{"aps":{}}"#
    ) {
      (testDescription, self.status) = (name, status)
      (self.token, self.payload) = (token, payload)
    }
  }

  @Test(
    arguments: [
      Row("payload that is no JSON", 1, payload: #"{"aps":{},}"#),
      Row("payload without aps", 1, payload: "{}"),
      Row("token of no bytes", 2, token: ""),
      Row("token of one byte", 5, token: "00"),
      Row("token of 31 bytes", 5, token: String(token(7).dropLast(2))),
      Row("token of 33 bytes", 5, token: token(7) + "00"),
      Row("payload of no bytes", 7, payload: ""),
      Row(
        "payload of 2049 bytes", 7,
        payload: #"{"aps":{"alert":"\#(String(repeating: "x", count: 2029))"}}"#),
      Row("token of zeros", 8, token: token(0)),
    ], [0, 1])
  func `the sandbox refuses wrong frames of the legacy formats`(row: Row, format: Int) throws {
    let sandbox = try Sandbox(in: box)
    let good = Self.legacy(format)
    let client = try sandbox.client(
      box, [good, Self.legacy(format, token: row.token, payload: row.payload), good])
    #expect(try client.wait() == 0, "\(client.errors)")
    // The simple format has no identifiers: the gateway only closes the connection.
    let answer = format == 0 ? "" : "08" + hex(row.status, 1) + hex(9, 4)
    #expect(client.output == "connected\n\(answer)\n")
    #expect(try sandbox.child.terminate() == 0)
    try #expect(sandbox.events("accepted").count == 1)
    try #expect(sandbox.events("refused").map { $0["status"] as? Int } == [row.status])
    try #expect(sandbox.events("discarded").map { $0["notifications"] as? Int } == [1])
  }

  // MARK: - Feedback

  @Test func `the sandbox sends a long feedback list again after a client that left early`()
    throws
  {
    let sandbox = try Sandbox(in: box)
    let count = 300_000
    let numbers = 1_700_000_000..<1_700_000_000 + count
    try box.write(
      numbers.map { "\($0) \(token($0))\n" }.joined(), to: "sandbox/feedback")
    let deserter = try sandbox.client(box, ["--leave-after", "100000"], port: sandbox.feedback)
    #expect(try deserter.wait() == 0, "\(deserter.errors)")
    try sandbox.child.line(#""event":"feedback""#)
    let reader = try sandbox.client(box, port: sandbox.feedback)
    #expect(try reader.wait() == 0, "\(reader.errors)")
    let told = numbers.map { hex($0, 4) + "0020" + token($0) }.joined()
    #expect(reader.output == "connected\n" + told + "\n", "\(reader.output.utf8.count) digits")
    #expect(try sandbox.child.terminate() == 0)
    #expect(box.text("sandbox/feedback") == "")
  }
}
