import CLinux
import TinyPush
import TinyPushAgent

extension Home {
  private static let recipients: StaticString = "/recipients/default"

  /// Writes the recipients file `default` with a token, if there is none.
  ///
  /// Notifications that name no recipient then go to this device. Errors are ignored: everything
  /// else works without the file.
  func makeRecipients(_ token: DeviceToken) {
    guard withPath(Self.recipients, { path in access(path, F_OK) }) != 0 else { return }
    var text = Text()
    text.append(
      "# Recipients of notifications that name none: one device token per line, and perhaps lang=fr\n"
    )
    text.append(hex: token.bytes)
    text.append("\n")
    _ = Self.replace(path(Self.recipients), by: text)
  }

  /// Returns the path of `name`, which begins with a slash, in the directory.
  func path(_ name: StaticString) -> Text {
    var path = Text(capacity: 8192)
    write(name, in: &path)
    return path
  }

  /// Reads a file, and returns 0 or an errno; EFBIG: the file does not fit into the text.
  static func read(_ path: borrowing Text, into text: inout Text) -> Int32 {
    let path = path.cString()
    do throws(InputFile.Problem) {
      try InputFile.read(path.pointer, to: &text, bytesMax: .max)
    } catch {
      if case .cannotRead(let error) = error { return error }
      return EFBIG
    }
    return text.isCut ? EFBIG : 0
  }

  /// Writes the file `name`, which begins with a slash, in the directory.
  func replace(
    _ name: StaticString, by text: borrowing Text, mode: UInt32 = 0o644
  ) throws(SandboxFailure) {
    let error = Self.replace(path(name), by: text, mode: mode)
    if error != 0 { try fail(name, error) }
  }

  /// Fails because a file cannot be written, with an errno.
  func fail(_ name: StaticString, _ error: Int32) throws(SandboxFailure) {
    var words = Text(capacity: 8192)
    words.append("cannot write ", path(name), ": ")
    words.append(cString: clinux_error_text(error))
    SandboxFailure.print(words)
    throw .cannotCreate
  }

  func replace(
    _ name: StaticString, byPEM pem: borrowing FixedBuffer<CChar>, mode: UInt32
  ) throws(SandboxFailure) {
    var text = Text(capacity: pem.capacity)
    text.append(cString: pem.room().baseAddress!)
    try replace(name, by: text, mode: mode)
  }

  /// Writes a new file and renames it to the path; returns 0 or an errno.
  static func replace(
    _ path: borrowing Text, by text: borrowing Text, mode: UInt32 = 0o644
  ) -> Int32 {
    let path = path.cString()
    return Replacement.write(text.bytes, to: path.pointer, mode: mode, isSynced: false)
  }

  /// Calls `body` with the name of each directory in a directory, except hidden ones.
  static func eachDirectory(in path: borrowing Text, _ body: (Span<UInt8>) -> Void) {
    let directory = path.withCString { path in
      clinux_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0)
    }
    guard directory >= 0 else { return }
    defer { close(directory) }
    let entries = FixedBuffer<UInt8>(capacity: 4096)
    DirectoryEntry.forEach(in: directory, entries.room()) { entry in
      if !entry.isHidden, isDirectory(directory, entry.name) { body(CString.span(entry.name)) }
    }
  }

  private static func isDirectory(_ parent: Int32, _ name: UnsafePointer<CChar>) -> Bool {
    var file = stat()
    return fstatat(parent, name, &file, 0) == 0 && clinux_is_directory(&file) != 0
  }

  /// Writes all of the text, waiting as long as needed; returns 0 or an errno.
  static func writeAll(_ descriptor: Int32, _ text: borrowing Text) -> Int32 {
    text.bytes.withUnsafeBytes { bytes in writeAll(descriptor, bytes.baseAddress, bytes.count) }
  }

  private static func writeAll(
    _ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int
  ) -> Int32 {
    guard var next = bytes else { return 0 }
    var left = count
    while left > 0 {
      let put = CLinux.write(descriptor, next, left)
      if put >= 0 {
        next += put
        left -= put
      } else if clinux_errno() == EAGAIN {
        var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&wait, 1, -1)
      } else if clinux_errno() != EINTR {
        return clinux_errno()
      }
    }
    return 0
  }
}
