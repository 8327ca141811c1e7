import CLinux
import TinyPush
import TinyPushAgent

/// The recipients files that notifications name, each of which is checked once.
struct CheckedLists: ~Copyable {
  enum State: UInt8 {
    case good = 0x61
    case missing, empty, unreadable, elsewhere

    /// The reason of the finding about a notification that names the file; nil if absent.
    var reason: Finding.Reason? {
      switch self {
      case .good: nil
      case .missing: .listMissing
      case .empty: .listEmpty
      case .unreadable: .listUnreadable
      case .elsewhere: .listsElsewhere
      }
    }
  }

  private let directory: UnsafePointer<CChar>
  private let pushProtocol: PushProtocol
  /// Each name, a line feed, and the state; a file that does not fit here is checked each time.
  private var known = Text(capacity: 65_536)

  init(_ directory: UnsafePointer<CChar>, _ pushProtocol: PushProtocol) {
    self.directory = directory
    self.pushProtocol = pushProtocol
  }

  @inline(never)
  deinit {}

  /// Whether a path names a file in the directory of recipients files.
  @inline(never)
  func holds(_ path: UnsafePointer<CChar>) -> Bool {
    let bytes = CString.span(path)
    if bytes.equals("-") { return false }
    var parent = Text(capacity: 4200)
    var end = bytes.count
    while end > 0, bytes[end - 1] != .slash { end -= 1 }
    parent.append(bytes: bytes.extracting(0..<end))
    parent.append(".")
    let parentPath = parent.cString()
    var left = stat()
    var right = stat()
    let isSame =
      stat(parentPath.pointer, &left) == 0 && stat(directory, &right) == 0
      && left.st_dev == right.st_dev && left.st_ino == right.st_ino
    extendLifetime(parentPath)
    return isSame
  }

  func appendDirectory(to text: inout Text) {
    text.append(" (recipients = ", printable: CString.span(directory), ")")
  }

  /// Returns the state of a recipients file; reports what is wrong in it the first time.
  @inline(never)
  mutating func state(
    of name: Span<UInt8>, _ report: inout CheckReport
  ) -> State {
    if let state = find(name) { return state }
    let state = look(at: name, &report)
    let count = known.count
    if count + name.count + 2 <= 65_536 {
      known.append(bytes: name)
      known.append("\n")
      known.append(byte: state.rawValue)
    }
    return state
  }

  private func find(_ name: Span<UInt8>) -> State? {
    let bytes = known.bytes
    var start = 0
    while start < bytes.count {
      var end = start
      while bytes[end] != .lineFeed { end += 1 }
      if name.equals(bytes.extracting(start..<end)) { return State(rawValue: bytes[end + 1]) }
      start = end + 2
    }
    return nil
  }

  private func look(
    at name: Span<UInt8>, _ report: inout CheckReport
  ) -> State {
    var text = Text(capacity: 8192)
    text.append(cString: directory)
    text.append("/", bytes: name)
    let path = text.cString()
    defer { extendLifetime(path) }
    let descriptor = clinux_open(AT_FDCWD, path.pointer, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
    var information = stat()
    guard descriptor >= 0 else {
      guard descriptor == -ENOENT || descriptor == -ENOTDIR else { return .unreadable }
      return stat(directory, &information) == 0 ? .missing : .elsewhere
    }
    guard fstat(descriptor, &information) == 0, clinux_is_regular(&information) != 0 else {
      close(descriptor)
      return .missing
    }
    var source = SourceText(path.pointer, descriptor)
    let tally = RecipientsCheck.read(&source, pushProtocol, &report)
    if tally.refused > 0 { report.sum(path.pointer, tally, "recipient") }
    if source.failure != nil { return .unreadable }
    return tally.count == 0 ? .empty : .good
  }
}
