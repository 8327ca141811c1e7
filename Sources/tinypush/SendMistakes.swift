import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// Operands of `tinypush send` that would be sent as a text, but were meant otherwise. Each is refused with the way to say what
/// was meant.
enum SendMistakes {
  /// - Parameter isWaitBare: whether `--wait` was given without a time.
  @inline(never)
  static func refuse(
    hasTitle: Bool, isWaitBare: Bool, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    guard let first = arguments.operand(0) else { return }
    let text = CString.span(first)
    let second = arguments.operand(1)
    if isWaitBare {
      // A number alone may be what there is to say, but a number with a unit of time is not.
      if second != nil ? TimeArgument.seconds(text) != nil : TimeArgument.isFromNow(text) {
        throw refuse(waitTime: text, arguments)
      }
      if let second, TimeArgument.seconds(CString.span(second)) != nil {
        throw refuse(waitTime: CString.span(second), arguments)
      }
    }
    if let second {
      var message = Text()
      message.append("unexpected argument `", printable: CString.span(second))
      message.append("`: put the message in quotes")
      throw arguments.fail(.usage, message)
    }
    if text.count == 0, !hasTitle {
      throw arguments.fail(
        .usage, "the text is empty: write what there is to say, or leave the text out")
    }
    if holdsObject(first) {
      var message = Text(capacity: 2048)
      message.append(printable: text)
      message.append(" is a file: send the notifications in the file with tinypush send - <")
      message.append(printable: text)
      message.append(", or the file as a payload with --payload ", printable: text)
      throw arguments.fail(.usage, message)
    }
  }

  private static func refuse(
    waitTime: Span<UInt8>, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    arguments.fail(.usage, "--wait takes its time behind an equals sign: --wait=", waitTime)
  }

  /// Whether this is the path of a file that begins as a JSON object does.
  private static func holdsObject(_ path: UnsafePointer<CChar>) -> Bool {
    guard !CString.span(path).equals("-") else { return false }
    let descriptor = clinux_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return InputFile.firstByte(of: descriptor) == .openBrace
  }

  /// Refuses a whole notification that was given as a payload.
  static func refuse(
    notificationIn path: UnsafePointer<CChar>, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    let path = CString.span(path)
    var text = Text(capacity: 2048)
    text.append(
      "--payload takes the payload alone, and this is a whole notification: send the notification with tinypush send -"
    )
    if path[0] == .openBrace {
      text.append(", which reads standard input")
    } else if !path.equals("-") {
      text.append(" <", printable: path)
    }
    return arguments.fail(.usage, text)
  }
}
