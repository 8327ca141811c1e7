/// What happens by itself, and the shell tells.
extension Courier {
  /// A file named `name` is in `new/`. Its inode, where it is known, tells whether it is already under way.
  ///
  /// - Parameter cameWhole: whether it was seen to be renamed there.
  public mutating func offer(_ name: Span<UInt8>, inode: UInt64 = 0, cameWhole: Bool = false) {
    held.mark(inode)
    delivered.mark(inode)
    if inode != 0, inode == keptProgress?.file.inode { isProgressFileSeen = true }
    guard Self.isFileName(name), !claims.contains(inode: inode), isTaken(inode),
      !beingWritten.contains(name, at: time.now)
    else { return }
    backlog.offer(name, isFromScan: inode != 0, cameWhole: cameWhole)
    if inode == 0 { survey.appeared(name) }
  }

  /// Somebody created a file named `name` in `new/`, and has it open.
  public mutating func writingBegan(_ name: Span<UInt8>) {
    beingWritten.begin(name, at: time.now)
  }

  /// The file named `name` is closed by one of its writers, and is about to be so for the kernel, too; or it has others.
  public mutating func writingEnds(_ name: Span<UInt8>, at now: Instant) {
    beingWritten.begin(name, at: now, for: BeingWritten.closing)
  }

  /// The file named `name` is closed, or another one was moved to its place.
  public mutating func writingEnded(_ name: Span<UInt8>, cameWhole: Bool = false) {
    beingWritten.end(name)
    offer(name, cameWhole: cameWhole)
  }

  /// Some of what happened in `new/` was missed.
  public mutating func missedEvents() {
    beingWritten.clear()
    isScanWanted = true
  }

  /// Something may be in `new/` of which nobody was told, or have been mended.
  public mutating func rescan() {
    isScanWanted = true
    isLaterScanWanted = true
    if isHolding { heldRetryAt = time.now }
  }

  /// Everything has been read that came from the gateway until `instant`.
  public mutating func heard(until instant: Instant) {
    heardAt = instant
    hasJustHeard = true
  }

  /// From now on nothing new is taken; what is under way is seen to its end.
  public mutating func stop() {
    isStopping = true
    if trim.isEmpty { interruptReading() }
  }

  /// What kept it from connecting is over.
  public mutating func dialAtOnce() {
    guard case .down = link else { return }
    backoff.reset()
    link = .down(dialAt: time.now)
  }

  /// The machine slept. What came meanwhile is sent once more by the peer's kernel, whenever that will be: what waits for an
  /// answer waits anew.
  public mutating func suspended(until now: Instant) {
    acknowledgements.restart(at: now)
    movedAt = now
    if upSince != nil { upSince = now }
  }

  /// Whether a name is one that `tinypush send` gives: SECONDS.NANOSECONDS.PROCESS. Its files come whole.
  static func isSendName(_ name: Span<UInt8>) -> Bool {
    guard name.count > 21, name[10] == 0x2E, name[20] == 0x2E else { return false }
    for index in name.indices where index != 10 && index != 20 {
      guard name[index] >= 0x30, name[index] <= 0x39 else { return false }
    }
    return true
  }

  /// Names that writers use for what is not finished are left alone.
  package static func isFileName(_ name: Span<UInt8>) -> Bool {
    guard name.count > 0, name[0] != 0x2E, name[name.count - 1] != 0x7E else { return false }
    if name.count > 4, name.extracting((name.count - 4)..<name.count).equals(".tmp") {
      return false
    }
    if name.count > 5, name.extracting((name.count - 5)..<name.count).equals(".part") {
      return false
    }
    return true
  }
}
