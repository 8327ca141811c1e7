/// Files that cannot leave because the disk is read-only or full.
///
/// They are remembered, so that they are not delivered again and again. When no more can be
/// remembered, no other file is claimed.
struct StuckFiles: ~Copyable {
  var held = HeldFiles()
  /// When to try the refused operations again.
  var retryAt: Instant?
  /// When to try again to remove the next file, if no more files can be held.
  private(set) var removalRetryAt: Instant?
  private var pause = pauseMin
  /// Whether the log says that delivered files cannot be removed.
  private(set) var isRemovalBroken = false
  /// Whether the log says that failures cannot be recorded.
  private(set) var isRecordBroken = false

  static let pauseMin = Duration.seconds(30)
  private static let pauseMax = Duration.seconds(900)

  init() {}

  /// Whether no file is stuck.
  ///
  /// A file that could not be opened has no identity and is not in ``held``.
  var isEmpty: Bool { held.isEmpty && !isRecordBroken }

  /// Why files stay in `new/`, for the status page.
  ///
  /// 1: the files cannot be removed; 2: their failures cannot be recorded.
  var flags: UInt32 { (isRemovalBroken ? 1 : 0) | (isRecordBroken ? 2 : 0) }

  func isRemovalPaused(at now: Instant) -> Bool { removalRetryAt.map { now < $0 } ?? false }

  /// Holds a file for which the disk refused an operation.
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

  /// Returns whether a file that could not be removed must wait, since no more can be held.
  mutating func delaysRemoval(
    of identity: FileIdentity, at now: Instant, _ reports: inout Reports
  ) -> Bool {
    guard held.isFull, held.want(of: identity) == nil else { return false }
    reportRemoval(&reports)
    removalRetryAt = now + pause
    return true
  }

  /// Reports that files can be removed again, once no removal is pending.
  mutating func recordRemovals(at now: Instant, _ reports: inout Reports) {
    guard isRemovalBroken, !held.contains(.removal), !isRemovalPaused(at: now) else { return }
    isRemovalBroken = false
    reports.add(.removable)
  }

  /// Returns whether to try the refused operations again now.
  mutating func isRetryDue(at now: Instant) -> Bool {
    guard let at = retryAt, at <= now else { return false }
    retryAt = nil
    if isEmpty { pause = Self.pauseMin }
    return !isEmpty
  }

  /// Notes whether a test has shown that failures can be recorded again.
  ///
  /// If recording then fails again for another reason, the pause between attempts doubles.
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
