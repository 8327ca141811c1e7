/// Why a file could not be opened.
public enum OpenFailure: Error {
  /// It is not there any more.
  case vanished
  /// A directory, a link, a device, a pipe: not ours to read.
  case notRegular
  /// It is there and may not be read: errno.
  case unreadable(Int32)
  /// This machine is short of something; it may work later.
  case later
  /// Somebody has it open for writing: it is not finished.
  case beingWritten
}

/// What came of removing a settled file.
public enum Removal {
  case removed
  /// It must stay, and was not touched.
  case kept
  /// It is another file by now: it stays, and is delivered.
  case replaced
  /// It is not there under this name, or also under another one.
  case moved
  /// Somebody has written on: what is new is delivered.
  case grown
  /// Somebody has it open for writing: it stays until it is closed.
  case beingWritten
  /// It could not be removed.
  case failed
}
extension Courier {
  // MARK: - Results of steps

  /// `new/` cannot be read.
  public mutating func couldNotScan() {
    if !isScanBroken { reports.add(.notScanned) }
    isScanBroken = true
    isScanning = false
    isScanWanted = true
    pausedUntil = time.now + Self.heldPauseMin
  }

  /// The name of the file to open, followed by a NUL.
  @_lifetime(borrow self)
  public func fileName() -> Span<UInt8> { claims.name(reading!.claim) }

  /// Where in the file to read from.
  public var readOffset: Int64 { reading!.inputOffset + Int64(reading!.inputBytes) }

  /// Where to put what is read.
  public var inputRoom: UnsafeMutableBufferPointer<UInt8> {
    input.room(from: reading?.inputBytes ?? 0)
  }

  /// The name of the file whose notifications are all settled, followed by a NUL.
  @_lifetime(borrow self)
  public func settledName() -> Span<UInt8> { claims.name(claims.first) }

  public var settledIdentity: FileIdentity { claims[claims.first].identity }

  /// What was delivered of the settled file.
  public var settledContent: FileContent { claims[claims.first].content }

  /// Whether the settled file ended with text that is no object.
  public var settledEndsWithinText: Bool { claims[claims.first].endsWithinText }

  /// Whether the settled file was renamed into `new/`, so that nobody writes to it there.
  public var settledCameWhole: Bool { claims[claims.first].cameWhole }

  /// Whether the settled file is to be moved to `failed/`, and not removed.
  public var isSettledSetAside: Bool { claims[claims.first].isSetAside }

  /// Whether the settled file must stay where it is.
  public var isSettledKept: Bool { claims[claims.first].isKept }

  /// The name of the file to which the failure belongs.
  @_lifetime(borrow self)
  public func failureName() -> Span<UInt8> { claims.name(pending!.claim) }

  /// Whether the file itself is to be moved to `failed/` as well.
  public var failureMovesFile: Bool { pending?.movesFile ?? false }

  /// Whether nothing of the file to open is under way.
  public var isNewFile: Bool { reading.map { $0.isFresh && $0.isAtStart } ?? false }

  /// Whether the file to open may be one that its writer has not finished: it was not seen to come whole.
  public var mayBeUnfinished: Bool { isNewFile && !claims[reading!.claim].cameWhole }

  /// What the file that is to be opened must begin with to be the one of which something was delivered or read before, if it
  /// has this inode; and as what file it is known. Nil: nothing is known of it.
  public func known(inode: UInt64) -> (identity: FileIdentity, content: FileContent)? {
    guard let reading else { return nil }
    if reading.isFresh && reading.isAtStart {
      return delivered.find(inode: inode).map { ($0.identity, $0.content) }
    }
    let claim = claims[reading.claim]
    guard claim.identity.inode == inode else { return nil }
    if claim.content.bytes > 0 { return (claim.identity, claim.content) }
    if reading.isFresh { return (claim.identity, FileContent(reading.content)) }
    if let interrupted, interrupted.claim == reading.claim {
      return (claim.identity, FileContent(interrupted.content))
    }
    return nil
  }

  /// The file is open, and its first bytes are there; with `isWhole` they are all, and it is closed again.
  ///
  /// - Parameters:
  ///   - identity: where the file begins with what is ``known(inode:)``, that one's where something of it is under way.
  ///   - lastByte: of a file that is not whole, the last byte that is not white space.
  ///   - delivered: so many bytes at its start are known as delivered.
  public mutating func opened(
    _ identity: FileIdentity, bytes: Int, isWhole: Bool, lastByte: UInt8 = 0x7D,
    delivered deliveredBytes: Int64 = 0
  ) {
    guard var now = reading else { return }
    var deliveredBytes = deliveredBytes
    now.isOpen = !isWhole
    if now.isFresh && now.isAtStart {
      if claims.contains(inode: identity.inode) {
        // Already under way, under this name or another.
        putOff(now)
        return
      }
      if held.want(of: identity) == nil { letGo(identity) }
      if let file = delivered.find(inode: identity.inode) {
        if deliveredBytes == identity.size {
          claims.identify(now.claim, as: identity)
          claims.noteContent(now.claim, file.content, endsWithinText: file.endsWithinText)
          release(now)
          finishFile(now.claim)
          return
        }
        // The rest of what was cut off has come: that is read from its start.
        if file.endsWithinText { deliveredBytes = 0 }
      }
      if deliveredBytes == 0 { delivered.remove(inode: identity.inode) }
      switch held.want(of: identity) {
      case .removal:
        // It was delivered, and could not be removed: that is all there is to do.
        claims.identify(now.claim, as: identity)
        release(now)
        finishFile(now.claim)
        return
      case .record:
        putOff(now)
        return
      case nil:
        guard !held.isFull else {
          putOff(now)
          return
        }
      }
      claims.identify(now.claim, as: identity)
      if deliveredBytes > 0 {
        now.passUntil = deliveredBytes
      } else if let progress = settledBefore(identity) {
        now.passUntil = progress.offset
        now.recipient = progress.recipient
      }
    } else if claims[now.claim].identity != identity {
      release(now)
      giveUp(now)
      return
    }
    take(bytes, &now)
    now.isWhole = isWhole
    now.state = .ready
    // Whoever is still writing it has most likely not come to the end of an object. Were its first ones sent now, they
    // would be sent again with the rest.
    if (isWhole ? lastInputByte(now) : lastByte) != 0x7D, isUnfinished(&now) {
      putOff(now)
    } else {
      reading = now
    }
  }

  /// Takes what was read into the room behind the input.
  private mutating func take(_ bytes: Int, _ now: inout Reading) {
    bytesRead &+= UInt64(bytes)
    let start = now.inputBytes
    now.inputBytes += bytes
    guard now.isFresh else { return }
    // After an interruption some of it is read once more.
    let known = Int(clamping: now.content.bytes - now.inputOffset - Int64(start))
    guard known >= 0, known < bytes else { return }
    now.content.add(input.looseSpan(start + known..<start + bytes))
  }

  /// Whether a file that looks unfinished, and of which nothing is sent, is to be waited for.
  mutating func isUnfinished(_ now: inout Reading) -> Bool {
    guard now.isFresh && now.isAtStart && !now.isWaitedFor else { return false }
    now.isWaitedFor = !unfinished.waits(for: claims[now.claim].identity, at: time.now)
    return !now.isWaitedFor
  }

  private func lastInputByte(_ now: Reading) -> UInt8 {
    var end = now.inputBytes
    while end > 0, input[end - 1] <= 0x20 { end -= 1 }
    return end > 0 ? input[end - 1] : 0
  }

  public mutating func couldNotOpen(_ failure: OpenFailure) {
    guard let now = reading else { return }
    if case .later = failure {
      interruptReading()
      pausedUntil = time.now + Self.pause
      return
    }
    reading = nil
    guard now.isFresh && now.isAtStart else {
      giveUp(now)
      return
    }
    switch failure {
    case .unreadable(let error): setAside(now, error)
    case .vanished, .notRegular, .later, .beingWritten: takeBack()
    }
  }

  /// The same of a file that may not be read, which is known all the same: its writer may be about to let others read it.
  public mutating func couldNotRead(_ identity: FileIdentity, _ error: Int32) {
    guard let now = reading, now.isFresh, now.isAtStart,
      unfinished.waits(for: identity, at: time.now)
    else { return couldNotOpen(.unreadable(error)) }
    putOff(now)
  }

  /// More of the open file is there; with `isWhole` it was all, and the file is closed.
  public mutating func filled(bytes: Int, isWhole: Bool) {
    guard var now = reading else { return }
    take(bytes, &now)
    now.isWhole = isWhole
    if isWhole { now.isOpen = false }
    now.state = .ready
    reading = now
  }

  /// The open file cannot be read on: errno. It is closed.
  public mutating func couldNotRead(_ error: Int32) {
    guard let now = reading else { return }
    reading = nil
    if now.isFresh { setAside(now, error) } else { giveUp(now) }
  }

  /// A file that cannot be read is moved to `failed/`, so that it holds up nothing and is not lost.
  private mutating func setAside(_ now: Reading, _ error: Int32) {
    record(reasonCode: error, claim: now.claim)
    finishFile(now.claim)
  }

  /// The file that was open is closed.
  public mutating func closed() {
    mustClose = false
  }

  /// Whether the failure is on disk. If it is not, its file stays in `new/`, and is tried again at the next scan.
  public mutating func recorded(_ isRecorded: Bool) {
    guard let failure = pending else { return }
    pending = nil
    guard isRecorded else {
      if failure.isPostponed { cancelKey = nil }
      claims.miss(failure.claim)
      return
    }
    if failure.isPostponed {
      putLater()
    }
    isRecordUnsynced = true
    claims.noteFailure(failure.claim)
    if let token = failure.invalidToken {
      suppression.learnInvalid(token, registered: failure.registered, now: time.wallSeconds)
    }
    if failure.isOurCheck {
      counters.failedCheck += 1
      reports.add(failure.movesFile ? .unreadable : .failedCheck)
    }
  }

  /// Whether what was recorded is safe. If it is not, the system may have forgotten some of it, and tells only once: each
  /// file under way that had a failure stays, and is delivered again; and what the gateway refuses in it is recorded again.
  public mutating func synced(_ isSynced: Bool) {
    isRecordUnsynced = false
    isLaterUnsynced = false
    claims.synced(isSynced)
    guard !isSynced else { return }
    cancelKey = nil
    suppression.forgetVerdicts()
  }

  public mutating func removed(_ removal: Removal) {
    let claim = claims[claims.first]
    if case .failed = removal, waitsToRemove(claim.identity) { return }
    settledClaims -= 1
    claims.removeFirst()
    // Nothing is under way any more that could be to blame.
    if claims.isEmpty { suspicion = Suspicion() }
    switch removal {
    case .removed:
      delivered.remove(inode: claim.identity.inode)
      letGo(claim.identity)
      noteGone(claim.identity)
    case .kept:
      if claim.isUnrecorded { hold(claim.identity, .record) }
      if claim.isChanged { isScanWanted = true }
    case .replaced:
      delivered.remove(inode: claim.identity.inode)
      letGo(claim.identity)
      noteGone(claim.identity)
      isScanWanted = true
    case .moved, .grown, .beingWritten:
      delivered.insert(claim.identity, claim.content, endsWithinText: claim.endsWithinText)
      letGo(claim.identity)
      noteGone(claim.identity)
      // What is being written is offered when it is closed.
      if removal != .beingWritten { isScanWanted = true }
    case .failed:
      delivered.insert(claim.identity, claim.content, endsWithinText: claim.endsWithinText)
      hold(claim.identity, .removal)
    }
  }

  /// So much of a file that is in `new/` again was delivered before.
  public mutating func wasDelivered(
    _ identity: FileIdentity, _ content: FileContent, endsWithinText: Bool
  ) {
    delivered.insert(identity, content, endsWithinText: endsWithinText)
  }

  // MARK: - Ends

  /// The file is not read any more.
  mutating func release(_ now: Reading) {
    if now.isOpen { mustClose = true }
    reading = nil
  }

  /// Everything of a file is framed: the claim ends when what was sent of it is settled.
  mutating func finishFile(_ claim: UInt32) {
    if let last = sent.last, last.claim == claim, !last.endsFile {
      sent.endLast()
    } else {
      sent.append(
        Stretch(firstID: nextID, count: 0, claim: claim, recipient: 0, offset: 0, endsFile: true))
    }
    framedEnd = nil
    sweep()
  }

  /// The file is left alone until it changes.
  mutating func putOff(_ now: Reading) {
    release(now)
    takeBack()
  }

  /// The newest claim is none any more: another one will have its number, of which nothing is known.
  private mutating func takeBack() {
    claims.removeLast()
    roster.forget()
  }

  /// What was to be read is not there any more: somebody removed the file or put another in its place.
  mutating func giveUp(_ now: Reading) {
    if now.isFresh {
      counters.superseded += 1
    } else {
      counters.superseded += UInt64(now.remaining)
    }
    trim = Trim()
    claims.keep(now.claim, isChanged: true)
    reports.add(.fileChanged)
    if now.isFresh || now.endsFile { finishFile(now.claim) }
  }

  /// Its recipients are others by now than those that were counted: the whole file is delivered again, since a place in it
  /// does not say any more to whom.
  mutating func startOver(_ now: Reading) {
    trim = Trim()
    claims.keep(now.claim, isChanged: true)
    reports.add(.recipientsChanged)
    if now.isFresh || now.endsFile { finishFile(now.claim) }
  }

  /// On a cut, what was being read goes on later, behind what must go again.
  mutating func interruptReading() {
    guard var now = reading else { return }
    if now.isOpen { mustClose = true }
    reading = nil
    collapsing = nil
    // While an object is looked for, a byte is kept: it is known by the line end before it.
    let kept = now.reader.isSkipping && now.reader.index > 0 ? 1 : 0
    let passed = now.state == .ready ? now.reader.index - kept : 0
    passLines(upTo: passed, of: &now)
    now.inputOffset += Int64(passed)
    now.inputBytes = 0
    now.isWhole = false
    now.isOpen = false
    now.reader.resume(at: 0)
    if now.isFresh {
      if now.isAtStart {
        // Nothing of it is sent: it is found again.
        takeBack()
        isScanWanted = true
      } else {
        interrupted = now
      }
    } else if now.remaining > 0 || now.endsFile {
      again.prepend(
        Stretch(
          firstID: 0, count: now.remaining, claim: now.claim, recipient: now.recipient,
          offset: now.inputOffset, endsFile: now.endsFile, wasSent: now.wasSent))
    }
  }
}
