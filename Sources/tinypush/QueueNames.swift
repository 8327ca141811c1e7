import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The files of the spool that a command's operands name.
enum QueueNames {
  /// Calls `body` with each named file, or with all files for `--all`.
  ///
  /// Calls `flush` before it prints what is wrong, so that the output keeps its order.
  @inline(never)
  static func forEachFile(
    _ queue: borrowing Queue, _ options: QueueCommand.Options, _ arguments: borrowing Arguments,
    flush: () -> Void, _ body: (borrowing QueueFile) -> Void
  ) -> ExitStatus {
    var status = ExitStatus.ok
    guard !options.isAll else {
      for place in QueuePlace.allCases where options.includes(place) {
        let error = queue.forEach(in: place) { body($0) }
        guard error != 0 else { continue }
        flush()
        status = QueueCommand.explain(error, place, arguments)
      }
      return status
    }
    let reading = forEach(options, arguments) { name in
      var message = Text()
      do throws(ExitStatus) {
        try forEach(named: name, queue, options, message: &message, body)
      } catch {
        if error != .usage, forEachPart(of: name, queue, options, body) { return }
        flush()
        status = arguments.fail(error, message)
      }
    }
    return reading == .ok ? status : reading
  }

  /// Calls `body` with each given name, including those on standard input.
  private static func forEach(
    _ options: QueueCommand.Options, _ arguments: borrowing Arguments, _ body: (Span<UInt8>) -> Void
  ) -> ExitStatus {
    var index = 1
    while let operand = arguments.operand(index) {
      index += 1
      let name = CString.span(operand)
      guard name.equals("-") else {
        body(name)
        continue
      }
      guard var lines = InputLines() else {
        return arguments.fail(.noInput, "cannot read standard input")
      }
      while let name = lines.next(end: options.isNull ? 0 : .lineFeed) {
        if name.count > 0 { body(name) }
      }
      if lines.error != 0 {
        return arguments.fail(.inputOutput, "cannot read all of standard input")
      }
    }
    return .ok
  }

  /// Calls `body` with each file that holds a notification of the file `name`, which waited or
  /// waits in `later/`; returns whether there is such a file.
  @inline(never)
  private static func forEachPart(
    of name: Span<UInt8>, _ queue: borrowing Queue, _ options: QueueCommand.Options,
    _ body: (borrowing QueueFile) -> Void
  ) -> Bool {
    var isFound = false
    for place in [QueuePlace.new, .later] where options.includes(place) {
      _ = queue.forEach(in: place, where: { QueueFile.isPart($0, of: name, in: place) }) { file in
        isFound = true
        body(file)
      }
    }
    return isFound
  }

  /// Calls `body` with each file of a name in the selected directories, and with each part of one that
  /// waits in `later/` or has come back from there.
  ///
  /// - Parameters:
  ///   - name: the name itself, or the name as ``append(_:to:)`` prints it.
  ///   - message: on failure, why no file was found.
  @inline(never)
  private static func forEach(
    named name: Span<UInt8>, _ queue: borrowing Queue, _ options: QueueCommand.Options,
    message: inout Text, _ body: (borrowing QueueFile) -> Void
  ) throws(ExitStatus) {
    if try forEach(exactly: name, queue, options, &message, body) { return }
    var other = Text(capacity: 256)
    if unescape(name, to: &other),
      try forEach(exactly: other.bytes, queue, options, &message, body)
    {
      return
    }
    append(name, to: &message)
    if Queue.isName(name) {
      message.append(": no such file in ")
      appendPlaces(options, to: &message)
      if options.places == 0 || options.includes(.new) {
        message.append("; it may have been delivered")
      }
      throw refuse(queue, options, &message)
    }
    message.append(": a file in the spool cannot have this name")
    throw .usage
  }

  /// Appends the directories that this user may not read, and returns the exit status.
  @inline(never)
  private static func refuse(
    _ queue: borrowing Queue, _ options: QueueCommand.Options, _ message: inout Text
  ) -> ExitStatus {
    var status = ExitStatus.noInput
    for place in QueuePlace.allCases where options.includes(place) {
      guard let name = queue.unreadable(place) else { continue }
      message.append(status == .noInput ? "; this user may not read " : " and ")
      message.append(name)
      message.append("/")
      status = .noPermission
    }
    if status == .noPermission { message.append(": run the command as root (sudo)") }
    return status
  }

  @inline(never)
  private static func forEach(
    exactly name: Span<UInt8>, _ queue: borrowing Queue, _ options: QueueCommand.Options,
    _ message: inout Text, _ body: (borrowing QueueFile) -> Void
  ) throws(ExitStatus) -> Bool {
    var found: QueuePlace?
    for place in QueuePlace.allCases where options.includes(place) {
      guard queue.forEach(named: name, in: place, { _ in }) else { continue }
      guard found == nil else {
        append(name, to: &message)
        message.append(
          ": more than one directory has this file: give --waiting, --later or --failed")
        throw .usage
      }
      found = place
    }
    guard let found else { return false }
    _ = queue.forEach(named: name, in: found, body)
    if found == .new { _ = forEachPart(of: name, queue, options, body) }
    return true
  }

  @inline(never)
  private static func appendPlaces(_ options: QueueCommand.Options, to text: inout Text) {
    var isFirst = true
    for place in QueuePlace.allCases where options.includes(place) {
      if !isFirst { text.append(" or ") }
      isFirst = false
      text.append(place.name)
      text.append("/")
    }
  }

  // MARK: - Printing

  /// Appends a name for people; the commands accept it in this form.
  @inline(never)
  static func append(_ name: Span<UInt8>, to text: inout Text) { text.append(printable: name) }

  /// Appends a file's name for people: in `later/`, that of the file from which the notification came.
  @inline(never)
  static func append(_ file: borrowing QueueFile, to text: inout Text) {
    append(file.place == .later ? LaterName.rest(of: file.name) : file.name, to: &text)
  }

  /// Appends a name for programs: unchanged if it is UTF-8, otherwise with escapes `\xNN`.
  @inline(never)
  static func append(json name: Span<UInt8>, to text: inout Text) {
    var index = 0
    while index < name.count {
      let length = name[index] < 0x80 ? 1 : UTF8Sequence.length(in: name, at: index)
      guard length > 0 else {
        var escaped = Text(capacity: 1024)
        escaped.append(printable: name)
        return text.append(json: escaped)
      }
      index += length
    }
    text.append(json: name)
  }

  /// Replaces each `\xNN` by the byte that it stands for; false: there was none.
  @inline(never)
  private static func unescape(_ name: Span<UInt8>, to text: inout Text) -> Bool {
    var index = 0
    var isEscaped = false
    while index < name.count {
      if index + 4 <= name.count, name[index] == .backslash, name[index + 1] == UInt8(ascii: "x"),
        let high = DeviceToken.hexValue(name[index + 2]),
        let low = DeviceToken.hexValue(name[index + 3])
      {
        text.append(byte: high << 4 | low)
        isEscaped = true
        index += 4
      } else {
        text.append(byte: name[index])
        index += 1
      }
    }
    return isEscaped && !text.isCut
  }
}
