/// Files that must stay in `new/` because the disk refuses an operation; a limited number.
struct HeldFiles: ~Copyable {
  /// The operation that must succeed before the file may leave.
  enum Want: UInt8 {
    /// The removal of a file that was delivered.
    case removal
    /// The record of a failure; the file must then be delivered again.
    case record
  }

  struct File: BitwiseCopyable {
    var identity: FileIdentity
    var want: Want
    /// Whether the file was found since the last scan began.
    var isMarked = true
  }

  static let capacity = 256
  private let files = FixedBuffer<File>(capacity: capacity)
  private var count = 0

  init() {}

  var isEmpty: Bool { count == 0 }
  var isFull: Bool { count == Self.capacity }

  mutating func insert(_ identity: FileIdentity, _ want: Want) {
    guard !isFull, self.want(of: identity) == nil else { return }
    files[count] = File(identity: identity, want: want)
    count += 1
  }

  mutating func remove(inode: UInt64) {
    removeAll { $0.identity.inode == inode }
  }

  mutating func removeAll(_ want: Want) {
    removeAll { $0.want == want }
  }

  private mutating func removeAll(where isGone: (File) -> Bool) {
    var kept = 0
    for index in 0..<count where !isGone(files[index]) {
      files[kept] = files[index]
      kept += 1
    }
    count = kept
  }

  // MARK: - Results of a scan

  /// Clears all marks, when a scan begins.
  func unmark() {
    for index in 0..<count { setMark(index, false) }
  }

  /// Marks a file that a scan has found.
  func mark(_ inode: UInt64) {
    for index in 0..<count where files[index].identity.inode == inode { setMark(index, true) }
  }

  /// Removes the files that the scan has not found: they are gone.
  mutating func removeUnmarked() {
    removeAll { !$0.isMarked }
  }

  private func setMark(_ index: Int, _ isMarked: Bool) {
    var file = files[index]
    file.isMarked = isMarked
    files[index] = file
  }

  // MARK: - Lookup

  /// Returns the operation that a file waits for; nil: the file is not held.
  func want(of identity: FileIdentity) -> Want? {
    for index in 0..<count where files[index].identity == identity { return files[index].want }
    return nil
  }

  func contains(_ want: Want) -> Bool {
    for index in 0..<count where files[index].want == want { return true }
    return false
  }

  func contains(inode: UInt64) -> Bool {
    for index in 0..<count where files[index].identity.inode == inode { return true }
    return false
  }
}
