/// Which file is read next, and how far.
extension Courier {
  /// How reading goes.
  enum Progression {
    case goOn
    /// Something must be done first.
    case wants(Step)
    case stop(Obstacle)
  }

  /// Offers what there is until the link takes no more or nothing is left; the step that it needs for that.
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

  /// Whether what is read now needs no connection.
  private var needsNoLink: Bool {
    reader.reading.map { $0.isDecided || $0.remaining == 0 } ?? true
  }

  /// Whether what came back is read before the file goes on that is read for the first time: it has no room otherwise.
  private var mustGiveWay: Bool {
    returns.isUrgent(at: time.now) && (reader.reading?.isFirst ?? false)
  }

  /// Decides what is read next.
  @inline(never)
  private mutating func beginReading<L: Link & ~Copyable>(_ link: borrowing L) -> Step? {
    if reader.isPaused(at: time.now) { return nil }
    if let stretch = returns.takeDecided() {
      reader.reading = Reading(again: stretch)
      return nil
    }
    guard link.isOpen else {
      // Nothing can be sent; but `--once` should know whether there is anything.
      return settings.isOnce && order.backlog.isEmpty && !isStopping ? scanIfWanted() : nil
    }
    if isStopping { return nil }
    // One stretch always finds room: the queues have some to spare.
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
    if order.beginScan(at: time.now, rescan: settings.rescan) { replacing.survey.begunAnew() }
    suppression.retry()
    progress.beginScan()
    stuck.held.unmark()
    delivered.unmark()
    return .scan
  }

  /// Reads on in the present file, and offers what it holds.
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

  /// A notification was read. Nil: the next one may follow at once.
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
          // Its file stays until the one that replaces it outlives a power cut.
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
    // Behind text that is not JSON it begins at its brace: read from further up, it would not be found again.
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

  /// Something was read that is no notification, or one that may not be sent.
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
      // A stretch holds only what was sent: the file was written over.
      endReading(now, .changed)
      return .goOn
    }
    record(finding, object: object, of: &now)
    reader.reading = now
    return .goOn
  }

  /// The file was read to its end.
  @inline(never)
  private mutating func handleEnd(_ now: inout Reading) {
    if isUnfinished(&now) { return endReading(now, .putOff) }
    guard now.isFirst else { return endReading(now, .changed) }
    if now.isAtStart && now.passUntil == 0 {
      record(Finding(.notAnObject, at: 0), object: 0..<0, of: &now)
    }
    endReading(now, .done)
  }

  /// So many bytes without an object, and a file is taken for something else.
  private static let garbageBytesMax: Int64 = 1 << 20

  private func isGarbage(_ now: Reading) -> Bool {
    now.isFirst
      && now.inputOffset - max(now.objectEnd, now.passUntil) >= Self.garbageBytesMax
  }

  private func discardLines(upTo end: Int, of now: inout Reading) {
    now.lines.pass(end, in: now.text(in: reader.input), now.reader)
    reader.discard(end, of: &now)
  }

  /// Whether a file that looks unfinished, and of which nothing is sent, is to be waited for.
  @inline(never)
  mutating func isUnfinished(_ now: inout Reading) -> Bool {
    guard now.isFirst, now.beginning == .untouched else { return false }
    if order.unfinished.waits(for: claims[now.claim].identity, at: time.now) { return true }
    now.beginning = .waitedFor
    return false
  }

  // MARK: - Ends

  /// The present file, or stretch of it, is not read on.
  @inline(never)
  mutating func endReading(_ why: ReadingEnd) {
    guard let now = reader.reading else { return }
    endReading(now, why)
  }

  /// - Parameter now: as far as it was read, by whoever reads it.
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

  /// The link's connection is over: what goes again is read again from the start of it.
  mutating func interruptSending() {
    if let reading = reader.reading, !reading.isDecided { interruptReading() }
  }

  /// What is being read goes on later, behind what must go again.
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
      // Nothing of it is sent: it is found again.
      claims.remove(now.claim)
      reader.roster.forget()
      order.isScanWanted = true
    } else {
      reader.interrupted = now
    }
  }
}
