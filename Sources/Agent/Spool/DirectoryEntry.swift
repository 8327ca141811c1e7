import CLinux
import TinyPush

/// What a directory says of one of its entries, without a look at the entry itself.
struct DirectoryEntry {
  /// NUL-terminated; good while the entry is looked at.
  var name: UnsafePointer<CChar>
  var inode: UInt64
  /// DT_*.
  var kind: UInt32

  /// Not every file system says what its entries are.
  var mayBeFile: Bool { kind == UInt32(DT_REG) || kind == UInt32(DT_UNKNOWN) }
  var isHidden: Bool { name.pointee == CChar(UInt8.dot) }

  /// Goes over a directory's entries. What is removed meanwhile may or may not be among them. Returns whether it came to the
  /// end of them.
  @discardableResult
  static func forEach(
    in directory: Int32, _ room: UnsafeMutableBufferPointer<UInt8>, _ body: (DirectoryEntry) -> Void
  ) -> Bool {
    var restart: Int32 = 1
    while true {
      let count = clinux_read_directory(directory, room.baseAddress, room.count, restart)
      restart = 0
      guard count > 0 else { return count == 0 }
      var place = 0
      while place < count {
        var inode: UInt64 = 0
        var kind: UInt32 = 0
        guard let name = clinux_next_entry(room.baseAddress, &place, &inode, &kind) else {
          return false
        }
        body(DirectoryEntry(name: name, inode: inode, kind: kind))
      }
    }
  }
}
