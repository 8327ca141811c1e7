/// The files that wait in `new/`, in their order, and when to scan for more.
struct SpoolOrder: ~Copyable {
  var backlog = Backlog()
  /// Files that are not read until they change.
  var unfinished = Unfinished()
  /// Names of files that a process has open for writing.
  var beingWritten = BeingWritten()
  /// Whether to scan the whole directory.
  var isScanWanted = true
  /// Whether a scan is running.
  private(set) var isScanning = false
  /// Whether the last scan failed.
  private(set) var isBroken = false
  private(set) var rescanAt: Instant?

  init() {}

  /// Whether the names of all files in `new/` are known.
  var isKnown: Bool { backlog.isComplete && !isScanWanted }

  /// Whether every file that may be claimed was claimed.
  var isExhausted: Bool { backlog.isEmpty && isKnown && unfinished.retryAt == nil }

  /// Schedules the first rescan.
  mutating func start(at now: Instant, rescan: Duration) {
    if rescanAt == nil { rescanAt = now + rescan }
  }

  /// Returns whether the periodic rescan is due.
  func isRescanDue(at now: Instant) -> Bool { rescanAt.map { now >= $0 } ?? false }

  /// Returns whether to scan the directory now.
  mutating func needsScan(at now: Instant) -> Bool {
    if let retryAt = unfinished.retryAt, now >= retryAt {
      unfinished.retried()
      isScanWanted = true
    }
    if isRescanDue(at: now) { isScanWanted = true }
    if let at = beingWritten.retryAt, now >= at {
      beingWritten.forgetTheOld(at: now)
      isScanWanted = true
    }
    return isScanWanted || backlog.isEmpty && !backlog.isComplete
  }

  /// Begins a scan of the whole directory, or of the names that the last scan had no room for.
  ///
  /// Returns whether the scan is of the whole directory.
  mutating func beginScan(at now: Instant, rescan: Duration) -> Bool {
    let isOfAll = isScanWanted
    backlog.startScan(isFromStart: isOfAll)
    isScanWanted = false
    isScanning = true
    rescanAt = now + rescan
    return isOfAll
  }

  /// Ends a scan; returns whether the scan before it failed.
  mutating func endScan() -> Bool {
    defer { isBroken = false }
    isScanning = false
    return isBroken
  }

  /// Notes that the directory cannot be read; returns whether the scan before succeeded.
  mutating func failScan() -> Bool {
    defer { isBroken = true }
    isScanning = false
    isScanWanted = true
    return !isBroken
  }

  /// Calls `body` with each time at which a file must be read again.
  func forEachDeadline(_ body: (Instant?) -> Void) {
    body(unfinished.retryAt)
    body(beingWritten.retryAt)
  }
}
