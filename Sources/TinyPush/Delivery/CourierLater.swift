/// Notifications whose `not-before` is to come: they wait in `later/`, each in a file of its own whose name begins with the
/// second at which it is due. So any number of them costs nothing, and the next one is the smallest name.
extension Courier {
  /// Whether its time has not come, as far as this machine knows the time.
  func isEarly(_ notification: Notification) -> Bool {
    guard notification.notBefore > 0 else { return false }
    guard let wall = time.wallSeconds else { return true }
    return Int64(notification.notBefore) > wall
  }

  /// Puts a notification into `later/`: the shell records it as it would a failure, and the file it stands in goes its way.
  mutating func postpone(_ notification: Notification, of now: inout Reading) {
    now.isAtStart = false
    failure.clear()
    failure.append(bytes: input.looseSpan(notification.object))
    failure.putInOneLine(from: 0)
    failure.append("\n")
    laterName.clear()
    LaterName.append(
      due: notification.notBefore, key: notification.collapseKey, source: claims.name(now.claim),
      claims[now.claim].identity,
      offset: now.inputOffset + Int64(notification.object.lowerBound), to: &laterName)
    pending = PendingFailure(claim: now.claim, isPostponed: true)
  }

  /// It is in `later/`.
  mutating func putLater() {
    counters.postponed += 1
    later.offer(laterName.looseBytes, isFromScan: false)
    // Where `later/` could not be read it may not be among them: a scan finds it.
    guard !later.isEmpty, let due = LaterName(laterName.looseBytes)?.due else { return }
    nextDue = min(nextDue ?? due, due)
  }

  /// Whether what is to be recorded is a notification that waits, in the file ``laterFileName()`` of `later/`.
  public var isPostponing: Bool { pending?.isPostponed ?? false }

  @_lifetime(borrow self)
  public func laterFileName() -> Span<UInt8> { laterName.bytes }

  // MARK: - Cancelling

  /// Whether a notification of this key may wait there.
  func isInLater(_ key: UInt64) -> Bool {
    guard later.isComplete, laterRetryAt == nil else { return true }
    return later.contains { LaterName($0)?.key == key }
  }

  /// Whether a file of `later/` is replaced by the notification that was just read.
  public func isReplaced(_ name: Span<UInt8>) -> Bool {
    guard let cancelKey else { return false }
    return LaterName.isReplaced(name, by: cancelName.bytes, key: cancelKey)
  }

  /// So many files of `later/` were replaced, and are gone.
  public mutating func cancelled(_ count: Int) {
    cancelKey = nil
    counters.superseded += UInt64(count)
  }

  // MARK: - Releasing

  /// A file of this name is in `later/`.
  public mutating func offerLater(_ name: Span<UInt8>) {
    if LaterName(name) != nil { later.offer(name) }
  }

  /// `later/` cannot be read: it is tried again.
  public mutating func couldNotScanLater() {
    later.forget()
    laterRetryAt = time.now + Self.heldPauseMin
  }

  /// What is to be done for those that are due.
  mutating func releaseStep() -> Step? {
    if let at = laterRetryAt, time.now >= at {
      laterRetryAt = nil
      isLaterScanWanted = true
    }
    if isLaterScanWanted || later.isEmpty && !later.isComplete && laterRetryAt == nil {
      isLaterScanWanted = false
      later.startScan()
      isLaterChanged = true
      return .scanLater
    }
    if isLaterChanged {
      isLaterChanged = false
      noteDue()
    }
    guard isReleaseDue else { return nil }
    // A power cut must not leave it torn in `new/`, where it would be refused.
    guard !isRecordUnsynced, !isLaterUnsynced else { return .sync }
    later.putInOrder()
    return .release
  }

  /// Whether something in `later/` has to be looked at now.
  var isReleaseDue: Bool {
    if isLaterScanWanted { return true }
    guard let nextDue, let wall = time.wallSeconds else { return false }
    return nextDue <= wall
  }

  /// When the next one is due.
  var releaseAt: Instant? {
    guard let nextDue, let wall = time.wallSeconds, nextDue > wall else { return laterRetryAt }
    let at = time.now + .seconds(UInt64(nextDue - wall))
    return laterRetryAt.map { $0 < at ? $0 : at } ?? at
  }

  /// Finds the next one.
  mutating func noteDue() {
    later.putInOrder()
    nextDue = later.isEmpty ? nil : LaterName(later.smallest())?.due
  }

  /// The name in `later/` of the file that is due, and what it is to be called in `new/`.
  @_lifetime(borrow self)
  public func dueName() -> Span<UInt8> { later.smallest() }

  public func appendReleasedName(to text: inout Text) {
    let name = later.smallest()
    LaterName(name)?.appendReleased(name, to: &text)
  }

  /// The file was moved to `new/`.
  public mutating func released() {
    var name = Text(capacity: 300)
    appendReleasedName(to: &name)
    later.removeSmallest()
    isLaterChanged = true
    offer(name.looseBytes, cameWhole: true)
  }

  /// It could not be moved: it is gone; or something is in its way, and it is tried again later, behind all others.
  public mutating func couldNotRelease(isGone: Bool) {
    later.removeSmallest()
    isLaterChanged = true
    guard !isGone else { return }
    if laterRetryAt == nil { reports.add(.notReleased) }
    laterRetryAt = time.now + Self.heldPauseMin
  }
}
