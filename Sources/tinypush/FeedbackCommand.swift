import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// `tinypush feedback`: which devices are gone.
enum FeedbackCommand {
  static let usage: StaticString = """
    Usage: tinypush feedback [OPTION]...
    Asks the feedback service once which devices are gone, and puts their tokens on
    the suppression list, so that nothing is sent to them any more until they
    register again. A running agent takes that up by itself. Once a day is enough.
    With protocol = http2 there is no such service, and nothing to do: the answer to
    a notification says that a device is gone.

      --json                a line of JSON for each device, and one with the sums
      --quiet               say only the sums
    \t\

    What the service has told is forgotten there, and never here: all of it is
    written to disk, in the directory of the setting state, before more is asked
    for.
    Ends with 0, also when nothing was to be told; 69 when there is no connection,
    74 when the disk is full or broken, 75 when the list was cut short (what came of
    it is kept).

    """

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var config = Config()
    var isJSON = false
    var isQuiet = false
    while let option = try arguments.next() {
      if option == 0 { isJSON = true } else { isQuiet = true }
    }
    try arguments.refuseOperands()
    try arguments.readConfig(into: &config)
    return try pull(config, isJSON: isJSON, isQuiet: isQuiet, arguments)
  }

  private static func pull(
    _ config: borrowing Config, isJSON: Bool, isQuiet: Bool, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    // Whoever reads the lines may go: the merge is made all the same.
    clinux_ignore_broken_pipes()
    var message = Text()
    var pull: FeedbackPull
    do throws(ExitStatus) {
      pull = try FeedbackPull(config, message: &message)
    } catch {
      throw arguments.fail(error, message)
    }
    var lines = TokenLines(isJSON: isJSON)
    let hasService = config.courier.rules.service == .binary
    let status = pull.run(config) { token, time, outcome in
      if !isQuiet { lines.print(token, time, state(outcome)) }
    }
    if status == .ok || pull.sums.isMerged && pull.sums.devices > 0 {
      var text = Text()
      if isJSON {
        writeJSON(pull.sums, in: &text)
      } else if hasService || pull.sums.devices > 0 {
        write(pull.sums, in: &text)
      } else {
        text.append(
          "with protocol = http2 there is no feedback service: the agent learns from each answer whether a device is gone"
        )
      }
      lines.print(text)
    }
    if pull.warning.count > 0 { _ = arguments.fail(status, pull.warning) }
    if status != .ok { _ = arguments.fail(status, pull.problem) }
    return status
  }

  private static func state(_ outcome: SuppressionMerge.Outcome) -> StaticString {
    switch outcome {
    case .new: "new"
    case .known, .forgotten: "known"
    case .registered, .returned: "registered"
    }
  }

  @inline(never)
  private static func write(_ sums: FeedbackPull.Sums, in text: inout Text) {
    guard sums.devices > 0 else {
      text.append("no device is gone")
      return writeOddities(sums, in: &text)
    }
    text.append(sums.devices)
    text.append(sums.devices == 1 ? " device is gone, " : " devices are gone, ")
    text.append(sums.new)
    text.append(" of them new")
    if sums.registered > 0 {
      text.append(", ", sums.registered, " registered since")
    }
    text.append("; ", sums.suppressed)
    text.append(sums.suppressed == 1 ? " token is suppressed" : " tokens are suppressed")
    writeOddities(sums, in: &text)
  }

  @inline(never)
  private static func writeOddities(_ sums: FeedbackPull.Sums, in text: inout Text) {
    if sums.future > 0 {
      text.append("; of a time to come, and taken for now: ", sums.future)
    }
    if sums.empty > 0 {
      text.append("; without a token, and left out: ", sums.empty)
    }
  }

  @inline(never)
  private static func writeJSON(_ sums: FeedbackPull.Sums, in text: inout Text) {
    text.beginObject()
    text.member("received", number: sums.received)
    text.member("bytes", number: sums.bytes)
    text.member("devices", number: sums.devices)
    text.member("new", number: sums.new)
    text.member("registered", number: sums.registered)
    text.member("empty", number: sums.empty)
    text.member("future", number: sums.future)
    if sums.isMerged { text.member("suppressed", number: sums.suppressed) }
    text.endObject()
  }
}
