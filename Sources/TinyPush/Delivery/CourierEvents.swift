/// What happens by itself, and the shell tells.
extension Courier {
  /// A file named `name` is in `new/`. Its inode, where it is known, tells whether it is already under way.
  ///
  /// - Parameter cameWhole: whether it was seen to be renamed there.
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

  /// Somebody created a file named `name` in `new/`, and has it open.
  public mutating func writingBegan(_ name: Span<UInt8>) {
    order.beingWritten.begin(name, at: time.now)
  }

  /// The file named `name` is closed by one of its writers, and is about to be so for the kernel, too; or it has others.
  public mutating func writingEnds(_ name: Span<UInt8>, at now: Instant) {
    order.beingWritten.begin(name, at: now, for: BeingWritten.closing)
  }

  /// The file named `name` is closed, or another one was moved to its place.
  public mutating func writingEnded(_ name: Span<UInt8>, cameWhole: Bool = false) {
    order.beingWritten.end(name)
    offer(name, cameWhole: cameWhole)
  }

  /// Some of what happened in `new/` was missed.
  public mutating func missedEvents() {
    order.beingWritten.clear()
    order.isScanWanted = true
    later.isScanWanted = true
  }

  /// Another program removed files from `later/`.
  public mutating func laterChanged() { later.isScanWanted = true }

  /// Something may be in `new/` of which nobody was told, or have been mended.
  public mutating func rescan() {
    order.isScanWanted = true
    later.isScanWanted = true
    if !stuck.isEmpty { stuck.retryAt = time.now }
  }

  /// From now on nothing new is taken; what is under way is seen to its end.
  public mutating func stop() {
    isStopping = true
    interruptSending()
  }
}
