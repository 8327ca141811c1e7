/// Scans, and files that the disk refuses to change.
extension Courier {
  /// Handles a failure to read `new/`.
  public mutating func couldNotScan() {
    if order.failScan() { reports.add(.notScanned) }
    reader.pausedUntil = time.now + StuckFiles.pauseMin
  }

  /// Ends a scan, and forgets held files that it did not find.
  @inline(never)
  mutating func scanned() {
    if order.endScan() { reports.add(.scannable) }
    let wasFull = stuck.held.isFull
    stuck.held.removeUnmarked()
    delivered.removeUnmarked()
    recordRoom(wasFull: wasFull)
    progress.endScan { claims.contains(inode: $0) }
  }

  /// Holds a file whose removal or record the disk refused.
  @inline(never)
  mutating func hold(_ identity: FileIdentity, _ want: HeldFiles.Want) {
    let wasFull = stuck.held.isFull
    stuck.hold(identity, want, at: time.now, &reports)
    // Files that are no longer accepted must be found again by a later scan.
    if stuck.held.isFull, !wasFull { order.backlog.forget() }
  }

  /// Releases a file if it is held.
  @inline(never)
  mutating func letGo(_ identity: FileIdentity) {
    let wasFull = stuck.held.isFull
    stuck.held.remove(inode: identity.inode)
    recordRoom(wasFull: wasFull)
  }

  private mutating func recordRoom(wasFull: Bool) {
    if wasFull, !stuck.held.isFull { order.isScanWanted = true }
    stuck.recordRemovals(at: time.now, &reports)
  }

  /// Retries the held files when the pause is over.
  @inline(never)
  mutating func retryStuck() -> Step? {
    guard stuck.isRetryDue(at: time.now) else { return nil }
    if stuck.held.contains(.removal) { order.isScanWanted = true }
    return stuck.isRecordBroken ? .probe : nil
  }

  /// Records whether failures can be written again.
  ///
  /// If they can, a scan finds the held files, which are read again to record their failures.
  public mutating func probed(_ isRecordable: Bool) {
    let wasFull = stuck.held.isFull
    stuck.probed(isRecordable, at: time.now, &reports)
    guard isRecordable else { return }
    order.isScanWanted = true
    recordRoom(wasFull: wasFull)
  }
}
