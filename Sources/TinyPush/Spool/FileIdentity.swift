/// The properties that distinguish a file from another one that later has the same name.
///
/// A file that was replaced or extended is not the file that was sent.
public struct FileIdentity: Equatable, BitwiseCopyable {
  /// The inode number.
  public var inode: UInt64
  /// The last status change, in UNIX nanoseconds; many file systems round it to some milliseconds.
  public var changeTimeNs: Int64
  /// The size in bytes.
  public var size: Int64

  /// Makes an identity.
  public init(inode: UInt64, changeTimeNs: Int64, size: Int64 = 0) {
    self.inode = inode
    self.changeTimeNs = changeTimeNs
    self.size = size
  }
}
