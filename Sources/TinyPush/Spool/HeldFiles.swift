/// Files that must stay in `new/` because the disk refuses something: bounded.
struct HeldFiles: ~Copyable {
  /// What has to be done before such a file may go.
  enum Want: UInt8 {
    /// It was delivered, and could not be removed.
    case removal
    /// A failure of it could not be recorded: it has to be delivered again.
    case record
  }

  struct File: BitwiseCopyable {
    var identity: FileIdentity
    var want: Want
    /// Found since the last scan began.
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

  // MARK: - What a scan finds

  /// A scan begins.
  func unmark() {
    for index in 0..<count { setMark(index, false) }
  }

  /// A scan has found a file.
  func mark(_ inode: UInt64) {
    for index in 0..<count where files[index].identity.inode == inode { setMark(index, true) }
  }

  /// The scan is over: what it has not found is gone.
  mutating func removeUnmarked() {
    removeAll { !$0.isMarked }
  }

  private func setMark(_ index: Int, _ isMarked: Bool) {
    var file = files[index]
    file.isMarked = isMarked
    files[index] = file
  }

  // MARK: - Look-up

  /// What has to be done with a file; nil: it is not held.
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
