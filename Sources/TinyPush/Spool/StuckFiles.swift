/// Files that the disk does not let go: it is read-only or full. They are remembered, so that they are not delivered again
/// and again; and when there are as many as can be, nothing else is taken.
struct StuckFiles: ~Copyable {
  var held = HeldFiles()
  /// When to see whether the disk lets them go by now.
  var retryAt: Instant?
  /// When to try again to remove the file that is next, where no more can be held.
  private(set) var removalRetryAt: Instant?
  private var pause = pauseMin
  /// Whether it has been said that delivered files cannot be removed, and that failures cannot be recorded.
  private(set) var isRemovalBroken = false
  private(set) var isRecordBroken = false

  static let pauseMin = Duration.seconds(30)
  private static let pauseMax = Duration.seconds(900)

  init() {}

  /// Whether there are such files. One that could not even be opened has no identity to be known by.
  var isEmpty: Bool { held.isEmpty && !isRecordBroken }

  /// What keeps files in `new/`, for the status page: 1: they cannot be removed; 2: their failures cannot be recorded.
  var flags: UInt32 { (isRemovalBroken ? 1 : 0) | (isRecordBroken ? 2 : 0) }

  func isRemovalPaused(at now: Instant) -> Bool { removalRetryAt.map { now < $0 } ?? false }

  /// The disk refused what was to be done with a file.
  mutating func hold(
    _ identity: FileIdentity, _ want: HeldFiles.Want, at now: Instant, _ reports: inout Reports
  ) {
    held.insert(identity, want)
    retryAt = now + pause
    switch want {
    case .removal: reportRemoval(&reports)
    case .record:
      if !isRecordBroken { reports.add(.notRecorded) }
      isRecordBroken = true
    }
  }

  private mutating func reportRemoval(_ reports: inout Reports) {
    if !isRemovalBroken { reports.add(.notRemoved) }
    isRemovalBroken = true
  }

  /// Whether the file that could not be removed has to wait where it is, since no more can be held.
  mutating func delaysRemoval(
    of identity: FileIdentity, at now: Instant, _ reports: inout Reports
  ) -> Bool {
    guard held.isFull, held.want(of: identity) == nil else { return false }
    reportRemoval(&reports)
    removalRetryAt = now + pause
    return true
  }

  /// Files may have been let go: says so where that was the last one.
  mutating func recordRemovals(at now: Instant, _ reports: inout Reports) {
    guard isRemovalBroken, !held.contains(.removal), !isRemovalPaused(at: now) else { return }
    isRemovalBroken = false
    reports.add(.removable)
  }

  /// Whether it is time to try again what the disk refused.
  mutating func isRetryDue(at now: Instant) -> Bool {
    guard let at = retryAt, at <= now else { return false }
    retryAt = nil
    if isEmpty { pause = Self.pauseMin }
    return !isEmpty
  }

  /// Whether failures can be recorded by now. Should that fail once more, for a reason of its own, it is tried ever more
  /// rarely.
  mutating func probed(_ isRecordable: Bool, at now: Instant, _ reports: inout Reports) {
    retryAt = now + pause
    guard isRecordable else { return }
    let doubled = Duration(milliseconds: pause.milliseconds * 2)
    pause = doubled < Self.pauseMax ? doubled : Self.pauseMax
    held.removeAll(.record)
    isRecordBroken = false
    reports.add(.recordable)
  }
}
