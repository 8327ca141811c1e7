import CLinux
import TinyPush

/// The file system of a directory, and its free space.
struct FileSystem {
  /// Whether it is in memory, and lost at a restart.
  let isVolatile: Bool
  let isReadOnly: Bool
  /// The free space for users other than root.
  private let freeBytes: UInt64
  /// The number of files that can still be created; nil if the file system has no limit.
  private let freeFiles: UInt64?

  init?(_ directory: Int32) {
    var room = statvfs()
    guard fstatvfs(directory, &room) == 0 else { return nil }
    isVolatile = clinux_is_volatile(directory) != 0
    isReadOnly = UInt(room.f_flag) & UInt(ST_RDONLY) != 0
    // A file system that does not know its free space may return all ones.
    let bytes = UInt64(room.f_bavail).multipliedReportingOverflow(by: UInt64(room.f_frsize))
    freeBytes = bytes.overflow ? .max : bytes.partialValue
    freeFiles = room.f_files == 0 ? nil : UInt64(room.f_favail)
  }

  /// Whether there is no room for a notification: a file takes a block at least.
  var isFull: Bool { freeBytes < 4096 || freeFiles == 0 }
  var isLow: Bool { freeBytes < 1 << 20 || freeFiles.map { $0 < 256 } ?? false }

  /// Appends the free space.
  func describe(in text: inout Text) {
    text.append(bytes: freeBytes)
    if let freeFiles {
      text.append(" and ", freeFiles)
      text.append(freeFiles == 1 ? " inode" : " inodes")
    }
    text.append(" free")
  }
}
