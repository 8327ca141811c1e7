import Foundation
import Testing
import TinyPush
import TinyPushAgent

/// The manual pages are the reference: what the source has, a page explains, and the other way round.
@Suite(.sideBySide) struct ManPageTests {
  /// A source file.
  private func source(_ path: String) throws -> String {
    try String(contentsOfFile: "\(Build.package)/Sources/\(path)", encoding: .utf8)
  }

  /// All Swift and C files below a directory, one after the other.
  private func sources(_ directory: String) throws -> String {
    let root = "\(Build.package)/Sources/\(directory)"
    let files = try #require(FileManager.default.enumerator(atPath: root)).compactMap {
      $0 as? String
    }
    return try files.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".c") }.sorted()
      .map { try source("\(directory)/\($0)") }.joined()
  }

  /// What the first group of a pattern matches.
  private func all(_ pattern: Regex<(Substring, Substring)>, in text: String) -> Set<String> {
    Set(text.matches(of: pattern).map { String($0.1) })
  }

  /// What a program knows of a kind, such as all keys.
  private func all<Value: RawRepresentable>(_ type: Value.Type) -> [Value]
  where Value.RawValue: FixedWidthInteger {
    (0...255).compactMap { Value(rawValue: Value.RawValue($0)) }
  }

  @Test func `the pages that a page refers to are there`() throws {
    let names = try Set(ManPage.names())
    for name in names {
      let others = try ManPage(name).text.matches(of: #/(?m)^\.(?:It )?Xr (tinypush\S*) (\d)/#)
      for other in others { #expect(names.contains("\(other.1).\(other.2)"), "\(name)") }
    }
  }

  // MARK: - Notifications

  @Test func `each key of a notification and of its payload is documented`() throws {
    let page = try ManPage("tinypush-notification.5")
    #expect(try page.items("KEYS") == Set(all(EnvelopeKey.self).map { text($0.name) }))
    #expect(try page.items("PAYLOAD") == Set(all(PayloadKey.self).map { text($0.name) }))
  }

  @Test func `each push type is documented`() throws {
    let section = try ManPage("tinypush-notification.5").section("PUSH TYPES")
    #expect(
      all(#/(?m)^\.It (\w+) Ta /#, in: section) == Set(all(PushType.self).map { "\($0.name)" }))
  }

  @Test func `each code that only failed has is documented`() throws {
    let text = try ["", "Limits"].map { try source("TinyPush/Delivery/Recorder\($0).swift") }
      .joined()
    let codes = all(#/begin\(reason, "([a-z-]+)"/#, in: text)
    #expect(
      try ManPage("tinypush-spool.5").items("CODES") == codes.union(["connection-ended"]))
  }

  @Test func `each member of a line in failed is documented`() throws {
    let text = try sources("TinyPush/Delivery") + source("TinyPush/Notification/FailedLine.swift")
    let members = all(#/FailedLine\.append\(\s*"([a-z_]+)"/#, in: text)
      .union(all(#/\\"([a-z_]+)\\":/#, in: text)).subtracting(["failed"])
    #expect(members.contains("reason") && members.contains("list_line"))
    let documented = try ManPage("tinypush-spool.5").items("REFUSED NOTIFICATIONS")
    #expect(members.subtracting(documented.union(["token", "payload", "to"])) == [])
  }

  // MARK: - What programs read

  @Test func `each reason of a refusal and each cause of a repetition is documented`() throws {
    let reasons = Set(all(Rejection.Reason.self).map { "\($0.name)" })
    #expect(try ManPage("tinypush-protocol.7").items("REASONS") == reasons)
    let metrics = try ManPage("tinypush-status.1").section("METRICS")
    let causes = metrics.split(separator: "\n.Ss ").first { $0.hasPrefix("Causes\n") }
    #expect(
      try all(#/(?m)^\.It (\w+)$/#, in: String(#require(causes)))
        == Set(all(RetryCause.self).map { "\($0.name)" }))
  }

  @Test func `each counter and each metric is documented`() throws {
    let box = try Box()
    defer { box.end() }
    try box.makeVAPIDKey()
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try box.add(try sandbox.subscription(box, "laptop"), to: "default")
    try box.drop(#"{"aps":{"alert":"x"}}"#, as: "x")
    let settings =
      [
        "environment=local", "gateway=localhost:\(sandbox.gateway)",
        "ca=\(sandbox.directory)/ca.pem", "certificate=\(sandbox.directory)/client.pem",
        "key=\(sandbox.directory)/client-key.pem", "spool=\(box.spool)", "state=\(box.path)/state",
        "status=\(box.path)/page",
      ].flatMap { ["-o", $0] } + box.browserSettings
    let agent = try box.start(Build.command(Build.host) + ["run"] + settings)
    try wait(for: "the card") { try sandbox.events("delivered").count == 1 }
    func status(_ form: String) throws -> String {
      try box.run(Build.command(Build.host) + ["status", form] + settings).output
    }
    let page = try ManPage("tinypush-status.1")
    let counters = try page.items("COUNTERS")
    let told = try #require(try objects(status("--json")).first)
    #expect(counters.isSubset(of: told.keys))
    let metrics = all(#/(?m)^# TYPE tinypush_(\w+) /#, in: try status("--prometheus"))
    let documented = all(#/(?m)^\.It Ic tinypush_([a-z_]+)/#, in: try page.section("METRICS"))
    #expect(metrics == documented.union(counters.map { "\($0)_total" }))
    #expect(try agent.terminate() == 0)
  }

  /// Where a command writes JSON, and the page and section that explain it.
  struct Output: Sendable, CustomTestStringConvertible {
    let page: String
    let sections: [String]
    let files: [String]
    var testDescription: String { page }

    static let all = [
      Output(
        page: "tinypush-status.1", sections: ["JSON", "COUNTERS"],
        files: ["tinypush/StatusJSON.swift"]),
      Output(
        page: "tinypush-queue.1", sections: ["JSON"],
        files: ["List", "Retry", "Drop"].map { "tinypush/Queue\($0).swift" }),
      Output(
        page: "tinypush-check.1", sections: ["JSON"],
        files: ["tinypush/CheckReport.swift", "TinyPushAgent/Checkup/CheckupReport.swift"]),
      Output(
        page: "tinypush-token.1", sections: ["JSON"], files: ["tinypush/TokenLines.swift"]),
      Output(
        page: "tinypush-recipient.1", sections: ["JSON"],
        files: ["tinypush/RecipientCommand.swift"]),
      Output(page: "tinypush-send.1", sections: ["JSON"], files: ["tinypush/Waiting.swift"]),
      Output(page: "tinypush-trace.1", sections: ["JSON"], files: ["tinypush/TraceCommand.swift"]),
      Output(
        page: "tinypush-feedback.1", sections: ["JSON"],
        files: ["tinypush/FeedbackCommand.swift", "tinypush/TokenLines.swift"]),
      Output(
        page: "tinypush-sandbox.1", sections: ["DEVICES"],
        files: ["TinyPushSandbox/Control/DeviceList.swift"]),
      Output(
        page: "tinypush-mqtt.1", sections: ["JSON"],
        files: [
          "tinypush-mqtt/CheckCommand.swift", "tinypush-mqtt/DryRun.swift",
          "tinypush-mqtt/FleetListing.swift",
        ]),
    ]
  }

  @Test(arguments: Output.all)
  func `each member of the JSON that a command writes is documented, and no other`(
    output: Output
  ) throws {
    let members = try output.files.reduce(into: Set<String>()) { members, file in
      let text = try source(file)
      members.formUnion(all(#/\.(?:member|key)\(\s*"([a-z_0-9]+)"/#, in: text))
    }
    #expect(!members.isEmpty)
    let page = try ManPage(output.page)
    let named = try output.sections.reduce(into: Set<String>()) { words, section in
      words.formUnion(try page.keywords(section))
    }
    #expect(members.subtracting(named) == [])
    let items = all(
      #/(?m)^\.It Ic ([a-z_0-9]+)/#, in: try page.section(output.sections[0]))
    #expect(items.subtracting(members) == [])
  }

  @Test func `each event of the sandbox is documented`() throws {
    let text = try sources("TinyPushSandbox/Screen")
    var events = all(#/beginEvent\(\s*"([A-Za-z]+)"/#, in: text)
    let drops = try #require(text.firstMatch(of: #/enum Drop (.*?)\n    \}/#.dotMatchesNewlines()))
    events.formUnion(all(#/: "([a-z]+)"/#, in: String(drops.1)))
    #expect(try ManPage("tinypush-sandbox.1").items("EVENTS").isSuperset(of: events))
  }

  @Test func `each item of the set-up check is documented`() throws {
    let text = try sources("TinyPushAgent/Checkup")
    let items = all(#/\.report\(\s*"([a-z-]+)"/#, in: text)
    let steps = all(#/begin\([^)]*?"([a-z-]+)"/#, in: text).union(["certificate", "signing-key"])
    #expect(items.count > 20 && steps.count == 10)
    let section = try ManPage("tinypush-check.1").section("THE SET-UP")
    let names = all(#/([a-z-]+\.[a-z-]+)/#, in: section).map { $0.components(separatedBy: ".") }
    #expect(try Set(names.map { try $0.at(0) }).union(["feedback"]) == steps)
    #expect(try items.subtracting(names.map { try $0.at(1) }) == [])
  }

  // MARK: - Exit statuses and environment

  @Test func `each exit status is documented, and each page has those of its command`() throws {
    let statuses = Set(all(ExitStatus.self).map { "\($0.rawValue)" })
    func documented(_ page: String) throws -> Set<String> {
      all(#/(?m)^\.It (\d+)$/#, in: try ManPage(page).section("EXIT STATUS"))
    }
    #expect(try documented("tinypush.1") == statuses)
    for command in try ManualTests.commands.get() {
      let page = try documented("tinypush-\(command.words[0]).1")
      #expect(page.isSubset(of: statuses), "\(command.name)")
      #expect(page.contains("0") && page.contains("64"), "\(command.name)")
      let told = all(#/\b(6[5-9]|7[0-8])\b/#, in: command.help)
      #expect(told.subtracting(page) == [], "\(command.name)")
    }
  }

  @Test func `each environment variable is documented`() throws {
    let text = try ["TinyPushAgent", "CommandArguments", "CLinux", "tinypush"].map(sources).joined()
    let names = all(#/getenv\(\(?"([A-Z_]+)"/#, in: text)
      .union(all(#/Self\.value\("([A-Z_]+)"\)/#, in: text))
    #expect(names.contains("TERM") && names.contains("NOTIFY_SOCKET"))
    let section = try ManPage("tinypush.1").section("ENVIRONMENT")
    for name in names { #expect(section.contains(name), "\(name)") }
  }
}
