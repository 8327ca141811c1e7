/// The files in `later/`: notifications whose `not-before` is in the future, one in each file.
///
/// Each name begins with the second at which the notification is due. So the next one due has the
/// smallest name, and any number of files takes no memory.
struct LaterFiles: ~Copyable {
  /// The names, the next one due first.
  private(set) var names = Backlog()
  var isScanWanted = true
  private var hasChanged = false
  /// Whether files may be unsynced; initially true, since an earlier agent may have left some so.
  var isUnsynced = true
  /// When the next notification is due, in UNIX seconds.
  private var nextDue: Int64?
  /// When to try again after a failed scan or a failed move to `new/`.
  private(set) var retryAt: Instant?
  /// The name of the file that is being written, or was written last.
  private(set) var fileName = Text(capacity: 256)
  /// The key of a newly read notification, which replaces waiting ones with the same key.
  private(set) var cancelKey: UInt64?
  /// The name of the file with that notification.
  private var cancelName = Text(capacity: 256)

  init() {}

  /// Sets ``fileName`` for a notification at `offset` in a claimed file.
  mutating func setFileName(
    _ notification: Notification, of claim: ClaimNumber, offset: Int64, _ claims: borrowing Claims
  ) {
    fileName.clear()
    LaterName.append(
      due: notification.notBefore, key: notification.collapseKey, source: claims.name(claim),
      claims[claim].identity, offset: offset, to: &fileName)
  }

  /// Sets ``fileName`` for a notification to one token, which waits until `due`.
  mutating func setFileName(
    _ notification: Notification, for token: DeviceToken, of claim: ClaimNumber, offset: Int64,
    due: UInt32, _ claims: borrowing Claims
  ) {
    fileName.clear()
    LaterName.append(
      due: due, key: notification.collapseKey, source: claims.name(claim),
      claims[claim].identity, offset: offset, token, to: &fileName)
  }

  /// Sets ``fileName`` for a summary to a token, which is due at once.
  ///
  /// - Parameter wall: UNIX seconds; nil: unknown.
  mutating func setSummaryName(for token: DeviceToken, since: Instant, wall: Int64?) {
    var source = Text(capacity: 32)
    source.append(UInt32(clamping: wall ?? 0), digits: LaterName.dueDigits)
    source.append(LaterName.summaryEnd)
    fileName.clear()
    LaterName.append(
      due: 0, key: 0, source: source.bytes, FileIdentity(inode: 0, changeTimeNs: 0, size: 0),
      offset: Int64(clamping: since.milliseconds), token, to: &fileName)
  }

  /// Notes that the file ``fileName`` was written.
  mutating func written() {
    names.offer(fileName, isFromScan: false)
    // If `later/` could not be read, the name may be missing here. A scan finds it.
    guard !names.isEmpty, let due = LaterName(fileName.bytes)?.due else { return }
    nextDue = min(nextDue ?? due, due)
  }

  /// Adds the name of a file that a scan has found.
  mutating func offer(_ name: Span<UInt8>) {
    if LaterName(name) != nil { names.offer(name) }
  }

  /// Notes that `later/` could not be read, and when to try again.
  mutating func couldNotScan(retryAt instant: Instant) {
    names.forget()
    retryAt = instant
  }

  // MARK: - Cancelling

  /// Returns whether a notification with this key may be waiting.
  func mayContain(_ key: UInt64) -> Bool {
    guard names.isComplete, retryAt == nil else { return true }
    return names.contains { LaterName($0)?.key == key }
  }

  /// Begins to replace the waiting notifications with this key by one that was read.
  mutating func beginCancelling(
    _ key: UInt64, of claim: ClaimNumber, _ claims: borrowing Claims
  ) {
    cancelKey = key
    cancelName.clear()
    cancelName.append(bytes: claims.name(claim))
  }

  mutating func endCancelling() { cancelKey = nil }

  /// Returns whether the file with this name is replaced.
  func isReplaced(_ name: Span<UInt8>) -> Bool {
    guard let cancelKey else { return false }
    return LaterName.isReplaced(name, by: cancelName.bytes, key: cancelKey)
  }

  // MARK: - Releasing

  /// Returns whether to scan the directory now.
  mutating func needsScan(at now: Instant) -> Bool {
    if let at = retryAt, now >= at {
      retryAt = nil
      isScanWanted = true
    }
    guard isScanWanted || names.isEmpty && !names.isComplete && retryAt == nil else { return false }
    isScanWanted = false
    names.startScan()
    hasChanged = true
    return true
  }

  /// Updates the next due time if files were added or removed.
  mutating func update() {
    guard hasChanged else { return }
    hasChanged = false
    names.putInOrder()
    nextDue = names.isEmpty ? nil : LaterName(names.smallest())?.due
  }

  /// Returns whether a scan is wanted or a notification is due.
  func isDue(_ wall: Int64?) -> Bool {
    if isScanWanted { return true }
    guard let nextDue else { return false }
    return nextDue <= wall ?? 0
  }

  /// Returns when a notification is due or a retry is scheduled; nil: never.
  func dueAt(_ time: Time) -> Instant? {
    guard let nextDue, let wall = time.wallSeconds, nextDue > wall else { return retryAt }
    let at = time.now + .seconds(UInt64(nextDue - wall))
    return retryAt.map { $0 < at ? $0 : at } ?? at
  }

  /// Sorts the names, which `smallest` requires.
  mutating func putInOrder() { names.putInOrder() }

  /// Removes the due file, which has left.
  mutating func removeDue() {
    names.removeSmallest()
    hasChanged = true
  }

  /// Notes that the due file could not be moved, and when to try again.
  ///
  /// Returns whether no retry was scheduled before, so that the failure must be reported.
  mutating func couldNotRelease(retryAt instant: Instant) -> Bool {
    defer { retryAt = instant }
    return retryAt == nil
  }
}
