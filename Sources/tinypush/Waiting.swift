import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// What `tinypush send --wait` says of a file's outcome.
enum Waiting {
  /// So many reasons are said; `failed/` has the others.
  private static let saidMax = 20

  /// Waits until the outcome of the file `name` in `new/` is known, or the time is over, and says it unless all is well.
  ///
  /// - Parameter isStream: whether the file has lines that somebody wrote.
  @inline(never)
  static func run(
    _ name: Span<UInt8>, _ spool: UnsafePointer<CChar>, seconds: UInt64, isStream: Bool,
    _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var text = Text(capacity: 2048)
    do throws(DropBox.Problem) {
      let watch = try OutcomeWatch(spool, name: name)
      switch watch.outcome(within: .seconds(seconds)) {
      case .settled: return .ok
      case .refused:
        let error = sayFailedLines(watch, isStream: isStream, arguments)
        guard error != 0 else { return .dataRefused }
        text.append("refused; failed/, which has the reasons, cannot be read: ")
        text.append(cString: clinux_error_text(error))
        return arguments.fail(.dataRefused, text)
      case .later(let date):
        text.append("not yet: it waits for its time, which comes in ")
        text.append(roundedSeconds: date - Clock.wallSeconds())
      case .pending:
        text.append("not yet: it is still in the spool, and is delivered when that can be done")
        if watch.isServed() == false { text.append("; no agent is at work there now") }
      case .unknown(let error):
        text.append("it has left the spool, but failed/ does not say whether it was refused: ")
        text.append(cString: clinux_error_text(error))
        return arguments.fail(error == EACCES ? .noPermission : .inputOutput, text)
      }
      return arguments.fail(.tryLater, text)
    } catch {
      return arguments.fail(error.status, error.text(spool))
    }
  }

  /// Returns 0, or the errno.
  @inline(never)
  private static func sayFailedLines(
    _ watch: borrowing OutcomeWatch, isStream: Bool, _ arguments: borrowing Arguments
  ) -> Int32 {
    var count = 0
    let error = watch.forEachFailedLine { line, bytes in
      count += 1
      guard count <= saidMax else { return }
      var text = Text(capacity: 2048)
      line.describe(bytes, saysLine: isStream, in: &text)
      _ = arguments.fail(.dataRefused, text)
    }
    if count > saidMax {
      var text = Text()
      text.append("refused in all: ")
      text.append(count)
      text.append("; failed/ has the other reasons")
      _ = arguments.fail(.dataRefused, text)
    }
    return error
  }
}
