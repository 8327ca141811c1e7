/// What tells a file from another one that later bears its name: its inode, its size, and when it last changed (which many
/// file systems know to some milliseconds only). A file that was replaced, or written on, is not the file that was sent.
public struct FileIdentity: Equatable, BitwiseCopyable {
  public var inode: UInt64
  public var changeTimeNs: Int64
  public var size: Int64

  public init(inode: UInt64, changeTimeNs: Int64, size: Int64 = 0) {
    self.inode = inode
    self.changeTimeNs = changeTimeNs
    self.size = size
  }
}
