import CLinux

/// The file system that a directory lies on: of what kind it is, and what room is left there.
struct FileSystem {
  /// A kind that something has to be said of.
  struct Kind {
    /// As statfs(2) numbers it.
    let number: UInt32
    let name: StaticString
    /// What is to be known of it; "": nothing.
    let remark: StaticString
    var isWarning = true
  }

  private static var kinds: InlineArray<14, Kind> {
    let volatile: StaticString = "what is there does not survive a power cut or a restart"
    let distant: StaticString = "what others put there is found only every `rescan`"
    return [
      Kind(number: 0x0102_1994, name: "tmpfs", remark: volatile),
      Kind(number: 0x8584_58F6, name: "ramfs", remark: volatile),
      Kind(number: 0xEF53, name: "ext4", remark: ""),
      Kind(number: 0x9123_683E, name: "btrfs", remark: ""),
      Kind(number: 0x5846_5342, name: "xfs", remark: ""),
      Kind(number: 0xF2F5_2010, name: "f2fs", remark: ""),
      Kind(number: 0x2405_1905, name: "ubifs", remark: ""),
      Kind(number: 0x72B6, name: "jffs2", remark: ""),
      Kind(
        number: 0x794C_7630, name: "overlay",
        remark: "what is there lasts only as long as its upper layer: see findmnt"),
      Kind(number: 0x6969, name: "nfs", remark: distant),
      Kind(number: 0xFF53_4D42, name: "cifs", remark: distant),
      Kind(number: 0xFE53_4D42, name: "smb2", remark: distant),
      Kind(
        number: 0x4D44, name: "vfat",
        remark: "it knows no owners and modes, and a power cut may damage it"),
      Kind(
        number: 0x2011_BAB0, name: "exfat",
        remark: "it knows no owners and modes, and a power cut may damage it"),
    ]
  }

  let kind: Kind
  let isReadOnly: Bool
  /// For others than the superuser.
  let freeBytes: UInt64
  /// Files that can still be made; nil where there is no such number.
  let freeFiles: UInt64?

  init?(_ directory: Int32) {
    var type = statfs()
    var room = statvfs()
    guard fstatfs(directory, &type) == 0, fstatvfs(directory, &room) == 0 else { return nil }
    let number = UInt32(truncatingIfNeeded: type.f_type)
    let kinds = Self.kinds
    var found = Kind(number: number, name: "another file system", remark: "")
    for index in kinds.indices where kinds[index].number == number { found = kinds[index] }
    kind = found
    isReadOnly = UInt(room.f_flag) & 1 != 0
    freeBytes = UInt64(room.f_bavail) * UInt64(room.f_frsize)
    freeFiles = room.f_files == 0 ? nil : UInt64(room.f_favail)
  }

  /// A file takes a block at least, and progress, what is refused and what is learned want some too.
  var isFull: Bool { freeBytes < 4096 || freeFiles == 0 }
  var isLow: Bool { freeBytes < 1 << 20 || freeFiles.map { $0 < 256 } ?? false }

  /// The room that is left.
  func describe(in text: inout Text) {
    text.append(bytes: freeBytes)
    if let freeFiles {
      text.append(" and ")
      text.append(freeFiles)
      text.append(freeFiles == 1 ? " inode" : " inodes")
    }
    text.append(" free")
  }
}
