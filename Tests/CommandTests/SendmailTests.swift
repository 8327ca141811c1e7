import Foundation
import Testing

/// Mails that become alerts.
@Suite(.sideBySide) struct SendmailTests {
  /// Writes a configuration with a spool, and the recipients file `default`; returns its path.
  private func config(in box: Box, spool: String = "spool") throws -> String {
    try box.write("", to: "recipients/default")
    return try box.write(
      "spool = \(spool)\nrecipients = \(box.path)/recipients\n", to: "\(spool).conf")
  }

  /// Runs the program with a mail, and returns the notifications in the spool.
  private func send(
    _ mail: String, _ words: [String], in box: Box, expecting status: Int32 = 0
  ) throws -> [[String: Any]] {
    let config = try config(in: box)
    let sent = try box.run(
      Build.command(Build.host, "tinypush-sendmail") + words,
      environment: ["TINYPUSH_CONFIG": config], input: mail)
    #expect(sent.status == status, "\(sent.errors)")
    #expect((sent.errors == "") == (status == 0))
    #expect(sent.output == "")
    let found = try box.names(in: "new").flatMap { name in
      let path = "spool/new/" + name
      let text = box.text(path)
      try FileManager.default.removeItem(atPath: box.path + "/" + path)
      return try objects(text)
    }
    return found
  }

  private func alert(_ notification: [String: Any]) -> Any? {
    ((notification["payload"] as? [String: Any])?["aps"] as? [String: Any])?["alert"]
  }

  @Test(arguments: Build.all)
  func `the mails of another library are read, in all character sets`(build: String) throws {
    let config = try config(in: box)
    let read = try box.run(
      ["python3", Build.tools + "/mails.py", box.spool]
        + Build.command(build, "tinypush-sendmail"), environment: ["TINYPUSH_CONFIG": config])
    #expect(read.output == "212\n" && read.errors == "", "\(read.output)\(read.errors)")
  }

  @Test func `the address names the recipients file`() throws {
    for name in ["default", "family", "pumps"] {
      try box.write(String(repeating: "1", count: 64) + "\n", to: "recipients/" + name)
    }
    try box.write("", to: "recipients/folder/file")
    let mail = "Subject: x\nTo: The family <family@box>, ops@example.com\nCc: pumps\n\ny\n"
    for (words, expected) in [
      ([], ["default"]), (["root"], ["default"]), (["family"], ["family"]),
      (["family@example.com"], ["family"]), (["Family <family>, pumps"], ["family", "pumps"]),
      (["family", "family@box", "pumps"], ["family", "pumps"]),
      (["root", "family", "pi"], ["family", "default"]), (["../family"], ["default"]),
      (["-t"], ["family", "pumps", "default"]), (["-t", "pumps"], ["pumps", "family", "default"]),
      (
        ["-oi", "-f", "family", "-FCron", "-B8BITMIME", "-oem", "-r", "pumps", "root"], ["default"]
      ),
      (["root", "-Z", "-q", "-v"], ["default"]),
      // The options of Postfix, sendmail 8, msmtp and others, some with a value of their own.
      (["-c", "family"], ["family"]), (["-ep", "family"], ["family"]),
      (["-x", "family"], ["family"]),
      (["-D", "pumps", "family"], ["family"]), (["-apumps", "-C", "pumps", "family"], ["family"]),
      (["-R", "hdrs", "-N", "never", "-V", "pumps", "-X", "pumps", "--", "family"], ["family"]),
      (["FAMILY@box", "pumps+low@box"], ["family", "pumps"]), (["folder"], ["default"]),
    ] as [([String], [String])] {
      let sent = try send(mail, words, in: box)
      #expect(sent.map { $0["to"] as? [String] } == [expected], "\(words)")
    }
  }

  @Test func `a mail to many recipients files becomes several notifications`() throws {
    let names = (1...300).map { "list\($0)" }
    for name in names { try box.write("", to: "recipients/" + name) }
    // Each of these characters needs two bytes in a notification.
    let text = String(repeating: "\"", count: 20_000)
    let sent = try send("Subject: x\n\n\(text)\n", names + ["nobody"], in: box)
    let lists = sent.compactMap { $0["to"] as? [String] }
    #expect(lists.map(\.count) == Array(repeating: 16, count: 18) + [13])
    #expect(lists.flatMap { $0 } == names + ["default"])
    let alerts = Set(sent.compactMap { alert($0) as? [String: String] })
    #expect(alerts.count == 1 && alerts.first?["title"] == "x")
    #expect(alerts.first?["body"]?.hasPrefix("\"\"\"") == true)
  }

  @Test func `without the recipients file default, only a mail to another file is sent`() throws {
    let config = try config(in: box)
    try FileManager.default.removeItem(atPath: box.path + "/recipients/default")
    try box.write("", to: "recipients/family")
    let program = try Build.command(Build.host, "tinypush-sendmail")
    let environment = ["TINYPUSH_CONFIG": config]
    let refused = try box.run(program + ["root"], environment: environment, input: "x")
    #expect(refused.status == 65)
    #expect(
      refused.errors
        == "tinypush-sendmail: no recipients: add one to \(box.path)/recipients/default with tinypush recipient add default RECIPIENT\n"
    )
    #expect(box.names(in: "new") == [])
    let sent = try box.run(program + ["root", "family"], environment: environment, input: "x")
    #expect(sent.status == 0 && box.names(in: "new").count == 1)
  }

  @Test func `a line with only a dot ends the mail, unless an option says otherwise`() throws {
    for (mail, words, text) in [
      ("\na\n.\nb\n", [], "a"), ("\na\r\n.\r\nb\n", [], "a"),
      ("\na\n.b\n..\n.", [], "a\n.b\n..\n."),
      ("\na\n.\nb\n", ["-i"], "a\n.\nb"), ("\na\n.\nb\n", ["-oi"], "a\n.\nb"),
    ] as [(String, [String], String)] {
      #expect(try send(mail, words, in: box).map { alert($0) as? String } == [text])
    }
    // The program reads 65,536 bytes at a time.
    let end = "\na\n.\r\n"
    for shift in 0...end.count {
      let field = "Date: \(String(repeating: "x", count: 65_536 - 7 - shift))\n"
      let sent = try send(field + end + "b\n", [], in: box)
      #expect(sent.map { alert($0) as? String } == ["a"], "\(shift)")
    }
  }

  @Test func `a mail of many megabytes is read to its end`() throws {
    let mail = "Subject: big\n\nfirst\n" + String(repeating: "line\n", count: 4_000_000)
    let sent = try #require(try send(mail, ["root"], in: box).first)
    let alert = try #require(alert(sent) as? [String: String])
    #expect(alert["title"] == "big")
    #expect(alert["body"]?.hasPrefix("first\nline\nline") == true)
    #expect(sent["trim"] as? Bool == true)
  }

  @Test func `what cannot be sent is an error with a reason`() throws {
    let program = try Build.command(Build.host, "tinypush-sendmail")
    let config = try config(in: box)
    let elsewhere = try self.config(in: box, spool: "nowhere")
    for (words, mail, config, status, message) in [
      ([], "", config, 65, "the mail is empty"),
      ([], " \n\n", config, 65, "the mail is empty"),
      (
        ["-bs"], "x", config, 64,
        "only a mail on standard input can be sent, and there is no option -bs"
      ),
      (
        [], "x", elsewhere, 66,
        "spool nowhere: No such file or directory: name the right spool with --config FILE or -o spool=DIR"
      ),
      (
        [], "x", box.path + "/absent.conf", 66,
        "\(box.path)/absent.conf: No such file or directory: create it, or name another file with --config FILE"
      ),
    ] as [([String], String, String, Int32, String)] {
      let sent = try box.run(program + words, environment: ["TINYPUSH_CONFIG": config], input: mail)
      #expect(sent.status == status)
      #expect(sent.errors == "tinypush-sendmail: \(message)\n")
    }
    let unreadable = try box.run(
      ["sh", "-c", "exec \"$@\" <&-", "sh"] + program, environment: ["TINYPUSH_CONFIG": config])
    #expect(unreadable.status == 74)
    #expect(unreadable.errors == "tinypush-sendmail: cannot read the mail: Bad file descriptor\n")
    #expect(box.names(in: "new") == [])
  }

  @Test func `the names of a mail server work on a board`() throws {
    let board = try Board(in: box)
    try box.run(["dpkg-deb", "--extract", Packages.file("tinypush-sendmail"), board.root])
    try board.start("tinypush")
    let mail = "Subject: =?utf-8?q?Tank=C3=A9?=\nTo: family\n\n5 litres\n"
    for (number, words) in [
      ["sendmail", "-FCronDaemon", "-i", "-B8BITMIME", "-oem", "family"],
      ["/usr/sbin/sendmail", "-t", "-oi"], ["/usr/lib/sendmail", "root"],
    ].enumerated() {
      let sent = try board.run(
        words, as: "pi", input: mail + "number \(number)\n")
      #expect(sent.status == 0 && sent.output + sent.errors == "", "\(sent.errors)")
      let shown = try board.shows("5 litres\nnumber \(number)")
      #expect(shown["title"] as? String == "Tanké")
    }
    // The agent shortens a text that is too long.
    let long = "Subject: long\n\n" + String(repeating: "line\n", count: 10_000)
    #expect(try board.run(["sendmail", "root"], input: long).status == 0)
    try wait(for: "the long mail") {
      try board.sandbox.events("delivered").contains { $0["title"] as? String == "long" }
    }
    for words in [["newaliases"], ["sendmail", "-bi"], ["sendmail", "-I"]] {
      let done = try board.run(words, input: mail)
      #expect(done.status == 0 && done.output + done.errors == "")
    }
    #expect(try board.sandbox.events("delivered").count == 4)
    guard geteuid() == 0 else { return }
    let stranger = ["setpriv", "--reuid=64002", "--regid=64002", "--clear-groups"]
    let refused = try board.run(stranger + ["sendmail", "root"], input: mail)
    #expect(refused.status == 77)
    #expect(refused.errors.contains("you must be a member of the group tinypush"))
  }
}
