import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The files that a command is told by their names.
enum QueueNames {
  /// Calls `body` with each file that is meant. What is wrong is said, after `flush` has said what was before.
  @inline(never)
  static func forEachFile(
    _ queue: borrowing Queue, _ order: QueueCommand.Order, _ arguments: borrowing Arguments,
    flush: () -> Void, _ body: (borrowing QueueFile) -> Void
  ) -> ExitStatus {
    var status = ExitStatus.ok
    guard !order.isAll else {
      for index in 0..<3 {
        guard let place = QueuePlace(rawValue: index), order.includes(place) else { continue }
        let error = queue.forEach(in: place) { body($0) }
        guard error != 0 else { continue }
        flush()
        status = QueueCommand.explain(error, place, arguments)
      }
      return status
    }
    let reading = forEach(order, arguments) { name in
      var message = Text()
      do throws(ExitStatus) {
        let file = try find(name, queue, order, message: &message)
        body(file)
      } catch {
        flush()
        status = arguments.fail(error, message)
      }
    }
    return reading == .ok ? status : reading
  }

  /// Calls `body` with each name that is given, those on standard input included.
  private static func forEach(
    _ order: QueueCommand.Order, _ arguments: borrowing Arguments, _ body: (Span<UInt8>) -> Void
  ) -> ExitStatus {
    var index = 1
    while let operand = arguments.operand(index) {
      index += 1
      let name = CString.span(operand)
      guard name.equals("-") else {
        body(name)
        continue
      }
      guard let file = fdopen(dup(STDIN_FILENO), ("r" as StaticString).cString) else {
        return arguments.fail(.noInput, "standard input cannot be read")
      }
      var line: UnsafeMutablePointer<CChar>?
      var room = 0
      let end: Int32 = order.isNull ? 0 : Int32(UInt8.lineFeed)
      while true {
        let count = getdelim(&line, &room, end, file)
        guard count > 0, let line else { break }
        let isEnded = line[Int(count) - 1] == CChar(end)
        let bytes = UnsafeRawBufferPointer(start: line, count: Int(count) - (isEnded ? 1 : 0))
        if bytes.count > 0 { body(Span(_unsafeBytes: bytes)) }
      }
      let isBroken = ferror(file) != 0
      free(line)
      fclose(file)
      if isBroken { return arguments.fail(.inputOutput, "standard input cannot be read on") }
    }
    return .ok
  }

  /// Finds the file of a name, as it is or as ``append(_:to:)`` says it, in one of the directories that are meant.
  ///
  /// - Parameter message: why there is none.
  @inline(never)
  private static func find(
    _ name: Span<UInt8>, _ queue: borrowing Queue, _ order: QueueCommand.Order,
    message: inout Text
  ) throws(ExitStatus) -> QueueFile {
    if let file = try look(for: name, queue, order, &message) { return file }
    var other = Text(capacity: 256)
    if unescape(name, to: &other), let file = try look(for: other.bytes, queue, order, &message) {
      return file
    }
    append(name, to: &message)
    if Queue.isName(name) {
      message.append(": there is no such file in ")
      appendPlaces(order, to: &message)
      if order.places == 0 || order.includes(.new) {
        message.append(", or not any more: it may have been delivered")
      }
      throw refuse(queue, order, &message)
    }
    message.append(": is not the name of a file in the spool")
    throw .usage
  }

  /// Names the directories in which this user may not look. Returns why the file was not found.
  @inline(never)
  private static func refuse(
    _ queue: borrowing Queue, _ order: QueueCommand.Order, _ message: inout Text
  ) -> ExitStatus {
    var status = ExitStatus.noInput
    for index in 0..<3 {
      guard let place = QueuePlace(rawValue: index), order.includes(place),
        queue.errorOfOpening(place) != 0
      else { continue }
      message.append(status == .noInput ? "; this user may not look into " : " and ")
      message.append(place.name)
      message.append("/")
      status = .noPermission
    }
    if status == .noPermission { message.append(": run the command as root (sudo)") }
    return status
  }

  @inline(never)
  private static func look(
    for name: Span<UInt8>, _ queue: borrowing Queue, _ order: QueueCommand.Order,
    _ message: inout Text
  ) throws(ExitStatus) -> QueueFile? {
    var found: QueuePlace?
    for index in 0..<3 {
      guard let place = QueuePlace(rawValue: index), order.includes(place),
        queue.file(named: name, in: place) != nil
      else { continue }
      guard found == nil else {
        append(name, to: &message)
        message.append(
          ": there is one in more than one place: say --waiting, --later or --failed")
        throw .usage
      }
      found = place
    }
    guard let found else { return nil }
    return queue.file(named: name, in: found)
  }

  @inline(never)
  private static func appendPlaces(_ order: QueueCommand.Order, to text: inout Text) {
    var isFirst = true
    for index in 0..<3 {
      guard let place = QueuePlace(rawValue: index), order.includes(place) else { continue }
      if !isFirst { text.append(" or ") }
      isFirst = false
      text.append(place.name)
      text.append("/")
    }
  }

  // MARK: - As they are said

  /// A name for people, which may be given to the commands again.
  @inline(never)
  static func append(_ name: Span<UInt8>, to text: inout Text) { text.append(printable: name) }

  /// A name for programs: as it is where JSON can say it.
  @inline(never)
  static func append(json name: Span<UInt8>, to text: inout Text) {
    var index = 0
    while index < name.count {
      let length = name[index] < 0x80 ? 1 : UTF8Sequence.length(in: name, at: index)
      guard length > 0 else {
        var said = Text(capacity: 1024)
        said.append(printable: name)
        return text.append(json: said)
      }
      index += length
    }
    text.append(json: name)
  }

  /// Undoes `\xNN`. Whether there was any.
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
