import CLinux
import TinyPush

/// The directory of the recipients files.
///
/// A file is opened for each read, because the files are few, and people edit them.
struct RecipientsDirectory: ~Copyable {
  /// The path, a slash, and room for a name.
  private let path: FixedBuffer<UInt8>
  private let pathBytes: Int

  init(_ directory: UnsafePointer<CChar>) {
    let bytes = CString.span(directory)
    pathBytes = bytes.count + 1
    path = FixedBuffer(capacity: pathBytes + Envelope.listNameBytesMax + 1)
    path.store(bytes, at: 0)
    path[bytes.count] = .slash
  }

  private func setName(_ name: Span<UInt8>) {
    path.store(name, at: pathBytes)
    path[pathBytes + name.count] = 0
  }

  /// Reads the next part of the courier's recipients file.
  func read(_ courier: inout Courier) {
    guard RecipientsFile.isName(courier.recipientsName()) else {
      courier.couldNotReadRecipients(.notRegular)
      return
    }
    setName(courier.recipientsName())
    let descriptor = path.room().withMemoryRebound(to: CChar.self) {
      clinux_open(AT_FDCWD, $0.baseAddress, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
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
