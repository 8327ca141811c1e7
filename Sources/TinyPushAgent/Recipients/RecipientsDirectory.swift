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
  func read(_ courier: borrowing Courier) -> Courier.RecipientsResult {
    guard RecipientsFile.isName(courier.stepName()) else { return .failed(.notRegular) }
    setName(courier.stepName())
    let descriptor = path.room().withMemoryRebound(to: CChar.self) {
      clinux_open(AT_FDCWD, $0.baseAddress, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
    }
    guard descriptor >= 0 else { return .failed(OpenFailure(errno: -descriptor)) }
    defer { close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0, clinux_is_regular(&information) != 0 else {
      return .failed(.notRegular)
    }
    let offset = courier.recipientsOffset
    let count = Descriptor.read(descriptor, courier.recipientsRoom, at: offset)
    guard count >= 0 else { return .failed(.unreadable(Int32(-count))) }
    let identity = FileIdentity(&information)
    return .text(
      bytes: count, isWhole: count == 0 || offset + Int64(count) >= identity.size, identity)
  }
}
