import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush queue list`, which prints a line for each file in the spool.
struct QueueList: ~Copyable {
  private static let lineMax = 8192

  private let isJSON: Bool
  private let rules: Rules
  private let agent: AgentState
  private let now = Clock.wallSeconds()
  private let terminal = Terminal(STDOUT_FILENO)
  private var count = NotificationCount()
  private var text = Text(capacity: 8 * lineMax)
  private var why = Text(capacity: 4096)
  /// The number of files in each directory that are not ignored.
  private var files: InlineArray<3, UInt64> = .init(repeating: 0)
  private var ignored: UInt64 = 0
  /// A bit for each directory that could not be read.
  private var closed: UInt8 = 0

  private init(_ agent: consuming AgentState, _ rules: Rules, isJSON: Bool) {
    self.agent = agent
    self.rules = rules
    self.isJSON = isJSON
  }

  @inline(never)
  deinit { text.write(to: STDOUT_FILENO) }

  @inline(never)
  static func run(
    _ queue: borrowing Queue, _ options: QueueCommand.Options, _ config: borrowing Config,
    _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var list = QueueList(
      AgentState(queue, config.status.pointer), config.courier.rules, isJSON: options.isJSON)
    var status = ExitStatus.ok
    for place in QueuePlace.allCases where options.includes(place) {
      let error = queue.forEach(in: place) { list.print($0) }
      guard error != 0 else {
        if place == .new, queue.unreadable(.new) != nil {
          list.text.flush()
          arguments.warn("only root and the agent's user see the files that the agent has taken")
          list.closed |= 1 << UInt8(place.rawValue)
        }
        continue
      }
      list.text.flush()
      status = QueueCommand.explain(error, place, arguments)
      list.closed |= 1 << UInt8(place.rawValue)
    }
    if !options.isJSON { list.printSum(options) }
    return status
  }

  // MARK: - A file

  @inline(never)
  private mutating func print(_ file: borrowing QueueFile) {
    var found = NotificationCount.Result()
    why.clear()
    let code = explain(file, &found)
    if isJSON { printJSON(file, found, code) } else { printLine(file, found) }
    let ignoredCodes: WordList = "no-file unfinished-name"
    if ignoredCodes.index(of: code.span) != nil {
      ignored += 1
    } else {
      files[file.place.rawValue] += 1
    }
    if text.count > 7 * Self.lineMax { text.flush() }
  }

  /// Sets ``why`` to the reason why a file is in the spool, and returns the reason's fixed code.
  @inline(never)
  private mutating func explain(
    _ file: borrowing QueueFile, _ found: inout NotificationCount.Result
  ) -> StaticString {
    if file.place == .failed, explainFailure(file, &found) { return "failed" }
    found = count.count(file, rules)
    switch file.state(found, now: now) {
    case .noFile:
      why.append("ignored: not a regular file")
      return "no-file"
    case .unfinishedName:
      why.append("ignored: the name marks an unfinished file")
      return "unfinished-name"
    case .beingWritten:
      why.append("a program is still writing the file")
      return "being-written"
    case .unreadable(let error):
      why.append("this user may not read the file: ", cString: clinux_error_text(error))
      return "unreadable"
    case .empty where file.place == .new:
      why.append("the file is empty: a program may be about to write it")
      return "empty"
    case .unfinished where file.place == .new:
      why.append("the file ends within a notification: a program may still be writing it")
      return "unfinished"
    case .good, .empty, .unfinished: break
    }
    switch file.place {
    case .new: return agent.explain(file, in: &why)
    case .later: return explainDue(file)
    case .failed:
      why.append(
        file.isWhole
          ? "the whole file: the reasons are in the file whose name lacks the last part of this name"
          : "ignored: not a file of the agent")
      return file.isWhole ? "whole" : "no-file"
    }
  }

  @inline(never)
  private mutating func explainDue(_ file: borrowing QueueFile) -> StaticString {
    guard let due = file.due else {
      why.append("ignored: not a file of the agent")
      return "no-file"
    }
    guard Clock.time().wallSeconds != nil else {
      why.append("waits until this machine's clock is set")
      return "later"
    }
    guard due > now else {
      why.append("due: ")
      _ = agent.explain(file, in: &why)
      return "due"
    }
    why.append("waits until ")
    why.append(utc: UInt32(clamping: due))
    why.append(", in ")
    why.append(roundedSeconds: due - now)
    return "later"
  }

  /// Appends the first reason why a file failed to ``why``; false: the file has none.
  @inline(never)
  private mutating func explainFailure(
    _ file: borrowing QueueFile, _ found: inout NotificationCount.Result
  ) -> Bool {
    var refusals = 0
    var reason = Text(capacity: 2048)
    let isWhole = file.forEachFailedLine { line, bytes in
      if refusals == 0 { line.appendReason(of: bytes, to: &reason) }
      refusals += 1
    }
    guard refusals > 0 else { return false }
    found.notifications = refusals
    found.isMore = !isWhole
    why.append(reason)
    return true
  }

  @inline(never)
  private mutating func printLine(_ file: borrowing QueueFile, _ found: NotificationCount.Result) {
    let columns = terminal.columns
    let isFirst = files[0] + files[1] + files[2] + ignored == 0
    if isFirst, columns == nil {
      text.append("     AGE      SIZE  NOTIFICATIONS  NAME                            WHY\n")
    }
    if isFirst, let columns {
      text.append("     AGE   SIZE   COUNT  NAME")
      for _ in 4..<Self.nameColumns(columns) { text.append(" ") }
      text.append("  WHY\n")
    }
    let start = text.count
    var field = Text(capacity: 64)
    let age = now - file.changedAt
    // The clock has been set back, or was not set when the file was written.
    if age < 0 { field.append("?") } else { field.append(roundedSeconds: age) }
    pad(field, to: 8)
    field.clear()
    Self.append(size: file.size, to: &field)
    pad(field, to: columns == nil ? 10 : 7)
    field.clear()
    field.append(found.notifications)
    if found.isMore { field.append("+") }
    pad(field, to: columns == nil ? 15 : 8)
    text.append("  ")
    if let columns {
      printFitting(file, columns, text.count - start)
    } else {
      QueueNames.append(file, to: &text)
      while text.count - start < 65 { text.append(" ") }
      text.append("  ", printable: why)
    }
    text.append("\n")
  }

  /// Prints the name and the reason, shortened to the terminal's width.
  @inline(never)
  private mutating func printFitting(_ file: borrowing QueueFile, _ columns: Int, _ used: Int) {
    let nameColumns = Self.nameColumns(columns)
    var field = Text(capacity: 1280)
    QueueNames.append(file, to: &field)
    terminal.append(field.bytes, shortenedTo: nameColumns, in: &text)
    for _ in min(field.count, nameColumns)..<nameColumns { text.append(" ") }
    text.append("  ")
    field.clear()
    field.append(printable: why)
    terminal.append(field.bytes, cutTo: max(columns - used - nameColumns - 2, 4), in: &text)
  }

  /// Returns the width of the names: on 80 columns, the names that TinyPush makes are whole.
  private static func nameColumns(_ columns: Int) -> Int {
    min(max((columns - 26) * 3 / 5, 8), 40)
  }

  @inline(never)
  private mutating func pad(_ field: borrowing Text, to width: Int) {
    for _ in field.count..<max(width, field.count) { text.append(" ") }
    text.append(field)
  }

  /// Appends a size in bytes, or with a unit of 1024 and its powers.
  @inline(never)
  private static func append(size: Int64, to text: inout Text) {
    var size = size
    var unit = 0
    while size >= 10_000, unit < 4 {
      size = size / 1024 + (size % 1024 < 512 ? 0 : 1)
      unit += 1
    }
    text.append(size)
    let units: InlineArray<5, StaticString> = ["", "K", "M", "G", "T"]
    text.append(units[unit])
  }

  @inline(never)
  private mutating func printJSON(
    _ file: borrowing QueueFile, _ found: NotificationCount.Result, _ code: StaticString
  ) {
    text.beginObject()
    text.key("name")
    QueueNames.append(json: file.name, to: &text)
    text.member("place", word: file.place.name)
    text.member("changed_at", number: file.changedAt)
    text.member("age", number: now - file.changedAt)
    text.member("size", number: file.size)
    text.member("notifications", number: found.notifications)
    if found.isMore { text.member("are_more", bool: true) }
    if let due = file.due { text.member("due", number: due) }
    text.member("state", word: code)
    text.member("why", string: why)
    text.endLine()
  }

  @inline(never)
  private mutating func printSum(_ options: QueueCommand.Options) {
    var isFirst = true
    for place in QueuePlace.allCases where options.includes(place) {
      if !isFirst { text.append(", ") }
      isFirst = false
      if closed & 1 << UInt8(place.rawValue) != 0 {
        text.append("?")
      } else {
        text.append(files[place.rawValue])
      }
      switch place {
      case .new: text.append(" waiting")
      case .later: text.append(" for later")
      case .failed: text.append(" failed")
      }
    }
    if ignored > 0 { text.append(", ", ignored, " ignored") }
    text.append("\n")
  }
}
