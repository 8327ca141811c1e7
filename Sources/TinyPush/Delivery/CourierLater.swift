/// Notifications that wait in `later/`.
extension Courier {
  /// Whether the `not-before` of a notification is in the future.
  ///
  /// Without a set clock, it is.
  func isEarly(_ notification: Notification) -> Bool {
    guard notification.notBefore > 0 else { return false }
    guard let wall = time.wallSeconds else { return true }
    return Int64(notification.notBefore) > wall
  }

  /// Puts a notification into `later/`.
  ///
  /// The agent writes it as it writes a failure. The rest of its file goes on without it.
  @inline(never)
  mutating func postpone(_ notification: Notification, of now: inout Reading) {
    now.beginning = .passed
    later.setFileName(
      notification, of: now.claim,
      offset: now.inputOffset + Int64(notification.object.lowerBound), claims)
    recorder.postpone(notification, of: now, in: reader.input)
  }

  /// Whether the record goes into the file ``laterFileName()`` of `later/`.
  ///
  /// It is a notification that waits, or a summary.
  public var isPostponing: Bool { recorder.pending?.kind == .postponed || isSummarizing }

  /// Whether the record is a summary, which comes from no file.
  public var isSummarizing: Bool { recorder.pending?.kind == .summary }

  /// The name of the file in `later/` for the record.
  @_lifetime(borrow self)
  public func laterFileName() -> Span<UInt8> { later.fileName.bytes }

  // MARK: - Cancelling

  /// Whether the notification that was just read replaces a file of `later/`.
  public func isReplaced(_ name: Span<UInt8>) -> Bool { later.isReplaced(name) }

  /// Reports how many replaced files of `later/` were removed.
  public mutating func cancelled(_ count: Int) {
    later.endCancelling()
    counters.superseded += UInt64(count)
  }

  // MARK: - Releasing

  /// Takes note of a file in `later/`.
  public mutating func offerLater(_ name: Span<UInt8>) { later.offer(name) }

  /// Plans another scan of `later/`, which could not be read.
  public mutating func couldNotScanLater() {
    later.couldNotScan(retryAt: time.now + StuckFiles.pauseMin)
  }

  /// Returns the step, if any, for the notifications that are due.
  @inline(never)
  mutating func releaseStep() -> Step? {
    if later.needsScan(at: time.now) { return .scanLater }
    later.update()
    guard later.isDue(time.wallSeconds) else { return nil }
    // After a power cut an incomplete file in `new/` would be refused.
    guard !recorder.isUnsynced, !later.isUnsynced else { return .sync }
    later.putInOrder()
    return .release
  }

  /// The name in `later/` of the file that is due.
  @_lifetime(borrow self)
  public func dueName() -> Span<UInt8> { later.names.smallest() }

  /// Appends the name that the due file gets in `new/`.
  public func appendReleasedName(to text: inout Text) {
    let name = later.names.smallest()
    LaterName(name)?.appendReleased(name, to: &text)
  }

  /// Takes the due file, which was moved to `new/`.
  public mutating func released() {
    var name = Text(capacity: 300)
    appendReleasedName(to: &name)
    later.removeDue()
    offer(name.bytes, cameWhole: true)
  }

  /// Handles a due file that could not be moved.
  ///
  /// If it is still there, it is tried again later, after all others.
  public mutating func couldNotRelease(isGone: Bool) {
    later.removeDue()
    guard !isGone else { return }
    if later.couldNotRelease(retryAt: time.now + StuckFiles.pauseMin) { reports.add(.notReleased) }
  }
}
