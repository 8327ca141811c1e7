import Foundation
import Testing
import TinyPushRules

/// Whether `--help`, the manual pages and the completions agree.
@Suite(.sideBySide) struct ManualTests {
  /// A command and its `--help`.
  struct Command: Sendable, CustomTestStringConvertible {
    let words: [String]
    let help: String
    var name: String { words.joined(separator: " ") }
    var testDescription: String { name }

    /// The long options.
    var options: Set<String> {
      Set(help.matches(of: #/(?m)^  (?:-\w, )?(--[a-z-]+)/#).map { String($0.1) })
    }

    /// The actions, which the help lists before the options.
    var verbs: Set<String> {
      get throws {
        let head = try help.split(separator: "\n  -", maxSplits: 1).at(0)
        return Set(head.matches(of: #/(?m)^  ([a-z]+) /#).map { String($0.1) })
      }
    }
  }

  /// All commands, with `sandbox device`.
  static let commands = Result {
    let names = try help([]).matches(of: #/(?m)^  ([a-z]+) /#).map { String($0.1) }
    return try names.flatMap { name in
      let command = Command(words: [name], help: try help([name]))
      let below = command.help.contains("tinypush sandbox device") ? ["device"] : []
      return try [command] + below.map { Command(words: [name, $0], help: try help([name, $0])) }
    }
  }

  private static func help(_ words: [String]) throws -> String {
    let box = try Box()
    defer { box.end() }
    return try box.run(Build.command(Build.host) + words + ["--help"]).output
  }

  private static let common: Set = ["--config", "--help"]

  // MARK: - Manual pages

  /// The items of a section of a page.
  private func items(_ section: String, of page: String) throws -> String {
    try ManPage(page).section(section).split(separator: "\n").filter { $0.hasPrefix(".It") }
      .joined(separator: "\n")
  }

  @Test func `the manual lists every command with exactly its options`() throws {
    for command in try Self.commands.get() {
      let page = "tinypush-\(command.words[0]).1"
      let isDevice = command.words.count > 1
      let options = try items(isDevice ? "DEVICES" : "OPTIONS", of: page)
        .matches(of: #/Fl Fl ([a-z-]+)/#).map { "--" + $0.1 }
      #expect(
        Set(options).subtracting(Self.common) == command.options.subtracting(Self.common),
        "\(command.name)")
      guard try !command.verbs.isEmpty else { continue }
      let verbs = try items(isDevice ? "DEVICES" : "SUBCOMMANDS", of: page)
        .matches(of: #/(?m)^\.It Cm ([a-z]+)/#).map { String($0.1) }
      #expect(try Set(verbs) == command.verbs, "\(command.name)")
    }
    for option in Self.common {
      #expect(try items("OPTIONS", of: "tinypush.1").contains("Fl Fl " + option.dropFirst(2)))
    }
    let names = try items("COMMANDS", of: "tinypush.1").matches(of: #/Xr tinypush-([a-z]+) 1/#)
      .map { String($0.1) }
    #expect(try Set(names) == Set(Self.commands.get().map { $0.words[0] }))
  }

  @Test func `the manual lists exactly the settings of the configuration`() throws {
    let page = try String(
      contentsOfFile: Build.package + "/board/man/tinypush.conf.5", encoding: .utf8)
    let found = page.matches(of: #/(?m)^\.It Ic (.*)$/#)
      .flatMap { $0.1.split(separator: " , ").map(String.init) }
    #expect(try Set(found) == Self.settings())
  }

  /// Returns the settings that a program lists.
  static func settings(of program: String = "tinypush") throws -> Set<String> {
    let box = try Box()
    defer { box.end() }
    let path = "\(Build.directory)/\(Build.host)/\(program)"
    let listed = try box.run([path, "help", "settings"])
    #expect(listed.status == 0 && listed.errors == "")
    return Set(listed.output.matches(of: #/(?m)^  ([a-z-]+)=\S+\n {8}\S/#).map { String($0.1) })
  }

  /// Returns the keys of a rule.
  static func ruleKeys() -> Set<String> {
    Set((0...255).compactMap { RuleKey(rawValue: $0).map { text($0.name) } })
  }

  @Test func `the manual of tinypush-mqtt lists its options, settings and keys`() throws {
    let options = try ["run", "check", "fleet", "takeover"].map {
      Command(words: [$0], help: try box.run([Box.bridge, $0, "--help"]).output).options
    }
    let found = try items("OPTIONS", of: "tinypush-mqtt.1").matches(of: #/Fl Fl ([a-z-]+)/#)
      .map { "--" + $0.1 }
    let wanted = options.reduce(Set(["--version"])) { $0.union($1) }
    #expect(Set(found) == wanted.subtracting(Self.common))
    for (page, section, wanted) in try [
      ("tinypush-mqtt.conf.5", "THE BROKER", Self.settings(of: "tinypush-mqtt")),
      ("tinypush-rules.5", "KEYS", Self.ruleKeys()),
      ("tinypush-http.1", "SETTINGS", Self.settings(of: "tinypush-http")),
    ] {
      let listed = try items(section, of: page)
        .matches(of: #/(?m)^\.It (?:Ic|Cm) (.*)$/#)
        .flatMap { $0.1.split(separator: " , ").map(String.init) }
      #expect(Set(listed) == wanted, "\(section)")
    }
  }

  @Test func `mandoc finds no error in the manual pages`() throws {
    let directory = Build.package + "/board/man"
    for page in try FileManager.default.contentsOfDirectory(atPath: directory) {
      let lint = try box.run(["mandoc", "-Tlint", "-Wstyle", "\(directory)/\(page)"])
      // Ignores references to pages of other packages, which may not be installed.
      let words = (lint.output + lint.errors).split(separator: "\n").filter {
        !$0.contains("mandoc.db") && !$0.contains("referenced manual not found")
      }
      #expect(words == [], "\(page)")
    }
  }

  /// A page rendered at 80 columns, by man-db (groff) or mandoc, in UTF-8 or ASCII.
  struct Rendering: Sendable, CustomTestStringConvertible {
    let page: String
    let isGroff: Bool
    let isPlain: Bool
    var testDescription: String {
      "\(page) by \(isGroff ? "man-db" : "mandoc")\(isPlain ? " in ASCII" : "")"
    }

    static let all = ["1", "5", "7", "8"].flatMap { section in
      pages.filter { $0.hasSuffix("." + section) }.flatMap { page in
        [true, false].flatMap { isGroff in
          [true, false].map { Rendering(page: page, isGroff: isGroff, isPlain: $0) }
        }
      }
    }

    private static let pages =
      (try? FileManager.default.contentsOfDirectory(atPath: Build.package + "/board/man")) ?? []

    var path: String { "\(Build.package)/board/man/\(page)" }

    func render(in box: Box) throws -> String {
      let command =
        isGroff
        ? ["man", "--warnings", "--local-file", path]
        : ["mandoc", "-T\(isPlain ? "ascii" : "utf8")", "-Owidth=78", path]
      let environment = ["LC_ALL": isPlain ? "C" : "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"]
      let shown = try box.run(command, environment: environment)
      #expect(shown.status == 0 && shown.errors == "", "\(shown.errors)")
      // mandoc overstrikes bold and underlined letters.
      return shown.output.replacing(#/.\u{8}/#, with: "")
    }
  }

  /// Returns a source line as the user must type it.
  private func typed(_ line: Substring) -> String {
    String(line).replacing("\\&", with: "").replacing("\\e", with: "\\")
  }

  @Test(arguments: Rendering.all)
  func `each page fits 80 columns and shows its examples as the user must type them`(
    rendering: Rendering
  ) throws {
    let shown = try rendering.render(in: box)
    #expect(shown.contains("DESCRIPTION") || shown.contains("SYNOPSIS"))
    #expect(!rendering.isPlain || shown.utf8.allSatisfy { $0 < 0x80 })
    let lines = shown.split(separator: "\n", omittingEmptySubsequences: false)
    for line in lines { #expect(line.count <= 80, "\(line)") }
    let text = lines.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
    let source = try String(contentsOfFile: rendering.path, encoding: .utf8)
    for block in source.matches(of: #/\n\.Bd -literal[^\n]*\n(.*?)\n\.Ed/#.dotMatchesNewlines()) {
      let example = typed(block.1).split(separator: "\n", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      #expect(text.contains(example.joined(separator: "\n")), "\(example)")
    }
    guard !rendering.isPlain else { return }
    let words = text.replacing("\u{2010}\n", with: "").replacing("-\n", with: "-")
      .replacing("\n", with: " ").replacing(#/ +/#, with: " ")
    #expect(words.firstMatch(of: #/‘[^’]*‘|’’/#) == nil, "\(words)")
    for quoted in source.matches(of: #/(?m)(?:^\.| )Ql (.+)$/#) {
      let literal = typed(quoted.1.replacing(#/( [.,;:)])+$/#, with: ""))
      guard literal.firstMatch(of: #/(^| )(Ql|No|Ns|Ar|Pc|Ic)( |$)/#) == nil else { continue }
      #expect(words.contains("‘\(literal)’"), "\(literal)")
    }
  }

  // MARK: - Help

  @Test func `every --help fits 80 columns`() throws {
    let runner = try Build.command(Build.host)
    let sandbox = "\(Build.directory)/\(Build.host)/tinypush-sandbox"
    let service = "\(Build.directory)/\(Build.host)/tinypush-http"
    let mailer = "\(Build.directory)/\(Build.host)/tinypush-sendmail"
    var helps = try [
      ("tinypush", Self.help([])), ("tinypush-sandbox", box.run([sandbox, "--help"]).output),
      ("tinypush-http", box.run([service, "--help"]).output),
      ("tinypush-sendmail", box.run([mailer, "--help"]).output),
      ("tinypush-sandbox device", box.run([sandbox, "device", "--help"]).output),
      ("tinypush", box.run(runner).errors),
      ("tinypush-mqtt", box.run([Box.bridge, "--help"]).output),
      ("tinypush-mqtt run", box.run([Box.bridge, "run", "--help"]).output),
      ("tinypush-mqtt check", box.run([Box.bridge, "check", "--help"]).output),
      ("tinypush-mqtt fleet", box.run([Box.bridge, "fleet", "--help"]).output),
      ("tinypush-mqtt takeover", box.run([Box.bridge, "takeover", "--help"]).output),
    ]
    for program in ["tinypush", "tinypush-mqtt", "tinypush-http"] {
      let path = "\(Build.directory)/\(Build.host)/\(program)"
      for line in try box.run([path, "help", "settings"]).output.split(separator: "\n") {
        #expect(line.count <= 80, "\(program): \(line)")
      }
    }
    helps += try Self.commands.get().map { ($0.name, $0.help) }
    for (name, help) in helps {
      #expect(help.hasPrefix("Usage: "), "\(name)")
      for line in help.split(separator: "\n") { #expect(line.count <= 80, "\(name): \(line)") }
    }
  }

  // MARK: - Completions

  /// Returns what bash offers to complete the last of these words.
  private func bash(_ words: [String], in box: Box) throws -> [String] {
    let completed = try box.run(
      [
        "bash", "-c",
        """
        compopt() { :; }
        source \(Build.package)/board/completions/tinypush.bash
        complete -p tinypush >/dev/null || exit
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _tinypush "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
        """, "bash",
      ] + words)
    #expect(completed.errors == "")
    return completed.output.split(separator: "\n").map(String.init)
  }

  /// Returns the completions that zsh gets for the last of these words.
  private func zsh(_ words: [String], in box: Box) throws -> String {
    let completed = try box.run(
      [
        "zsh", "-f", "-c",
        """
        _arguments() { print -rl -- "$@" }
        _describe() { print -rl -- ${(P)argv[-1]} }
        words=("$@") CURRENT=$#
        complete() { source \(Build.package)/board/completions/_tinypush }
        complete
        """, "zsh",
      ] + words)
    #expect(completed.errors == "")
    return completed.output
  }

  @Test func `bash completes all commands, actions and options`() throws {
    let program = "\(Build.directory)/\(Build.host)/tinypush"
    let commands = try Self.commands.get()
    let names = Set(commands.map { $0.words[0] })
    #expect(try Set(bash([program, ""], in: box)) == names.union(["help", "--help", "--version"]))
    for command in commands {
      let offered = try Set(bash([program] + command.words + ["--"], in: box))
      #expect(offered == command.options, "\(command.name)")
      let verbs = try Set(bash([program] + command.words + [""], in: box))
      #expect(try verbs.isSuperset(of: command.verbs), "\(command.name)")
    }
    let words = ["run", "check", "fleet", "takeover", "--help", "--version"]
    #expect(try bash([Box.bridge, ""], in: box) == words)
    #expect(try bash([Box.bridge, "fleet", "--j"], in: box) == ["--json"])
    #expect(try bash([Box.bridge, "check", "--r"], in: box) == ["--rules"])
    let service = "\(Build.directory)/\(Build.host)/tinypush-http"
    let options = ["--listen", "--settings", "--try", "--version", "--config", "-o", "--help"]
    #expect(try bash([service, "-"], in: box) == options)
    #expect(try bash([service, "--settings", "/etc/host"], in: box).contains("/etc/hosts"))
    #expect(try bash([program, "run", "-o", "confi"], in: box) == ["confirm="])
    #expect(try bash([program, "run", "-o", "confirm", "=", "b"], in: box) == ["barrier"])
    #expect(try bash([program, "send", "--priority", ""], in: box) == ["10", "5", "1"])
    let before = [
      program, "-c", "/etc/x.conf", "-o", "spool", "=", "/s", "-o", "log", "=", "changes",
    ]
    #expect(try bash(before + ["sen"], in: box) == ["send"])
    let long = [program, "--config", "=", "/etc/x.conf", "--option", "log", "=", "changes"]
    #expect(try bash(long + ["sen"], in: box) == ["send"])
    #expect(try bash([program, "--config", "/etc/x.conf", "sen"], in: box) == ["send"])
    #expect(try bash(before + ["send", "--priority", ""], in: box) == ["10", "5", "1"])
    #expect(try bash([program, "check", "--config", "/etc/host"], in: box).contains("/etc/hosts"))
    #expect(
      try bash([program, "check", "--config", "=", "/etc/host"], in: box).contains("/etc/hosts"))
    let settings = try bash([program, "run", "-o", ""], in: box).map { $0.dropLast() }
    #expect(try Set(settings.map(String.init)) == Self.settings())
  }

  /// Fills the spool and the recipients directory, and returns the path of their configuration.
  private func fill(_ box: Box) throws -> String {
    try box.drop(line(1), as: "waiting.1")
    try box.drop(line(1), as: "not a word")
    try box.write(line(1), to: "spool/failed/refused.json")
    try box.write("\(token(2)) # \"token\":\"0\"\n\(token(1))\n", to: "recipients/family")
    try box.write(token(3) + "\n", to: "recipients/guests")
    return try box.write(
      "spool = \(box.spool)\nrecipients = \(box.path)/recipients\n", to: "tinypush.conf")
  }

  @Test func `bash completes the names of files, recipients and devices`() throws {
    let program = "\(Build.directory)/\(Build.host)/tinypush"
    let config = try fill(box)
    for action in ["show", "drop"] {
      for options in [
        ["-c", config], ["--config", "=", config], ["-o", "spool", "=", box.spool],
      ] {
        let offered = try bash([program, "queue", action] + options + [""], in: box)
        #expect(offered == ["refused.json", "waiting.1"], "\(options)")
      }
    }
    #expect(try bash([program, "queue", "show", "-c", config, "w"], in: box) == ["waiting.1"])
    #expect(try bash([program, "queue", "retry", "-c", config, ""], in: box) == ["refused.json"])
    #expect(
      try bash([program, "recipient", "list", "-c", config, ""], in: box) == ["family", "guests"])
    #expect(try bash([program, "recipient", "add", "-c", config, "g"], in: box) == ["guests"])
    let removed = [program, "recipient", "remove", "-c", config, "family"]
    #expect(try bash(removed + [""], in: box) == [token(1), token(2)])
    #expect(try bash(removed + [token(1)], in: box) == [token(1)])
    #expect(try bash(removed + [token(1), ""], in: box) == [])
    let added = [program, "recipient", "add", "--comment", "Eve", "family", "-c", config, ""]
    #expect(try bash(added, in: box) == [])
    #expect(try bash([program, "send", "-c", config, "--to", "f"], in: box) == ["family"])
    #expect(try bash([program, "send", "--level", "t"], in: box) == ["time-sensitive"])
    #expect(try bash([program, "send", "--data", ""], in: box) == [])
    #expect(try bash([program, "help", "se"], in: box) == ["setup", "send", "settings"])
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try sandbox.device(box, "add", "pad")
    let devices = [program, "sandbox", "device", "offline", "--dir", box.path + "/sandbox"]
    #expect(try bash(devices + [""], in: box) == ["pad", "phone"])
    #expect(try bash(devices + ["ph"], in: box) == ["phone"])
  }

  @Test func `zsh completes the names of files, recipients and devices`() throws {
    let program = "\(Build.directory)/\(Build.host)/tinypush"
    let config = try fill(box)
    func names(_ words: String...) throws -> String? {
      try zsh([program] + words + [""], in: box).firstMatch(of: #/(?m)^\*:name:\((.*)\)$/#)
        .map { String($0.1) }
    }
    #expect(try names("queue", "show", "-c", config) == "refused.json waiting.1")
    #expect(try names("-c", config, "queue", "show") == "refused.json waiting.1")
    #expect(try names("queue", "retry", "--config=\(config)") == "refused.json")
    #expect(try names("recipient", "remove", "-c", config) == "family guests")
    let tokens = token(1) + " " + token(2)
    #expect(try names("recipient", "remove", "family", "-c", config) == tokens)
    #expect(try names("recipient", "add", "-c", config, "family") == nil)
    let send = try zsh([program, "send", "-c", config, ""], in: box)
    #expect(send.contains(":NAME:(family guests)\n"))
    #expect(send.contains(":LEVEL:(passive active time-sensitive critical)\n"))
    #expect(try zsh([program, "help", ""], in: box).hasPrefix("setup:"))
    let service = try zsh(["\(Build.directory)/\(Build.host)/tinypush-http", ""], in: box)
    #expect(service.contains("\n*--settings=[the settings and rules"))
    #expect(service.contains(":FILE:_files\n"))
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try sandbox.device(box, "add", "pad")
    #expect(
      try names("sandbox", "device", "offline", "--dir", box.path + "/sandbox") == "pad phone")
  }

  @Test func `zsh completes all commands, actions and options`() throws {
    let program = "\(Build.directory)/\(Build.host)/tinypush"
    let commands = try Self.commands.get()
    let first = try zsh([program, ""], in: box)
    for command in commands {
      #expect(first.contains("\n\(command.words[0]):") || first.hasPrefix("\(command.words[0]):"))
    }
    for command in commands {
      let told = try zsh([program] + command.words + ["-"], in: box)
      let options = told.matches(of: #/(?m)^\*(--[a-z-]+?)(?:=-?)?\[/#).map { String($0.1) }
      #expect(Set(options) == command.options, "\(command.name)")
      guard try !command.verbs.isEmpty else { continue }
      let verbs = try zsh([program] + command.words + [""], in: box)
        .matches(of: #/(?m)^([a-z]+):/#).map { String($0.1) }
      #expect(try Set(verbs) == command.verbs, "\(command.name)")
    }
    let offered = try zsh([program, "run", "-"], in: box)
      .firstMatch(of: #/compadd -S = -q - ([^}]*)\}/#)?.1.split(separator: " ").map(String.init)
    #expect(try Set(offered ?? []) == Self.settings())
  }
}
