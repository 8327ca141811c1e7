/// The files in `new/` that wait, in their order, and when to look for more.
struct SpoolOrder: ~Copyable {
  var backlog = Backlog()
  /// Files that are left alone until they change.
  var unfinished = Unfinished()
  /// Names of files that somebody has open.
  var beingWritten = BeingWritten()
  /// Everything is to be looked through.
  var isScanWanted = true
  /// A scan of everything is under way.
  private(set) var isScanning = false
  /// The last scan failed.
  private(set) var isBroken = false
  private(set) var rescanAt: Instant?

  init() {}

  /// Whether all of `new/` is known.
  var isKnown: Bool { backlog.isComplete && !isScanWanted }

  /// Whether everything that may be taken was taken.
  var isExhausted: Bool { backlog.isEmpty && isKnown && unfinished.retryAt == nil }

  /// The first rescan is due some time after the start.
  mutating func start(at now: Instant, rescan: Duration) {
    if rescanAt == nil { rescanAt = now + rescan }
  }

  /// Whether it is time for the slow rescan.
  func isRescanDue(at now: Instant) -> Bool { rescanAt.map { now >= $0 } ?? false }

  /// Whether the directory is to be looked through now.
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

  /// A scan begins: of everything, or of what the last one had no room for. Returns whether it is of everything.
  mutating func beginScan(at now: Instant, rescan: Duration) -> Bool {
    let isOfAll = isScanWanted
    backlog.startScan(isFromStart: isOfAll)
    isScanWanted = false
    isScanning = true
    rescanAt = now + rescan
    return isOfAll
  }

  /// A scan is over. Returns whether the directory could not be read before.
  mutating func endScan() -> Bool {
    defer { isBroken = false }
    isScanning = false
    return isBroken
  }

  /// The directory cannot be read. Returns whether it could be before.
  mutating func failScan() -> Bool {
    defer { isBroken = true }
    isScanning = false
    isScanWanted = true
    return !isBroken
  }

  /// When something here is due.
  func forEachDeadline(_ body: (Instant?) -> Void) {
    body(unfinished.retryAt)
    body(beingWritten.retryAt)
  }
}
