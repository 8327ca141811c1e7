/// A notification that is framed: where it stands, and what holds for all its recipients.
struct Framing {
  let notification: Notification
  /// Where in the file reading it began, directly behind the one before it.
  let place: FilePlace
  let expiration: UInt32
  let isExpired: Bool
}

extension Courier {
  /// What came of one recipient.
  private enum Framed {
    /// Its frame is in the batch, or none is needed.
    case done
    /// The gateway's verdict on it is to be recorded.
    case refused
    case stop(Intake)
  }

  /// Puts a notification's frames into the batch, one a recipient.
  ///
  /// - Parameter start: where in the input reading it began, directly behind the one before it.
  mutating func frame(
    _ notification: Notification, from start: Int, of now: inout Reading
  ) -> IntakeProgress {
    let text = input.looseSpan(0..<now.inputBytes)
    let seenAt = claims[now.claim].seenAt
    let framing = Framing(
      notification: notification,
      place: FilePlace(claim: now.claim, offset: now.inputOffset + Int64(start), recipient: 0),
      expiration: expirationDate(of: notification, seenAt: seenAt),
      isExpired: isExpired(notification, seenAt: seenAt))
    var recipient: UInt32 = 0
    var digits = notification.firstToken..<notification.firstToken + DeviceToken.digitCount
    while recipient < UInt32(notification.tokens), now.remaining > 0 {
      if recipient > 0 { digits = notification.nextString(after: digits.upperBound, in: text) }
      defer { recipient += 1 }
      if recipient < now.recipient { continue }
      guard let token = DeviceToken(hex: text.extracting(digits)) else { continue }
      switch frame(framing, recipient, token, nil, text, of: &now) {
      case .done: break
      case .refused:
        now.recipientIsLeft =
          now.remaining > 0
          && (recipient + 1 < UInt32(notification.tokens) || notification.lists > 0)
        return .goOn
      case .stop(let why): return .stop(why)
      }
    }
    if notification.lists > 0, now.remaining > 0 { return frameLists(framing, text, of: &now) }
    now.recipientIsLeft = false
    if notification.lists == 0, recipient == UInt32(notification.tokens) {
      endFraming(framing, recipient, of: now)
    }
    return .goOn
  }

  /// What is framed next may belong to the same stretch, if all of this one's recipients were framed.
  private mutating func endFraming(_ framing: Framing, _ recipients: UInt32, of now: Reading) {
    var end = framing.place
    end.recipient = recipients
    guard framedEnd == end else { return }
    framedEnd = FilePlace(
      claim: now.claim, offset: now.inputOffset + Int64(framing.notification.object.upperBound),
      recipient: 0)
  }

  /// Puts the frame for one recipient into the batch, if it is to be sent.
  private mutating func frame(
    _ framing: Framing, _ recipient: UInt32, _ token: DeviceToken, _ language: LanguageTag?,
    _ text: Span<UInt8>, of now: inout Reading
  ) -> Framed {
    let notification = framing.notification
    if !now.isFresh && !trim.isEmpty {
      now.remaining -= 1
      now.recipient = recipient + 1
      if trim.accepted > 0 {
        trim.accepted -= 1
        return .done
      }
      refuse(notification, token, language, trim.verdict!, of: now)
      trim = Trim()
      return .refused
    }
    guard canFrame else { return .stop(.dry) }
    let rendition = Rendition(notification, for: language, in: text, settings.rules)
    let frameBytes = Frame.byteCount(settings.format, payloadBytes: rendition.bytes)
    guard batchBytes + frameBytes <= batch.capacity else { return .stop(.batchFull) }
    guard hasRoomForStretch, sent.notifications < suspicion.limit else { return .stop(.windowFull) }
    now.recipient = recipient + 1
    now.isAtStart = false
    if !now.isFresh { now.remaining -= 1 }
    if framing.isExpired {
      counters.expired += 1
      return .done
    }
    if suppression.forbids(token, registered: notification.registered, now: time.wallSeconds) {
      counters.suppressed += 1
      return .done
    }
    if batchBytes == 0 { batchSince = time.now }
    batchBytes = Frame(
      identifier: nextID, expiration: framing.expiration, priority: notification.priority
    ).write(
      settings.format, token: token.bytes.span, notification.payload, rendition, in: text,
      to: batch,
      at: batchBytes)
    var place = framing.place
    place.recipient = recipient
    if framedEnd == place, let last = sent.last, last.wasSent == now.wasSent {
      sent.extendLast()
    } else {
      sent.append(
        Stretch(
          firstID: nextID, count: 1, claim: now.claim, recipient: recipient, offset: place.offset,
          endsFile: false, wasSent: now.wasSent))
    }
    place.recipient += 1
    framedEnd = place
    if now.wasSent { batchRepeated += 1 }
    nextID += 1
    return .done
  }

  // MARK: - Recipients files

  /// Frames for those in the recipients files, from the one that is next.
  private mutating func frameLists(
    _ framing: Framing, _ text: Span<UInt8>, of now: inout Reading
  ) -> IntakeProgress {
    let notification = framing.notification
    let tokens = UInt32(notification.tokens)
    // How far it was settled before a restart is known, but not whether the file is the same.
    if now.isFresh, now.rosterEpoch == 0 { now.recipient = min(now.recipient, tokens) }
    var owner = Roster.Owner(claim: now.claim, offset: framing.place.offset, list: 0)
    if let known = roster.owner, known.claim == owner.claim, known.offset == owner.offset,
      roster.recipient <= max(now.recipient, tokens)
    {
      owner = known
    } else {
      roster.begin(
        listName(notification, 0, text), for: owner, recipient: tokens,
        isRepeated: now.recipient > tokens)
    }
    while now.remaining > 0 {
      let entry = roster.next()
      if case .more = entry { return .wants(.readRecipients) }
      guard isSameRoster(of: &now) else {
        now.isGivenUp = true
        return .goOn
      }
      switch entry {
      case .more: break
      case .recipient(let token, let language):
        if roster.recipient >= now.recipient {
          switch frame(framing, roster.recipient, token, language, text, of: &now) {
          case .done: break
          case .refused:
            roster.pass(isRecipient: true)
            now.recipientIsLeft = now.remaining > 0
            return .goOn
          case .stop(let why): return .stop(why)
          }
        }
        roster.pass(isRecipient: true)
      case .wrong(let problem):
        let isNews = now.isFresh && roster.problems >= now.problems
        if isNews { record(problem, notification, of: &now) }
        roster.pass()
        guard isNews else { continue }
        now.problems = roster.problems
        return .goOn
      case .end:
        owner.list += 1
        guard owner.list < notification.lists else {
          endFraming(framing, roster.recipient, of: now)
          roster.end()
          now.recipientIsLeft = false
          return .goOn
        }
        roster.begin(
          listName(notification, owner.list, text), for: owner, recipient: roster.recipient,
          isRepeated: now.recipient > roster.recipient, problems: roster.problems)
      }
    }
    now.recipientIsLeft = false
    return .goOn
  }

  /// Whether the recipients are those that were counted when the notification was sent, as far as it was.
  private mutating func isSameRoster(of now: inout Reading) -> Bool {
    if roster.isTorn { return false }
    guard now.isFresh else { return roster.epoch <= claims[now.claim].rosterEpoch }
    if roster.isRepeated { return roster.epoch <= now.rosterEpoch }
    now.rosterEpoch = rosterVersions.epoch
    claims.noteRoster(now.claim, roster.bit, since: roster.epoch, epoch: now.rosterEpoch)
    return true
  }

  @_lifetime(copy text)
  private func listName(_ notification: Notification, _ number: Int, _ text: Span<UInt8>)
    -> Span<UInt8>
  {
    if notification.isBare { return Notification.defaultList.span }
    var name = notification.firstList
    for _ in 0..<number { name = notification.nextString(after: name.upperBound, in: text) }
    return text.extracting(name)
  }

  // MARK: - Results of steps

  /// The name of the recipients file to read from, followed by a NUL.
  @_lifetime(borrow self)
  public func recipientsName() -> Span<UInt8> { roster.name() }

  /// Where in it to read from.
  public var recipientsOffset: Int64 { roster.readOffset }

  /// Where to put what is read.
  public var recipientsRoom: UnsafeMutableBufferPointer<UInt8> { roster.room }

  /// More of the recipients file is there; with `isWhole` it was all.
  public mutating func readRecipients(_ identity: FileIdentity, bytes: Int, isWhole: Bool) {
    roster.filled(since: noteRoster(identity), bytes: bytes, isWhole: isWhole)
  }

  /// The recipients file cannot be read.
  public mutating func couldNotReadRecipients(_ failure: OpenFailure) {
    if case .later = failure {
      interruptReading()
      pausedUntil = time.now + Self.pause
      return
    }
    roster.failed(since: noteRoster(nil), failure)
  }

  private mutating func noteRoster(_ identity: FileIdentity?) -> UInt32 {
    rosterVersions.note(roster.name(), identity, for: roster.owner!.claim, in: claims)
  }

  // MARK: - Lifetimes

  /// UNIX seconds at which the file was first seen, by the present clock.
  private func seenSeconds(_ seenAt: UInt64, _ wall: Int64) -> Int64 {
    wall - Int64(Instant(milliseconds: seenAt).until(time.now).milliseconds / 1000)
  }

  func expirationDate(of notification: Notification, seenAt: UInt64) -> UInt32 {
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

  func isExpired(_ notification: Notification, seenAt: UInt64) -> Bool {
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
