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

  /// Whether it was there.
  mutating func remove(_ identity: FileIdentity) -> Bool {
    for index in 0..<count where files[index].identity == identity {
      count -= 1
      files[index] = files[count]
      return true
    }
    return false
  }

  mutating func removeAll(_ want: Want) {
    var kept = 0
    for index in 0..<count where files[index].want != want {
      files[kept] = files[index]
      kept += 1
    }
    count = kept
  }

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
