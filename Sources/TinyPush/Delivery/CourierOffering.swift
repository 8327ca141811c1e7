/// Offering messages to the link, and what is decided just before.
extension Courier {
  /// Offers the messages that wait, until the link takes no more or something must be recorded.
  @_optimize(speed)
  mutating func offerWaiting<L: Link & ~Copyable>(_ link: inout L) {
    for number in 0..<link.lanes where !recorder.isPending {
      offerWaiting(in: Lane(number), &link)
    }
  }

  @_optimize(speed)
  private mutating func offerWaiting<L: Link & ~Copyable>(in lane: Lane, _ link: inout L) {
    link.select(lane)
    while !recorder.isPending, let message = outbox.nextToSend(in: lane) {
      guard link.isOpen else {
        lanes.obstacles[lane.index] = .closed
        return
      }
      if isStopping { return }
      let entry = outbox[message]
      if let why = link.obstacle(payloadBytes: Int(entry.payloadBytes)) {
        lanes.obstacles[lane.index] = why
        return
      }
      guard let notification = notification(entry.text) else {
        // The text was checked when it was read, so the rules would have had to change.
        decide(message, .dropped)
        continue
      }
      let rendition = Rendition(
        notification, for: entry.language, in: outbox.text(entry.text), settings.rules)
      guard offer(message, notification, rendition, &link) else { return }
    }
  }

  /// Offers a message to the selected link; returns false if the link does not take it now.
  @_optimize(speed)
  mutating func offer<L: Link & ~Copyable>(
    _ message: MessageNumber, _ notification: Notification, _ rendition: Rendition,
    _ link: inout L
  ) -> Bool {
    let entry = outbox[message]
    if let why = link.obstacle(payloadBytes: rendition.bytes) {
      lanes.obstacles[entry.lane.index] = why
      return false
    }
    let text = outbox[text: entry.text]
    let born = lifeStart(of: notification, in: text.file)
    let identity = entry.token.identity
    if let outcome = reasonNotToSend(notification, entry, identity, from: born) {
      if entry.isAdmitted { forgetSending(notification, entry) }
      recordSettlement(of: message, outcome)
      return true
    }
    if !entry.isAdmitted {
      if limits.areSet || notification.againAfter > 0 {
        guard admit(message, notification) else { return true }
      } else if recentlySent.isUsed {
        remember(notification, entry)
      }
      outbox[message].isAdmitted = true
    }
    outbox.move(message, to: .link)
    outbox.touch(entry.text)
    link.take(
      Message(
        token: entry.token, identity: identity, payload: notification.payload,
        rendition: rendition,
        expiration: expirationDate(of: notification, from: born),
        priority: notification.priority, topic: notification.topic,
        identifier: notification.identifier, collapseID: notification.collapseID,
        pushType: notification.pushType,
        notification: self.identity(of: entry, notification),
        order: order(of: text),
        number: message, wasSent: entry.wasSent),
      in: outbox.text(entry.text), to: outbox.subscription(entry))
    return true
  }

  /// Returns a number that is larger for a newer notification; 0: nobody knows.
  private func order(of text: Outbox.TextEntry) -> UInt64 {
    text.origin.hasWaited
      ? 0 : UInt64(files[text.file].age) << 32 | UInt64(UInt32(clamping: text.offset))
  }

  /// Prepares the report of a message that is not delivered, after which the message is settled.
  mutating func recordSettlement(of message: MessageNumber, _ outcome: Settlement.Outcome) {
    outbox.touch(outbox[message].text)
    recorder.settle(outcome, outbox[message].text, message, in: outbox)
  }

  /// Returns why a notification is not sent to a token; nil: it is sent.
  @inline(never)
  private mutating func reasonNotToSend(
    _ notification: Notification, _ entry: Outbox.Entry, _ token: TokenIdentity,
    from born: Int64?
  ) -> Settlement.Outcome? {
    if isExpired(notification, from: born) {
      counters.expired += 1
      return .expired
    }
    let registered = registration(of: entry, notification)
    guard
      let record = suppression.record(
        forbidding: token, registered: registered, now: time.wallSeconds)
    else { return nil }
    counters.suppressed += 1
    return .suppressed(record.reason, since: record.time)
  }

  /// Returns when the app last registered the token, in UNIX seconds; 0: unknown.
  func registration(of entry: Outbox.Entry, _ notification: Notification) -> UInt32 {
    max(credible(notification.registered), credible(entry.registered))
  }

  /// Returns a time of registration, or 0 if it is more than a day in the future.
  ///
  /// Such a time would override each answer that the app is gone.
  private func credible(_ registered: UInt32) -> UInt32 {
    guard let wall = time.wallSeconds, Int64(registered) > wall + 86_400 else { return registered }
    return 0
  }

  // MARK: - Replacing

  /// Drops the older notifications that a notification with a `collapse-id` replaces.
  ///
  /// A notification replaces another one with the same ID and the same recipients of which nothing
  /// was sent, and that came before it. Returns whether the notification itself is replaced.
  @inline(never)
  mutating func replace(_ notification: Notification, _ text: UInt16) -> Bool {
    let key = notification.collapseKey
    let file = outbox[text: text].file
    var isReplaced = later.containsNewer(
      key, than: outbox[text: text].origin, of: file, files, arrivals, time)
    var older = Outbox.none
    repeat {
      older = Outbox.none
      outbox.forEachText { other, entry in
        guard other != text, entry.collapseKey == key, entry.isUntouched else { return }
        switch comes(other, before: text) {
        case false: isReplaced = true
        case true where !entry.isBeingRead: older = other
        default: break
        }
      }
      if older != Outbox.none { dropUntouched(older) }
    } while older != Outbox.none
    if isReplaced {
      supersede(file, notification.tokens)
      if reportsSettlements(of: file) { recorder.settle(.superseded, text, in: outbox) }
      return true
    }
    if later.mayContain(key) {
      later.beginCancelling(key, outbox[text: text].origin, of: file)
      // The notification must survive a power cut before the ones that it replaces are removed.
      recorder.isUnsynced = true
    }
    return false
  }

  /// Whether a notification came before another one; nil: nobody knows, so that neither replaces the
  /// other.
  private func comes(_ text: UInt16, before other: UInt16) -> Bool? {
    let (entry, another) = (outbox[text: text], outbox[text: other])
    if entry.file == another.file { return entry.offset < another.offset }
    return entry.origin.comes(
      LaterName.source(of: files.name(entry.file)), before: another.origin,
      LaterName.source(of: files.name(another.file)), arrivals, time)
  }

  /// Notes which notifications a notification replaces that is put into `later/`.
  ///
  /// Something of them was sent, so they were not dropped. The rest of them must not go to `later/`.
  func replaceRest(of text: UInt16) {
    let entry = outbox[text: text]
    outbox.forEachText { other, older in
      guard other != text, older.collapseKey == entry.collapseKey else { return }
      if comes(other, before: text) == true { outbox.replaceRest(of: other) }
    }
  }

  /// Whether a newer notification with the same `collapse-id` and recipients was read since, or
  /// waits in `later/`.
  ///
  /// What was sent before this notification came does not replace it.
  func isReplaced(_ text: UInt16) -> Bool {
    let entry = outbox[text: text]
    var isReplaced = entry.isRestReplaced
    outbox.forEachText { other, newer in
      guard newer.collapseKey == entry.collapseKey, outbox.wasAdded(other, after: text) else {
        return
      }
      if comes(other, before: text) == false { isReplaced = true }
    }
    return isReplaced
  }

  /// Counts a replaced notification, whose file stays until the newer one survives a power cut.
  mutating func supersede(_ file: FileNumber, _ tokens: Int) {
    counters.superseded += UInt64(max(tokens, 1))
    recorder.isUnsynced = true
    files[file].hasUnsyncedRecord = true
  }

  /// Drops a notification of which nothing was sent.
  private mutating func dropUntouched(_ text: UInt16) {
    supersede(outbox[text: text].file, Int(outbox[text: text].tokens))
    outbox.touch(text)
    while let message = outbox.firstWaiting(of: text) { decide(message, .superseded) }
  }

  // MARK: - Lifetimes

  /// Returns when the lifetime of a notification begins, in UNIX seconds.
  ///
  /// Nil while the clock is not set.
  @inline(never)
  func lifeStart(of notification: Notification, in file: FileNumber) -> Int64? {
    guard let wall = time.wallSeconds else { return nil }
    let now = Int64(time.now.milliseconds)
    let origin = files[file].origin
    guard origin.hasWaited, origin.arrivalNs > 0 else {
      return wall - (now - files[file].cameAt) / 1000
    }
    // What has waited in later/ came long before its present file, and its lifetime begins at its
    // not-before. The clock may have been set since: both are times of the clock at the arrival.
    let came = wall - (now - cameAt(origin.arrivalNs)) / 1000
    let wait = Int64(notification.notBefore) - origin.arrivalNs / 1_000_000_000
    return min(came + max(wait, 0), wall)
  }

  @inline(never)
  func expirationDate(of notification: Notification, from start: Int64?) -> UInt32 {
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
  func isExpired(_ notification: Notification, from start: Int64?) -> Bool {
    guard let wall = time.wallSeconds, let start else { return false }
    switch notification.lifetime {
    case .until(let seconds): return seconds > 0 && Int64(seconds) <= wall
    case .ttl(0): return false
    case .ttl(let ttl): return start + Int64(ttl) <= wall
    case .configured: return settings.ttl > 0 && start + Int64(settings.ttl) <= wall
    }
  }
}
