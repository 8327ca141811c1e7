import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushRules
import TinyPushWebhooks

/// `tinypush-http --try PATH`: what the rules make of a request whose body is on standard input.
enum Trial {
  /// - Parameter file: the name of the file with the rules.
  static func run(
    _ target: UnsafePointer<CChar>, _ rules: inout MessageRules, of file: UnsafePointer<CChar>,
    _ config: borrowing Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    var path = Text(capacity: RuleRequest.pathBytesMax)
    guard Route.appendPath(of: CString.span(target), to: &path), path.bytes[0] == .slash else {
      throw arguments.fail(
        .usage, "--try takes the path of a request, such as /github, not ", CString.span(target))
    }
    var output = Text(capacity: 512 * 1024)
    RuleTrial.forEachMissingList(of: rules, in: config.recipients.span) { line, message in
      output.append(cString: file)
      output.append(":", line, ": warning: ")
      output.append(message)
      output.append("\n")
    }
    var body = Text(capacity: Inbox.bodyBytesMax)
    do throws(InputFile.Problem) {
      try InputFile.read(("-" as StaticString).cString, to: &body, bytesMax: Inbox.bodyBytesMax)
    } catch {
      throw arguments.fail(error.status, error.text(("-" as StaticString).cString))
    }
    // The media type is not known.
    var payload = Text(capacity: body.count)
    if RuleRequest.appendPayload(ofForm: body.bytes, to: &payload) { swap(&body, &payload) }
    if let finding = RuleRequest.mistake(in: body.bytes, isJSON: nil) {
      let place = TextPlace(finding.offset, in: body.bytes)
      output.append("-:", place.line, ":")
      output.append(place.column)
      output.append(": error: ")
      finding.describe(in: &output)
      output.append("\n")
      output.write(to: STDOUT_FILENO)
      return .dataRefused
    }
    var trial = RuleTrial(file, config)
    var isRefused = false
    var next: Int? = 0
    while let first = next {
      next = nil
      let outcome = trial.make(
        &rules, address: path.bytes, payload: body.bytes, packetID: nil, from: first)
      if case .rule(let rule) = outcome, rules.goesOn(rule) { next = rule + 1 }
      if trial.isRefused { isRefused = true }
      // The rules behind one that went on need not apply.
      if case .ignored = outcome, first > 0 { break }
      output.append(shown: path.bytes)
      output.append(":")
      trial.append(outcome, of: rules, address: path.bytes, payload: body.bytes, to: &output)
      output.append("\n")
      trial.appendNotification(to: &output)
      output.flush()
    }
    return isRefused ? .dataRefused : .ok
  }
}
