import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush queue show`, which prints files of the spool without terminal controls.
struct QueueShow: ~Copyable {
  private let input = FixedBuffer<UInt8>(capacity: 16_384)
  private var text = Text(capacity: 65_536)
  private var shown = 0

  @inline(never)
  deinit { text.write(to: STDOUT_FILENO) }

  @inline(never)
  static func run(
    _ queue: borrowing Queue, _ options: QueueCommand.Options, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var show = QueueShow()
    var status = ExitStatus.ok
    let found = QueueNames.forEachFile(queue, options, arguments) {
      show.text.flush()
    } _: { file in
      if file.isRegular || !options.isAll { show.print(file, &status, arguments) }
    }
    return found == .ok ? status : found
  }

  @inline(never)
  private mutating func print(
    _ file: borrowing QueueFile, _ status: inout ExitStatus, _ arguments: borrowing Arguments
  ) {
    guard file.isRegular else {
      text.flush()
      var message = Text()
      QueueNames.append(file.name, to: &message)
      message.append(" is not a regular file: the agent ignores it")
      status = arguments.fail(.noInput, message)
      return
    }
    if shown > 0 { text.append("\n") }
    shown += 1
    text.append("==> ", file.place.name, "/")
    QueueNames.append(file.name, to: &text)
    text.append(" <==\n")
    if file.place == .failed { printReasons(file) }
    var offset: Int64 = 0
    var kept = 0
    var last: UInt8 = .lineFeed
    while true {
      let count = file.read(input.room(from: kept), at: offset)
      guard count >= 0 else {
        text.flush()
        var message = Text()
        QueueNames.append(file.name, to: &message)
        message.append(": ", cString: clinux_error_text(Int32(-count)))
        status = arguments.fail(count == -Int(EACCES) ? .noPermission : .inputOutput, message)
        return
      }
      offset += Int64(count)
      let bytes = input.unsafeSpan(0..<kept + count)
      let taken = append(bytes, isWhole: count == 0)
      if taken > 0 { last = bytes[taken - 1] }
      kept = bytes.count - taken
      input.move(from: taken, to: 0, count: kept)
      if count == 0 { break }
    }
    if last != .lineFeed { text.append("\n") }
  }

  /// Prints the reasons in a file of `failed/`, before the file's lines.
  @inline(never)
  private mutating func printReasons(_ file: borrowing QueueFile) {
    let isWhole = file.forEachFailedLine { line, bytes in
      var reason = Text(capacity: 2048)
      line.describe(bytes, saysLine: true, in: &reason)
      text.append(printable: reason)
      text.append("\n")
      if text.count > 32_768 { text.flush() }
    }
    if !isWhole { text.append("and more\n") }
  }

  /// Appends text for a terminal, with `\xNN` for controls and for bytes that are not UTF-8.
  ///
  /// - Returns: how many bytes were appended; the rest is the beginning of a character.
  @inline(never)
  private mutating func append(_ bytes: Span<UInt8>, isWhole: Bool) -> Int {
    var index = 0
    while index < bytes.count {
      if text.count > 60_000 { text.flush() }
      let byte = bytes[index]
      if byte == .lineFeed || byte == .tab || byte >= .space && byte < .delete {
        text.append(byte: byte)
        index += 1
        continue
      }
      // The rest of a character, or of CR LF, may come with the next read.
      if !isWhole, bytes.count - index < 4, byte >= 0x80 || byte == .carriageReturn { return index }
      let length = byte < 0x80 ? 0 : UTF8Sequence.length(in: bytes, at: index)
      if byte == .carriageReturn, index + 1 < bytes.count, bytes[index + 1] == .lineFeed {
        index += 1
      } else if length > 0, !Self.isControl(bytes, at: index) {
        text.append(bytes: bytes.extracting(index..<index + length))
        index += length
      } else {
        text.append(printable: bytes.extracting(index..<index + max(length, 1)))
        index += max(length, 1)
      }
    }
    return index
  }

  /// Whether a character of two to four bytes is a C1 control or sets the direction of writing.
  ///
  /// Source: Unicode Standard Annex 9, section 2.
  private static func isControl(_ bytes: Span<UInt8>, at index: Int) -> Bool {
    let second = bytes[index + 1]
    switch bytes[index] {
    case 0xC2: return second < 0xA0
    case 0xD8: return second == 0x9C
    case 0xE2 where second == 0x80:
      let third = bytes[index + 2]
      return third == 0x8E || third == 0x8F || third >= 0xA8 && third <= 0xAE
    case 0xE2 where second == 0x81: return bytes[index + 2] >= 0xA6 && bytes[index + 2] <= 0xA9
    default: return false
    }
  }
}
