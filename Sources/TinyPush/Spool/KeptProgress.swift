/// The progress in the oldest large file, as it is on disk, so that a restart does not repeat it.
struct KeptProgress: ~Copyable {
  /// The progress that was written last.
  private(set) var onDisk: Progress?
  /// The progress to write now.
  private(set) var next: Progress?
  /// Whether a large file is being delivered.
  private var isWatching = false
  /// When to compute the progress next; nil: it has not changed.
  private(set) var dueAt: Instant?
  /// Whether the file that ``onDisk`` belongs to has left.
  private var isStale = false
  /// Whether the current scan has found the file that ``onDisk`` belongs to.
  private var isFileSeen = false
  /// Whether the last attempt to write the progress failed.
  private var isRefused = false

  private static let interval = Duration.seconds(5)
  private static let retry = Duration.seconds(30)
  /// The smallest size of a large file; repeating a smaller one costs less than keeping progress.
  static let bytesMin: Int64 = 65_536

  init() {}

  /// Takes over the progress that an earlier agent wrote.
  mutating func resume(_ progress: Progress) { onDisk = progress }

  /// Notes that a file was claimed.
  mutating func taken(_ identity: FileIdentity) {
    if identity.size >= Self.bytesMin { isWatching = true }
  }

  /// Notes that a notification was settled.
  mutating func settled(at now: Instant) {
    if isWatching, dueAt == nil { dueAt = now + Self.interval }
  }

  /// Notes that a file has left, so that its progress is no longer needed.
  mutating func left(_ identity: FileIdentity) {
    if onDisk?.file == identity { isStale = true }
  }

  mutating func beginScan() { isFileSeen = false }

  mutating func found(inode: UInt64) {
    if inode != 0, inode == onDisk?.file.inode { isFileSeen = true }
  }

  /// Notes the end of a scan, which shows whether the file of ``onDisk`` still exists.
  ///
  /// - Parameter isUnderWay: returns whether a file with this inode is claimed.
  mutating func endScan(_ isUnderWay: (_ inode: UInt64) -> Bool) {
    if let onDisk, !isFileSeen, !isUnderWay(onDisk.file.inode) { isStale = true }
  }

  /// Returns whether to compute the progress now.
  ///
  /// - Parameter isEnding: Whether this is the last time before the agent ends.
  func isDue(at now: Instant, isEnding: Bool) -> Bool {
    if let dueAt, dueAt <= now { return true }
    return (isStale || isEnding && isWatching) && !isRefused
  }

  /// Returns whether to write the progress `present` now; nil: no progress is worth writing.
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

  /// Notes whether the progress was written.
  mutating func kept(_ isKept: Bool, at now: Instant) {
    if isKept {
      onDisk = next
      isStale = false
    }
    isRefused = !isKept
    dueAt = isKept ? nil : now + Self.retry
  }

  /// Returns the progress of an earlier agent in a file that was just opened.
  func known(of identity: FileIdentity) -> Progress? {
    onDisk.flatMap { $0.file == identity ? $0 : nil }
  }
}
