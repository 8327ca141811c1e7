import CLinux
import TinyPush
import TinyPushAgent
import TinyPushBinary

/// The file with the device tokens on which an app is gone.
///
/// It has lines of `UNIXSECONDS HEXTOKEN`, and `#` begins a comment. Each topic has a file:
/// `feedback` for the topic of the agent's certificate, `feedback-TOPIC` for another topic.
final class FeedbackList {
  static let name: StaticString = "/feedback"
  private static let lineBytesMax = 4096

  private let path: Text
  private let descriptor: Int32
  private var lines: FileLines
  /// The number of the line that was read last.
  private(set) var line: Int64 = 0
  /// The number of malformed lines, which are skipped.
  private(set) var malformedLines: Int64 = 0
  /// The line number of the first malformed line.
  private(set) var firstMalformed: Int64 = 0

  /// Opens the list of a topic; a missing file counts as empty.
  init(topic: Span<UInt8>, in home: Home) {
    path = Self.path(topic, in: home)
    descriptor = path.withCString { path in
      clinux_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0)
    }
    lines = FileLines(descriptor, capacity: Self.lineBytesMax)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Returns the path of a topic's list; empty: the topic cannot have a list.
  private static func path(_ topic: Span<UInt8>, in home: Home) -> Text {
    if topic.equals(Credentials.topic) { return home.path(name) }
    guard Installation.isTopic(topic) else { return Text(capacity: 0) }
    var path = home.path("/feedback-")
    path.append(bytes: topic)
    return path
  }

  /// Adds a line to a topic's list, and returns 0 or an errno.
  static func append(
    _ token: DeviceToken, time: Int64, topic: Span<UInt8>, in home: Home
  ) -> Int32 {
    let descriptor = path(topic, in: home).withCString { path in
      clinux_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    }
    guard descriptor >= 0 else { return -descriptor }
    defer { close(descriptor) }
    var line = Text()
    line.append(time)
    line.append(" ")
    line.append(hex: token.bytes)
    line.append("\n")
    return Home.writeAll(descriptor, line)
  }

  /// Whether a topic's list has no lines.
  static func isEmpty(topic: Span<UInt8>, in home: Home) -> Bool {
    var file = stat()
    return path(topic, in: home).withCString { path in stat(path, &file) != 0 || file.st_size == 0 }
  }

  /// Returns the next device; nil at the end of the file.
  func next() -> FeedbackTuple? {
    while lines.next() > 0 {
      guard lines.isBeginning else { continue }
      line += 1
      switch Self.read(lines.line) {
      case .nothing: continue
      case .tuple(let tuple): return tuple
      case .malformed:
        malformedLines += 1
        if firstMalformed == 0 { firstMalformed = line }
      }
    }
    return nil
  }

  /// Removes the lines that have been read from the file.
  ///
  /// The file is replaced by the lines that were added since.
  ///
  /// - Returns: false if the file cannot be written, or if somebody else has replaced it.
  func clear() -> Bool {
    guard descriptor >= 0 else { return true }
    var mine = stat()
    var present = stat()
    let isThere = path.withCString { path in stat(path, &present) == 0 }
    guard isThere, fstat(descriptor, &mine) == 0, mine.st_ino == present.st_ino,
      mine.st_dev == present.st_dev
    else { return false }
    var rest = Text(capacity: 65_536)
    while lines.next() > 0 { rest.append(bytes: lines.line) }
    return !rest.isCut && Home.replace(path, by: rest) == 0
  }

  // MARK: - Lines

  private enum Line {
    case nothing
    case tuple(FeedbackTuple)
    case malformed
  }

  private static func read(_ line: Span<UInt8>) -> Line {
    var end = 0
    while end < line.count && line[end] != .hash { end += 1 }
    let words = line.extracting(0..<end).trimmed()
    guard words.count > 0 else { return .nothing }
    guard let tuple = tuple(words) else { return .malformed }
    return .tuple(tuple)
  }

  private static func tuple(_ text: Span<UInt8>) -> FeedbackTuple? {
    var index = 0
    while index < text.count, text[index] > .space { index += 1 }
    guard let time = text.extracting(0..<index).wholeNumber,
      let seconds = UInt32(exactly: time),
      let token = DeviceToken(hex: text.extracting(index..<text.count).trimmed())
    else { return nil }
    return FeedbackTuple(timestamp: seconds, token: token)
  }
}
