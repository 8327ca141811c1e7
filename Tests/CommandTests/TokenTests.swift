import Foundation
import Testing

/// `tinypush token`, and the suppression list in a running agent.
@Suite(.sideBySide) struct TokenTests {
  private func tokens(
    _ box: Box, _ arguments: [String], build: String = Build.host, input: String? = nil
  ) throws -> Child {
    try box.run(
      Build.command(build) + ["token"] + arguments + ["-o", "state=" + box.state], input: input)
  }

  /// Returns the listed tokens, each as `NUMBER STATE TIME`.
  private func listed(_ box: Box, _ arguments: String...) throws -> [String] {
    try objects(tokens(box, ["list", "--json"] + arguments).output).map {
      let number = try $0.member("token", as: String.self) == token(1) ? 1 : 2
      return "\(number) \($0["state"] ?? "-") \($0["time"] ?? "-")"
    }
  }

  // MARK: - The command

  @Test(arguments: Build.all)
  func `every build of token suppresses, registers and forgets tokens`(build: String) throws {
    func check(
      _ arguments: String..., says words: String, status: Int32 = 0, lists: String...
    ) throws {
      let child = try tokens(box, arguments, build: build)
      let output = child.output + child.errors
      #expect(child.status == status, "\(output)")
      #expect(output.contains(words), "\(arguments): \(output)")
      try #expect(listed(box, "--all") == lists, "\(arguments)")
    }
    let (one, two) = (token(1), token(2))
    try #expect(tokens(box, ["list"], build: build).output == "")
    try check(
      "suppress", one, "--at", "1700000000", says: "2023-11-14T22:13:20Z \(one)  suppressed\n",
      lists: "1 by hand 1700000000")
    try check(
      "suppress", one, "--at", "1700000000", says: "was suppressed already",
      lists: "1 by hand 1700000000")
    try check(
      "register", one, "--at=1699999999", says: "stays suppressed", status: 65,
      lists: "1 by hand 1700000000")
    try check(
      "register", one, "--at=2023-11-14T22:13:20Z", says: "is sent to again",
      lists: "1 registered 1700000000")
    try check(
      "register", one, two, "--at=1700000001", says: "registered",
      lists: "1 registered 1700000001", "2 registered 1700000001")
    try check(
      "suppress", one, "--at", "1700000001", says: "registered since, so not suppressed",
      lists: "1 registered 1700000001", "2 registered 1700000001")
    try #expect(listed(box) == [])
    try check(
      "suppress", two.uppercased(), "--at", "1700000002", says: "suppressed",
      lists: "1 registered 1700000001", "2 by hand 1700000002")
    try check("forget", two, says: "forgotten", lists: "1 registered 1700000001")
    try check("forget", two, one, one, says: "tokens that were not in the list: 1")
  }

  @Test func `the last of several changes within a second counts`() throws {
    // These changes usually happen within one second.
    for _ in 1...5 {
      let suppressed = try tokens(box, ["suppress", token(1)])
      #expect(suppressed.output.hasSuffix("  suppressed\n"), "\(suppressed.output)")
      let registered = try tokens(box, ["register", token(1)])
      #expect(registered.status == 0, "\(registered.errors)")
      #expect(registered.output.hasSuffix("  is sent to again\n"), "\(registered.output)")
    }
    try #expect(listed(box) == [])
  }

  @Test func `a pager that waits holds up no other change`() throws {
    let program = try Build.command(Build.host).joined(separator: " ")
    let many = (1...3000).map { token($0) + "\n" }.joined()
    let waiting = try box.start(
      ["sh", "-c", "\(program) token suppress - -o state=\(box.state) | sleep 1000"], input: many)
    try wait(for: "the tokens to be suppressed") {
      try tokens(box, ["list"]).output.count(of: "\n") == 3000
    }
    #expect(try tokens(box, ["suppress", token(3001)]).status == 0)
    waiting.kill()
  }

  @Test func `token reads tokens from standard input, and a wrong one changes nothing`() throws {
    let many = (1...3000).map { token($0) }
    let first = try tokens(box, ["suppress", "-"], input: many.joined(separator: "\n"))
    #expect(first.status == 0 && first.output.split(separator: "\n").count == 3000)
    let list = try tokens(box, ["list"])
    #expect(list.output.split(separator: "\n").count == 3000)
    let wrong = try tokens(box, ["forget", "-"], input: "\(token(1))\n\n zz \n\(token(2))\n")
    #expect(wrong.status == 64)
    #expect(
      wrong.errors
        == "tinypush token: standard input, line 3: a device token is an even number of hexadecimal digits, at most 200, or base64, not zz; nothing has changed\n"
    )
    try #expect(tokens(box, ["list"]).output == list.output)
    #expect(try tokens(box, ["forget"] + many.prefix(1000)).status == 0)
    try #expect(tokens(box, ["list"]).output.split(separator: "\n").count == 2000)
    let tooMany = try tokens(
      box, ["forget", "-"], input: String(repeating: token(1) + "\n", count: 262_145))
    #expect(tooMany.status == 64 && tooMany.errors.contains("at most 262144 tokens"))
    try #expect(tokens(box, ["list"]).output.split(separator: "\n").count == 2000)
  }

  @Test(arguments: [
    ([], "give an action: list, register, suppress or forget"),
    (["lost"], "takes list, register, suppress or forget, not lost; did you mean list?"),
    (["list", "x"], "list takes no tokens: unexpected argument x"),
    (["suppress"], "give a device token, or - for standard input"),
    (
      ["suppress", "123"],
      "a device token is an even number of hexadecimal digits, at most 200, or base64, not 123; nothing has changed"
    ),
    (
      ["suppress", "12", "--at", "4000000000"],
      "--at takes a time in the past: UNIX seconds, or a date such as 2026-01-24T18:00, not 4000000000"
    ),
    (["list", "--at", "5"], "--at is only for register and suppress"),
    (["forget", "12", "--at", "5"], "--at is only for register and suppress"),
    (["suppress", "12", "--all"], "--all is only for list"),
  ])
  func `token refuses wrong arguments`(arguments: [String], words: String) throws {
    let child = try tokens(box, arguments)
    #expect(child.status == 64)
    #expect(child.errors == "tinypush token: \(words)\n")
  }

  @Test func `token reports a state directory that cannot be used`() throws {
    try box.write("", to: "state")
    let child = try tokens(box, ["suppress", token(1)])
    #expect(child.status == 73)
    #expect(
      child.errors
        == "tinypush token: state \(box.state): Not a directory: make it a directory, or set state\n"
    )
  }

  @Test func `token prints no success if the disk is full`() throws {
    mkdir(box.state, 0o755)
    let disk = try Disk(at: box.state, "size=1m,nr_inodes=50")
    try disk.fill(.bytes)
    let full = try tokens(box, ["suppress", token(1), "--json"])
    #expect(full.status == 74, "\(full.errors)")
    #expect(full.output == "")
    disk.makeRoom()
    #expect(try listed(box) == [])
  }

  // MARK: - Beside an agent

  @Test(arguments: Build.all)
  func `a running agent applies token changes at once and learns registrations`(build: String)
    throws
  {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(
      gateway, build: build, ["status=\(box.path)/status"])
    try wait(for: "the agent") { FileManager.default.fileExists(atPath: box.state) }
    var number = 0
    func send(_ alert: String, _ members: String) throws {
      number += 1
      try box.drop(
        #"{"payload":{"aps":{"alert":"\#(alert)"}},\#(members)}"#, as: "\(1000 + number)")
    }
    func suppressed() throws -> Int {
      let status = try box.tinypush(
        "status", "--json", "-o", "status=\(box.path)/status", build: build)
      return try objects(status.output).first?["suppressed"] as? Int ?? -1
    }
    func sent(_ count: Int) throws {
      try wait(for: "\(count) at the gateway") { try gateway.alerts(in: box).count == count }
    }
    try send("one", #""token":"\#(token(1))""#)
    try sent(1)
    // inotify keeps the order: the agent reads this change before the next file.
    #expect(try tokens(box, ["suppress", token(1), "--at", "1700000000"]).status == 0)
    try send("two", #""tokens":["\#(token(1))","\#(token(2))"]"#)
    try send("three", #""token":"\#(token(1))","registered":1699999999"#)
    try send("four", #""token":"\#(token(1))","registered":1600000000"#)
    try sent(2)
    try wait(for: "three to be suppressed") { try suppressed() == 3 }
    try send("five", #""token":"\#(token(1))","registered":1700000001"#)
    try sent(3)
    try wait(for: "the learned registration") {
      try listed(box, "--all") == ["1 registered 1700000001"]
    }
    try send("six", #""token":"\#(token(1))""#)
    try sent(4)
    #expect(try tokens(box, ["suppress", token(1)]).status == 0)
    try send("seven", #""token":"\#(token(1))""#)
    try wait(for: "another to be suppressed") { try suppressed() == 4 }
    #expect(try tokens(box, ["forget", token(1)]).status == 0)
    try send("eight", #""token":"\#(token(1))""#)
    try sent(5)
    try #expect(gateway.alerts(in: box) == ["one", "two", "five", "six", "eight"])
    agent.kill()
  }

  @Test func `a token that the gateway calls invalid stays suppressed after a restart`() throws {
    let gateway = try Gateway(in: box, ["--reject", token(7)])
    func drop(_ number: Int, _ name: String) throws {
      try box.drop(
        #"{"token":"\#(token(number))","payload":{"aps":{"alert":"\#(name)"}}}"#, as: name)
    }
    // This gateway has not accepted any token yet. It may be the wrong one, to which all tokens are
    // foreign, so the agent does not suppress this token.
    try drop(7, "a")
    #expect(try box.deliver(gateway).status == 65)
    #expect(box.names(in: "failed") == ["a"])
    #expect(try box.tokenList().output == "")
    try drop(1, "b")
    for name in ["c", "d", "e"] { try drop(7, name) }
    let first = try box.deliver(gateway)
    #expect(first.status == 65, "\(first.errors)")
    #expect(first.errors.contains("2 suppressed"))
    #expect(box.names(in: "failed") == ["a", "c"])
    #expect(try box.tokenList().output.contains("\(token(7))  invalid token"))
    try drop(7, "f")
    let second = try box.deliver(gateway)
    #expect(second.status == 0, "\(second.errors)")
    #expect(box.names(in: "failed") == ["a", "c"])
  }

  @Test
  func `the agent sets a damaged suppression list aside, keeps its other lines and logs that`()
    throws
  {
    let gateway = try Gateway(in: box)
    let many = (1...3000).map { token($0) }.joined(separator: "\n")
    #expect(try tokens(box, ["suppress", "-"], input: many).status == 0)
    #expect(try tokens(box, ["suppress", token(3001)]).status == 0)
    let path = box.state + "/suppressed.list"
    let good = try #require(FileManager.default.contents(atPath: path))
    let line = try String(decoding: good, as: UTF8.self).split(separator: "\n").at(477)
    #expect(line.wholeMatch(of: #/[0-9a-f]{64} \d{10} by hand/#) != nil)
    var bytes = good
    bytes[try #require(good.firstRange(of: Data(line.utf8))).lowerBound + 70] ^= 128
    let lost = String(line.prefix(64))
    #expect(FileManager.default.createFile(atPath: path, contents: bytes))
    let damaged = try tokens(box, ["list"])
    #expect(
      damaged.status == 65
        && damaged.errors.contains("the list is damaged, or version 0.2.0 wrote it; "))
    #expect(damaged.output.split(separator: "\n").count == 3000 && !damaged.output.contains(lost))
    func drop(_ name: String) throws {
      for (number, token) in [token(1), lost, token(3001)].enumerated() {
        try box.drop(
          #"{"token":"\#(token)","payload":{"aps":{"alert":"\#(name) \#(number)"}}}"#,
          as: "\(name)-\(number)")
      }
    }
    try drop("damaged")
    let agent = try box.deliver(gateway)
    #expect(agent.status == 0)
    #expect(
      agent.errors.contains("suppression list in \(box.state) was damaged"), "\(agent.errors)")
    try #expect(gateway.alerts(in: box) == ["damaged 1"], "a duplicate rather than a loss")
    #expect(FileManager.default.contents(atPath: path + ".damaged") == bytes)
    let after = try tokens(box, ["list"])
    #expect(after.status == 0 && after.output == damaged.output)
    // The operator suppresses the token again.
    #expect(try tokens(box, ["suppress", lost]).status == 0)
    try drop("restored")
    #expect(try box.deliver(gateway).status == 0)
    try #expect(gateway.alerts(in: box) == ["damaged 1"])
  }
}
