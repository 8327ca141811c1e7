import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush trace`, which finds a notification or token in log, spool and state.
struct TraceCommand: ~Copyable {
  static let command = Command(
    "trace", "show where a notification is, or how it ended", options: "log= json",
    usage: """
      Usage: tinypush trace NAME|TOKEN [OPTION]...
      Searches the log, the spool and the suppression list for a notification, and
      prints where it is or how it ended. NAME is the name that send printed, or that
      a program gave its file; TOKEN is a device token, or its first 8 digits or more.
      The log names the notifications that were refused, and some of those that were
      not sent; with log = deliveries it names all.

        --log FILE|-          the agent's log, - for standard input; otherwise the
                              journal is read (journalctl --unit 'tinypush*')
        --json                print a line of JSON for each thing that was found
      \t\

      Exit status: 0 something was found; 1 nothing was found.

      """, run)

  /// The name.
  private let name: CString
  /// Its digits in lower case if the name may be the beginning of a token; else empty.
  private var digits = Text(capacity: 256)
  private var isToken: Bool { digits.count > 0 }
  private var text = Text(capacity: 65_536)
  private var isFound = false
  /// Whether the journal could not be read, as journalctl's exit status says.
  private var isJournalClosed = false
  private let isJSON: Bool

  @inline(never)
  deinit { text.write(to: STDOUT_FILENO) }

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var log: UnsafePointer<CChar>?
    var isJSON = false
    while let option = try arguments.next() {
      if option == 0 { log = clinux_option_argument() } else { isJSON = true }
    }
    guard let operand = arguments.operand(0) else {
      throw arguments.fail(.usage, "give the name of a notification, or a device token")
    }
    try arguments.refuseOperands(from: 1, "takes one name or token: unexpected argument ")
    var config = Config()
    try arguments.readConfig(into: &config, for: .command)
    // The spool's owner may become the process's user.
    let isRoot = geteuid() == 0
    var trace = TraceCommand(CString.span(operand), isJSON: isJSON)
    try trace.readLog(log, arguments)
    try trace.readSpool(config, arguments)
    if trace.isToken { try trace.readSuppression(config, arguments) }
    guard !trace.isFound else { return .ok }
    if trace.isJournalClosed {
      return arguments.fail(
        .undelivered,
        isRoot
          ? "nothing found in the spool, and there is no journal: name the log with --log"
          : "nothing found in the spool, and the journal cannot be read: run the command as root (sudo), or name the log with --log"
      )
    }
    return arguments.fail(
      .undelivered,
      "nothing found: with log = deliveries the log names all notifications, and otherwise those that were refused and some of those that were not sent: ",
      CString.span(operand))
  }

  private init(_ operand: Span<UInt8>, isJSON: Bool) {
    self.isJSON = isJSON
    name = CString(operand)
    guard operand.count >= Self.digitsMin, operand.count <= DeviceToken.digitCountMax else {
      return
    }
    for index in operand.indices {
      guard let digit = DeviceToken.hexValue(operand[index]) else {
        digits.clear()
        return
      }
      digits.append(byte: Text.hexDigit(digit))
    }
  }

  /// The number of a token's digits that the log contains.
  private static let digitsMin = 8

  // MARK: - The log

  /// The most bytes of a line that is printed as JSON.
  private static let lineBytesMax = 4096

  private mutating func readLog(
    _ path: UnsafePointer<CChar>?, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    let command: StaticString =
      "exec journalctl --quiet --no-pager --output=short-iso --unit='tinypush*' 2>/dev/null"
    let opened = path != nil ? InputLines(path) : InputLines(outputOf: command)
    guard var lines = opened else { throw failLog(path, clinux_errno(), arguments) }
    while let line = lines.next() { take(line: line) }
    if lines.error != 0 { throw failLog(path, lines.error, arguments) }
    isJournalClosed = !lines.close() && path == nil
  }

  private func failLog(
    _ path: UnsafePointer<CChar>?, _ error: Int32, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var text = Text()
    text.append("cannot read the log ")
    text.append(printable: CString.span(path ?? ("of the journal" as StaticString).cString))
    text.append(": ", cString: clinux_error_text(error))
    return arguments.fail(error == EACCES ? .noPermission : .noInput, text)
  }

  private mutating func take(line: Span<UInt8>) {
    guard isAbout(line) else { return }
    isFound = true
    if isJSON {
      text.beginObject()
      text.member("place", word: "log")
      let shown = line.trimmed()
      text.member("text", string: shown.extracting(0..<min(shown.count, Self.lineBytesMax)))
    } else {
      text.append("log       ")
      text.append(shown: line.trimmed())
    }
    endLine()
  }

  /// Whether a line of the log is about the notification or the token.
  private func isAbout(_ line: Span<UInt8>) -> Bool {
    // The log has a token's first digits, and nothing behind. A notification that has waited, or that
    // queue retry has sent again, has more behind its name.
    if isToken {
      let first = digits.bytes.extracting(0..<Self.digitsMin)
      let isFound = contains(line, first) {
        $0 == line.count || DeviceToken.hexValue(line[$0]) == nil
      }
      if isFound { return true }
    }
    let wanted = LaterName.source(of: name.span)
    return contains(line, wanted) { place in
      var end = place
      while end < line.count, line[end] > .space, line[end] != .colon { end += 1 }
      return LaterName.source(of: line.extracting(place - wanted.count..<end)).equals(wanted)
    }
  }

  /// Whether a line has a word that begins with `wanted`, and what follows at an index is right.
  private func contains(
    _ line: Span<UInt8>, _ wanted: Span<UInt8>, _ isRight: (_ end: Int) -> Bool
  ) -> Bool {
    let count = wanted.count
    guard count > 0, line.count >= count else { return false }
    for start in 0...line.count - count {
      // In a log that the journal does not read, a priority such as <4> may precede the name.
      let before = start == 0 ? .space : line[start - 1]
      guard before == .space || before == UInt8(ascii: ">"),
        line.extracting(start..<start + count).equals(wanted)
      else { continue }
      if isRight(start + count) { return true }
    }
    return false
  }

  @inline(never)
  private mutating func endLine() {
    if isJSON { text.endLine() } else { text.append("\n") }
    guard text.count > 32_768 else { return }
    text.flush()
  }

  // MARK: - The spool

  private mutating func readSpool(
    _ config: borrowing Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    let queue = try arguments.attempt { message throws(ExitStatus) in
      try Queue(config.spool.pointer, message: &message)
    }
    for place in QueuePlace.allCases {
      let error = queue.forEach(in: place) { take(file: $0) }
      if error != 0 { _ = QueueCommand.explain(error, place, arguments) }
      if error == 0, place == .new, queue.unreadable(.new) != nil {
        arguments.warn("only root and the agent's user see the files that the agent has taken")
      }
    }
  }

  private func isNamed(_ file: borrowing QueueFile) -> Bool {
    let given = file.place == .later ? LaterName.rest(of: file.name) : file.name
    return LaterName.source(of: given).equals(name.span) || file.name.equals(name.span)
  }

  private mutating func take(file: borrowing QueueFile) {
    let isNamed = isNamed(file)
    guard isNamed || isToken && (file.place == .failed || file.contains(digits.bytes)) else {
      return
    }
    if file.place == .failed {
      _ = file.forEachFailedLine { line, bytes in
        var recipient = Text(capacity: DeviceToken.digitCountMax)
        _ = line.appendRecipient(of: bytes, to: &recipient)
        guard isNamed || recipient.bytes.begins(with: digits.bytes) else { return }
        begin(file)
        if isJSON {
          describe(line, bytes)
        } else {
          line.describe(bytes, saysLine: true, in: &text)
        }
        endLine()
      }
      return
    }
    begin(file)
    if isJSON {
      if let due = file.due { text.member("due", number: due) }
    } else if let due = file.due {
      text.append("waits until ")
      text.append(utc: UInt32(clamping: due))
    } else {
      text.append("waits to be sent, or is being sent")
    }
    endLine()
  }

  @inline(never)
  private mutating func begin(_ file: borrowing QueueFile) {
    isFound = true
    if isJSON {
      text.beginObject()
      text.member("place", word: file.place.name)
      text.key("name")
      return QueueNames.append(json: file.name, to: &text)
    }
    text.append(file.place.name)
    for _ in file.place.name.utf8CodeUnitCount..<10 { text.append(" ") }
    text.append(shown: file.name)
    text.append(": ")
  }

  /// Appends why a notification was refused, as JSON.
  @inline(never)
  private mutating func describe(_ line: FailedLine, _ bytes: Span<UInt8>) {
    var reason = Text(capacity: 2048)
    line.appendReason(of: bytes, to: &reason)
    text.member("reason", string: reason)
    if line.line > 0 { text.member("line", number: line.line) }
    var digits = Text(capacity: DeviceToken.digitCountMax)
    let service = line.appendRecipient(of: bytes, to: &digits)
    if digits.count > 0 { text.member("token", string: digits.bytes) }
    if !service.isEmpty { text.member("service", string: service) }
  }

  // MARK: - The suppression list

  private mutating func readSuppression(
    _ config: borrowing Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    guard access(config.state.pointer, R_OK | X_OK) == 0 else { return }
    let store = try arguments.attempt { message throws(ExitStatus) in
      try SuppressionDirectory(config.state.pointer, isAgent: false, message: &message)
    }
    let identity = DeviceToken(ofRecipient: digits.bytes)?.identity
    _ = store.list { record in
      var recorded = Text(capacity: 2 * TokenIdentity.byteCount)
      recorded.append(hex: record.token.bytes)
      let isWhole = record.token == identity
      guard isWhole || recorded.bytes.begins(with: digits.bytes) else { return }
      isFound = true
      if isJSON {
        text.beginObject()
        text.member("place", word: "token")
        text.key("token")
        if isWhole { text.append(json: digits) } else { text.append(json: recorded) }
        text.member("time", number: record.time)
        text.member("state", word: record.reason.text)
        return endLine()
      }
      text.append("token     ")
      if isWhole { text.append(digits) } else { text.append(recorded) }
      text.append(record.reason == .registered ? ": " : ": suppressed, ")
      text.append(record.reason.text)
      text.append(" since ")
      text.append(utc: record.time)
      endLine()
    }
  }
}
