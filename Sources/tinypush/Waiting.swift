import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The report of `tinypush send --wait` about the outcome of a notification file.
struct Waiting {
  /// The most reasons that are printed; further ones are only counted.
  private static let shownMax = 20

  private var accepted = 0
  private var refused = 0
  private var unsent = 0

  /// Waits for the outcome of the file `name` in `new/`, and prints each reason for not delivering.
  ///
  /// - Parameter isStream: whether the file's lines come from standard input, so that messages
  ///   name them.
  @inline(never)
  static func run(
    _ name: Span<UInt8>, _ config: borrowing Config, seconds: UInt64, isStream: Bool,
    _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var text = Text(capacity: 2048)
    let spool = config.spool.pointer
    do throws(DropBox.Problem) {
      let watch = try OutcomeWatch(spool, name: name)
      let outcome = watch.outcome(within: .seconds(seconds))
      var waiting = Waiting()
      watch.forEachSettlement { waiting.take($0, isStream: isStream, arguments) }
      switch outcome {
      case .left(let isComplete): return waiting.end(isComplete, arguments)
      case .later(let date):
        text.append("not yet: the notification is due in ")
        text.append(roundedSeconds: date - Clock.wallSeconds())
      case .pending:
        text.append("not yet: the notification is still in the spool, and will be delivered later")
        explain(name, config, in: &text)
      }
      return arguments.fail(.tryLater, text)
    } catch {
      return arguments.fail(error.status, error.text(spool))
    }
  }

  /// Appends why a file is still in the spool.
  @inline(never)
  private static func explain(
    _ name: Span<UInt8>, _ config: borrowing Config, in text: inout Text
  ) {
    var message = Text()
    guard let queue = try? Queue(config.spool.pointer, message: &message) else { return }
    let agent = AgentState(queue, config.status.pointer)
    var why = Text(capacity: 2048)
    // Only the agent's user and root can see a file that the agent has taken.
    _ = queue.forEach(in: .new) { file in
      if why.count == 0, file.name.equals(name) { _ = agent.explain(file, in: &why) }
    }
    if why.count == 0 { agent.explain(in: &why) }
    guard why.count > 0 else { return }
    text.append("; ")
    text.append(why)
  }

  @inline(never)
  private mutating func take(
    _ line: ReceiptLine, isStream: Bool, _ arguments: borrowing Arguments
  ) {
    switch line.kind {
    case .accepted:
      accepted += 1
      return
    case .refused: refused += 1
    case .unsent: unsent += 1
    }
    guard refused + unsent <= Self.shownMax else { return }
    var text = Text(capacity: 2048)
    text.append(shown: line.words)
    if isStream, line.line > 0 {
      text.append(" (line ", line.line, ")")
    }
    if line.token.count > 0 {
      text.append(" (token ", bytes: line.token, ")")
    }
    _ = arguments.fail(.undelivered, text)
  }

  @inline(never)
  private func end(_ isComplete: Bool, _ arguments: borrowing Arguments) -> ExitStatus {
    var text = Text()
    if refused + unsent > Self.shownMax {
      text.append("not delivered: ", refused + unsent)
      text.append("; delivered: ", accepted)
      _ = arguments.fail(.undelivered, text)
      text.clear()
    }
    if refused > 0 { return .dataRefused }
    if unsent > 0 { return .undelivered }
    if isComplete, accepted > 0 {
      if isatty(STDOUT_FILENO) == 1 {
        text.append("accepted")
        if accepted > 1 { text.append(": ", accepted) }
        text.append("\n")
        text.write(to: STDOUT_FILENO)
      }
      return .ok
    }
    text.append("probably not delivered: somebody has removed the notification from the queue")
    return arguments.fail(.undelivered, text)
  }
}
