/// Events that the agent reports.
extension Courier {
  /// Adds a file in `new/` to those that wait.
  ///
  /// - Parameters:
  ///   - inode: shows whether the file is already under way; 0: not known.
  ///   - cameWhole: whether the file was renamed into `new/`.
  public mutating func offer(_ name: Span<UInt8>, inode: UInt64 = 0, cameWhole: Bool = false) {
    stuck.held.mark(inode)
    delivered.mark(inode)
    progress.found(inode: inode)
    let isTaken = !stuck.held.isFull || stuck.held.contains(inode: inode)
    guard SpoolName.isTaken(name), !claims.contains(inode: inode), isTaken,
      !order.beingWritten.contains(name, at: time.now)
    else { return }
    order.backlog.offer(name, isFromScan: inode != 0, cameWhole: cameWhole)
    if inode == 0 { replacing.survey.appeared(name) }
  }

  /// Leaves a file alone that a program created in `new/` and still has open.
  public mutating func writingBegan(_ name: Span<UInt8>) {
    order.beingWritten.begin(name, at: time.now)
  }

  /// Leaves a file alone for another moment, after one of its writers closed it.
  ///
  /// The kernel reports a close shortly before it counts the file as closed. There may also be
  /// other writers.
  public mutating func writingEnds(_ name: Span<UInt8>, at now: Instant) {
    order.beingWritten.begin(name, at: now, for: BeingWritten.closing)
  }

  /// Adds a file that was closed, or that was renamed into place.
  public mutating func writingEnded(_ name: Span<UInt8>, cameWhole: Bool = false) {
    order.beingWritten.end(name)
    offer(name, cameWhole: cameWhole)
  }

  /// Plans a scan, since events of `new/` were lost.
  public mutating func missedEvents() {
    order.beingWritten.clear()
    order.isScanWanted = true
    later.isScanWanted = true
  }

  /// Plans a scan of `later/`, since another program removed files there.
  public mutating func laterChanged() { later.isScanWanted = true }

  /// Plans a scan for files without an event, and retries what the disk refused.
  public mutating func rescan() {
    order.isScanWanted = true
    later.isScanWanted = true
    if !stuck.isEmpty { stuck.retryAt = time.now }
  }

  /// Stops taking new notifications; those under way are still settled.
  public mutating func stop() {
    isStopping = true
    interruptSending()
  }
}
