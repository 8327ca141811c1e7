/// A file that is being read: for the first time, or again for a stretch that must be sent again.
struct Reading {
  enum State {
    case opening
    case wantsInput
    case ready
  }

  var state = State.opening
  var claim: UInt32
  /// For the first time: to its end, and claimed just now.
  var isFresh: Bool
  /// Whether nothing of the file has been passed yet.
  var isAtStart: Bool
  /// The shell holds it open.
  var isOpen = false
  /// Where in the file the input begins, how much of it there is, and whether the file ends with it.
  var inputOffset: Int64
  var inputBytes = 0
  var isWhole = false
  var reader: NotificationReader
  /// Recipients of the next notification that have been passed.
  var recipient: UInt32
  /// Of a stretch: notifications that are left, and whether the file ends behind it.
  var remaining: UInt32 = .max
  var endsFile = false
  var wasSent = false
  /// The present notification has recipients left to look at.
  var recipientIsLeft = false
  /// For places in the file as people count them; only while it is read from its start.
  var lines = 0
  var lineOffset: Int64 = 0
}

/// What an answer said of the first notifications of a stretch that goes again: so many are accepted, and perhaps the
/// next one is refused.
struct Trim {
  var accepted: UInt32 = 0
  var status: Status?

  var isEmpty: Bool { accepted == 0 && status == nil }
}

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
}

/// What came of removing a settled file.
public enum Removal {
  case removed
  /// It must stay, and was not touched.
  case kept
  /// It is another file by now, or was written on: it stays, and is delivered.
  case replaced
  /// It could not be removed.
  case failed
}

extension Courier {
  // MARK: - Results of steps

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

  /// Whether the settled file must stay where it is.
  public var isSettledKept: Bool { claims[claims.first].isKept }

  /// The name of the file to which the failure belongs.
  @_lifetime(borrow self)
  public func failureName() -> Span<UInt8> { claims.name(failureClaim!) }

  /// The file is open, and its first bytes are there; with `isWhole` they are all, and it is closed again.
  public mutating func opened(_ identity: FileIdentity, bytes: Int, isWhole: Bool) {
    guard var now = reading else { return }
    now.isOpen = !isWhole
    if now.isFresh && now.isAtStart {
      if claims.contains(inode: identity.inode) {
        // Already under way, under this name or another.
        release(now)
        claims.removeLast()
        return
      }
      claims.identify(now.claim, as: identity)
    } else if claims[now.claim].identity != identity {
      release(now)
      giveUp(now)
      return
    }
    now.inputBytes += bytes
    now.isWhole = isWhole
    now.state = .ready
    reading = now
  }

  public mutating func couldNotOpen(_ failure: OpenFailure) {
    guard let now = reading else { return }
    reading = nil
    guard now.isFresh && now.isAtStart else {
      giveUp(now)
      return
    }
    switch failure {
    case .unreadable(let error):
      counters.failedCheck += 1
      record(reasonCode: error, claim: now.claim)
      finishFile(now.claim)
    case .vanished, .notRegular:
      claims.removeLast()
    case .later:
      claims.removeLast()
      isScanWanted = false
      unfinished.retry(at: time.now + Unfinished.pause)
    }
  }

  /// More of the open file is there; with `isWhole` it was all, and the file is closed.
  public mutating func filled(bytes: Int, isWhole: Bool) {
    guard var now = reading else { return }
    now.inputBytes += bytes
    now.isWhole = isWhole
    if isWhole { now.isOpen = false }
    now.state = .ready
    reading = now
  }

  /// The file that was open is closed.
  public mutating func closed() {
    mustClose = false
  }

  /// Whether the failure is on disk. If it is not, its file stays in `new/`, and is tried again at the next scan.
  public mutating func recorded(_ isRecorded: Bool) {
    guard let claim = failureClaim else { return }
    failureClaim = nil
    failureMovesFile = false
    guard !isRecorded else { return }
    claims.keep(claim)
    reports.add(.notRecorded)
  }

  public mutating func removed(_ removal: Removal) {
    settledClaims -= 1
    claims.removeFirst()
    switch removal {
    case .removed, .kept: break
    case .replaced: isScanWanted = true
    case .failed: reports.add(.notRemoved)
    }
  }

  // MARK: - Intake

  /// Frames what there is until the batch or the window is full or nothing is left; the step that it needs for that.
  mutating func intake() -> Step? {
    intakeState = .dry
    while true {
      if reading == nil {
        if let step = beginReading() { return step }
        guard reading != nil else { return nil }
      }
      switch reading!.state {
      case .opening: return .open
      case .wantsInput: return .read
      case .ready: break
      }
      guard canFrame || reading!.isFresh == false && !trim.isEmpty else { return nil }
      let state = readOn()
      if failureClaim != nil { return .record }
      if mustClose { return .close }
      switch state {
      case .goOn: continue
      case .stop(let why):
        intakeState = why
        return nil
      }
    }
  }

  /// Whether a frame may be put into the batch now.
  private var canFrame: Bool {
    guard case .up = link else { return false }
    return !isBlocked && barrierID == nil && nextID < .max - 1
  }

  /// Decides what is read next.
  private mutating func beginReading() -> Step? {
    guard canFrame || !trim.isEmpty else {
      // Nothing can be sent; but what waits should be known, so that `--once` knows whether there is anything.
      return link != .closing && backlog.isEmpty && !isStopping ? scanIfWanted() : nil
    }
    if isStopping && trim.isEmpty { return nil }
    if let stretch = again.first {
      guard sent.count + 2 < sent.capacity else {
        intakeState = .windowFull
        return nil
      }
      _ = again.removeFirst()
      if stretch.count == 0 {
        trim = Trim()
        finishFile(stretch.claim)
        return settledClaims > 0 ? .remove : beginReading()
      }
      reading = Reading(
        claim: stretch.claim, isFresh: false, isAtStart: false, inputOffset: stretch.offset,
        reader: NotificationReader(payloadLimit: settings.payloadLimit),
        recipient: stretch.recipient, remaining: stretch.count, endsFile: stretch.endsFile,
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
    let claim = claims.append(backlog.smallest(), seenAt: time.now.milliseconds)
    backlog.removeSmallest()
    reading = Reading(
      claim: claim, isFresh: true, isAtStart: true, inputOffset: 0,
      reader: NotificationReader(payloadLimit: settings.payloadLimit), recipient: 0)
    return nil
  }

  private mutating func scanIfWanted() -> Step? {
    if let retryAt = unfinished.retryAt, time.now >= retryAt {
      unfinished.retried()
      isScanWanted = true
    }
    if let at = rescanAt, time.now >= at { isScanWanted = true }
    guard isScanWanted || backlog.isEmpty && !backlog.isComplete else { return nil }
    isScanWanted = false
    rescanAt = time.now + settings.rescan
    backlog.startScan()
    return .scan
  }

  private enum Progress {
    case goOn
    case stop(Intake)
  }

  /// Reads and frames on in the present file.
  private mutating func readOn() -> Progress {
    guard var now = reading else { return .goOn }
    while now.remaining > 0 {
      let before = now.reader
      let result = now.reader.next(in: input.span(0..<now.inputBytes), isWhole: now.isWhole)
      switch result {
      case .notification(let notification):
        let progress = frame(notification, of: &now)
        if case .stop = progress {
          now.reader = before
          reading = now
          return progress
        }
        if now.recipientIsLeft { now.reader = before } else { now.recipient = 0 }
        if failureClaim != nil {
          reading = now
          return .goOn
        }
      case .refused(let refusal, let object):
        if now.isFresh && now.isAtStart && now.isWhole && refusal.reason == .json(.unexpectedEnd),
          unfinished.waits(for: claims[now.claim].identity, at: time.now)
        {
          putOff(now)
          return .goOn
        }
        now.isAtStart = false
        isExtensible = false
        guard now.isFresh else {
          // A stretch holds only what was sent: the file was written over.
          release(now)
          giveUp(now)
          return .goOn
        }
        counters.failedCheck += 1
        record(refusal, object: object, of: now)
        reports.add(.failedCheck)
        reading = now
        return .goOn
      case .more(let from):
        let kept = now.inputBytes - from
        input.move(from: from, to: 0, count: kept)
        if now.reader.lineEnds > 0 {
          now.lines += now.reader.lineEnds
          now.lineOffset = now.inputOffset + Int64(now.reader.lineStart)
        }
        now.inputOffset += Int64(from)
        now.inputBytes = kept
        now.reader = NotificationReader(payloadLimit: settings.payloadLimit)
        now.state = .wantsInput
        reading = now
        return .goOn
      case .end:
        if now.isFresh && now.isAtStart,
          unfinished.waits(for: claims[now.claim].identity, at: time.now)
        {
          putOff(now)
          return .goOn
        }
        if now.isFresh && now.isAtStart {
          counters.failedCheck += 1
          record(
            Refusal(reason: .notAnObject, offset: 0), object: 0..<0, of: now)
          reports.add(.failedCheck)
        }
        if !now.isFresh && now.remaining > 0 {
          release(now)
          giveUp(now)
          return .goOn
        }
        release(now)
        finishFile(now.claim)
        return .goOn
      }
    }
    release(now)
    if now.endsFile { finishFile(now.claim) }
    return .goOn
  }

  /// Puts a notification's frames into the batch, one a recipient.
  private mutating func frame(_ notification: Notification, of now: inout Reading) -> Progress {
    let text = input.looseSpan(0..<now.inputBytes)
    var token = notification.firstToken
    var recipient: UInt32 = 0
    let claim = claims[now.claim]
    let expiration = expirationDate(of: notification, seenAt: claim.seenAt)
    let frameBytes = Frame.byteCount(settings.format, payloadBytes: notification.payloadBytes)
    while recipient < UInt32(notification.recipients), now.remaining > 0 {
      if recipient > 0 { token = notification.nextToken(after: token, in: text) }
      defer { recipient += 1 }
      if recipient < now.recipient { continue }
      let digits = text.extracting(token..<token + DeviceToken.digitCount)
      if !now.isFresh && !trim.isEmpty {
        now.remaining -= 1
        now.recipient = recipient + 1
        if trim.accepted > 0 {
          trim.accepted -= 1
          continue
        }
        refuse(notification, digits: digits, status: trim.status!, of: now)
        trim = Trim()
        now.recipientIsLeft = recipient + 1 < UInt32(notification.recipients) && now.remaining > 0
        return .goOn
      }
      guard canFrame else { return .stop(.dry) }
      guard batchBytes + frameBytes <= batch.capacity else { return .stop(.batchFull) }
      guard sent.count + 2 < sent.capacity else { return .stop(.windowFull) }
      now.recipient = recipient + 1
      now.isAtStart = false
      if !now.isFresh { now.remaining -= 1 }
      if isExpired(notification, seenAt: claim.seenAt) {
        counters.expired += 1
        isExtensible = false
        continue
      }
      guard let bytes = DeviceToken(hex: digits) else { continue }
      if invalidTokens.contains(bytes) {
        counters.suppressed += 1
        isExtensible = false
        continue
      }
      if batchBytes == 0 { batchSince = time.now }
      batchBytes = Frame(
        identifier: nextID, expiration: expiration, priority: notification.priority
      ).write(
        settings.format, token: bytes.bytes.span, payload: text.extracting(notification.payload),
        payloadBytes: notification.payloadBytes, to: batch, at: batchBytes)
      if isExtensible, let last = sent.last, last.claim == now.claim {
        sent.extendLast()
      } else {
        sent.append(
          Stretch(
            firstID: nextID, count: 1, claim: now.claim, recipient: recipient,
            offset: now.inputOffset + Int64(notification.object.lowerBound), endsFile: false))
        isExtensible = true
      }
      if now.wasSent { counters.repeated += 1 }
      nextID += 1
    }
    now.recipientIsLeft = false
    return .goOn
  }

  // MARK: - Ends

  /// The file is not read any more.
  private mutating func release(_ now: Reading) {
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
    isExtensible = false
    sweep()
  }

  /// The file is left alone until it changes.
  private mutating func putOff(_ now: Reading) {
    release(now)
    claims.removeLast()
  }

  /// What was to be read is not there any more: somebody removed the file or put another in its place.
  private mutating func giveUp(_ now: Reading) {
    if now.isFresh {
      counters.superseded += 1
    } else {
      counters.superseded += UInt64(now.remaining)
    }
    trim = Trim()
    claims.keep(now.claim)
    isScanWanted = true
    reports.add(.fileChanged)
    if now.isFresh || now.endsFile { finishFile(now.claim) }
  }

  /// On a cut, what was being read goes on later, behind what must go again.
  mutating func interruptReading() {
    guard var now = reading else { return }
    if now.isOpen { mustClose = true }
    reading = nil
    let passed = now.state == .ready ? now.reader.index : 0
    if now.reader.lineEnds > 0 {
      now.lines += now.reader.lineEnds
      now.lineOffset = now.inputOffset + Int64(now.reader.lineStart)
    }
    now.inputOffset += Int64(passed)
    now.inputBytes = 0
    now.isWhole = false
    now.isOpen = false
    now.reader = NotificationReader(payloadLimit: settings.payloadLimit)
    if now.isFresh {
      if now.isAtStart {
        // Nothing of it is sent: it is found again.
        claims.removeLast()
        isScanWanted = true
      } else {
        interrupted = now
      }
    } else {
      again.prepend(
        Stretch(
          firstID: 0, count: now.remaining, claim: now.claim, recipient: now.recipient,
          offset: now.inputOffset, endsFile: now.endsFile, wasSent: now.wasSent))
    }
  }

  // MARK: - Lifetimes

  /// UNIX seconds at which the file was first seen, by the present clock.
  private func seenSeconds(_ seenAt: UInt64, _ wall: Int64) -> Int64 {
    wall - Int64(Instant(milliseconds: seenAt).until(time.now).milliseconds / 1000)
  }

  private func expirationDate(of notification: Notification, seenAt: UInt64) -> UInt32 {
    let ttl: UInt32
    switch notification.lifetime {
    case .until(let seconds): return seconds
    case .ttl(let seconds): ttl = seconds
    case .configured: ttl = settings.ttl
    }
    guard ttl > 0 else { return 0 }
    guard let wall = time.wallSeconds else { return .max }
    return UInt32(clamping: seenSeconds(seenAt, wall) + Int64(ttl))
  }

  private func isExpired(_ notification: Notification, seenAt: UInt64) -> Bool {
    guard let wall = time.wallSeconds else { return false }
    switch notification.lifetime {
    case .until(let seconds): return seconds > 0 && Int64(seconds) <= wall
    case .ttl(0): return false
    case .ttl(let ttl): return seenSeconds(seenAt, wall) + Int64(ttl) <= wall
    case .configured:
      return settings.ttl > 0 && seenSeconds(seenAt, wall) + Int64(settings.ttl) <= wall
    }
  }
}
