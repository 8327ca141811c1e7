import TinyPush

/// The files in `new/` that have notifications in flight, for `tinypush queue`: by their inodes, and as many as there is room for.
public struct FilesInFlight: BitwiseCopyable {
  private static let filesMax = 128
  /// In more stretches than this the agent does not look for files.
  static let stretchesMax = 1024

  private var count: UInt32 = 0
  private var cut: UInt32 = 1
  /// Each inode, and the progress of the file in the two lowest bits.
  private var files: InlineArray<128, UInt64> = .init(repeating: 0)

  /// Whether there are more files, so that nothing is known of a file that is not here.
  public var isCut: Bool { cut != 0 }

  /// How far a file is; nil: it is not among these.
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
    // The notifications of a file mostly follow each other.
    if count > 0, files[Int(count) - 1] == file { return }
    guard count < UInt32(Self.filesMax) else {
      cut = 1
      return
    }
    files[Int(count)] = file
    count += 1
  }
}
