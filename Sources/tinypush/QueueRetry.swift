import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// `tinypush queue retry`: what was refused is sent again.
struct QueueRetry: ~Copyable {
  /// So many reasons are said of a file; the file has the others.
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
    _ queue: borrowing Queue, _ order: QueueCommand.Order, _ config: borrowing Config,
    _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var error: Int32 = 0
    guard let retry = Retry(config, error: &error) else {
      return QueueCommand.explain(error, .failed, arguments)
    }
    var order = order
    order.places = 1 << UInt8(QueuePlace.failed.rawValue)
    var run = QueueRetry(retry, isJSON: order.isJSON)
    run.run(queue, order, arguments)
    return run.status
  }

  @inline(never)
  private mutating func run(
    _ queue: borrowing Queue, _ order: QueueCommand.Order, _ arguments: borrowing Arguments
  ) {
    let found = QueueNames.forEachFile(queue, order, arguments) {
      flush()
    } _: { file in
      if !order.isAll || !retry.isCompanion(file) { again(file, arguments) }
    }
    if found != .ok { status = found }
  }

  @inline(never)
  private mutating func flush() {
    text.write(to: STDOUT_FILENO)
    text.clear()
  }

  // MARK: - A file

  @inline(never)
  private mutating func again(_ file: borrowing QueueFile, _ arguments: borrowing Arguments) {
    var reasons = Text(capacity: 32_768)
    var said = 0
    let isJSON = isJSON
    do throws(Retry.Problem) {
      let result = try retry.retry(file) { why, line in
        said += 1
        guard said <= Self.shownMax else { return }
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
      if isJSON { printJSON(file, result, reasons) } else { print(file, result, reasons, said) }
      flush()
    } catch {
      flush()
      status = explain(error, file, arguments)
    }
  }

  @inline(never)
  private mutating func print(
    _ file: borrowing QueueFile, _ result: Retry.Result, _ reasons: borrowing Text, _ said: Int
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
    if said > Self.shownMax {
      text.append("  and ", said - Self.shownMax, " more\n")
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
      message.append("is not in failed/ any more")
      return arguments.fail(.noInput, message)
    case .busy:
      message.append("somebody else retries it just now")
      return arguments.fail(.tryLater, message)
    case .interrupted:
      message.append(
        "a retry of it was cut short, and what it left is there under this name with .retry behind it: retry that first"
      )
      return arguments.fail(.tryLater, message)
    case .failed(let problem):
      message.append(cString: clinux_error_text(problem.number))
      message.append(", in the spool's tmp/, new/ or failed/; nothing of it is lost")
      return arguments.fail(problem.status, message)
    }
  }
}
