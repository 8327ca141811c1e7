import CLinux
import TinyPush

/// Reads recipients files without a courier.
struct RecipientsLookup: ~Copyable {
  /// Whether a file can be read and names a recipient.
  struct Found {
    /// The errno with which it cannot be read; 0 if it can.
    var error: Int32 = 0
    /// Whether it names a recipient.
    var hasRecipients = false
  }

  private let directory: CString
  private let service: PushProtocol
  /// The longest line.
  private static let lineBytesMax = 32_768

  /// Remembers the directory.
  ///
  /// - Parameters:
  ///   - directory: the path of the recipients files.
  ///   - service: the protocol that must be able to carry the tokens.
  init(_ directory: Span<UInt8>, _ service: PushProtocol) {
    self.directory = CString(directory)
    self.service = service
  }

  deinit {}

  /// Reads a file up to its first recipient.
  @inline(never)
  func look(into name: Span<UInt8>) -> Found {
    var found = Found()
    found.error = forEachRecipient(in: name) { _ in
      found.hasRecipients = true
      return false
    }
    return found
  }

  /// Calls `body` with the recipients in a file, until it returns false; returns 0 or an errno.
  @inline(never)
  func forEachRecipient(
    in name: Span<UInt8>, _ body: (RecipientsFile.Recipient) -> Bool
  ) -> Int32 {
    guard RecipientsFile.isName(name) else { return EINVAL }
    var path = Text(capacity: 4200)
    path.append(cString: directory.pointer)
    path.append("/", bytes: name)
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
      if case .recipient(let recipient) = RecipientsFile.read(line, for: service),
        !body(recipient)
      {
        return 0
      }
    }
  }
}
