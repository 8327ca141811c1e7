import CLinux

/// The directory of the recipients files. A file is opened anew each time: there are few of them, and people edit them.
struct RecipientsDirectory: ~Copyable {
  private let path: CString

  init(_ path: UnsafePointer<CChar>) {
    self.path = CString(cString: path)
  }

  /// Reads on in the courier's recipients file.
  func read(_ courier: inout Courier) {
    var name = Text(capacity: 4200)
    name.append(cString: path.pointer)
    name.append("/")
    name.append(bytes: courier.recipientsName())
    let descriptor = name.withCString {
      clinux_open(AT_FDCWD, $0, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
    }
    guard descriptor >= 0 else {
      courier.couldNotReadRecipients(OpenFailure(errno: -descriptor))
      return
    }
    defer { close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0, clinux_is_regular(&information) != 0 else {
      courier.couldNotReadRecipients(.notRegular)
      return
    }
    let offset = courier.recipientsOffset
    let count = Descriptor.read(descriptor, courier.recipientsRoom, at: offset)
    guard count >= 0 else {
      courier.couldNotReadRecipients(.unreadable(Int32(-count)))
      return
    }
    let identity = FileIdentity(&information)
    courier.readRecipients(
      identity, bytes: count, isWhole: count == 0 || offset + Int64(count) >= identity.size)
  }
}
