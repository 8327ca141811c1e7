import CLinux
import TinyPush

/// The recipients files, as commands read them.
public struct RecipientsFiles: ~Copyable {
  /// Whether a file can be read and names a recipient.
  struct Found {
    /// The errno with which it cannot be read; 0 if it can.
    var error: Int32 = 0
    /// Whether it names a recipient.
    var hasRecipients = false
  }

  /// The longest line that the agent accepts, its end, and one byte to detect a longer line.
  private static let lineBytesMax = RecipientsFile.lineBytesMax + 2

  private let directory: CString
  private let pushProtocol: PushProtocol

  /// Remembers the directory.
  ///
  /// - Parameters:
  ///   - directory: the path of the recipients files.
  ///   - pushProtocol: the protocol that must be able to carry the tokens.
  public init(_ directory: Span<UInt8>, _ pushProtocol: PushProtocol) {
    self.directory = CString(directory)
    self.pushProtocol = pushProtocol
  }

  deinit {}

  /// Calls `body` with the names of all files in alphabetical order; returns 0 or an errno.
  @inline(never)
  public func forEachName(_ body: (Span<UInt8>) -> Void) -> Int32 {
    var list: UnsafeMutablePointer<UnsafeMutablePointer<dirent>?>?
    let count = scandir(directory.pointer, &list, nil) { alphasort($0!, $1!) }
    guard count >= 0, let list else { return clinux_errno() }
    for index in 0..<Int(count) {
      guard let entry = list[index] else { continue }
      withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 256) {
          let name = CString.span($0)
          if RecipientsFile.isName(name) { body(name) }
        }
      }
      free(entry)
    }
    free(list)
    return 0
  }

  /// Returns how many subscriptions of browsers all files have.
  public func countBrowsers() -> Int {
    var count = 0
    _ = forEachName { name in
      _ = forEachLine(in: name) { _, line, _ in
        if case .recipient(let recipient) = line, !recipient.subscription.isEmpty { count += 1 }
        return true
      }
    }
    return count
  }

  /// Calls `body` with each line of a file, its number from 1, and its meaning, until `body` returns
  /// false; returns 0 or an errno.
  @inline(never)
  public func forEachLine(
    in name: Span<UInt8>, _ body: (UInt64, RecipientsFile.Line, Span<UInt8>) -> Bool
  ) -> Int32 {
    guard RecipientsFile.isName(name) else { return EINVAL }
    var path = Text(capacity: 4200)
    path.append(cString: directory.pointer)
    path.append("/", bytes: name)
    let file = path.withCString {
      clinux_open(AT_FDCWD, $0, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
    }
    guard file >= 0 else { return -file }
    defer { close(file) }
    var information = stat()
    guard fstat(file, &information) == 0, clinux_is_regular(&information) != 0 else {
      return EINVAL
    }
    var lines = FileLines(file, capacity: Self.lineBytesMax)
    var number: UInt64 = 0
    while true {
      let count = lines.next()
      guard count > 0 else { return Int32(-count) }
      guard lines.isBeginning else { continue }
      number += 1
      let line = lines.line.extracting(0..<lines.line.count - 1)
      let isWhole = lines.isEnd && line.count <= RecipientsFile.lineBytesMax
      let said = isWhole ? RecipientsFile.read(line, for: pushProtocol) : .wrong(.tooLong, at: 0)
      guard body(number, said, line) else { return 0 }
    }
  }

  /// Calls `body` with the recipients in a file, until it returns false; returns 0 or an errno.
  @inline(never)
  func forEachRecipient(
    in name: Span<UInt8>, _ body: (RecipientsFile.Recipient) -> Bool
  ) -> Int32 {
    forEachLine(in: name) { _, line, _ in
      if case .recipient(let recipient) = line { body(recipient) } else { true }
    }
  }

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
}
