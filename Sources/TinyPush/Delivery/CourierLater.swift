/// Notifications whose `not-before` is to come.
extension Courier {
  /// Whether its time has not come, as far as this machine knows the time.
  func isEarly(_ notification: Notification) -> Bool {
    guard notification.notBefore > 0 else { return false }
    guard let wall = time.wallSeconds else { return true }
    return Int64(notification.notBefore) > wall
  }

  /// Puts a notification into `later/`: the shell records it as it would a failure, and the file it stands in goes its way.
  @inline(never)
  mutating func postpone(_ notification: Notification, of now: inout Reading) {
    now.beginning = .passed
    later.setFileName(
      notification, of: now.claim,
      offset: now.inputOffset + Int64(notification.object.lowerBound), claims)
    recorder.postpone(notification, of: now, in: reader.input)
  }

  /// Whether what is to be recorded is a notification that waits, or a ``isSummarizing``, in the file ``laterFileName()`` of
  /// `later/`.
  public var isPostponing: Bool { recorder.pending?.kind == .postponed || isSummarizing }

  /// Whether it is a summary, which was taken from no file.
  public var isSummarizing: Bool { recorder.pending?.kind == .summary }

  @_lifetime(borrow self)
  public func laterFileName() -> Span<UInt8> { later.fileName.bytes }

  // MARK: - Cancelling

  /// Whether a file of `later/` is replaced by the notification that was just read.
  public func isReplaced(_ name: Span<UInt8>) -> Bool { later.isReplaced(name) }

  /// So many files of `later/` were replaced, and are gone.
  public mutating func cancelled(_ count: Int) {
    later.endCancelling()
    counters.superseded += UInt64(count)
  }

  // MARK: - Releasing

  /// A file of this name is in `later/`.
  public mutating func offerLater(_ name: Span<UInt8>) { later.offer(name) }

  /// `later/` cannot be read: it is tried again.
  public mutating func couldNotScanLater() {
    later.couldNotScan(retryAt: time.now + StuckFiles.pauseMin)
  }

  /// What is to be done for those that are due.
  @inline(never)
  mutating func releaseStep() -> Step? {
    if later.needsScan(at: time.now) { return .scanLater }
    later.update()
    guard later.isDue(time.wallSeconds) else { return nil }
    // A power cut must not leave it torn in `new/`, where it would be refused.
    guard !recorder.isUnsynced, !later.isUnsynced else { return .sync }
    later.putInOrder()
    return .release
  }

  /// The name in `later/` of the file that is due, and what it is to be called in `new/`.
  @_lifetime(borrow self)
  public func dueName() -> Span<UInt8> { later.names.smallest() }

  public func appendReleasedName(to text: inout Text) {
    let name = later.names.smallest()
    LaterName(name)?.appendReleased(name, to: &text)
  }

  /// The file was moved to `new/`.
  public mutating func released() {
    var name = Text(capacity: 300)
    appendReleasedName(to: &name)
    later.removeDue()
    offer(name.bytes, cameWhole: true)
  }

  /// It could not be moved: it is gone; or something is in its way, and it is tried again later, behind all others.
  public mutating func couldNotRelease(isGone: Bool) {
    later.removeDue()
    guard !isGone else { return }
    if later.couldNotRelease(retryAt: time.now + StuckFiles.pauseMin) { reports.add(.notReleased) }
  }
}
