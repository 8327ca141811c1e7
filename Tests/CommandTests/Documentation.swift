import Foundation
import Testing

/// What the manual says that the programs write as JSON.
///
/// When a test ends, its box checks what its programs wrote: the pages name each member, each item
/// of the set-up check, each event of the sandbox, and each code in `failed/`.
enum Documentation {
  /// The members whose value is an object with keys of another page, or of a sender.
  private static let foreign: Set = ["refused_by_reason", "retried_by_cause", "notification"]

  /// The words that a page explains, by the page.
  private static let members = Result { () throws -> [String: Set<String>] in
    var members: [String: Set<String>] = [:]
    for name in try ManPage.names() {
      let page = try ManPage(name)
      for title in ["JSON", "COUNTERS", "DEVICES"] where page.has(title) {
        try members[name, default: []].formUnion(page.keywords(title))
      }
    }
    return members
  }
  private static let items = Result {
    Set(
      try ManPage("tinypush-check.1").section("THE SET-UP")
        .matches(of: #/([a-z-]+\.[a-z-]+)/#).map { String($0.1) })
  }
  private static let events = Result { try ManPage("tinypush-sandbox.1").items("EVENTS") }
  private static let failures = Result {
    try ManPage("tinypush-spool.5").items("REFUSED NOTIFICATIONS")
  }
  private static let codes = Result { () throws -> Set<String> in
    let reasons = try ManPage("tinypush-protocol.7").items("REASONS")
    return try ManPage("tinypush-spool.5").items("CODES")
      .union(ManPage("tinypush-check.1").items("CODES"))
      .union(reasons.map { $0.replacing("_", with: "-") })
  }

  /// Checks what a command wrote.
  static func check(_ words: [String], _ output: String) throws {
    guard words.contains("--json"), let (program, command) = command(in: words) else { return }
    let isSandbox = command == "sandbox" || program == "tinypush-sandbox"
    let name = program == "tinypush" ? "tinypush-\(command).1" : "\(program).1"
    var found: Set<String> = []
    for line in output.split(separator: "\n").prefix(500) {
      // A test may have ended the command within a line.
      guard let object = (try? objects(String(line)))?.first else { continue }
      if let event = object["event"] as? String, isSandbox {
        #expect(try events.get().contains(event), "\(name) does not name \(event)")
        continue
      }
      if let item = (object["name"] as? String)?.replacing("feedback.", with: "gateway."),
        item.contains("."), name == "tinypush-check.1"
      {
        #expect(try items.get().contains(item), "\(name) does not name \(item)")
      }
      collect(object, &found)
    }
    let named = try members.get()[isSandbox ? "tinypush-sandbox.1" : name] ?? []
    #expect(found.subtracting(named) == [], "members that \(name) does not name")
  }

  /// Checks a file of `failed/`.
  static func check(failed text: String) throws {
    for line in text.split(separator: "\n") {
      guard let failed = (try? objects(String(line)))?.first?["failed"] as? [String: Any],
        let code = failed["code"] as? String, code != "x"
      else { continue }
      #expect(try codes.get().contains(code), "no page names \(code)")
      #expect(try Set(failed.keys).subtracting(failures.get()) == [], "no page names them")
    }
  }

  private static func collect(_ value: Any, _ found: inout Set<String>) {
    if let values = value as? [Any] { for value in values { collect(value, &found) } }
    guard let object = value as? [String: Any] else { return }
    for (key, value) in object {
      found.insert(key)
      if !foreign.contains(key) { collect(value, &found) }
    }
  }

  /// The program and its first word in a command of a test.
  private static func command(in words: [String]) -> (program: String, command: String)? {
    func name(_ word: String) -> String { (word as NSString).lastPathComponent }
    guard
      let place = words.firstIndex(where: {
        $0.hasSuffix("/board/run") || $0.contains("/") && Build.programs.contains(name($0))
      })
    else { return nil }
    var program = name(words[place])
    var rest = words[(place + 1)...]
    if program == "run" {
      // board/run BUILD [PROGRAM] WORD...
      rest = rest.dropFirst()
      program = "tinypush"
      if let first = rest.first, Build.programs.contains(first) {
        program = first
        rest = rest.dropFirst()
      }
    }
    return (program, rest.first ?? "")
  }
}
