import TinyPush

/// The files in `taken/` that the agent works on, for `tinypush queue`.
public struct FilesUnderWay: BitwiseCopyable {
  private static let filesMax = 128
  /// The most messages under way for which the agent collects files.
  static let messagesMax = 1024

  private var count: UInt32 = 0
  private var cut: UInt32 = 1
  /// When each file came into `new/`, in UNIX nanoseconds, with the file's progress in the low bits.
  private var files: InlineArray<128, UInt64> = .init(repeating: 0)

  /// Whether files are missing here.
  public var isCut: Bool { cut != 0 }

  /// Returns the progress of a file; nil if it is not here.
  @inline(never)
  public func progress(ofArrival arrivalNs: Int64) -> Courier.FileProgress? {
    let kept = UInt64(bitPattern: arrivalNs) << 2
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
  mutating func add(arrivalNs: Int64, _ progress: Courier.FileProgress) {
    let file = UInt64(bitPattern: arrivalNs) << 2 | UInt64(progress.rawValue)
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
