/// What the disk refuses, because it is read-only or full.
///
/// What was refused is tried again after a pause. The files that it concerns stay in `taken/`.
struct DiskTroubles {
  /// The files that cannot be removed.
  private(set) var stuckFiles = 0
  /// Whether the last record could not be written or synced.
  private(set) var isRecordBroken = false
  /// Whether the last record was written, and is not known to survive a power cut.
  private var isRecordWritten = false
  /// Some of the files that have an unwritten record, by the time at which they came.
  private var unrecorded: InlineArray<64, Int64> = .init(repeating: -1)
  private var nextUnrecorded = 0
  /// Whether the last file could not be moved to `taken/`.
  private(set) var isTakingBroken = false
  /// When to try again to remove files, and to find out whether failures can be recorded.
  private(set) var removalRetryAt: Instant?
  private(set) var recordRetryAt: Instant?
  /// Whether removals are tried again that failed before.
  private var isRetrying = false
  private var pause = pauseMin

  static let pauseMin = Duration.seconds(30)
  private static let pauseMax = Duration.seconds(900)

  init() {}

  var isEmpty: Bool { stuckFiles == 0 && !isRecordBroken && !isTakingBroken }

  /// Why files stay, for the status page.
  ///
  /// 1: delivered files cannot be removed; 2: failures cannot be recorded; 4: files cannot be
  /// taken.
  var flags: UInt32 {
    (stuckFiles > 0 ? 1 : 0) | (isRecordBroken ? 2 : 0) | (isTakingBroken ? 4 : 0)
  }

  /// Calls `body` with each time at which there is something to do.
  func forEachDeadline(_ body: (Instant?) -> Void) {
    body(removalRetryAt)
    body(recordRetryAt)
  }

  // MARK: - Removals

  mutating func couldNotRemove(at now: Instant, _ reports: inout Reports) {
    if stuckFiles == 0, !isRetrying { reports.add(.notRemoved) }
    isRetrying = false
    stuckFiles += 1
    removalRetryAt = removalRetryAt ?? now + Self.pauseMin
  }

  /// Returns whether to try the removals again now.
  mutating func mustRetryRemovals(at now: Instant) -> Bool {
    guard let at = removalRetryAt, at <= now else { return false }
    removalRetryAt = nil
    isRetrying = true
    stuckFiles = 0
    return true
  }

  mutating func removed(_ reports: inout Reports) {
    guard isRetrying, stuckFiles == 0 else { return }
    isRetrying = false
    reports.add(.removable)
  }

  // MARK: - Records

  mutating func couldNotRecord(at now: Instant, _ reports: inout Reports) {
    if !isRecordBroken { reports.add(.notRecorded) }
    isRecordBroken = true
    isRecordWritten = false
    planRetry(at: now)
  }

  private mutating func planRetry(at now: Instant) {
    guard recordRetryAt == nil else { return }
    recordRetryAt = now + pause
    pause = min(Duration(milliseconds: pause.milliseconds * 2), Self.pauseMax)
  }

  /// Remembers a file in `taken/` that has an unwritten record, and is read again at the next try.
  ///
  /// Of many, some are forgotten, and may be read again before.
  mutating func putOff(_ arrivalNs: Int64, at now: Instant) {
    planRetry(at: now)
    unrecorded[nextUnrecorded] = arrivalNs
    nextUnrecorded = (nextUnrecorded + 1) % unrecorded.count
  }

  /// Whether a file waits for the next try.
  func isPutOff(_ arrivalNs: Int64) -> Bool {
    for index in unrecorded.indices where unrecorded[index] == arrivalNs { return true }
    return false
  }

  /// Returns whether to find out now if failures can be recorded again.
  mutating func mustProbe(at now: Instant) -> Bool {
    guard let at = recordRetryAt, at <= now else { return false }
    recordRetryAt = nil
    return true
  }

  /// Handles whether failures can be recorded.
  ///
  /// If so, the files whose failures were not recorded are read again.
  mutating func probed(_ isWritable: Bool, at now: Instant) {
    guard isWritable else { return planRetry(at: now) }
    unrecorded = .init(repeating: -1)
  }

  /// Tries everything again now.
  mutating func retryAtOnce(at now: Instant) {
    if removalRetryAt != nil { removalRetryAt = now }
    if recordRetryAt != nil { recordRetryAt = now }
  }

  mutating func recorded() { isRecordWritten = true }

  /// Notes that all records survive a power cut.
  mutating func synced(_ reports: inout Reports) {
    guard isRecordBroken, isRecordWritten else { return }
    isRecordBroken = false
    if recordRetryAt == nil { pause = Self.pauseMin }
    reports.add(.recordable)
  }

  // MARK: - Taking

  mutating func couldNotTake(_ error: Int32, _ reports: inout Reports) {
    if !isTakingBroken { reports.add(.notTaken(error)) }
    isTakingBroken = true
  }

  mutating func took(_ reports: inout Reports) {
    guard isTakingBroken else { return }
    isTakingBroken = false
    reports.add(.taken)
  }
}
