/// Events that the agent reports, and the results of scans.
extension Courier {
  /// Adds a file that a scan has found in a directory.
  ///
  /// In `taken/`, the agent names only files that hold something to deliver.
  public mutating func offer(_ name: Span<UInt8>, in directory: Directory) {
    switch directory {
    case .new:
      guard SpoolName.isTaken(name), !waiting.beingWritten.contains(name, at: time.now) else {
        return
      }
      waiting.new.offer(name)
    case .taken:
      guard let known = TakenName(name), !troubles.isPutOff(known.arrivalNs),
        files.find(name) == nil
      else { return }
      waiting.taken.offer(name)
    case .later: later.offer(name)
    }
  }

  /// Handles the end of a scan.
  ///
  /// - Parameters:
  ///   - isComplete: whether the directory could be read to its end.
  ///   - lingering: whether `taken/` has settled files that may still grow.
  public mutating func scanned(
    _ directory: Directory, isComplete: Bool, lingering: Bool = false
  ) {
    switch directory {
    case .new:
      guard waiting.scanned(isComplete: isComplete) else { break }
      reports.add(isComplete ? .scannable : .notScanned)
    case .taken:
      if lingering { waiting.lingers(at: time.now) }
      if !isComplete { waiting.isTakenWanted = true }
    case .later:
      later.endCancelling()
      if !isComplete { later.couldNotScan(retryAt: time.now + DiskTroubles.pauseMin) }
    }
    if !isComplete, directory != .later { waiting.couldNotScan(at: time.now) }
  }

  /// Leaves a file alone that a program created in `new/` and still has open.
  public mutating func writingBegan(_ name: Span<UInt8>) {
    if waiting.beingWritten.begin(name, at: time.now) { waiting.isNewWanted = true }
  }

  /// Takes a file a moment after a program closed it: its writer may still set its mode and times.
  public mutating func writingEnds(_ name: Span<UInt8>, at now: Instant) {
    if waiting.beingWritten.begin(name, at: now, for: BeingWritten.closing) {
      waiting.isNewWanted = true
    }
  }

  /// Adds a file that was renamed or linked into `new/`, or whose writers are done.
  public mutating func appeared(_ name: Span<UInt8>, isWhole: Bool = false) {
    waiting.beingWritten.end(name)
    guard SpoolName.isTaken(name) else { return }
    waiting.new.offer(name, isFromScan: false, cameWhole: isWhole)
  }

  /// Reads on in a file in `taken/`, since a program has written to it or closed it.
  public mutating func changed(_ name: Span<UInt8>) {
    guard TakenName(name) != nil, !isStopping else { return }
    guard let file = files.find(name) else { return waiting.isTakenWanted = true }
    files.changed(file)
    turns.waitsUntil = turns.waitsUntil.map { _ in time.now }
  }

  /// Drops the files that are no longer in `taken/`: what no link has is not sent.
  ///
  /// - Parameter isGone: returns whether `taken/` has no file of this name.
  public mutating func dropRemoved(_ isGone: (Span<UInt8>) -> Bool) {
    files.forEach { number in
      guard !files[number].isDropped else { return }
      var name = Text(capacity: 300)
      files.appendTakenName(number, to: &name)
      guard isGone(name.bytes) else { return }
      files.decide(number, .isGone)
      files[number].isDropped = true
    }
    while let message = outbox.firstWaiting(where: { files[$1.file].isDropped }) { drop(message) }
  }

  /// Settles a message of a file that was removed.
  mutating func drop(_ message: MessageNumber) {
    let entry = outbox[message]
    if let notification = notification(entry.text) { forgetSending(notification, entry) }
    settle(message)
  }

  /// Plans a scan, since events of `new/` were lost.
  public mutating func missedEvents() {
    waiting.beingWritten.clear()
    waiting.requestScan()
    later.isScanWanted = true
  }

  /// Plans a scan of `later/`, since another program removed files there.
  public mutating func laterChanged() { later.isScanWanted = true }

  /// Sends again at once what waits, since a service may have refused it for this machine's time.
  public mutating func clockWasSet() {
    outbox.releaseDelayed(at: Instant(milliseconds: .max))
  }

  /// Plans a scan for files without an event, and tries again what the disk refused.
  public mutating func rescan() {
    waiting.requestScan()
    later.isScanWanted = true
    troubles.retryAtOnce(at: time.now)
  }

  /// Stops taking new notifications; those under way are still settled.
  public mutating func stop() {
    isStopping = true
    // The disk may take now what it did not take before.
    suppression.retry()
  }
}
