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
  mutating func postponeWhole(_ notification: Notification, _ text: UInt16) {
    let entry = outbox[text: text]
    if notification.collapseKey != 0 { replaceRest(of: text) }
    later.setFileName(
      due: notification.notBefore, key: notification.collapseKey, entry.origin, of: entry.file,
      files, identity: entry.identity)
    recorder.postpone(text, in: outbox)
    endRecipients()
  }

  /// Puts a message into `later/`, since its service takes nothing now, or has no lane.
  ///
  /// The wait for a service grows with the age of the notification, so that few files are written.
  /// After a stop it is short, since somebody may have mended what was wrong.
  @inline(never)
  mutating func postponeStuck(_ message: MessageNumber) {
    let entry = outbox[message]
    let file = outbox[text: entry.text].file
    guard let notification = notification(entry.text) else {
      return recorder.settle(.dropped, entry.text, message, in: outbox)
    }
    // It comes back as another file, and is no duplicate of itself then.
    forgetSending(notification, entry)
    if isExpired(notification, from: lifeStart(of: notification, in: file)) {
      counters.expired += 1
      return recorder.settle(.expired, entry.text, message, in: outbox)
    }
    if notification.collapseKey != 0 {
      if isReplaced(entry.text) {
        supersede(file, 1)
        return recorder.settle(.superseded, entry.text, message, in: outbox)
      }
      replaceRest(of: entry.text)
    }
    let untilDue = Int64(time.now.until(entry.until).milliseconds + 1999) / 1000
    // A lane is free sooner than a service that takes nothing is well.
    let lacksLane =
      entry.lane == .devices && entry.subscription != Outbox.none && !entry.lostLane
    let longest = lacksLane || isStopping ? Self.postponedMin : Self.postponedMax
    let wait = max(min(max(age(of: entry.text) / 2, Self.postponedMin), longest), untilDue)
    // While the clock is not set, nothing is due.
    postpone(message, notification, until: UInt32(clamping: (time.wallSeconds ?? 0) + wait))
  }

  /// Returns how many seconds ago a notification came, as far as the clock tells.
  ///
  /// If the clock was not set then, and another agent ran, the notification counts as being as old as
  /// the start of the machine.
  func age(of text: UInt16) -> Int64 {
    let came = arrivals.arrival(changeTimeNs: outbox[text: text].origin.arrivalNs, time)
    return (Int64(time.now.milliseconds) - (came ?? 0)) / 1000
  }

  /// The shortest and the longest wait for another service to have room, in seconds.
  private static let postponedMin: Int64 = 60
  private static let postponedMax: Int64 = 3600

  /// Prepares the record that puts a message into `later/`, until a time in UNIX seconds.
  mutating func postpone(
    _ message: MessageNumber, _ notification: Notification, until due: UInt32
  ) {
    let entry = outbox[message]
    let text = outbox[text: entry.text]
    later.setFileName(
      due: due, key: notification.collapseKey, text.origin, of: text.file, files,
      identity: identity(of: entry, notification))
    recorder.postpone(notification, message, in: outbox)
  }

  /// The identity of a notification to one recipient, also when it has come back from `later/`.
  func identity(of entry: Outbox.Entry, _ notification: Notification) -> UInt64 {
    let identity = outbox[text: entry.text].identity
    if notification.tokens == 1, notification.lists == 0 { return identity }
    var hash = Hash()
    hash.add(identity)
    hash.add(entry.token.identity.bytes)
    return hash.value
  }

  // MARK: - Cancelling

  /// Returns the step that removes the files of `later/` that the last notification replaces.
  ///
  /// That notification must survive a power cut before the older ones are removed.
  mutating func cancelStep() -> Step {
    if recorder.isUnsynced { return .sync }
    later.beginScan()
    return .scan(.later)
  }

  /// Whether the notification that was just read replaces a file of `later/`.
  ///
  /// The agent removes the file during a scan, and calls ``cancelled(_:)`` with the number of
  /// removed files.
  public func isReplaced(_ name: Span<UInt8>) -> Bool {
    later.isReplaced(name, files, arrivals, time)
  }

  /// Records how many replaced files of `later/` were removed.
  public mutating func cancelled(_ count: Int) {
    counters.superseded += UInt64(count)
  }

  // MARK: - Releasing

  /// Returns the step, if any, for the notifications that are due.
  @inline(never)
  mutating func releaseStep() -> Step? {
    if later.needsScan(at: time.now) { return .scan(.later) }
    later.update()
    // Before the first scan of `taken/`, its names are not known.
    guard later.isDue(time.wallSeconds), waiting.taken.isEmpty, waiting.taken.isComplete else {
      return nil
    }
    later.putInOrder()
    name.set { later.names.appendSmallest(to: &$0) }
    target.set { later.appendReleased(arrivalNs: time.clockMilliseconds * 1_000_000, to: &$0) }
    // A power cut must not leave an incomplete file in `taken/`, which would be refused. And a file
    // of the same name that was refused must leave first, since it would be replaced.
    let wouldReplace = recorder.isUnsynced && files.find(target.bytes()) != nil
    return later.isNextSynced && !wouldReplace ? .release : .sync
  }

  /// Handles the result of moving the due file to `taken/`.
  public mutating func released(_ result: ReleaseResult) {
    later.removeDue()
    switch result {
    // A notification that is in later/ twice may come back twice in a moment, as one file.
    case .released: if files.find(target.bytes()) == nil { waiting.offerTaken(target) }
    case .isGone: break
    case .failed:
      // The file is tried again later, after all others.
      if later.couldNotRelease(retryAt: time.now + DiskTroubles.pauseMin) {
        reports.add(.notReleased)
      }
    }
  }
}
