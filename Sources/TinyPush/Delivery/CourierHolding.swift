/// Files that the disk does not let go: it is read-only or full. They are remembered, so that they are not delivered again
/// and again; and when there are as many as can be, nothing else is taken.
extension Courier {
  /// The disk refused what was to be done with a file.
  mutating func hold(_ identity: FileIdentity, _ want: HeldFiles.Want) {
    let wasFull = held.isFull
    held.insert(identity, want)
    heldRetryAt = time.now + heldPause
    // What is not taken any more must be found again later.
    if held.isFull, !wasFull { backlog.forget() }
    switch want {
    case .removal: sayRemovalBroken()
    case .record:
      if !isRecordBroken { reports.add(.notRecorded) }
      isRecordBroken = true
    }
  }

  private mutating func sayRemovalBroken() {
    if !isRemovalBroken { reports.add(.notRemoved) }
    isRemovalBroken = true
  }

  /// Whether the oldest settled file, which could not be removed, has to wait where it is, since no more can be held.
  mutating func waitsToRemove(_ identity: FileIdentity) -> Bool {
    guard held.isFull, held.want(of: identity) == nil else { return false }
    sayRemovalBroken()
    removalRetryAt = time.now + heldPause
    return true
  }

  /// What keeps files in `new/`, for the status page: 1: they cannot be removed; 2: their failures cannot be recorded.
  package var heldFlags: UInt32 { (isRemovalBroken ? 1 : 0) | (isRecordBroken ? 2 : 0) }

  var isRemovalPaused: Bool { removalRetryAt.map { time.now < $0 } ?? false }

  /// A file is not held any more, if it was.
  mutating func letGo(_ identity: FileIdentity) {
    let wasFull = held.isFull
    held.remove(inode: identity.inode)
    noteRoom(wasFull: wasFull)
  }

  /// A scan is over: what was held and has not been found is gone.
  mutating func scanned() {
    isScanning = false
    if isScanBroken { reports.add(.scannable) }
    isScanBroken = false
    let wasFull = held.isFull
    held.removeUnmarked()
    delivered.removeUnmarked()
    noteRoom(wasFull: wasFull)
    if let kept = keptProgress, !isProgressFileSeen, !claims.contains(inode: kept.file.inode) {
      isProgressStale = true
    }
  }

  private mutating func noteRoom(wasFull: Bool) {
    if wasFull, !held.isFull { isScanWanted = true }
    guard isRemovalBroken, !held.contains(.removal), !isRemovalPaused else { return }
    isRemovalBroken = false
    reports.add(.removable)
  }

  /// Whether a file that a scan found may be taken.
  func isTaken(_ inode: UInt64) -> Bool { !held.isFull || held.contains(inode: inode) }

  /// Tries what is held once more, when it is time.
  mutating func retryHeld() -> Step? {
    guard let at = heldRetryAt, at <= time.now else { return nil }
    heldRetryAt = nil
    guard isHolding else {
      heldPause = Self.heldPauseMin
      return nil
    }
    if held.contains(.removal) { isScanWanted = true }
    return isRecordBroken ? .probe : nil
  }

  /// Whether failures can be recorded. If so, what could not be is read again, and recorded then; and should that fail once
  /// more, for a reason of its own, it is tried ever more rarely.
  public mutating func probed(_ isRecordable: Bool) {
    heldRetryAt = time.now + heldPause
    guard isRecordable else { return }
    let doubled = Duration(milliseconds: heldPause.milliseconds * 2)
    heldPause = doubled < Self.heldPauseMax ? doubled : Self.heldPauseMax
    let wasFull = held.isFull
    held.removeAll(.record)
    isRecordBroken = false
    reports.add(.recordable)
    isScanWanted = true
    noteRoom(wasFull: wasFull)
  }
}
