extension Courier {
  /// Frames what there is until the batch or the window is full or nothing is left; the step that it needs for that.
  mutating func intake() -> Step? {
    intakeState = .dry
    while true {
      if reading == nil {
        if let step = beginReading() { return step }
        guard reading != nil else { return nil }
      }
      if isStopping && trim.isEmpty {
        interruptReading()
        return mustClose ? .close : nil
      }
      switch reading!.state {
      case .opening: return .open
      case .wantsInput: return .read
      case .ready: break
      }
      guard canFrame || isSettling else { return nil }
      let state = readOn()
      if pending != nil { return .record }
      if mustClose { return .close }
      switch state {
      case .goOn: continue
      case .wants(let step): return step
      case .stop(let why):
        intakeState = why
        guard isStopping && trim.isEmpty else { return nil }
      }
    }
  }

  /// Whether what is read now only settles what an answer said of it, for which no connection is needed.
  private var isSettling: Bool {
    guard let reading, !reading.isFresh else { return false }
    return !trim.isEmpty || reading.remaining == 0
  }

  /// Whether a frame may be put into the batch now.
  var canFrame: Bool {
    guard case .up = link else { return false }
    return !isBlocked && barrierID == nil && !goesAlone && nextID < .max - 1
  }

  /// Whether what is sent next can be kept in mind, and after a cut put before what already is to go again. One thing
  /// always can: the windows have room to spare for that.
  var hasRoomForStretch: Bool {
    sent.isEmpty || sent.count + 2 < sent.capacity && sent.count + again.count + 4 < again.capacity
  }

  private var isPaused: Bool { pausedUntil.map { time.now < $0 } ?? false }

  /// Decides what is read next.
  private mutating func beginReading() -> Step? {
    if isPaused { return nil }
    guard canFrame || !trim.isEmpty else {
      // Nothing can be sent; but `--once` should know whether there is anything.
      return settings.isOnce && link != .closing && backlog.isEmpty && !isStopping
        ? scanIfWanted() : nil
    }
    if isStopping && trim.isEmpty { return nil }
    while let stretch = again.first {
      guard hasRoomForStretch else {
        intakeState = .windowFull
        return nil
      }
      _ = again.removeFirst()
      if stretch.count == 0 {
        trim = Trim()
        finishFile(stretch.claim)
        continue
      }
      reading = Reading(
        claim: stretch.claim, isFresh: false, isAtStart: false, inputOffset: stretch.offset,
        reader: NotificationReader(), recipient: stretch.recipient, remaining: stretch.count,
        endsFile: stretch.endsFile,
        wasSent: stretch.wasSent)
      return nil
    }
    if var resumed = interrupted {
      interrupted = nil
      resumed.state = .opening
      reading = resumed
      return nil
    }
    guard sent.count < settings.window, claims.hasRoom else {
      intakeState = .windowFull
      return nil
    }
    if let step = scanIfWanted() { return step }
    guard !backlog.isEmpty else { return nil }
    backlog.putInOrder()
    let cameWhole = backlog.smallestCameWhole || Self.isSendName(backlog.smallest())
    let claim = claims.append(
      backlog.smallest(), seenAt: time.now.milliseconds, cameWhole: cameWhole)
    backlog.removeSmallest()
    reading = Reading(
      claim: claim, isFresh: true, isAtStart: true, inputOffset: 0,
      reader: NotificationReader(), recipient: 0)
    return nil
  }

  private mutating func scanIfWanted() -> Step? {
    if let step = retryHeld() { return step }
    if let step = releaseStep() { return step }
    if let retryAt = unfinished.retryAt, time.now >= retryAt {
      unfinished.retried()
      isScanWanted = true
    }
    if let at = rescanAt, time.now >= at {
      isScanWanted = true
      isLaterScanWanted = true
    }
    if let at = beingWritten.retryAt, time.now >= at {
      beingWritten.forgetTheOld(at: time.now)
      isScanWanted = true
    }
    guard isScanWanted || backlog.isEmpty && !backlog.isComplete else { return nil }
    backlog.startScan(isFromStart: isScanWanted)
    if isScanWanted { survey.begunAnew() }
    isScanWanted = false
    isScanning = true
    suppression.retry()
    isProgressFileSeen = false
    held.unmark()
    delivered.unmark()
    rescanAt = time.now + settings.rescan
    return .scan
  }

  /// How reading goes.
  enum IntakeProgress {
    case goOn
    /// Something must be done first.
    case wants(Step)
    case stop(Intake)
  }

  /// Reads and frames on in the present file.
  private mutating func readOn() -> IntakeProgress {
    guard var now = reading else { return .goOn }
    if now.inputOffset < now.passUntil {
      pass(&now)
      reading = now
      return .goOn
    }
    while now.remaining > 0 {
      let before = now.reader
      let result = now.reader.next(
        in: input.looseSpan(0..<now.inputBytes), isWhole: now.isWhole, settings.rules, &findings)
      switch result {
      case .notification(let notification):
        now.objectEnd = now.inputOffset + Int64(notification.object.upperBound)
        now.isWithinText = false
        // Behind text that is not JSON it begins at its brace: read from further up, it would not be found again.
        let start = before.isSkipping ? notification.object.lowerBound : before.index
        if now.isFresh, now.recipient == 0 {
          if notification.collapseKey != 0 {
            switch collapse(notification, of: &now) {
            case .send: break
            case .replaced:
              counters.superseded += UInt64(max(notification.tokens, 1))
              // Its file stays until the one that replaces it outlives a power cut.
              isRecordUnsynced = true
              claims.noteFailure(now.claim)
              now.isAtStart = false
              continue
            case .wants(let step):
              now.reader = before
              reading = now
              return .wants(step)
            }
          }
          if isEarly(notification) {
            postpone(notification, of: &now)
            reading = now
            return .goOn
          }
        }
        let progress = frame(notification, from: start, of: &now)
        switch progress {
        case .goOn: break
        case .stop, .wants:
          now.reader = before
          reading = now
          return progress
        }
        if now.isGivenUp {
          release(now)
          startOver(now)
          return .goOn
        }
        if now.recipientIsLeft {
          now.reader = before
        } else {
          now.recipient = 0
          now.problems = 0
        }
        if pending != nil {
          reading = now
          return .goOn
        }
      case .refused(let refusal, let object):
        if now.isWhole && refusal.reason == .json(.unexpectedEnd), isUnfinished(&now) {
          putOff(now)
          return .goOn
        }
        now.isAtStart = false
        now.isWithinText = !refusal.isOfObject
        if refusal.isOfObject { now.objectEnd = now.inputOffset + Int64(object.upperBound) }
        guard now.isFresh else {
          // A stretch holds only what was sent: the file was written over.
          release(now)
          giveUp(now)
          return .goOn
        }
        record(refusal, object: object, of: &now)
        reading = now
        return .goOn
      case .more(let from):
        let kept = now.inputBytes - from
        passLines(upTo: from, of: &now)
        input.move(from: from, to: 0, count: kept)
        now.inputOffset += Int64(from)
        now.inputBytes = kept
        now.reader.resume(at: 0)
        now.state = .wantsInput
        if isGarbage(now) {
          abandon(now)
        } else {
          reading = now
        }
        return .goOn
      case .end:
        if isUnfinished(&now) {
          putOff(now)
          return .goOn
        }
        if now.isFresh && now.isAtStart && now.passUntil == 0 {
          record(
            Finding(.notAnObject, at: 0), object: 0..<0, of: &now)
        }
        if !now.isFresh && now.remaining > 0 {
          release(now)
          giveUp(now)
          return .goOn
        }
        release(now)
        if now.isFresh { noteContent(of: now) }
        finishFile(now.claim)
        return .goOn
      }
    }
    release(now)
    if now.endsFile { finishFile(now.claim) }
    return .goOn
  }

  /// So many bytes without an object, and a file is taken for something else.
  static let garbageBytesMax: Int64 = 1 << 20

  private func isGarbage(_ now: Reading) -> Bool {
    now.isFresh
      && now.inputOffset - max(now.objectEnd, now.passUntil) >= Self.garbageBytesMax
  }

  /// The rest of a file that holds no more notifications is not read: the file goes to `failed/`, whole.
  private mutating func abandon(_ now: Reading) {
    recordGarbage(now)
    release(now)
    noteContent(of: now)
    finishFile(now.claim)
  }

  private func noteContent(of now: Reading) {
    claims.noteContent(now.claim, FileContent(now.content), endsWithinText: now.isWithinText)
  }

  /// Passes over what was settled before the agent started; its lines count.
  private mutating func pass(_ now: inout Reading) {
    let settled = Int(min(Int64(now.inputBytes), now.passUntil - now.inputOffset))
    countLines(upTo: settled, of: &now)
    now.counted = 0
    input.move(from: settled, to: 0, count: now.inputBytes - settled)
    now.inputOffset += Int64(settled)
    now.inputBytes -= settled
    guard now.inputBytes == 0 else { return }
    // Whoever cuts a file short under our hands takes what was cut off.
    if now.isWhole { now.passUntil = now.inputOffset } else { now.state = .wantsInput }
  }
}
