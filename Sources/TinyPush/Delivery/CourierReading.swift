/// Choosing the next file or stretch, and reading it.
extension Courier {
  /// What to do after a step of reading.
  enum Progression {
    case goOn
    /// The agent must do a step first.
    case wants(Step)
    case stop(Obstacle)
  }

  /// Offers notifications until the link is full or nothing is left.
  ///
  /// Returns a step that must be done first.
  mutating func intake<L: Link & ~Copyable>(_ link: inout L) -> Step? {
    obstacle = nil
    while true {
      if reader.reading == nil {
        if let step = beginReading(link) { return step }
        guard reader.reading != nil else { return nil }
      }
      if isStopping && !reader.reading!.isDecided {
        interruptReading()
        return reader.mustClose ? .close : nil
      }
      if reader.reading!.access == .closed { return .open }
      if reader.reading!.needsInput { return .read }
      guard link.isOpen || needsNoLink else { return nil }
      let progression = readOn(&link)
      if recorder.pending != nil { return .record }
      if reader.mustClose { return .close }
      switch progression {
      case .goOn: continue
      case .wants(let step): return step
      case .stop(let why):
        obstacle = why
        guard mustGiveWay || isStopping && !(reader.reading?.isDecided ?? false) else {
          return nil
        }
        interruptReading()
        if reader.mustClose { return .close }
      }
    }
  }

  /// Whether the present reading sends nothing, and so needs no connection.
  private var needsNoLink: Bool {
    reader.reading.map { $0.isDecided || $0.remaining == 0 } ?? true
  }

  /// Whether returned notifications must be read before the present file goes on.
  ///
  /// There is room for only one reading at a time.
  private var mustGiveWay: Bool {
    returns.isUrgent(at: time.now) && (reader.reading?.isFirst ?? false)
  }

  /// Picks the next file or stretch to read, or returns a step that must be done first.
  @inline(never)
  private mutating func beginReading<L: Link & ~Copyable>(_ link: borrowing L) -> Step? {
    if reader.isPaused(at: time.now) { return nil }
    if let stretch = returns.takeDecided() {
      reader.reading = Reading(again: stretch)
      return nil
    }
    guard link.isOpen else {
      // Nothing can be sent, but `--once` must know whether the spool is empty.
      return settings.isOnce && order.backlog.isEmpty && !isStopping ? scanIfWanted() : nil
    }
    if isStopping { return nil }
    // A single stretch always has room: the queues are larger than the window.
    guard link.stretchCount == 0 || returns.hasRoom(for: link.stretchCount) else {
      obstacle = .windowFull
      return nil
    }
    if let stretch = returns.takeNext(at: time.now) {
      reader.reading = Reading(again: stretch)
      return nil
    }
    if let interrupted = reader.interrupted {
      reader.interrupted = nil
      reader.reading = interrupted
      return nil
    }
    guard link.stretchCount + returns.count < settings.window, claims.hasRoom else {
      obstacle = .windowFull
      return nil
    }
    if let step = scanIfWanted() { return step }
    guard !order.backlog.isEmpty else { return nil }
    order.backlog.putInOrder()
    let claim = claims.append(smallestOf: order.backlog, seenAt: time.now.milliseconds)
    order.backlog.removeSmallest()
    reader.reading = Reading(first: claim)
    return nil
  }

  private mutating func scanIfWanted() -> Step? {
    if let step = retryStuck() { return step }
    if let step = releaseStep() { return step }
    if order.isRescanDue(at: time.now) { later.isScanWanted = true }
    guard order.needsScan(at: time.now) else { return nil }
    if order.beginScan(at: time.now, rescan: settings.rescan) { replacing.survey.requestPass() }
    suppression.retry()
    progress.beginScan()
    stuck.held.unmark()
    delivered.unmark()
    return .scan
  }

  /// Reads on in the present file, and offers its notifications.
  private mutating func readOn<L: Link & ~Copyable>(_ link: inout L) -> Progression {
    guard var now = reader.reading else { return .goOn }
    if now.inputOffset < now.passUntil {
      reader.pass(&now)
      reader.reading = now
      return .goOn
    }
    while now.remaining > 0 {
      let before = now.reader
      let result = now.reader.next(
        in: reader.input, count: now.inputBytes, isWhole: now.isWhole, settings.rules,
        &reader.findings)
      switch result {
      case .notification(let notification):
        if let progression = handle(notification, readFrom: before, of: &now, &link) {
          return progression
        }
      case .refused(let finding, let object):
        return handle(finding, object, of: &now)
      case .more(let from):
        discardLines(upTo: from, of: &now)
        now.reader.resume(at: 0)
        now.needsInput = true
        if isGarbage(now) { endReading(now, .noNotification) } else { reader.reading = now }
        return .goOn
      case .end:
        handleEnd(&now)
        return .goOn
      }
    }
    endReading(now, .done)
    return .goOn
  }

  /// Handles a notification that was read; nil: the next one may follow at once.
  private mutating func handle<L: Link & ~Copyable>(
    _ notification: Notification, readFrom before: NotificationReader, of now: inout Reading,
    _ link: inout L
  ) -> Progression? {
    now.objectEnd = now.inputOffset + Int64(notification.object.upperBound)
    now.isWithinText = false
    if now.isFirst, now.recipient == 0 {
      if notification.collapseKey != 0 {
        switch collapse(notification, of: &now) {
        case .send: break
        case .replaced:
          counters.superseded += UInt64(max(notification.tokens, 1))
          // The file stays until the newer notification survives a power cut.
          recorder.isUnsynced = true
          claims.recordUnsyncedRecord(now.claim)
          now.beginning = .passed
          guard reportsSettlements(of: now.claim) else { return nil }
          settle(.superseded, notification, nil, of: &now)
          reader.reading = now
          return .goOn
        case .wants(let step):
          now.reader = before
          reader.reading = now
          return .wants(step)
        }
      }
      if isEarly(notification) {
        postpone(notification, of: &now)
        reader.reading = now
        return .goOn
      }
    }
    // After text that is not JSON, the notification starts at its brace: a reading that starts
    // earlier would not find it.
    let start = before.isSkipping ? notification.object.lowerBound : before.index
    switch offer(notification, from: start, of: &now, &link) {
    case .all:
      now.recipient = 0
      now.problems = 0
    case .some: now.reader = before
    case .stopped(let obstacle):
      now.reader = before
      reader.reading = now
      return .stop(obstacle)
    case .wants(let step):
      now.reader = before
      reader.reading = now
      return .wants(step)
    case .recipientsChanged:
      endReading(now, .recipientsChanged)
      return .goOn
    }
    guard recorder.pending != nil else { return nil }
    reader.reading = now
    return .goOn
  }

  /// Handles text that is no notification, or a notification that may not be sent.
  private mutating func handle(
    _ finding: Finding, _ object: Range<Int>, of now: inout Reading
  ) -> Progression {
    if now.isWhole && finding.reason == .json(.unexpectedEnd), isUnfinished(&now) {
      endReading(now, .putOff)
      return .goOn
    }
    now.beginning = .passed
    now.isWithinText = !finding.isOfObject
    if finding.isOfObject { now.objectEnd = now.inputOffset + Int64(object.upperBound) }
    guard now.isFirst else {
      // A stretch holds only notifications that were sent, so the file was overwritten.
      endReading(now, .changed)
      return .goOn
    }
    record(finding, object: object, of: &now)
    reader.reading = now
    return .goOn
  }

  /// Handles the end of the file.
  @inline(never)
  private mutating func handleEnd(_ now: inout Reading) {
    if isUnfinished(&now) { return endReading(now, .putOff) }
    guard now.isFirst else { return endReading(now, .changed) }
    if now.isAtStart && now.passUntil == 0 {
      record(Finding(.notAnObject, at: 0), object: 0..<0, of: &now)
    }
    endReading(now, .done)
  }

  /// The most bytes without an object that a notification file may have.
  private static let garbageBytesMax: Int64 = 1 << 20

  private func isGarbage(_ now: Reading) -> Bool {
    now.isFirst
      && now.inputOffset - max(now.objectEnd, now.passUntil) >= Self.garbageBytesMax
  }

  private func discardLines(upTo end: Int, of now: inout Reading) {
    now.lines.pass(end, in: now.text(in: reader.input), now.reader)
    reader.discard(end, of: &now)
  }

  /// Whether to wait for a file that looks unfinished and of which nothing was sent.
  @inline(never)
  mutating func isUnfinished(_ now: inout Reading) -> Bool {
    guard now.isFirst, now.beginning == .untouched else { return false }
    if order.unfinished.waits(for: claims[now.claim].identity, at: time.now) { return true }
    now.beginning = .waitedFor
    return false
  }

  // MARK: - Ends

  /// Ends the present reading.
  @inline(never)
  mutating func endReading(_ why: ReadingEnd) {
    guard let now = reader.reading else { return }
    endReading(now, why)
  }

  /// Ends a reading.
  ///
  /// - Parameter now: the reading, as far as it went.
  @inline(never)
  mutating func endReading(_ now: Reading, _ why: ReadingEnd) {
    reader.release(now)
    switch why {
    case .putOff:
      claims.remove(now.claim)
      reader.roster.forget()
      return
    case .done: recordContent(of: now)
    case .unreadable(let error): record(unreadable: now.claim, error)
    case .noNotification:
      recordGarbage(now)
      recordContent(of: now)
    case .changed:
      claims.decide(now.claim, .changed)
      reports.add(.fileChanged)
    case .recipientsChanged:
      claims.decide(now.claim, .changed)
      reports.add(.recipientsChanged)
    }
    offeredEnd = nil
    if now.isFirst {
      claims.finish(now.claim)
    } else if now.remaining > 0 {
      claims.settled(now.claim, now.remaining)
    }
  }

  private func recordContent(of now: Reading) {
    guard now.isFirst, now.content.bytes > 0 else { return }
    claims.recordContent(now.claim, FileContent(now.content), endsWithinText: now.isWithinText)
  }

  /// Interrupts the reading when the link's connection ends.
  ///
  /// Returned notifications are read first, from their own places.
  mutating func interruptSending() {
    if let reading = reader.reading, !reading.isDecided { interruptReading() }
  }

  /// Puts the present reading aside, behind the returned notifications.
  @inline(never)
  mutating func interruptReading() {
    guard let now = reader.interrupt() else { return }
    replacing.search = nil
    offeredEnd = nil
    guard now.isFirst else {
      if now.remaining > 0 { returns.putBack(now.rest) }
      return
    }
    if now.isAtStart {
      // Nothing of the file was sent: a scan finds it again.
      claims.remove(now.claim)
      reader.roster.forget()
      order.isScanWanted = true
    } else {
      reader.interrupted = now
    }
  }
}
