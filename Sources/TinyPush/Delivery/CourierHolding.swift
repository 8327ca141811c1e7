/// Scans, and files that the disk does not let go.
extension Courier {
  /// `new/` cannot be read.
  public mutating func couldNotScan() {
    if order.failScan() { reports.add(.notScanned) }
    reader.pausedUntil = time.now + StuckFiles.pauseMin
  }

  /// A scan is over: what was held and has not been found is gone.
  @inline(never)
  mutating func scanned() {
    if order.endScan() { reports.add(.scannable) }
    let wasFull = stuck.held.isFull
    stuck.held.removeUnmarked()
    delivered.removeUnmarked()
    recordRoom(wasFull: wasFull)
    progress.endScan { claims.contains(inode: $0) }
  }

  /// The disk refused what was to be done with a file.
  @inline(never)
  mutating func hold(_ identity: FileIdentity, _ want: HeldFiles.Want) {
    let wasFull = stuck.held.isFull
    stuck.hold(identity, want, at: time.now, &reports)
    // What is not taken any more must be found again later.
    if stuck.held.isFull, !wasFull { order.backlog.forget() }
  }

  /// A file is not held any more, if it was.
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

  /// Tries what is held once more, when it is time.
  @inline(never)
  mutating func retryStuck() -> Step? {
    guard stuck.isRetryDue(at: time.now) else { return nil }
    if stuck.held.contains(.removal) { order.isScanWanted = true }
    return stuck.isRecordBroken ? .probe : nil
  }

  /// Whether failures can be recorded. If so, what could not be is read again, and recorded then.
  public mutating func probed(_ isRecordable: Bool) {
    let wasFull = stuck.held.isFull
    stuck.probed(isRecordable, at: time.now, &reports)
    guard isRecordable else { return }
    order.isScanWanted = true
    recordRoom(wasFull: wasFull)
  }
}
