import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush queue drop`, which removes files from the spool.
struct QueueDrop: ~Copyable {
  private let isJSON: Bool
  private var text = Text(capacity: 32_768)
  private var status = ExitStatus.ok
  /// A bit for each directory from which a file was removed.
  private var touched: UInt8 = 0

  private init(isJSON: Bool) { self.isJSON = isJSON }

  @inline(never)
  deinit { text.write(to: STDOUT_FILENO) }

  @inline(never)
  static func run(
    _ queue: borrowing Queue, _ options: QueueCommand.Options, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var drop = QueueDrop(isJSON: options.isJSON)
    let status = QueueNames.forEachFile(queue, options, arguments) {
      drop.text.flush()
    } _: { file in
      // Files that the agent ignores belong to somebody else: drop them only by name.
      if file.isSpooled || !options.isAll { drop.remove(file, queue, arguments) }
    }
    if status != .ok { drop.status = status }
    return drop.finish(queue, arguments)
  }

  @inline(never)
  private mutating func remove(
    _ file: borrowing QueueFile, _ queue: borrowing Queue, _ arguments: borrowing Arguments
  ) {
    let error = queue.remove(file)
    guard error == 0 else {
      text.flush()
      var message = Text()
      QueueNames.append(file, to: &message)
      message.append(": ", cString: clinux_error_text(error))
      if error == ENOENT { message.append(": it may have been delivered") }
      if error == EISDIR { message.append(": the agent ignores it, and rmdir removes it") }
      let reason: ExitStatus =
        error == ENOENT || error == EISDIR
        ? .noInput : error == EACCES || error == EPERM ? .noPermission : .inputOutput
      status = arguments.fail(reason, message)
      return
    }
    touched |= 1 << UInt8(file.place.rawValue)
    if isJSON {
      text.beginObject()
      text.key("name")
      QueueNames.append(json: file.name, to: &text)
      text.member("place", word: file.place.name)
      text.member("state", word: "dropped")
      text.endLine()
    } else {
      QueueNames.append(file, to: &text)
      text.append(": dropped from ", file.place.name, "/\n")
    }
    if text.count > 16_384 { text.flush() }
  }

  @inline(never)
  private mutating func finish(
    _ queue: borrowing Queue, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    text.flush()
    let isOfAgent =
      touched & 1 << UInt8(QueuePlace.new.rawValue) != 0 && queue.isServed() != false
    // The agent sends nothing more of the files while they are synced.
    if isOfAgent { queue.tellOfRemovals() }
    for place in QueuePlace.allCases where touched & 1 << UInt8(place.rawValue) != 0 {
      let error = queue.sync(place)
      guard error != 0 else { continue }
      var message = Text()
      message.append("the dropped files may come back after a power cut: ")
      message.append(cString: clinux_error_text(error))
      status = arguments.fail(.inputOutput, message)
    }
    if isOfAgent {
      arguments.warn(
        "an agent is running: notifications that it was already sending may still arrive")
    }
    return status
  }
}
