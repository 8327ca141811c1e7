import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// Reads device tokens from an operand, or for `-` from standard input, one a line.
enum TokenReader {
  /// Calls `body` with each token; refuses an operand or line that is not a token.
  @inline(never)
  static func read(
    _ operand: UnsafePointer<CChar>, _ arguments: borrowing Arguments,
    _ body: (DeviceToken) throws(ExitStatus) -> Void
  ) throws(ExitStatus) {
    let word = CString.span(operand)
    guard word.equals("-") else { return try body(token(word, arguments)) }
    guard var lines = InputLines() else {
      throw arguments.fail(.noInput, "cannot read standard input")
    }
    var number: UInt64 = 0
    while let line = lines.next() {
      number += 1
      let text = line.trimmed()
      guard text.count > 0 else { continue }
      guard let token = DeviceToken(printed: text) else {
        throw refuse(text, line: number, arguments)
      }
      try body(token)
    }
    guard lines.error == 0 else {
      throw arguments.fail(.inputOutput, "cannot read all of standard input; nothing has changed")
    }
  }

  /// Returns the device token of a word; refuses a word that is not a token.
  @inline(never)
  static func token(
    _ word: Span<UInt8>, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> DeviceToken {
    guard let token = DeviceToken(printed: word) else { throw refuse(word, line: nil, arguments) }
    return token
  }

  @inline(never)
  static func refuse(
    _ word: Span<UInt8>, line: UInt64?, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var text = Text()
    if let line {
      text.append("standard input, line ", line, ": ")
    }
    if word.isEmpty {
      text.append("there is no recipient")
    } else {
      text.append(
        "a device token is an even number of hexadecimal digits, at most 200, or base64, not ")
      text.append(printable: word.count > 80 ? word.extracting(0..<80) : word)
      if word.count > 80 { text.append("...") }
    }
    text.append("; nothing has changed")
    return arguments.fail(.usage, text)
  }
}
