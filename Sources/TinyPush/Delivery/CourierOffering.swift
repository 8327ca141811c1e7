/// Offering notifications to the link, once for each recipient.
extension Courier {
  /// The result of offering a notification to its recipients.
  enum Offered {
    /// The notification was offered to all recipients.
    case all
    /// Recipients are left, but there is something to record first.
    case some
    /// The link takes no more.
    case stopped(Obstacle)
    /// The agent must do a step first.
    case wants(Step)
    /// The recipients files have changed since their recipients were counted.
    case recipientsChanged
  }

  /// The result of offering a notification to one recipient.
  enum OfferedToOne {
    /// The link has the notification, or it need not be sent.
    case done
    /// The notification is settled, and there is something to record or report.
    case recorded
    /// The link takes no more.
    case stopped(Obstacle)
  }

  /// What all recipients of a notification share.
  struct Sending {
    let notification: Notification
    /// The place from which the notification is read: directly behind the previous one.
    let place: FilePlace
    let expiration: UInt32
    let isExpired: Bool
  }

  /// Offers a notification to the link, for one recipient after the other.
  ///
  /// - Parameter start: where in the input the reading of the notification began, directly behind
  ///   the previous one.
  mutating func offer<L: Link & ~Copyable>(
    _ notification: Notification, from start: Int, of now: inout Reading, _ link: inout L
  ) -> Offered {
    let born = lifeStart(of: notification, in: now.claim)
    let sending = Sending(
      notification: notification,
      place: FilePlace(offset: now.inputOffset + Int64(start), claim: now.claim, recipient: 0),
      expiration: expirationDate(of: notification, from: born),
      isExpired: isExpired(notification, from: born))
    var recipient: UInt32 = 0
    var digits = notification.firstToken
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

  /// Records that all recipients of a notification were offered.
  ///
  /// So the next notification may extend the same stretch.
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
    if case .decided(let outcome) = now.purpose {
      now.remaining -= 1
      now.recipient = recipient + 1
      decide(outcome, notification, token, language, of: &now)
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
    let identity = token.identity
    if !now.isFirst { now.remaining -= 1 }
    if let outcome = reasonNotToSend(sending, identity) {
      if !now.isFirst {
        claims.settled(now.claim, 1)
        forgetSending(notification, token, of: now)
      }
      settle(outcome, notification, token, of: &now)
      return .recorded
    }
    if now.isFirst, limits.areSet || notification.againAfter > 0 {
      guard admit(sending, token, language, of: &now) else { return .recorded }
    }
    var place = sending.place
    place.recipient = recipient
    link.take(
      Message(
        token: token, identity: identity, payload: notification.payload, rendition: rendition,
        expiration: sending.expiration, priority: notification.priority,
        topic: notification.topic, identifier: notification.identifier,
        collapseID: notification.collapseID, pushType: notification.pushType,
        fingerprint: fingerprint(sending, identity, of: now), order: order(sending, of: now),
        place: place,
        follows: offeredEnd == place, wasSent: now.wasSent),
      in: now.text(in: reader.input))
    if now.isFirst { claims.opened(now.claim) }
    place.recipient += 1
    offeredEnd = place
    return .done
  }

  private func fingerprint(
    _ sending: Sending, _ token: TokenIdentity, of now: Reading
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

  /// Settles a notification whose outcome the link reported, and records or reports it.
  @inline(never)
  private mutating func decide(
    _ outcome: Settlement.Outcome, _ notification: Notification, _ token: DeviceToken,
    _ language: LanguageTag?, of now: inout Reading
  ) {
    claims.settled(now.claim, 1)
    progress.settled(at: time.now)
    guard case .rejected(let rejection) = outcome else {
      return settle(outcome, notification, token, of: &now)
    }
    forgetSending(notification, token, of: now)
    guard rejection.isGone else {
      return record(rejection, notification, token, language, of: now)
    }
    let wasKnown = suppression.isForbidden(token.identity)
    suppression.learnGone(
      token.identity, since: rejection.since, registered: notification.registered,
      now: time.wallSeconds)
    if !wasKnown, suppression.isForbidden(token.identity) {
      report(.tokenGone(token.firstDigits), now.claim)
    }
    settle(outcome, notification, token, of: &now)
  }

  /// Returns why a notification is not sent to a token; nil: it is sent.
  @inline(never)
  private mutating func reasonNotToSend(
    _ sending: Sending, _ token: TokenIdentity
  ) -> Settlement.Outcome? {
    if sending.isExpired {
      counters.expired += 1
      return .expired
    }
    let registered = sending.notification.registered
    guard suppression.forbids(token, registered: registered, now: time.wallSeconds) else {
      return nil
    }
    counters.suppressed += 1
    let record = suppression.find(token)
    return .suppressed(record?.reason ?? .byHand, since: record?.time ?? 0)
  }

  // MARK: - Lifetimes

  /// Returns when the lifetime of a notification begins, in UNIX seconds.
  ///
  /// Nil while the clock is not set.
  @inline(never)
  private func lifeStart(of notification: Notification, in claim: ClaimNumber) -> Int64? {
    guard let wall = time.wallSeconds else { return nil }
    let came = wall - (Int64(time.now.milliseconds) - claims[claim].cameAt) / 1000
    // Without a connection or an agent, a notification leaves later/ long after its not-before. Its
    // lifetime begins at the not-before all the same.
    guard notification.notBefore > 0, Int64(notification.notBefore) < came, !notification.isRetried,
      LaterName.isReleased(claims.name(claim))
    else { return came }
    return Int64(notification.notBefore)
  }

  @inline(never)
  private func expirationDate(of notification: Notification, from start: Int64?) -> UInt32 {
    let ttl: UInt32
    switch notification.lifetime {
    case .until(let seconds): return seconds
    case .ttl(let seconds): ttl = seconds
    case .configured: ttl = settings.ttl
    }
    guard ttl > 0 else { return 0 }
    guard let start else { return .max }
    return UInt32(clamping: start + Int64(ttl))
  }

  @inline(never)
  private func isExpired(_ notification: Notification, from start: Int64?) -> Bool {
    guard let wall = time.wallSeconds, let start else { return false }
    switch notification.lifetime {
    case .until(let seconds): return seconds > 0 && Int64(seconds) <= wall
    case .ttl(0): return false
    case .ttl(let ttl): return start + Int64(ttl) <= wall
    case .configured: return settings.ttl > 0 && start + Int64(settings.ttl) <= wall
    }
  }
}
