import TinyPush

/// The inodes of the files in `new/` with notifications in flight, for `tinypush queue`.
public struct FilesInFlight: BitwiseCopyable {
  private static let filesMax = 128
  /// The most stretches in flight for which the agent collects files.
  static let stretchesMax = 1024

  private var count: UInt32 = 0
  private var cut: UInt32 = 1
  /// Each inode, shifted by two bits for the file's progress.
  private var files: InlineArray<128, UInt64> = .init(repeating: 0)

  /// Whether files are missing here.
  public var isCut: Bool { cut != 0 }

  /// Returns the progress of a file; nil if it is not here.
  @inline(never)
  public func progress(ofInode inode: UInt64) -> Courier.FileProgress? {
    let kept = inode << 2
    for index in 0..<min(Int(clamping: count), Self.filesMax) where files[index] & ~3 == kept {
      return Courier.FileProgress(rawValue: UInt8(files[index] & 3))
    }
    return nil
  }

  mutating func begin(isCut: Bool) {
    count = 0
    cut = isCut ? 1 : 0
  }

  @inline(never)
  mutating func add(inode: UInt64, _ progress: Courier.FileProgress) {
    let file = inode << 2 | UInt64(progress.rawValue)
    // Notifications of a file mostly follow each other.
    if count > 0, files[Int(count) - 1] == file { return }
    guard count < UInt32(Self.filesMax) else {
      cut = 1
      return
    }
    files[Int(count)] = file
    count += 1
  }
}
