import CLinux
import TinyPush

/// The contents of recipients files, for a person or a program.
public struct RecipientsListing: ~Copyable {
  /// The longest line that the agent accepts, its end, and one byte to detect a longer line.
  private static let lineBytesMax = RecipientsFile.lineBytesMax + 2

  private let directory: Descriptor
  private let path: CString
  private let service: PushProtocol

  /// Opens the directory.
  ///
  /// - Parameters:
  ///   - path: the directory of the recipients files.
  ///   - service: the protocol that must be able to carry the tokens.
  ///   - error: on failure, the errno.
  public init?(_ path: Span<UInt8>, _ service: PushProtocol, error: inout Int32) {
    self.service = service
    self.path = CString(path)
    let flags = O_RDONLY | O_DIRECTORY
    guard let directory = Descriptor(AT_FDCWD, self.path.pointer, flags, error: &error) else {
      return nil
    }
    self.directory = directory
  }

  deinit {}

  /// Calls `body` with the names of all files in alphabetical order; returns 0 or an errno.
  @inline(never)
  public func forEachName(_ body: (Span<UInt8>) -> Void) -> Int32 {
    var list: UnsafeMutablePointer<UnsafeMutablePointer<dirent>?>?
    let count = scandir(path.pointer, &list, nil) { alphasort($0!, $1!) }
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

  /// Returns the names of the files, each with a NUL behind it, as far as there is room.
  @inline(never)
  func names() -> Text {
    var names = Text(capacity: 16_384)
    _ = forEachName { name in
      guard names.count + name.count < 16_000 else { return }
      names.append(bytes: name)
      names.append(byte: 0)
    }
    return names
  }

  /// Calls `body` with each line of a file, its number from 1, and its meaning; returns 0 or an
  /// errno.
  @inline(never)
  public func forEachLine(
    in name: Span<UInt8>, _ body: (UInt64, RecipientsFile.Line, Span<UInt8>) -> Void
  ) -> Int32 {
    var error: Int32 = 0
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY
    let name = CString(name)
    guard let file = Descriptor(directory.number, name.pointer, flags, error: &error) else {
      return error
    }
    var information = stat()
    guard fstat(file.number, &information) == 0, clinux_is_regular(&information) != 0 else {
      return EINVAL
    }
    var lines = FileLines(file.number, capacity: Self.lineBytesMax)
    var number: UInt64 = 0
    while true {
      let count = lines.next()
      guard count > 0 else { return Int32(-count) }
      guard lines.isBeginning else { continue }
      number += 1
      let line = lines.line.extracting(0..<lines.line.count - 1)
      let isWhole = lines.isEnd && line.count <= RecipientsFile.lineBytesMax
      let said = isWhole ? RecipientsFile.read(line, for: service) : .wrong(.tooLong, at: 0)
      body(number, said, line)
    }
  }
}
