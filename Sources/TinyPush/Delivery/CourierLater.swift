/// Notifications that wait in `later/`.
extension Courier {
  /// Whether the `not-before` of a notification is in the future.
  ///
  /// While the clock is not set, it counts as in the future.
  func isEarly(_ notification: Notification) -> Bool {
    guard notification.notBefore > 0 else { return false }
    guard let wall = time.wallSeconds else { return true }
    return Int64(notification.notBefore) > wall
  }

  /// Prepares the record that puts a notification into `later/`.
  ///
  /// The file that it came from does not wait for it.
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
  /// The record is a notification that waits, or a summary.
  public var isPostponing: Bool { recorder.pending?.kind == .postponed || isSummarizing }

  /// Whether the record is a summary, which comes from no file.
  public var isSummarizing: Bool { recorder.pending?.kind == .summary }

  /// The name of the file in `later/` for the record.
  @_lifetime(borrow self)
  public func laterFileName() -> Span<UInt8> { later.fileName.bytes }

  // MARK: - Cancelling

  /// Whether the notification that was just read replaces a file of `later/`.
  public func isReplaced(_ name: Span<UInt8>) -> Bool { later.isReplaced(name) }

  /// Records how many replaced files of `later/` were removed.
  public mutating func cancelled(_ count: Int) {
    later.endCancelling()
    counters.superseded += UInt64(count)
  }

  // MARK: - Releasing

  /// Adds a file in `later/` to those that wait.
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
    // A power cut must not leave an incomplete file in `new/`, which would be refused.
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

  /// Records that the due file was moved to `new/`.
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
