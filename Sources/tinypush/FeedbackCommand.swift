import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush feedback`, which asks the feedback service which devices are gone.
enum FeedbackCommand {
  static let command = Command(
    "feedback", "ask which devices are gone, and suppress their tokens", options: "json quiet",
    usage: """
      Usage: tinypush feedback [OPTION]...
      Asks the feedback service once which devices are gone, and adds their tokens to
      the suppression list: nothing is sent to them until they register again. A
      running agent reads the changed list by itself. Once a day is enough.
      With protocol = http2 there is no feedback service, and nothing to do: the
      answer to a notification says that a device is gone.

        --json                print a line of JSON for each device, and a last line
                              with the sums
        --quiet               print only the sums
      \t\

      The service forgets the tokens that it has sent. So each part of the list is
      written to disk, in the directory of the setting state, before the next part is
      read.
      Exit status: 0 success, also when no device is gone; 69 no connection; 74 the
      disk is full or broken; 75 the list was cut short (the part that was received is
      kept), or another pull has not ended; 78 the service refuses the certificate.

      """, run)

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var config = Config()
    var isJSON = false
    var isQuiet = false
    while let option = try arguments.next() {
      if option == 0 { isJSON = true } else { isQuiet = true }
    }
    try arguments.refuseOperands()
    try arguments.readConfig(into: &config, for: .agent)
    return try pull(config, isJSON: isJSON, isQuiet: isQuiet, arguments)
  }

  private static func pull(
    _ config: borrowing Config, isJSON: Bool, isQuiet: Bool, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    // The merge must finish even if the reader of the output ends.
    clinux_ignore_broken_pipes()
    var pull = try arguments.attempt { message throws(ExitStatus) in
      try FeedbackPull(config, message: &message)
    }
    var lines = TokenLines(isJSON: isJSON, keeps: true)
    let hasService = config.courier.rules.pushProtocol == .binary
    let status = pull.run(config) { token, time, outcome in
      if !isQuiet { lines.print(token, time, state(outcome)) }
    }
    lines.show()
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
      text.append("\n")
      text.write(to: STDOUT_FILENO)
    }
    if pull.warning.count > 0 { arguments.warn(pull.warning) }
    if status != .ok { arguments.warn(pull.problem) }
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
      text.append("; dated in the future, for which the present time counts: ", sums.future)
    }
    if sums.empty > 0 {
      text.append("; skipped for lack of a token: ", sums.empty)
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
