import Foundation
import Testing

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

  /// The words of a list in the source, such as `names` of `"a b c"`.
  private func list(_ name: String, in path: String) throws -> Set<String> {
    let found = try source(path).firstMatch(
      of: Regex("\(name): WordList \\{\\s*\"([^\"]*)\"", as: (Substring, Substring).self))
    return Set(try #require(found).1.split(separator: " ").map(String.init))
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
    let file = "TinyPush/Notification/Keys.swift"
    #expect(try page.items("KEYS") == list("names", in: file))
    let payload = try list("apsNames", in: file).union(list("alertNames", in: file))
      .union(list("soundNames", in: file))
    #expect(try page.items("PAYLOAD") == payload)
  }

  @Test func `each push type is documented`() throws {
    let text = try source("TinyPush/Notification/PushType.swift")
    let names = try #require(text.firstMatch(of: #/var name:(.*?)\n  \}/#.dotMatchesNewlines())).1
    let section = try ManPage("tinypush-notification.5").section("PUSH TYPES")
    #expect(
      all(#/(?m)^\.It (\w+) Ta /#, in: section) == all(#/: "(\w+)"/#, in: String(names)))
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
    let name = #/var name:(.*?)\n    ?\}\n/#.dotMatchesNewlines()
    func names(_ file: String) throws -> Set<String> {
      let part = try #require(try source("TinyPush/Link/\(file).swift").firstMatch(of: name)).1
      return all(#/: "([a-z_]+)"/#, in: String(part))
    }
    #expect(try ManPage("tinypush-protocol.7").items("REASONS") == names("Rejection"))
    let metrics = try ManPage("tinypush-status.1").section("METRICS")
    let causes = metrics.split(separator: "\n.Ss ").first { $0.hasPrefix("Causes\n") }
    #expect(try all(#/(?m)^\.It (\w+)$/#, in: String(#require(causes))) == names("RetryCause"))
  }

  @Test func `each counter and each metric is documented`() throws {
    let page = try ManPage("tinypush-status.1")
    let table = try #require(
      try source("tinypush/StatusCounter.swift").firstMatch(of: #/"""\n([^"]*)\n *"""/#)
    ).1
    let counters = all(#/(?m)^ +([a-z_]+) /#, in: String(table))
    #expect(try page.items("COUNTERS") == counters)
    let text = try source("tinypush/StatusMetrics.swift")
    let gauges = all(#/(?:gauge|head)\(\s*"([a-z_]+)"/#, in: text)
    let labelled = all(#/tinypush_([a-z]+_total)\{/#, in: text)
      .union(all(#/\("(service_[a-z_]+)"/#, in: text))
    let documented = all(#/(?m)^\.It Ic tinypush_([a-z_]+)/#, in: try page.section("METRICS"))
    #expect(documented == gauges.union(labelled))
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
    let statuses = try all(
      #/case \w+ = (\d+)/#, in: source("TinyPushAgent/System/ExitStatus.swift"))
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
