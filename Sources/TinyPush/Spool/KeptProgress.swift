/// What a restart must not repeat: how far the oldest large file is settled, as it is on disk, and when to write it anew.
struct KeptProgress: ~Copyable {
  /// What was kept last, and what is to be kept now.
  private(set) var onDisk: Progress?
  private(set) var next: Progress?
  /// A large file is under way.
  private var isWatching = false
  /// When the progress is looked at next, where it may have changed.
  private(set) var dueAt: Instant?
  /// The file of what is on disk is done with.
  private var isStale = false
  /// The present scan has found that file.
  private var isFileSeen = false
  /// The last try to keep some failed.
  private var isRefused = false

  private static let interval = Duration.seconds(5)
  private static let retry = Duration.seconds(30)
  /// A smaller file is repeated as a whole: that is less work than keeping count.
  static let bytesMin: Int64 = 65_536

  init() {}

  /// What an agent before this one kept.
  mutating func resume(_ progress: Progress) { onDisk = progress }

  /// A file was taken.
  mutating func taken(_ identity: FileIdentity) {
    if identity.size >= Self.bytesMin { isWatching = true }
  }

  /// Something was settled.
  mutating func settled(at now: Instant) {
    if isWatching, dueAt == nil { dueAt = now + Self.interval }
  }

  /// A file has left; what is kept of it is of no use any more.
  mutating func left(_ identity: FileIdentity) {
    if onDisk?.file == identity { isStale = true }
  }

  mutating func beginScan() { isFileSeen = false }

  mutating func found(inode: UInt64) {
    if inode != 0, inode == onDisk?.file.inode { isFileSeen = true }
  }

  /// A scan is over.
  ///
  /// - Parameter isUnderWay: whether a file with this inode is.
  mutating func endScan(_ isUnderWay: (_ inode: UInt64) -> Bool) {
    if let onDisk, !isFileSeen, !isUnderWay(onDisk.file.inode) { isStale = true }
  }

  /// Whether the progress is to be looked at.
  ///
  /// - Parameter isEnding: it is the last time.
  func isDue(at now: Instant, isEnding: Bool) -> Bool {
    if let dueAt, dueAt <= now { return true }
    return (isStale || isEnding && isWatching) && !isRefused
  }

  /// Whether `present` is to be kept now; nil: there is none that is worth it.
  mutating func wants(_ present: Progress?, isLargeUnderWay: Bool) -> Bool {
    isWatching = isLargeUnderWay
    guard present != onDisk, present != nil || isStale else {
      dueAt = nil
      isStale = isStale && onDisk != nil
      return false
    }
    next = present
    return true
  }

  /// Whether the progress has been kept.
  mutating func kept(_ isKept: Bool, at now: Instant) {
    if isKept {
      onDisk = next
      isStale = false
    }
    isRefused = !isKept
    dueAt = isKept ? nil : now + Self.retry
  }

  /// How far a file that was just opened was settled before.
  func known(of identity: FileIdentity) -> Progress? {
    onDisk.flatMap { $0.file == identity ? $0 : nil }
  }
}
