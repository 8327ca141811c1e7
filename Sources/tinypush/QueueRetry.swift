import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush queue retry`, which sends refused notifications again.
struct QueueRetry: ~Copyable {
  /// The most reasons that are printed about a file; the file has the others.
  private static let shownMax = 20

  private let isJSON: Bool
  private var retry: Retry
  private var text = Text(capacity: 65_536)
  private var status = ExitStatus.ok

  private init(_ retry: consuming Retry, isJSON: Bool) {
    self.retry = retry
    self.isJSON = isJSON
  }

  @inline(never)
  deinit { text.write(to: STDOUT_FILENO) }

  @inline(never)
  static func run(
    _ queue: borrowing Queue, _ options: QueueCommand.Options, _ config: borrowing Config,
    _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var error: Int32 = 0
    guard let retry = Retry(config, error: &error) else {
      return QueueCommand.explain(error, .failed, arguments)
    }
    var options = options
    options.places = 1 << UInt8(QueuePlace.failed.rawValue)
    var run = QueueRetry(retry, isJSON: options.isJSON)
    run.run(queue, options, arguments)
    return run.status
  }

  @inline(never)
  private mutating func run(
    _ queue: borrowing Queue, _ options: QueueCommand.Options, _ arguments: borrowing Arguments
  ) {
    let found = QueueNames.forEachFile(queue, options, arguments) {
      text.flush()
    } _: { file in
      if !options.isAll || !retry.isCompanion(file) { sendAgain(file, arguments) }
    }
    if found != .ok { status = found }
  }

  // MARK: - A file

  @inline(never)
  private mutating func sendAgain(_ file: borrowing QueueFile, _ arguments: borrowing Arguments) {
    var reasons = Text(capacity: 32_768)
    var reasonCount = 0
    let isJSON = isJSON
    do throws(Retry.Problem) {
      let result = try retry.retry(file) { why, line in
        reasonCount += 1
        guard reasonCount <= Self.shownMax else { return }
        if isJSON {
          reasons.beginObject()
          reasons.member("line", number: line)
          reasons.member("why", string: why)
          reasons.endObject()
        } else {
          reasons.append("  stays")
          if line > 0 {
            reasons.append(", line ", line)
          }
          reasons.append(": ", printable: why, "\n")
        }
      }
      if result.left > 0, status == .ok { status = .dataRefused }
      if isJSON {
        printJSON(file, result, reasons)
      } else {
        print(file, result, reasons, reasonCount)
      }
      text.flush()
    } catch {
      text.flush()
      status = explain(error, file, arguments)
    }
  }

  @inline(never)
  private mutating func print(
    _ file: borrowing QueueFile, _ result: Retry.Result, _ reasons: borrowing Text,
    _ reasonCount: Int
  ) {
    QueueNames.append(file.name, to: &text)
    text.append(": ")
    if result.isFileSent {
      text.append("sent again, the whole file")
      if result.sent > 0 {
        text.append(", and ", result.sent)
      }
    } else {
      text.append(result.sent)
      text.append(" sent again")
    }
    if retry.sentName.count > 0 {
      text.append(" as ", printable: retry.sentName)
    }
    if result.left > 0 {
      text.append(", ", result.left)
      text.append(result.left == 1 ? " stays" : " stay")
    }
    text.append("\n", reasons)
    if reasonCount > Self.shownMax {
      text.append("  and ", reasonCount - Self.shownMax, " more\n")
    }
  }

  @inline(never)
  private mutating func printJSON(
    _ file: borrowing QueueFile, _ result: Retry.Result, _ reasons: borrowing Text
  ) {
    text.beginObject()
    text.key("name")
    QueueNames.append(json: file.name, to: &text)
    text.member("sent", number: result.sent)
    text.member("is_file_sent", bool: result.isFileSent)
    if retry.sentName.count > 0 { text.member("as", string: retry.sentName) }
    text.member("left", number: result.left)
    text.key("reasons")
    text.beginArray()
    text.append(reasons)
    text.endArray()
    text.endLine()
  }

  @inline(never)
  private func explain(
    _ problem: Retry.Problem, _ file: borrowing QueueFile, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var message = Text()
    QueueNames.append(file.name, to: &message)
    message.append(": ")
    switch problem {
    case .gone:
      message.append("the file is no longer in failed/")
      return arguments.fail(.noInput, message)
    case .busy:
      message.append("another program has been changing the file for some time: try again")
      return arguments.fail(.tryLater, message)
    case .interrupted:
      message.append(
        "an earlier retry was interrupted, and left a file with this name and .retry at the end: retry that file first"
      )
      return arguments.fail(.tryLater, message)
    case .failed(let problem):
      message.append(cString: clinux_error_text(problem.number))
      message.append(", in the spool's tmp/, new/ or failed/; nothing is lost")
      return arguments.fail(problem.status, message)
    }
  }
}
