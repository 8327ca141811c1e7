import Foundation
import Testing

/// Notification files arrive once, in order and byte for byte.
@Suite(.sideBySide) struct DeliveryTests {
  /// The counts are smaller for builds that run under qemu.
  @Test(arguments: Build.all)
  func `every build delivers thousands of files and lines`(build: String) throws {
    let (files, lines) = build == Build.host ? (3000, 50_000) : (300, 5000)
    let notifications = try NotificationSet.plain(
      files: files, lines: lines, in: box.path + "/notifications")
    try notifications.fill(box)
    let gateway = try Gateway(in: box)
    // The gateway answers the barrier once it has read all bytes that TCP acknowledged before.
    let agent = try box.deliver(gateway, build: build, ["settle=1m"])
    #expect(agent.status == 0, "\(agent.errors)")
    #expect(box.queued == [])
    #expect(box.names(in: "failed") == [])
    let compared = try gateway.compare(.stream, with: notifications.paths, in: box)
    #expect(compared == "\(files + lines) notifications, byte for byte")
    #expect(agent.errors.contains("\(files + lines) delivered"))
  }

  struct Way: Sendable, CustomTestStringConvertible {
    var build: String
    var format: Int
    var tls: String
    var testDescription: String { "\(build), format \(format), TLS \(tls)" }
  }

  @Test(arguments: [
    Way(build: Build.host, format: 2, tls: "1.2"), Way(build: Build.host, format: 1, tls: "1.2"),
    Way(build: Build.host, format: 0, tls: "1.2"), Way(build: Build.recent, format: 2, tls: "1.2"),
    Way(build: Build.recent, format: 2, tls: "1.3"),
    Way(build: Build.recent, format: 1, tls: "1.3"),
    Way(build: Build.recent, format: 0, tls: "1.3"),
  ])
  func `every frame format arrives over every TLS version`(way: Way) throws {
    let notifications = try NotificationSet.plain(
      files: 300, lines: 700, in: box.path + "/notifications")
    try notifications.fill(box)
    let gateway = try Gateway(in: box, tls: way.tls)
    // Format 0 has no identifiers, so no barrier can prove the delivery.
    let settle = way.format == 0 ? "500ms" : "1m"
    let agent = try box.deliver(
      gateway, build: way.build, ["format=\(way.format)", "settle=\(settle)"])
    #expect(agent.status == 0, "\(agent.errors)")
    #expect(box.queued + box.names(in: "failed") == [])
    try gateway.readsAll(from: agent)
    let compared = try gateway.compare(
      .stream, with: notifications.paths, in: box, ["--format", "\(way.format)"])
    #expect(compared == "1000 notifications, byte for byte")
    let open = try #require(gateway.events("open").first)
    #expect(open["version"] as? String == "TLSv\(way.tls)")
  }

  @Test func `two large files that came at the same moment are read apart`() throws {
    let notifications = try NotificationSet(box.path + "/notifications")
    let now = Int(Date().timeIntervalSince1970) * 1_000_000_000
    for (name, numbers) in [("a", 1...4000), ("b", 4001...8000)] {
      let text = numbers.map { line($0) }.joined()
      // The agent reads 131,072 bytes at a time.
      #expect(text.utf8.count > 2 * 131_072)
      try notifications.add(text, as: name)
      try box.write(text, to: "spool/taken/\(name)@\(now).0")
    }
    let gateway = try Gateway(in: box)
    let agent = try box.deliver(gateway)
    #expect(agent.status == 0, "\(agent.errors)")
    try #expect(
      gateway.compare(.stream, with: notifications.paths, in: box)
        == "8000 notifications, byte for byte")
    #expect(box.names(in: "failed") == [] && box.queued == [])
  }

  @Test func `files of every layout arrive, and their invalid notifications go to failed/`() throws
  {
    let notifications = try NotificationSet(box.path + "/notifications")
    try notifications.add(
      """
      {
        "token": "\(token(1))",
        "payload": {
          "aps": { "alert": { "title": "Tank", "body": "a \\" and a \\\\ and  two spaces" } },
          "app": [ 1, 2.50, -3e2, true, null, "Füllstand ☀" ]
        },
        "priority": 5,
        "expiration": 0
      }

      """, as: "a-pretty")
    try notifications.add(
      "\r\n\t \(line(2).dropLast())\(line(3).dropLast())\t\n\n{ \"expiration\":4000000000,\"payload\":{ \"aps\" :{\"alert\":\"no line end\"} },\"token\":\"\(token(4).uppercased())\"}",
      as: "b-space")
    let many = (100..<600).map { "\"\(token($0))\"" }.joined(separator: ", ")
    try notifications.add(
      #"{"tokens": [\#(many)], "payload": {"aps": {"badge": 3}}, "expiration": 4000000000}"#,
      as: "c-many")
    try notifications.add(line(700) + line(701) + line(702), as: "d-mixed")
    try notifications.add(line(800), as: "f-last")
    try notifications.fill(box)
    let bad = #"{"token":"abc","payload":{"aps":{"alert":"x"}}}"#
    try box.drop(
      line(700) + bad + "\n" + line(701) + "  {\"token\": tru}\n" + line(702)
        + "{\"tokn\":\"\(token(1))\",\"payload\":{\"aps\":{\"alert\":\"x\"}}}\n"
        + #"{"id":"ü","token":"abc","payload":{"aps":{"alert":"x"}}}"#, as: "d-mixed")
    try box.drop("Tank low\n", as: "e-text")
    let gateway = try Gateway(in: box)
    let agent = try box.deliver(gateway)
    #expect(agent.status == 65, "\(agent.errors)")
    #expect(box.queued == [])
    try #expect(
      gateway.compare(.stream, with: notifications.paths, in: box)
        == "508 notifications, byte for byte")
    #expect(box.names(in: "failed") == ["d-mixed", "e-text"])
    let mixed = try box.failures("d-mixed")
    #expect(mixed.map { $0["line"] as? Int } == [2, 4, 6, 7])
    let reasons = mixed.map { $0["reason"] as? String ?? "" }
    #expect(reasons.first?.contains("an even number of hex digits") == true)
    #expect(reasons.dropLast().last?.contains("unknown key") == true)
    #expect(mixed.first?["notification"] as? [String: Any] != nil)
    #expect(mixed.allSatisfy { $0["file"] as? String == "d-mixed" })
    try #expect(box.failures("e-text").map { $0["line"] as? Int } == [1])
  }
}
