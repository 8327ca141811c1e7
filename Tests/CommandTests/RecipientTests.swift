import Foundation
import Testing

/// Returns a recipients file without the times at which tokens were registered.
func timeless(_ text: String) -> String { text.replacing(#/ registered=\d+/#, with: "") }

/// `tinypush recipient`, and the recipients files in a running agent.
@Suite(.sideBySide) struct RecipientTests {
  private func command(
    _ box: Box, _ arguments: [String], build: String = Build.host
  ) throws -> [String] {
    try Build.command(build) + ["recipient"] + arguments
      + ["-o", "recipients=\(box.path)/recipients"]
  }

  @discardableResult
  private func recipient(
    _ box: Box, _ arguments: String..., build: String = Build.host
  ) throws -> Child {
    try box.run(command(box, arguments, build: build))
  }

  /// The file, without the times of registration.
  private func file(_ box: Box) -> String { timeless(box.text("recipients/family")) }

  // MARK: - Changing

  @Test(arguments: Build.all)
  func `every build of recipient adds, changes, lists and removes recipients`(build: String) throws
  {
    try box.write("", to: "recipients/.hidden")
    func check(_ arguments: String..., says words: String, then text: String) throws {
      let child = try box.run(command(box, arguments, build: build))
      #expect(child.status == 0, "\(child.errors)")
      #expect(child.output == words + "\n" && child.errors == "")
      #expect(file(box) == text)
    }
    let (one, two) = (token(1), token(0xAB))
    try check("add", "family", one, says: "family \(one)  added", then: "\(one)\n")
    try check("add", "family", one, says: "family \(one)  registered again", then: "\(one)\n")
    try check(
      "add", "family", two.uppercased(), "--language=fr-CA", "--comment", " Zoë's #2 ",
      says: "family \(two)  added", then: "\(one)\n\(two) lang=fr-CA # Zoë's #2\n")
    try check(
      "add", "family", two, "--language", "de", "--json",
      says: #"{"name":"family","token":"\#(two)","state":"updated"}"#,
      then: "\(one)\n\(two) lang=de # Zoë's #2\n")
    let listed = try recipient(box, "list", build: build)
    #expect(timeless(listed.output) == "family \(one)\nfamily \(two) lang=de # Zoë's #2\n")
    var lines = try objects(recipient(box, "list", "family", "--json", build: build).output)
    try #require(lines.count == 2)
    for index in lines.indices {
      let registered = try #require(lines[index].removeValue(forKey: "registered") as? Int)
      #expect(abs(registered - Int(Date().timeIntervalSince1970)) < 600)
      #expect(listed.output.contains(" registered=\(registered)"))
    }
    #expect(try lines.at(0) as NSDictionary == ["name": "family", "line": 1, "token": one])
    #expect(
      try lines.at(1) as NSDictionary
        == [
          "name": "family", "line": 2, "token": two, "language": "de", "comment": "Zoë's #2",
        ])
    try check(
      "remove", "family", one, says: "family \(one)  removed", then: "\(two) lang=de # Zoë's #2\n")
    try check(
      "remove", "family", one, says: "family \(one)  not there", then: "\(two) lang=de # Zoë's #2\n"
    )
    let names = try FileManager.default.contentsOfDirectory(atPath: box.path + "/recipients")
    #expect(names.sorted() == [".hidden", ".lock", "family"])
  }

  @Test func `recipient keeps all other lines of a large file`() throws {
    let filler = (1...2000).map { "\(token($0)) # number \($0)\r\n" }.joined()
    let odd = "\0 not a token\n" + String(repeating: "long ", count: 2000) + "\n# without an end"
    try box.write("", to: "recipients/family")
    let bytes = Data((filler + odd).utf8)
    try bytes.write(to: URL(filePath: box.path + "/recipients/family"))
    #expect(try recipient(box, "add", "family", token(5000)).status == 0)
    #expect(file(box) == filler + odd + "\n\(token(5000))\n")
    #expect(try recipient(box, "remove", "family", token(7)).status == 0)
    #expect(
      file(box) == filler.replacing("\(token(7)) # number 7\r\n", with: "") + odd
        + "\n\(token(5000))\n")
    let listed = try recipient(box, "list")
    #expect(listed.status == 65)
    #expect(listed.output.split(separator: "\n").count == 2000)
    let errors = listed.errors.split(separator: "\n")
    #expect(errors.count == 2)
    #expect(
      try errors.at(0).hasPrefix(
        "tinypush recipient: family:2000: a device token has an even number"))
    #expect(try errors.at(1).hasPrefix("tinypush recipient: family:2001: longer than 2048 bytes"))
  }

  @Test(
    .enabled(if: geteuid() == 0, "needs root"),
    arguments: [(0o640, 0, 12345), (0o664, 12346, 65534), (0o600, 12346, 0)])
  func `recipient keeps owner, group and mode of a file`(bits: Int, owner: Int, group: Int) throws {
    let path = try box.write("# mine\n", to: "recipients/family")
    chown(path, uid_t(owner), gid_t(group))
    chmod(path, mode_t(bits))
    #expect(try recipient(box, "add", "family", token(1)).status == 0)
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.ownerAccountID] as? Int == owner)
    #expect(attributes[.groupOwnerAccountID] as? Int == group)
    #expect(attributes[.posixPermissions] as? Int == bits)
    #expect(file(box) == "# mine\n\(token(1))\n")
  }

  @Test(arguments: [(0o755, 0o644), (0o2775, 0o664), (0o750, 0o640), (0o2770, 0o660)])
  func `a new recipients file gets the read and write modes of its directory`(
    directory: Int, file: Int
  ) throws {
    let path = box.path + "/recipients"
    mkdir(path, 0o700)
    chmod(path, mode_t(directory))
    let added = try box.run(
      ["sh", "-c", #"umask 077; exec "$@""#, "sh"] + command(box, ["add", "family", token(1)]))
    #expect(added.status == 0, "\(added.errors)")
    #expect(try mode(path + "/family") == file)
  }

  // MARK: - Rights

  /// With these modes the operator lets a group member change recipients, or does not.
  @Test(
    .enabled(if: geteuid() == 0, "needs root"),
    arguments: [
      (0o2775, 0o664, Int32(0)), (0o2775, 0o644, 77), (0o755, 0o664, 77), (0o3775, 0o664, 77),
    ])
  func `a group member may change recipients if directory and file are group-writable`(
    directory: Int, bits: Int, status: Int32
  ) throws {
    let path = try box.write("# family\n", to: "recipients/family")
    for (path, bits) in [(path, bits), (box.path + "/recipients", directory)] {
      chown(path, 0, 65534)
      chmod(path, mode_t(bits))
    }
    let member = ["setpriv", "--reuid=12345", "--regid=12345", "--groups=65534"]
    let added = try box.run(member + command(box, ["add", "family", token(1)]))
    #expect(added.status == status, "\(added.errors)")
    guard status == 0 else {
      #expect(file(box) == "# family\n")
      #expect(
        added.errors.hasSuffix(
          ": run the command as root, or let the group write to the directory, which must not be sticky, and to the file (man tinypush-recipient)\n"
        ))
      return
    }
    #expect(file(box) == "# family\n\(token(1))\n")
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.groupOwnerAccountID] as? Int == 65534)
    #expect(attributes[.posixPermissions] as? Int == bits)
    let new = try box.run(member + command(box, ["add", "neighbours", token(2)]))
    #expect(new.status == 0, "\(new.errors)")
    let made = try FileManager.default.attributesOfItem(atPath: box.path + "/recipients/neighbours")
    #expect(made[.groupOwnerAccountID] as? Int == 65534)
  }

  // MARK: - Refusals

  @Test func `recipient refuses hostile names, tokens, languages and comments`() throws {
    try box.write("# family\n", to: "recipients/family")
    for (arguments, words) in [
      (["add", "../family", token(1)], "the name of a recipients file has"),
      (["add", ".new", token(1)], "does not begin with a dot"),
      (["add", "a/b", token(1)], "the name of a recipients file has"),
      (["add", token(1), token(1)], "is not a device token: unexpected name 000"),
      (["add", "", token(1)], "the name of a recipients file has"),
      (["add", "a\u{1B}[2J", token(1)], #"unexpected name a\x1b[2J"#),
      (["add", "family", "zz"], "at most 200, or base64, not zz"),
      (["add", "family", token(1) + "0"], "an even number of hexadecimal digits"),
      (
        ["add", "family", token(1) + "00", "-o", "protocol=binary"],
        "over the binary protocol a device token has 64 hex digits"
      ),
      (["add", "family", "-"], "there is no recipient"),
      (["add", "family", token(1), token(2)], "one recipient at a time"),
      (["add", "family"], "give the name of a recipients file, and a device token"),
      (["add", "family", subscription(key: offCurve)], "p256dh must be the 65 bytes"),
      (["add", "family", subscription("http://push.example/SECRET")], "is an https:// address"),
      (["add", "family", #"{"endpoint":"https://push.example/SECRET"}"#], "copy all of the JSON"),
      (
        ["add", "family", token(1), "--language", "fr\n\(token(2))"], "--language takes a language"
      ),
      (["add", "family", token(1), "--language", "lang=fr"], "--language takes a language"),
      (["add", "family", token(1), "--comment", "x\n\(token(2))"], "--comment takes a line"),
      (["remove", "family", token(1), "--comment", "x"], "are only for add"),
      (["list", ".."], "the name of a recipients file has"),
      (["lst"], "did you mean list?"), ([], "give an action: add, remove, list or invite"),
    ] as [([String], String)] {
      let child = try box.run(command(box, arguments))
      #expect(child.status == 64, "\(arguments)")
      #expect(child.errors.contains(words), "\(arguments): \(child.errors)")
      #expect(!child.errors.contains("SECRET"))
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: box.path + "/recipients")
    #expect(names == ["family"])
    #expect(file(box) == "# family\n")
  }

  @Test func `recipient does not follow a link and does not block on a pipe`() throws {
    let outside = try box.write("# outside\n", to: "outside")
    mkdir(box.path + "/recipients", 0o755)
    symlink("../outside", box.path + "/recipients/family")
    mkfifo(box.path + "/recipients/pipe", 0o600)
    // The temporary name of a new file is a link, too.
    symlink(outside, box.path + "/recipients/.new")
    let link = try recipient(box, "add", "family", token(1))
    #expect(link.status == 73)
    #expect(link.errors.contains("is a symbolic link: change the file that it leads to"))
    for action in ["add", "remove"] {
      let pipe = try recipient(box, action, "pipe", token(1))
      #expect(pipe.status == 73)
      #expect(pipe.errors.contains("is not a regular file: remove it"))
    }
    symlink(outside, box.path + "/recipients/.new")
    #expect(try recipient(box, "add", "default", token(1)).status == 0)
    #expect(box.text("outside") == "# outside\n")
    #expect(timeless(box.text("recipients/default")) == "\(token(1))\n")
  }

  @Test func `recipient names a missing directory or file`() throws {
    let none = try recipient(box, "add", "family", token(1))
    #expect(none.status == 66)
    #expect(none.errors.contains("create the directory, or set recipients"))
    #expect(try recipient(box, "list").status == 66)
    mkdir(box.path + "/recipients", 0o755)
    for action in [["remove", "family", token(1)], ["list", "family"]] {
      let child = try box.run(command(box, action))
      #expect(child.status == 66)
      #expect(child.errors.contains("tinypush recipient list prints the files that exist"))
    }
    #expect(try recipient(box, "list").status == 0)
  }

  // MARK: - Subscriptions

  /// The key and the secret of RFC 8291, appendix A.
  private static let key =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  private static let secret = "BTBZMqHH6r4Tts7J_aSIgg"
  private var offCurve: String { String(Self.key.dropLast()) + "8" }

  private func subscription(
    _ endpoint: String = "https://web.push.apple.com/SECRET", key: String = key
  ) -> String {
    #"{"endpoint":"\#(endpoint)","expirationTime":null,"keys":{"p256dh":"\#(key)","auth":"\#(Self.secret)"}}"#
  }

  @Test func `a subscription of a browser is added, listed and removed, and never shown`() throws {
    mkdir(box.path + "/recipients", 0o750)
    let apple = "https://web.push.apple.com/SECRET"
    let word = "\(apple)#\(Self.key).\(Self.secret)"
    // SHA-256 of the endpoint.
    let digits = "f08c1b2f36b3b01eae89ecf28ad957e06c653debaf4dd41f994e15692d447c48"
    let other = "92edd86e289867ce163e5e808114914b3193f9b7242fe3f6f96e727f4576ad7a"
    func check(
      _ arguments: String..., input: String? = nil, says words: String, then text: String
    ) throws {
      let child = try box.run(command(box, arguments), input: input)
      #expect(child.status == 0, "\(child.errors)")
      #expect(child.output == words + "\n" && child.errors == "")
      #expect(file(box) == text)
    }
    let shown = "family \(digits.prefix(8)) Safari on Apple's service"
    try check(
      "add", "family", subscription(), "--comment", "Marie", says: "\(shown)  added",
      then: "\(word) # Marie\n")
    #expect(try mode(box.path + "/recipients/family") == 0o640)
    try check(
      "add", "family", word, "--language", "fr", says: "\(shown)  updated",
      then: "\(word) lang=fr # Marie\n")
    // Programs write JSON with spaces and ends of lines.
    let spaced = subscription().replacing(",", with: " ,\n").replacing(":{", with: ": {") + "\n"
    try check(
      "add", "family", "-", input: spaced, says: "\(shown)  registered again",
      then: "\(word) lang=fr # Marie\n")
    // People copy more than the subscription.
    try check(
      "add", "family", "-", input: "\u{FEFF}Mine: '\(subscription())'\n",
      says: "\(shown)  registered again", then: "\(word) lang=fr # Marie\n")
    try check(
      "add", "family", subscription("https://push.example/SECRET"), "--json",
      says:
        #"{"name":"family","token":"\#(other)","state":"added"}"#,
      then: "\(word) lang=fr # Marie\nhttps://push.example/SECRET#\(Self.key).\(Self.secret)\n")
    let listed = try recipient(box, "list")
    let day = try #require(listed.output.firstMatch(of: #/added (\d{4}-\d\d-\d\d)/#)).1
    #expect(
      listed.output == """
        \(shown), added \(day) lang=fr # Marie
        family \(other.prefix(8)) push.example, added \(day)

        """)
    let object = try #require(try objects(recipient(box, "list", "--json").output).first)
    #expect(object["token"] as? String == digits)
    #expect(object["service"] as? String == "Safari on Apple's service")
    #expect(!String(describing: object).contains("SECRET"))
    try check(
      "remove", "family", "\(other.prefix(8))", says: "family \(other.prefix(8))  removed",
      then: "\(word) lang=fr # Marie\n")
    try check("remove", "family", subscription(), says: "\(shown)  removed", then: "")
    try check("remove", "family", word, says: "\(shown)  not there", then: "")
  }

  @Test func `adding a subscription again ends its suppression`() throws {
    mkdir(box.path + "/recipients", 0o755)
    mkdir(box.path + "/state", 0o700)
    let suppressed = try box.tinypush(
      "token", "suppress", "f08c1b2f36b3b01eae89ecf28ad957e06c653debaf4dd41f994e15692d447c48",
      "--at=1600000000", "-o", "state=\(box.path)/state")
    #expect(suppressed.status == 0, "\(suppressed.errors)")
    let added = try box.run(
      command(box, ["add", "family", subscription()]) + ["-o", "state=\(box.path)/state"])
    #expect(added.status == 0, "\(added.errors)")
    #expect(added.output.contains("added; it was suppressed since 2020-09-13T12:26:40Z"))
    let registered = try #require(
      box.text("recipients/family").firstMatch(of: #/ registered=(\d+)/#).map { Int($0.1) ?? 0 })
    #expect(registered > 1_600_000_000)
  }

  @Test func `adding a token ends its suppression, also if the clock is behind`() throws {
    mkdir(box.path + "/recipients", 0o755)
    let since = Int(Date.now.timeIntervalSince1970) + 7200
    try box.write("\(token(1)) \(since) gone\n", to: "state/suppressed.list")
    let added = try box.run(
      command(box, ["add", "family", token(1)]) + ["-o", "state=\(box.path)/state"])
    #expect(added.status == 0, "\(added.errors)")
    #expect(box.text("recipients/family").contains(" registered=\(since + 1)"))
  }

  @Test func `a device token that is shorter than all known ones is questioned, and added`() throws
  {
    mkdir(box.path + "/recipients", 0o755)
    let added = try box.run(command(box, ["add", "family", String(token(1).dropFirst(2))]))
    #expect(added.status == 0)
    #expect(
      added.errors
        == "tinypush recipient: this device token has only 62 digits, and those of Apple have 64 or more: is it whole?\n"
    )
    #expect(try box.run(command(box, ["add", "family", token(1)])).errors == "")
  }

  @Test func `list marks recipients to which nothing is sent`() throws {
    try box.write(
      "\(token(1))\n\(token(2)) registered=1700000000\n\(token(3))\n", to: "recipients/family")
    let settings = ["-o", "state=\(box.path)/state", "-o", "recipients=\(box.path)/recipients"]
    let suppress = try box.run(
      Build.command(Build.host) + ["token", "suppress", "--at=1600000000", token(1), token(2)]
        + settings)
    #expect(suppress.status == 0, "\(suppress.errors)")
    func list(_ more: String...) throws -> String {
      try box.run(Build.command(Build.host) + ["recipient", "list"] + more + settings).output
    }
    let lines = try list().split(separator: "\n").map(String.init)
    #expect(
      try lines.at(0)
        == "family \(token(1)) suppressed since 2020-09-13T12:26:40Z (by hand)")
    #expect(try lines.at(1) == "family \(token(2)) registered=1700000000")
    #expect(
      try objects(list("--json")).map { $0["suppressed"] as? Int } == [1_600_000_000, nil, nil])
  }

  // MARK: - Crashes and concurrency

  @Test func `recipient syncs the new file before the rename and the directory after it`() throws {
    try box.write("# family\n", to: "recipients/family")
    let trace = box.path + "/trace"
    let added = try box.run(
      ["strace", "-o", trace, "-e", "trace=write,fsync,renameat"]
        + command(box, ["add", "family", token(2)]))
    #expect(added.status == 0, "\(added.errors)")
    let names = box.text("trace").matches(of: #/(?m)^(\w+)\(/#).map { String($0.1) }
    #expect(names == ["write", "fsync", "fsync", "renameat", "fsync", "write"])
  }

  @Test func `recipient killed at any system call leaves the old file or the new one`() throws {
    let before = "# family\n\(token(1))\n"
    let after = before + "\(token(2))\n"
    func killed(at call: Int) throws -> Child {
      try box.write(before, to: "recipients/family")
      return try box.run(
        ["python3", Build.tools + "/traced.py", "--kill-at", "\(call)"]
          + command(box, ["add", "family", token(2)]))
    }
    // The first command creates the file to lock.
    _ = try killed(at: 1_000_000)
    let whole = try killed(at: 1_000_000)
    #expect(file(box) == after)
    let calls = try #require(
      whole.errors.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
    try #require(calls > 0)
    var found: Set<String> = []
    // The first half of the calls changes nothing.
    for call in calls / 2...calls {
      #expect(try killed(at: call).status == 137)
      found.insert(file(box))
    }
    #expect(found == [before, after])
    // A file left by a killed command does not hinder the next.
    #expect(try recipient(box, "add", "family", token(3)).status == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: box.path + "/recipients")
    #expect(names.sorted() == [".lock", "family"])
  }

  @Test func `concurrent commands lose no recipient`() throws {
    try box.write("# family\n", to: "recipients/family")
    let children = try (1...20).map { try box.start(command(box, ["add", "family", token($0)])) }
    for child in children {
      try child.wait()
      #expect(child.status == 0, "\(child.errors)")
    }
    let lines = file(box).split(separator: "\n").map(String.init)
    #expect(lines.count == 21)
    #expect(Set(lines) == Set((1...20).map { token($0) } + ["# family"]))
  }

  @Test func `a running agent uses a changed recipients file at once`() throws {
    mkdir(box.path + "/recipients", 0o755)
    let gateway = try Gateway(in: box)
    _ = try box.agent(gateway, ["recipients=\(box.path)/recipients", "settle=300ms"])
    let note = #"{"to":"family","payload":{"aps":{"alert":"ALERT"}},"ttl":600}"#
    for (number, action) in ["add", "add", "remove"].enumerated() {
      let changed = try recipient(box, action, "family", token(number % 2 + 1))
      #expect(changed.status == 0)
      try box.drop(note.replacing("ALERT", with: "after \(number)"), as: "\(number)")
      try gateway.accepts("after \(number)")
    }
    let counts = try gateway.alerts(in: box).reduce(into: [:]) { $0[$1, default: 0] += 1 }
    #expect(counts == ["after 0": 1, "after 1": 2, "after 2": 1])
  }
}
