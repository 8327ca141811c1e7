/// Files that were delivered and did not leave `new/` then: somebody renamed them, wrote on, or has them open. When such a
/// file is met again, what was delivered of it is not sent again.
///
/// Bounded: of more the oldest are forgotten, and sent again.
struct DeliveredFiles: ~Copyable {
  struct File: BitwiseCopyable {
    /// As it was when it was read.
    var identity: FileIdentity
    /// What was delivered of it.
    var content: FileContent
    /// It ended with text that is no object.
    var endsWithinText: Bool
    /// Found since the last scan began.
    var isMarked = true
  }

  static let capacity = 256
  private let files = FixedBuffer<File>(capacity: capacity)
  private var count = 0

  init() {}

  var isEmpty: Bool { count == 0 }

  mutating func insert(
    _ identity: FileIdentity, _ content: FileContent, endsWithinText: Bool = false
  ) {
    remove(inode: identity.inode)
    if count == Self.capacity { remove(at: 0) }
    files[count] = File(
      identity: identity, content: content, endsWithinText: endsWithinText)
    count += 1
  }

  func find(inode: UInt64) -> File? {
    for index in 0..<count where files[index].identity.inode == inode { return files[index] }
    return nil
  }

  mutating func remove(inode: UInt64) {
    for index in 0..<count where files[index].identity.inode == inode { return remove(at: index) }
  }

  private mutating func remove(at place: Int) {
    for index in place + 1..<max(count, place + 1) { files[index - 1] = files[index] }
    count -= 1
  }

  // MARK: - What a scan finds

  /// A scan begins.
  func unmark() {
    for index in 0..<count { files[index].isMarked = false }
  }

  /// A scan has found a file.
  func mark(_ inode: UInt64) {
    for index in 0..<count where files[index].identity.inode == inode {
      files[index].isMarked = true
    }
  }

  /// The scan is over: what it has not found is gone, and another file may have its inode.
  mutating func removeUnmarked() {
    var kept = 0
    for index in 0..<count where files[index].isMarked {
      files[kept] = files[index]
      kept += 1
    }
    count = kept
  }
}
