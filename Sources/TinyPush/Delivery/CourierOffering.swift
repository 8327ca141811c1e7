/// Offers notifications to the link, one a recipient.
extension Courier {
  /// What came of offering a notification to its recipients.
  enum Offered {
    /// Nothing is left of it to offer.
    case all
    /// Recipients are left to look at; something is to be recorded first.
    case some
    case stopped(Obstacle)
    /// Something must be done first.
    case wants(Step)
    /// Its recipients are others by now than those that were counted.
    case othersByNow
  }

  /// What came of offering it to one recipient.
  enum OfferedToOne {
    /// The link has it, or it need not be sent.
    case done
    /// It was rejected before, and that is to be recorded.
    case recorded
    case stopped(Obstacle)
  }

  /// What holds for all recipients of a notification.
  struct Sending {
    let notification: Notification
    /// Where in the file reading it began, directly behind the one before it.
    let place: FilePlace
    let expiration: UInt32
    let isExpired: Bool
  }

  /// Offers a notification to the link, for one recipient after the other.
  ///
  /// - Parameter start: where in the input reading it began, directly behind the one before it.
  mutating func offer<L: Link & ~Copyable>(
    _ notification: Notification, from start: Int, of now: inout Reading, _ link: inout L
  ) -> Offered {
    let seenAt = claims[now.claim].seenAt
    let sending = Sending(
      notification: notification,
      place: FilePlace(offset: now.inputOffset + Int64(start), claim: now.claim, recipient: 0),
      expiration: expirationDate(of: notification, seenAt: seenAt),
      isExpired: isExpired(notification, seenAt: seenAt))
    var recipient: UInt32 = 0
    var digits = notification.firstToken..<notification.firstToken + DeviceToken.digitCount
    while recipient < UInt32(notification.tokens), now.remaining > 0 {
      if recipient > 0 {
        digits = notification.nextString(after: digits.upperBound, in: now.text(in: reader.input))
      }
      defer { recipient += 1 }
      if recipient < now.recipient { continue }
      guard let token = DeviceToken(hex: now.text(in: reader.input).extracting(digits)) else {
        continue
      }
      switch offer(sending, recipient, token, nil, of: &now, &link) {
      case .done: break
      case .recorded: return now.remaining > 0 ? .some : .all
      case .stopped(let obstacle): return .stopped(obstacle)
      }
    }
    if notification.lists > 0, now.remaining > 0 {
      return offerToLists(sending, of: &now, &link)
    }
    if notification.lists == 0, recipient == UInt32(notification.tokens) {
      endOffering(sending, recipient, of: now)
    }
    return .all
  }

  /// What is offered next may follow directly, if all of this one's recipients were offered.
  mutating func endOffering(_ sending: Sending, _ recipients: UInt32, of now: Reading) {
    var end = sending.place
    end.recipient = recipients
    guard offeredEnd == end else { return }
    offeredEnd = FilePlace(
      offset: now.inputOffset + Int64(sending.notification.object.upperBound), claim: now.claim,
      recipient: 0)
  }

  /// Offers a notification for one recipient, if it is to be sent.
  mutating func offer<L: Link & ~Copyable>(
    _ sending: Sending, _ recipient: UInt32, _ token: DeviceToken, _ language: LanguageTag?,
    of now: inout Reading, _ link: inout L
  ) -> OfferedToOne {
    let notification = sending.notification
    if now.skipped > 0 {
      now.skipped -= 1
      now.recipient = recipient + 1
      return .done
    }
    if case .rejected(let rejection) = now.purpose {
      now.remaining = 0
      forgetSending(notification, token, of: now)
      if rejection.isGone {
        suppression.learnGone(
          token, since: rejection.since, registered: notification.registered,
          now: time.wallSeconds)
        claims.settled(now.claim, 1)
        return .done
      }
      record(rejection, notification, token, language, of: now)
      claims.settled(now.claim, 1)
      return .recorded
    }
    let rendition = Rendition(
      notification, for: language, in: now.text(in: reader.input), settings.rules)
    if let obstacle = link.obstacle(payloadBytes: rendition.bytes) { return .stopped(obstacle) }
    guard link.stretchCount == 0 || returns.hasRoom(for: link.stretchCount) else {
      return .stopped(.windowFull)
    }
    now.recipient = recipient + 1
    now.beginning = .passed
    if !now.isFirst { now.remaining -= 1 }
    guard isToBeSent(sending, token) else {
      if !now.isFirst {
        claims.settled(now.claim, 1)
        forgetSending(notification, token, of: now)
      }
      return .done
    }
    if now.isFirst, limits.areSet || notification.againAfter > 0 {
      switch admit(sending, token, language, of: now) {
      case .admitted: break
      case .leftOut: return .done
      case .recorded: return .recorded
      }
    }
    var place = sending.place
    place.recipient = recipient
    link.take(
      Message(
        token: token, payload: notification.payload, rendition: rendition,
        expiration: sending.expiration, priority: notification.priority,
        topic: notification.topic, identifier: notification.identifier,
        collapseID: notification.collapseID, pushType: notification.pushType,
        fingerprint: fingerprint(sending, token, of: now), order: order(sending, of: now),
        place: place,
        follows: offeredEnd == place, wasSent: now.wasSent),
      in: now.text(in: reader.input))
    if now.isFirst { claims.opened(now.claim) }
    place.recipient += 1
    offeredEnd = place
    return .done
  }

  private func fingerprint(
    _ sending: Sending, _ token: DeviceToken, of now: Reading
  ) -> Fingerprint {
    guard settings.rules.service == .http2 else { return Fingerprint(high: 0, low: 0) }
    let claim = claims[now.claim]
    return Fingerprint(
      inode: claim.identity.inode, birth: claim.birth,
      offset: now.inputOffset + Int64(sending.notification.object.lowerBound), token: token)
  }

  private func order(_ sending: Sending, of now: Reading) -> UInt64 {
    UInt64(claims[now.claim].age) << 32 | UInt64(UInt32(clamping: sending.place.offset))
  }

  @inline(never)
  private mutating func isToBeSent(_ sending: Sending, _ token: DeviceToken) -> Bool {
    if sending.isExpired {
      counters.expired += 1
      return false
    }
    let registered = sending.notification.registered
    if suppression.forbids(token, registered: registered, now: time.wallSeconds) {
      counters.suppressed += 1
      return false
    }
    return true
  }

  // MARK: - Lifetimes

  /// UNIX seconds at which the file was first seen, by the present clock.
  private func seenSeconds(_ seenAt: UInt64, _ wall: Int64) -> Int64 {
    wall - Int64(Instant(milliseconds: seenAt).until(time.now).milliseconds / 1000)
  }

  @inline(never)
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

  @inline(never)
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
