/// The files in `later/`: notifications whose `not-before` is to come, each in a file of its own whose name begins with the
/// second at which it is due. So any number of them costs nothing, and the next one is the smallest name.
struct LaterFiles: ~Copyable {
  /// The names, the next one due first.
  private(set) var names = Backlog()
  var isScanWanted = true
  private var hasChanged = false
  /// An agent before this one may have ended before it synced the files.
  var isUnsynced = true
  /// UNIX seconds at which the next one is due.
  private var nextDue: Int64?
  /// When to look again for what could not be moved to `new/`.
  private(set) var retryAt: Instant?
  /// The file that is to be written, or was last.
  private(set) var fileName = Text(capacity: 256)
  /// A notification of this key, of the file of this name, replaces others that wait here.
  private(set) var cancelKey: UInt64?
  private var cancelName = Text(capacity: 256)

  init() {}

  /// Names the file in which a notification waits that stands at `offset` in a file under way.
  mutating func setFileName(
    _ notification: Notification, of claim: ClaimNumber, offset: Int64, _ claims: borrowing Claims
  ) {
    fileName.clear()
    LaterName.append(
      due: notification.notBefore, key: notification.collapseKey, source: claims.name(claim),
      claims[claim].identity, offset: offset, to: &fileName)
  }

  /// The same of a notification for one token, which waits until `due`.
  mutating func setFileName(
    _ notification: Notification, for token: DeviceToken, of claim: ClaimNumber, offset: Int64,
    due: UInt32, _ claims: borrowing Claims
  ) {
    fileName.clear()
    LaterName.append(
      due: due, key: notification.collapseKey, source: claims.name(claim),
      claims[claim].identity, offset: offset, token, to: &fileName)
  }

  /// Names the file of a summary for a token, which goes at once.
  ///
  /// - Parameter wall: UNIX seconds; nil: nobody knows.
  mutating func setSummaryName(for token: DeviceToken, since: Instant, wall: Int64?) {
    var source = Text(capacity: 32)
    source.append(UInt32(clamping: wall ?? 0), digits: LaterName.dueDigits)
    source.append(LaterName.summaryEnd)
    fileName.clear()
    LaterName.append(
      due: 0, key: 0, source: source.bytes, FileIdentity(inode: 0, changeTimeNs: 0, size: 0),
      offset: Int64(clamping: since.milliseconds), token, to: &fileName)
  }

  /// The file ``fileName`` was written.
  mutating func written() {
    names.offer(fileName, isFromScan: false)
    // Where `later/` could not be read it may not be among them: a scan finds it.
    guard !names.isEmpty, let due = LaterName(fileName.bytes)?.due else { return }
    nextDue = min(nextDue ?? due, due)
  }

  /// A scan has found a file of this name.
  mutating func offer(_ name: Span<UInt8>) {
    if LaterName(name) != nil { names.offer(name) }
  }

  /// `later/` cannot be read: it is tried again.
  mutating func couldNotScan(retryAt instant: Instant) {
    names.forget()
    retryAt = instant
  }

  // MARK: - Cancelling

  /// Whether a notification of this key may wait here.
  func mayContain(_ key: UInt64) -> Bool {
    guard names.isComplete, retryAt == nil else { return true }
    return names.contains { LaterName($0)?.key == key }
  }

  /// A notification that was read replaces others.
  mutating func beginCancelling(
    _ key: UInt64, of claim: ClaimNumber, _ claims: borrowing Claims
  ) {
    cancelKey = key
    cancelName.clear()
    cancelName.append(bytes: claims.name(claim))
  }

  mutating func endCancelling() { cancelKey = nil }

  /// Whether the file of this name is replaced.
  func isReplaced(_ name: Span<UInt8>) -> Bool {
    guard let cancelKey else { return false }
    return LaterName.isReplaced(name, by: cancelName.bytes, key: cancelKey)
  }

  // MARK: - Releasing

  /// Whether the directory is to be looked through now.
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

  /// Finds the next one due, where files came or went.
  mutating func update() {
    guard hasChanged else { return }
    hasChanged = false
    names.putInOrder()
    nextDue = names.isEmpty ? nil : LaterName(names.smallest())?.due
  }

  /// Whether something here has to be looked at now.
  func isDue(_ wall: Int64?) -> Bool {
    if isScanWanted { return true }
    guard let nextDue else { return false }
    return nextDue <= wall ?? 0
  }

  /// When the next one is due.
  func dueAt(_ time: Time) -> Instant? {
    guard let nextDue, let wall = time.wallSeconds, nextDue > wall else { return retryAt }
    let at = time.now + .seconds(UInt64(nextDue - wall))
    return retryAt.map { $0 < at ? $0 : at } ?? at
  }

  /// Makes ready for `smallest`.
  mutating func putInOrder() { names.putInOrder() }

  /// The file that is due has left.
  mutating func removeDue() {
    names.removeSmallest()
    hasChanged = true
  }

  /// The file that is due could not be moved, and is tried again behind all others. Returns whether that is news.
  mutating func couldNotRelease(retryAt instant: Instant) -> Bool {
    defer { retryAt = instant }
    return retryAt == nil
  }
}
