import CLinux
import TinyPush

/// An entry of a directory, as the directory describes it.
package struct DirectoryEntry {
  /// The NUL-terminated name, which is valid until the next entry is read.
  package var name: UnsafePointer<CChar>
  var inode: UInt64
  /// The type, one of DT_*.
  var kind: UInt32

  /// Whether it may be a regular file; some file systems do not tell.
  var mayBeFile: Bool { kind == UInt32(DT_REG) || kind == UInt32(DT_UNKNOWN) }
  package var isHidden: Bool { name.pointee == CChar(UInt8.dot) }

  /// Calls `body` with each entry of a directory, and returns whether all were read.
  ///
  /// An entry that is added or removed meanwhile may be missing or not.
  @discardableResult
  package static func forEach(
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
