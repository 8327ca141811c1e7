/// Files that the disk does not let go: it is read-only or full. They are remembered, so that they are not delivered again
/// and again; and when there are as many as can be, nothing else is taken.
extension Courier {
  /// The disk refused what was to be done with a file.
  mutating func hold(_ identity: FileIdentity, _ want: HeldFiles.Want) {
    let wasFull = held.isFull
    held.insert(identity, want)
    heldRetryAt = time.now + Self.heldPause
    // What is not taken any more must be found again later.
    if held.isFull, !wasFull { backlog.forget() }
    switch want {
    case .removal:
      if !isRemovalBroken { reports.add(.notRemoved) }
      isRemovalBroken = true
    case .record:
      if !isRecordBroken { reports.add(.notRecorded) }
      isRecordBroken = true
    }
  }

  /// A file is not held any more, if it was.
  mutating func letGo(_ identity: FileIdentity) {
    let wasFull = held.isFull
    guard held.remove(identity) else { return }
    if wasFull { isScanWanted = true }
    if isRemovalBroken, !held.contains(.removal) {
      isRemovalBroken = false
      reports.add(.removable)
    }
  }

  /// Whether a file that a scan found may be taken.
  func isTaken(_ inode: UInt64) -> Bool { !held.isFull || held.contains(inode: inode) }

  /// Tries what is held once more, when it is time.
  mutating func retryHeld() -> Step? {
    guard let at = heldRetryAt, at <= time.now else { return nil }
    heldRetryAt = nil
    isScanWanted = true
    return held.contains(.record) ? .probe : nil
  }

  /// Whether failures can be recorded.
  public mutating func probed(_ isRecordable: Bool) {
    if isRecordable { recordsAgain() } else { heldRetryAt = time.now + Self.heldPause }
  }

  /// What could not be recorded is read again, and recorded then.
  mutating func recordsAgain() {
    guard isRecordBroken else { return }
    isRecordBroken = false
    reports.add(.recordable)
    held.removeAll(.record)
    isScanWanted = true
  }
}
