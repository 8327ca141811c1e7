import CLinux
import TinyPush

/// The file system that a directory lies on: of what kind it is, and what room is left there.
struct FileSystem {
  /// nil: one that is not known.
  let name: UnsafePointer<CChar>?
  /// One of CLINUX_PLAIN and so on.
  private let trait: Int32
  let isReadOnly: Bool
  /// For others than the superuser.
  private let freeBytes: UInt64
  /// Files that can still be made; nil where there is no such number.
  private let freeFiles: UInt64?

  init?(_ directory: Int32) {
    var trait: Int32 = 0
    var room = statvfs()
    name = clinux_file_system(directory, &trait)
    guard fstatvfs(directory, &room) == 0 else { return nil }
    self.trait = trait
    isReadOnly = UInt(room.f_flag) & UInt(ST_RDONLY) != 0
    // One that does not know its room may say all ones.
    let bytes = UInt64(room.f_bavail).multipliedReportingOverflow(by: UInt64(room.f_frsize))
    freeBytes = bytes.overflow ? .max : bytes.partialValue
    freeFiles = room.f_files == 0 ? nil : UInt64(room.f_favail)
  }

  /// A file takes a block at least, and progress, what is refused and what is learned want some too.
  var isFull: Bool { freeBytes < 4096 || freeFiles == 0 }
  var isLow: Bool { freeBytes < 1 << 20 || freeFiles.map { $0 < 256 } ?? false }

  /// What is to be known of what is kept there.
  var remark: StaticString? {
    switch Int(trait) {
    case Int(CLINUX_VOLATILE): "; what is there does not survive a power cut or a restart"
    case Int(CLINUX_LAYERED): "; what is there lasts only as long as its upper layer: see findmnt"
    case Int(CLINUX_REMOTE): "; what other machines put there is found only every rescan"
    case Int(CLINUX_FOREIGN): "; it knows no owners and modes, and a power cut may damage it"
    default: nil
    }
  }

  /// The room that is left.
  func describe(in text: inout Text) {
    text.append(bytes: freeBytes)
    if let freeFiles {
      text.append(" and ", freeFiles)
      text.append(freeFiles == 1 ? " inode" : " inodes")
    }
    text.append(" free")
  }
}
