import CLinux
import TinyPush

extension Home {
  private static let recipients: StaticString = "/recipients/default"

  /// Writes a first recipients file, if there is none: what does not name anybody goes to a device of the sandbox. Without
  /// it everything works but that.
  func makeRecipients() {
    guard withPath(Self.recipients, { path in access(path, F_OK) }) != 0 else { return }
    var text = Text()
    text.append(
      "# For whom is not said otherwise: a device token a line, and perhaps its language, as in lang=fr\n"
    )
    for _ in 1..<DeviceToken.digitCount { text.append("0") }
    text.append("1\n")
    _ = replace(Self.recipients, beside: "/recipients/.default.new", by: text)
  }

  /// Writes a file beside the one named, and renames it into place. Returns 0 or an errno.
  func replace(_ name: StaticString, beside other: StaticString, by text: borrowing Text) -> Int32 {
    let descriptor = withPath(other) { path in
      clinux_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    }
    guard descriptor >= 0 else { return -descriptor }
    let error = Self.writeAll(descriptor, text)
    close(descriptor)
    guard error == 0 else { return error }
    return withPath(other) { from in
      withPath(name) { to in rename(from, to) == 0 ? 0 : clinux_errno() }
    }
  }

  /// Writes all of it, however long it takes. Returns 0 or an errno.
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
