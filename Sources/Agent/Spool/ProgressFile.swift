import CLinux
import TinyPush

/// The record of the progress in a large file, stored beside `new/`.
extension SpoolDirectory {
  private static let progressName: StaticString = ".progress"
  private static let draftName: StaticString = ".progress.new"

  /// Returns the progress that an earlier agent stored.
  ///
  /// A file of another user is ignored, because it could make the agent skip notifications.
  func progress() -> Progress? {
    var error: Int32 = 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    var information = stat()
    guard let file = Descriptor(root.number, Self.progressName.cString, flags, error: &error),
      fstat(file.number, &information) == 0, clinux_is_regular(&information) != 0,
      information.st_uid == geteuid()
    else { return nil }
    var bytes: InlineArray<64, UInt8> = .init(repeating: 0)
    var room = bytes.mutableSpan
    let count = room.withUnsafeMutableBufferPointer {
      CLinux.read(file.number, $0.baseAddress, $0.count)
    }
    return Progress(bytes.span.extracting(0..<max(Int(count), 0)))
  }

  /// Replaces the stored progress, and returns whether that succeeded.
  func keep(_ progress: Progress?) -> Bool {
    guard let progress else {
      return unlinkat(root.number, Self.progressName.cString, 0) == 0 || clinux_errno() == ENOENT
    }
    unlinkat(root.number, Self.draftName.cString, 0)
    var error: Int32 = 0
    let flags = O_WRONLY | O_CREAT | O_EXCL
    guard let file = Descriptor(root.number, Self.draftName.cString, flags, 0o640, error: &error)
    else { return false }
    let bytes = progress.bytes
    let written = bytes.span.withUnsafeBytes {
      CLinux.write(file.number, $0.baseAddress, $0.count)
    }
    return written == Progress.byteCount && fdatasync(file.number) == 0
      && renameat(root.number, Self.draftName.cString, root.number, Self.progressName.cString) == 0
  }
}
