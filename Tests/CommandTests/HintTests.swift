import Foundation
import Testing

/// Frequent mistakes on the command line of `send`: each gets a hint, and nothing is queued.
@Suite(.sideBySide) struct HintTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var arguments: [String]
    var input: String?
    var words: String
    var testDescription: String { arguments.joined(separator: " ") }
    init(_ arguments: String..., input: String? = nil, words: String) {
      (self.arguments, self.input, self.words) = (arguments, input, words)
    }
  }

  private static let whole = line(1, "whole")
  private static let waitHint = "--wait takes its time after an equals sign: --wait="
  private static let envelope =
    "--payload takes only the payload, but this is a whole notification: "
    + "send it with tinypush send -"
  private static let text =
    " is not an option: put -- before a text that begins with -\n"
    + "Try `tinypush send --help`."

  @Test(arguments: [
    Row("--wait", "5s", "hi", words: waitHint + "5s"),
    Row("hi", "--wait", "5", words: waitHint + "5"),
    Row("--wait", "10m", words: waitHint + "10m"),
    Row("-5 degrees", words: "\"-5 degrees\"" + text),
    Row("-5", words: "\"-5\"" + text),
    Row("-high water", words: "\"-high water\"" + text),
    Row("-xyz high", "--badge", "1", words: "\"-xyz high\"" + text),
    Row("--12 %", words: "\"--12 %\"" + text),
    Row("", words: "the text is empty: write a message, or leave the text out"),
    Row("", "--badge", "1", words: "the text is empty"),
    Row(
      "whole.json",
      words: "whole.json is a file: send the notifications in the file with "
        + "tinypush send - <whole.json, or the file as a payload with --payload whole.json"),
    Row("--payload", "whole.json", words: envelope + " <whole.json"),
    Row("--payload", "-", input: whole, words: envelope),
    Row("--payload", #"{"to": "x", "payload": {}}"#, words: envelope + ", which reads standard"),
    Row("--payload", #"{"tokens": []}"#, words: envelope),
    Row("--titel", "x", words: "unknown option --titel; did you mean --title?\n"),
    Row("x", "-title", "T", words: "unknown option -title; did you mean --title?\n"),
    Row("Tank", "low", words: "unexpected argument `low`: put the message in quotes"),
  ])
  func `send answers a mistake with what to write instead`(row: Row) throws {
    try box.write(Self.whole, to: "whole.json")
    try box.write(token(1), to: "recipients/default")
    let sent = try box.send(row.arguments, input: row.input)
    #expect(sent.status == 64)
    #expect(sent.errors.hasPrefix("tinypush send: " + row.words), "\(sent.errors)")
    #expect(sent.output == "")
    #expect(box.queued + box.names(in: "tmp") == [])
  }

  @Test(arguments: [
    (["--", "-5 degrees"], #"{"alert":"-5 degrees"}"#),
    (["--wait=1s", "5s"], #"{"alert":"5s"}"#),
    (["--wait", "21"], #"{"alert":"21"}"#),
    (["", "--title", "T"], #"{"alert":{"title":"T","body":""}}"#),
    (["other.txt"], #"{"alert":"other.txt"}"#),
    (["--payload", #"{"aps":{"badge":1},"to":"x"}"#], #"{"badge":1}"#),
  ])
  func `send accepts valid arguments that resemble a mistake`(arguments: [String], aps: String)
    throws
  {
    try box.write("Hello {", to: "other.txt")
    let sender = try box.start(box.sending(["--token", token(1)] + arguments))
    try wait(for: "a file in new/; \(sender.errors)") { !box.queued.isEmpty }
    let queued = try objects(box.text("spool/new/" + box.queued.at(0))).at(0)
    let payload = try #require(queued["payload"] as? [String: Any])
    #expect(try payload["aps"] as? NSDictionary == objects(aps).at(0) as NSDictionary)
  }

  @Test func `common options may stand before the command`() throws {
    let config = try box.write("spool = \(box.spool)\n", to: "tinypush.conf")
    for options in [
      ["--config", config], ["--config=\(config)"], ["-c", config], ["-c\(config)"],
      ["-o", "spool=\(box.spool)"], ["-c", "nowhere", "--config", config],
    ] {
      let sent = try box.run(
        Build.command(Build.host) + options + ["send", "hi", "--token", token(1)])
      #expect(sent.status == 0, "\(options): \(sent.errors)")
    }
    #expect(box.queued.count == 6)
    let after = try box.tinypush(
      "-o", "spool=/nowhere", "send", "hi", "--token", token(1), "-o", "spool=\(box.spool)")
    #expect(after.status == 0, "the later option counts: \(after.errors)")
  }

  @Test func `check names the command for a configuration given as a notification file`() throws {
    let good = try box.write(Self.whole, to: "good.conf")
    for text in ["# nothing\n", "spool = x\n", ""] {
      let path = try box.write(text, to: "tinypush.conf")
      let checked = try box.tinypush("check", good, path)
      #expect(checked.status == 64)
      #expect(
        checked.errors
          == "tinypush check: \(path) is a configuration: check it with "
          + "tinypush check --config \(path)\n")
      // A file of any name may hold notifications.
      #expect(checked.output == "\(good): 1 notification, no problems\n")
    }
  }
}
