import CLinux
import TinyPush

/// Looks into recipients files, for whoever only wants to know what they are good for.
struct RecipientsLookup: ~Copyable {
  /// What was found in one.
  struct Found {
    /// Why it cannot be read (errno); 0: it was.
    var error: Int32 = 0
    /// It names somebody.
    var hasRecipients = false
  }

  private let directory: CString
  /// No line is so long.
  private static let lineBytesMax = 32_768

  /// - Parameter directory: of the recipients files.
  init(_ directory: Span<UInt8>) {
    self.directory = CString(directory)
  }

  deinit {}

  @inline(never)
  func look(into name: Span<UInt8>) -> Found {
    var found = Found()
    found.error = forEachRecipient(in: name) { _ in
      found.hasRecipients = true
      return false
    }
    return found
  }

  /// Goes over the recipients in a file, as long as `body` returns true. Returns 0, or an errno.
  @inline(never)
  func forEachRecipient(in name: Span<UInt8>, _ body: (DeviceToken) -> Bool) -> Int32 {
    guard RecipientsFile.isName(name) else { return EINVAL }
    var path = Text(capacity: 4200)
    path.append(cString: directory.pointer)
    path.append("/")
    path.append(bytes: name)
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY
    let file = path.withCString { clinux_open(AT_FDCWD, $0, flags, 0) }
    guard file >= 0 else { return -file }
    defer { close(file) }
    var lines = FileLines(file, capacity: Self.lineBytesMax)
    while true {
      let count = lines.next()
      guard count > 0 else { return Int32(-count) }
      guard lines.isBeginning, lines.isEnd else { continue }
      let line = lines.line.extracting(0..<lines.line.count - 1)
      if case .recipient(let token, _) = RecipientsFile.read(line), !body(token) { return 0 }
    }
  }
}
