import Foundation
import Testing
import TinyPush
import TinyPushAgent

/// The manual pages are the reference: what the programs know, a page explains.
///
/// ``Documentation`` checks what the programs write.
@Suite(.sideBySide) struct ManPageTests {
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

  // MARK: - What programs read

  @Test func `each reason of a refusal and each cause of a repetition is documented`() throws {
    let reasons = Set(all(Rejection.Reason.self).map { text($0.name) })
    #expect(try ManPage("tinypush-protocol.7").items("REASONS") == reasons)
    let metrics = try ManPage("tinypush-status.1").section("METRICS")
    let causes = metrics.split(separator: "\n.Ss ").first { $0.hasPrefix("Causes\n") }
    #expect(
      try all(#/(?m)^\.It (\w+)$/#, in: String(#require(causes)))
        == Set(all(RetryCause.self).map { text($0.name) }))
  }

  @Test func `each counter and each metric is documented`() throws {
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
    let section = try ManPage("tinypush.1").section("ENVIRONMENT")
    for variable in all(EnvironmentVariable.self) {
      #expect(section.contains("\(variable.name)"), "\(variable.name)")
    }
  }
}
