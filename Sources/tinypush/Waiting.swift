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
  /// The outcome of the first notification that was not sent.
  private var firstUnsent = ReceiptLine.Outcome.uncertain

  /// Waits for the outcome of the file `name` in `new/`, and prints each reason for not delivering.
  ///
  /// - Parameters:
  ///   - count: the number of notifications in the file.
  ///   - isStream: whether the file's lines come from standard input, so that messages name them.
  ///   - isJSON: whether a line of JSON tells the outcome on standard output.
  ///   - signals: a descriptor of the signals that end the wait; -1: they end the program.
  @inline(never)
  static func run(
    _ name: Span<UInt8>, _ count: UInt64, _ config: borrowing Config, seconds: UInt64,
    isStream: Bool, isJSON: Bool, signals: Int32, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    let spool = config.spool.pointer
    var line = Text(capacity: 4 * lineMax)
    if isJSON { begin(name, count, in: &line) }
    do throws(DropBox.Problem) {
      let watch = try OutcomeWatch(spool, name: name)
      let outcome = watch.outcome(within: .seconds(seconds), orSignalOf: signals)
      var waiting = Waiting()
      watch.forEachSettlement { waiting.take($0, isStream: isStream, arguments) }
      var reason = Text(capacity: 2048)
      let status = waiting.end(outcome, name, config, &reason, arguments)
      if isJSON {
        waiting.append(outcome, status, reason, to: &line)
        print(&line, watch, isStream: isStream)
      } else if status == .ok, isatty(STDOUT_FILENO) == 1 {
        waiting.printAccepted()
      }
      return status
    } catch {
      if isJSON {
        line.endLine()
        line.write(to: STDOUT_FILENO)
      }
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
    text.append("; ", why)
  }

  @inline(never)
  private mutating func take(
    _ line: ReceiptLine, isStream: Bool, _ arguments: borrowing Arguments
  ) {
    switch line.outcome {
    case .accepted:
      accepted += 1
      return
    case .refused: refused += 1
    default:
      if unsent == 0 { firstUnsent = line.outcome }
      unsent += 1
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
    arguments.warn(text)
  }

  /// Prints the sum, or why there is no outcome, and returns the exit status.
  ///
  /// - Parameter reason: receives why there is no outcome.
  @inline(never)
  private func end(
    _ outcome: Outcome, _ name: Span<UInt8>, _ config: borrowing Config, _ reason: inout Text,
    _ arguments: borrowing Arguments
  ) -> ExitStatus {
    switch outcome {
    case .later(let date):
      reason.append("not yet: the notification is due in ")
      reason.append(roundedSeconds: date - Clock.wallSeconds())
      return arguments.fail(.tryLater, reason)
    case .pending:
      reason.append(
        "not yet: the notification is in the spool, and is delivered later unless it expires")
      Self.explain(name, config, in: &reason)
      return arguments.fail(.tryLater, reason)
    case .left(let isComplete):
      if refused + unsent > Self.shownMax {
        var text = Text()
        text.append("not delivered: ", refused + unsent)
        text.append("; delivered: ", accepted)
        arguments.warn(text)
      }
      if refused > 0 { return .dataRefused }
      if unsent > 0 { return .undelivered }
      if isComplete, accepted > 0 { return .ok }
      reason.append(
        "probably not delivered: somebody has removed the notification from the queue")
      return arguments.fail(.undelivered, reason)
    }
  }

  /// Says on a terminal that all is well.
  @inline(never)
  private func printAccepted() {
    var text = Text(capacity: 64)
    text.append("accepted")
    if accepted > 1 { text.append(": ", accepted) }
    text.append("\n")
    text.write(to: STDOUT_FILENO)
  }

  // MARK: - JSON

  /// The longest line of a receipt, as JSON.
  private static let lineMax = 8192

  /// Begins the line of JSON about a queued file.
  ///
  /// - Parameter count: the number of notifications in the file.
  static func begin(_ name: Span<UInt8>, _ count: UInt64, in text: inout Text) {
    text.beginObject()
    text.member("name", string: name)
    text.member("notifications", number: count)
  }

  /// Appends what became of the file as a whole.
  @inline(never)
  private func append(
    _ outcome: Outcome, _ status: ExitStatus, _ reason: borrowing Text, to text: inout Text
  ) {
    switch outcome {
    case .later(let date):
      text.member("outcome", word: "later")
      text.member("due", number: date)
    case .pending: text.member("outcome", word: "pending")
    case .left where status == .ok: text.member("outcome", word: "accepted")
    case .left where refused > 0: text.member("outcome", word: "refused")
    case .left where unsent > 0: text.member("outcome", string: firstUnsent.name)
    case .left: text.member("outcome", word: "removed")
    }
    if reason.count > 0 { text.member("reason", string: reason) }
  }

  /// Appends each recipient, and prints the line.
  @inline(never)
  private static func print(
    _ text: inout Text, _ watch: borrowing OutcomeWatch, isStream: Bool
  ) {
    text.key("recipients")
    text.beginArray()
    watch.forEachSettlement { line in
      text.beginObject()
      if isStream, line.line > 0 { text.member("line", number: line.line) }
      if line.token.count > 0 { text.member("token", string: line.token) }
      text.member("outcome", string: line.outcome.name)
      text.member("reason", string: line.words)
      text.endObject()
      guard text.count > 2 * lineMax else { return }
      // The last brace stays, so that a comma follows.
      text.truncate(to: text.count - 1)
      text.flush()
      text.append("}")
    }
    text.endArray()
    text.endLine()
    text.write(to: STDOUT_FILENO)
  }
}
