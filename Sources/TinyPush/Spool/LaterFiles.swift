/// The files in `later/`, with one notification each, which waits until it is due.
///
/// Each name begins with the second at which the notification is due. So the next one due has the
/// smallest name, and any number of files takes no memory.
struct LaterFiles: ~Copyable {
  /// The names, the next one due first.
  private(set) var names = Backlog()
  /// The number of files, of which ``names`` may lack some.
  private(set) var count = 0
  /// Two bits for each key at the last scan, and since: of 100,000 keys, three in a hundred others
  /// seem to be there, and cost a scan.
  private let keys = FixedBuffer<UInt64>(capacity: 16_384)
  private var hasKeys = false
  var isScanWanted = true
  private var hasChanged = false
  /// When the first of the unsynced files is due, in UNIX seconds; nil: all files are synced.
  ///
  /// Initially any file may be unsynced, since an earlier agent may have left some so.
  private var unsyncedDue: Int64? = 0
  /// When the next notification is due, in UNIX seconds.
  private var nextDue: Int64?
  /// When to try again after a failed scan or a failed move to `taken/`.
  private(set) var retryAt: Instant?
  /// The name of the file that is being written, or was written last.
  private(set) var fileName = Text(capacity: 256)
  /// The key of a newly read notification, which replaces waiting ones with the same key.
  private(set) var cancelKey: UInt64?
  /// When that notification came, and its file.
  private var cancelOrigin = Origin(arrivalNs: 0, hasWaited: false)
  private var cancelFile = FileNumber(0)

  init() {}

  /// Appends the name that the due file gets in `taken/`.
  func appendReleased(arrivalNs: Int64, to text: inout Text) {
    let name = names.smallest()
    var released = Text(capacity: 300)
    LaterName(name)?.appendReleased(name, to: &released)
    TakenName.append(released.bytes, arrivalNs: arrivalNs, isReleased: true, to: &text)
  }

  /// Sets ``fileName`` for a notification that waits until `due`.
  ///
  /// - Parameters:
  ///   - origin: when it came.
  ///   - file: its file.
  ///   - identity: the identity of the notification, which it keeps.
  mutating func setFileName(
    due: UInt32, key: UInt64, _ origin: Origin, of file: FileNumber,
    _ files: borrowing TakenFiles, identity: UInt64
  ) {
    fileName.clear()
    LaterName.append(
      due: due, key: key, source: files.name(file), arrivalNs: origin.arrivalNs,
      identity: identity, to: &fileName)
  }

  /// Sets ``fileName`` for a summary to a token, which is due at once.
  ///
  /// - Parameter wall: UNIX seconds; nil: unknown.
  mutating func setSummaryName(for token: DeviceToken, since: Instant, wall: Int64?) {
    var source = Text(capacity: 32)
    source.append(UInt32(clamping: wall ?? 0), digits: LaterName.dueDigits)
    source.append(LaterName.summaryEnd)
    var identity = Hash()
    identity.add(token.bytes)
    identity.add(since.milliseconds)
    fileName.clear()
    LaterName.append(
      due: 0, key: 0, source: source.bytes, arrivalNs: 0, identity: identity.value, to: &fileName)
  }

  /// Notes that the file ``fileName`` was written.
  mutating func written() {
    names.offer(fileName, isFromScan: false)
    guard let known = LaterName(fileName.bytes) else { return }
    note(known.key)
    unsyncedDue = min(unsyncedDue ?? known.due, known.due)
    // If `later/` could not be read, the name may be missing here. A scan finds it.
    if !names.isEmpty { nextDue = min(nextDue ?? known.due, known.due) }
  }

  /// Adds the name of a file that a scan has found.
  mutating func offer(_ name: Span<UInt8>) {
    guard let known = LaterName(name) else { return }
    names.offer(name)
    note(known.key)
  }

  /// Counts a file with a notification of this key; 0: none.
  private mutating func note(_ key: UInt64) {
    count += 1
    guard key != 0 else { return }
    if !hasKeys {
      for index in 0..<keys.capacity { keys[index] = 0 }
      hasKeys = true
    }
    mark(key)
    mark(key >> 32)
  }

  private func mark(_ bits: UInt64) { keys[Int(bits >> 6 & 16_383)] |= 1 << (bits & 63) }

  private func isMarked(_ bits: UInt64) -> Bool {
    keys[Int(bits >> 6 & 16_383)] & 1 << (bits & 63) != 0
  }

  /// Whether a file may have a notification with this key.
  private func mayHave(_ key: UInt64) -> Bool {
    hasKeys && isMarked(key) && isMarked(key >> 32)
  }

  /// Notes that `later/` could not be read, and when to try again.
  mutating func couldNotScan(retryAt instant: Instant) {
    names.forget()
    retryAt = instant
  }

  // MARK: - Cancelling

  /// Returns whether a notification with this key may be waiting.
  func mayContain(_ key: UInt64) -> Bool {
    guard retryAt == nil else { return true }
    guard mayHave(key) else { return false }
    return !names.isComplete || names.contains { LaterName($0)?.key == key }
  }

  /// Returns whether a notification with this key waits that is newer than one of a taken file.
  func containsNewer(
    _ key: UInt64, than origin: Origin, of file: FileNumber, _ files: borrowing TakenFiles,
    _ arrivals: ArrivalClock, _ time: Time
  ) -> Bool {
    mayHave(key)
      && names.contains { comes($0, key, before: origin, of: file, files, arrivals, time) == false }
  }

  /// Returns whether the notification in the file `name` came before one of a taken file.
  ///
  /// Nil: nobody knows, or the notification has another key.
  private func comes(
    _ name: Span<UInt8>, _ key: UInt64, before origin: Origin, of file: FileNumber,
    _ files: borrowing TakenFiles, _ arrivals: ArrivalClock, _ time: Time
  ) -> Bool? {
    guard let known = LaterName(name), known.key == key else { return nil }
    return Origin(arrivalNs: known.arrivalNs, hasWaited: true).comes(
      LaterName.source(of: LaterName.rest(of: name)), before: origin,
      LaterName.source(of: files.name(file)), arrivals, time)
  }

  /// Begins to replace the waiting notifications with this key by one that was read.
  ///
  /// - Parameters:
  ///   - origin: when that notification came.
  ///   - file: its file.
  mutating func beginCancelling(_ key: UInt64, _ origin: Origin, of file: FileNumber) {
    cancelKey = key
    cancelOrigin = origin
    cancelFile = file
  }

  mutating func endCancelling() { cancelKey = nil }

  /// Returns whether the file with this name is replaced.
  func isReplaced(
    _ name: Span<UInt8>, _ files: borrowing TakenFiles, _ arrivals: ArrivalClock,
    _ time: Time
  ) -> Bool {
    guard let cancelKey else { return false }
    return comes(
      name, cancelKey, before: cancelOrigin, of: cancelFile, files, arrivals, time) == true
  }

  // MARK: - Releasing

  /// Returns whether to scan the directory now.
  mutating func needsScan(at now: Instant) -> Bool {
    if let at = retryAt, now >= at {
      retryAt = nil
      isScanWanted = true
    }
    guard isScanWanted || names.isEmpty && !names.isComplete && retryAt == nil else { return false }
    beginScan()
    return true
  }

  /// Prepares for a scan, which offers all names.
  mutating func beginScan() {
    isScanWanted = false
    names.startScan()
    (count, hasKeys) = (0, false)
    hasChanged = true
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

  /// Whether the file that is due next survives a power cut.
  var isNextSynced: Bool { unsyncedDue.map { nextDue ?? 0 < $0 } ?? true }

  mutating func synced() { unsyncedDue = nil }

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
    count -= 1
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
