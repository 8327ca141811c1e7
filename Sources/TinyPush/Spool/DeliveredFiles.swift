/// Files that were delivered and stayed in `new/`, since they were renamed, extended or open.
///
/// If such a file is found again, the delivered part is not sent again.
///
/// The number is limited. If there are more, the oldest are dropped and sent again.
struct DeliveredFiles: ~Copyable {
  struct File: BitwiseCopyable {
    /// The file as it was when it was read.
    var identity: FileIdentity
    /// The part of the file that was delivered.
    var content: FileContent
    /// Whether the file ended with text that is not an object.
    var endsWithinText: Bool
    /// Whether the file was found since the last scan began.
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

  // MARK: - Results of a scan

  /// Clears all marks, when a scan begins.
  func unmark() {
    for index in 0..<count { files[index].isMarked = false }
  }

  /// Marks a file that a scan has found.
  func mark(_ inode: UInt64) {
    for index in 0..<count where files[index].identity.inode == inode {
      files[index].isMarked = true
    }
  }

  /// Removes the files that the scan has not found: they are gone, and their inodes may be reused.
  mutating func removeUnmarked() {
    var kept = 0
    for index in 0..<count where files[index].isMarked {
      files[kept] = files[index]
      kept += 1
    }
    count = kept
  }
}
