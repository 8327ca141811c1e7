import CLinux
import TinyPush

/// The file system of a directory: its kind and its free space.
struct FileSystem {
  /// The name of the kind; nil if unknown.
  let name: UnsafePointer<CChar>?
  /// The trait of the kind: CLINUX_PLAIN or another CLINUX constant.
  private let trait: Int32
  let isReadOnly: Bool
  /// The free space for users other than root.
  private let freeBytes: UInt64
  /// The number of files that can still be created; nil if the file system has no limit.
  private let freeFiles: UInt64?

  init?(_ directory: Int32) {
    var trait: Int32 = 0
    var room = statvfs()
    name = clinux_file_system(directory, &trait)
    guard fstatvfs(directory, &room) == 0 else { return nil }
    self.trait = trait
    isReadOnly = UInt(room.f_flag) & UInt(ST_RDONLY) != 0
    // A file system that does not know its free space may return all ones.
    let bytes = UInt64(room.f_bavail).multipliedReportingOverflow(by: UInt64(room.f_frsize))
    freeBytes = bytes.overflow ? .max : bytes.partialValue
    freeFiles = room.f_files == 0 ? nil : UInt64(room.f_favail)
  }

  /// Whether there is no room for a notification: a file takes a block at least.
  var isFull: Bool { freeBytes < 4096 || freeFiles == 0 }
  var isLow: Bool { freeBytes < 1 << 20 || freeFiles.map { $0 < 256 } ?? false }

  /// A warning about files on this kind of file system.
  var remark: StaticString? {
    switch Int(trait) {
    case Int(CLINUX_VOLATILE): "; its files do not survive a power cut or a restart"
    case Int(CLINUX_LAYERED): "; its files last only as long as its upper layer: see findmnt"
    case Int(CLINUX_REMOTE): "; files from other machines are found only by each rescan"
    case Int(CLINUX_FOREIGN): "; it has no owners and modes, and a power cut may damage it"
    default: nil
    }
  }

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
