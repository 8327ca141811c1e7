import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// Checks for arguments of `tinypush send` that the user probably did not mean as the text.
///
/// Each message shows how to write what was probably meant.
enum SendMistakes {
  /// Refuses operands that are probably a mistake.
  ///
  /// - Parameter isWaitBare: whether `--wait` was given without a time.
  @inline(never)
  static func refuse(
    hasTitle: Bool, isWaitBare: Bool, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    guard let first = arguments.operand(0) else { return }
    let text = CString.span(first)
    let second = arguments.operand(1)
    if isWaitBare {
      // A text may be just a number, but hardly a number with a unit of time.
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
      message.append(
        second.pointee == CChar(UInt8.hyphen)
          ? "`: options stand before --" : "`: put the message in quotes")
      throw arguments.fail(.usage, message)
    }
    if text.count == 0, !hasTitle {
      throw arguments.fail(
        .usage, "the text is empty: write a message, or leave the text out")
    }
    if holdsObject(first) {
      var message = Text(capacity: 2048)
      message.append(printable: text)
      message.append(" is a file: send the notifications in the file with tinypush send - <")
      message.append(shell: text)
      message.append(", or the file as a payload with --payload ")
      message.append(shell: text)
      throw arguments.fail(.usage, message)
    }
  }

  private static func refuse(
    waitTime: Span<UInt8>, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    arguments.fail(.usage, "--wait takes its time after an equals sign: --wait=", waitTime)
  }

  /// Whether this is the path of a file that begins with `{`, as a JSON object does.
  private static func holdsObject(_ path: UnsafePointer<CChar>) -> Bool {
    guard !CString.span(path).equals("-") else { return false }
    let descriptor = clinux_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return InputFile.firstByte(of: descriptor) == .openBrace
  }

  /// Refuses a `--payload` that is a whole notification.
  static func refuse(
    notificationIn path: UnsafePointer<CChar>, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    let path = CString.span(path)
    var text = Text(capacity: 2048)
    text.append(
      "--payload takes only the payload, but this is a whole notification: send it with tinypush send -"
    )
    if path[0] == .openBrace {
      text.append(", which reads standard input")
    } else if !path.equals("-") {
      text.append(" <")
      text.append(shell: path)
    }
    return arguments.fail(.usage, text)
  }
}
