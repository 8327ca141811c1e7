/// Alert storms: what goes out of more alerts than the limits allow, and what of notifications that say the same again.
///
/// An alert over a limit goes to `failed/`, and its token gets a summary after the storm; one with a `collapse-id` waits in
/// `later/` until there is room, where the next of its kind replaces it. All of it stays within memory of a fixed size:
/// what is forgotten there lets an alert through, or leaves one out of a summary.
extension Courier {
  /// Whether a notification that is about to be sent to a token for the first time is sent now; otherwise something is to be
  /// recorded, or told.
  @inline(never)
  mutating func admit(
    _ sending: Sending, _ token: DeviceToken, _ language: LanguageTag?,
    of now: inout Reading
  ) -> Bool {
    let notification = sending.notification
    if isDuplicate(notification, token, of: now) {
      settle(.duplicate, notification, token, of: &now)
      return false
    }
    if limits.areSet, notification.pushType == .alert, !notification.isUrgent,
      let refusal = limits.take(token, at: time.now)
    {
      limit(refusal, sending, token, language, of: now)
      return false
    }
    if notification.againAfter > 0 {
      recentlySent.put(
        RecentKeys.Entry(
          key: contentKey(notification, token, of: now), value: time.now.milliseconds,
          source: sourceKey(notification, of: now)))
    }
    return true
  }

  // MARK: - Over a limit

  private mutating func limit(
    _ refusal: Limits.Refusal, _ sending: Sending, _ token: DeviceToken, _ language: LanguageTag?,
    of now: Reading
  ) {
    let notification = sending.notification
    if limits.storms.recordLimited(token, at: time.now) {
      reports.add(
        .stormBegan(refusal.limit, isOverall: refusal.isOverall, token.firstDigits))
    }
    // Without a clock nobody could tell when it is due.
    if notification.collapseKey != 0, let wall = time.wallSeconds {
      let wait = time.now.until(refusal.roomAt).milliseconds
      later.setFileName(
        notification, for: token, of: now.claim,
        offset: now.inputOffset + Int64(notification.object.lowerBound),
        due: UInt32(clamping: wall + Int64((wait + 999) / 1000)), claims)
      return recorder.postpone(
        notification, for: token, language, expiration: fixedExpiration(sending), of: now,
        in: reader.input)
    }
    let topic = limits.storms.topicNumber(of: notification, in: reader.input)
    recorder.limit(
      refusal, notification, token, language, topic: topic, of: now, in: reader.input, claims)
  }

  /// The end of a lifetime that counts from when the file came, for the file that it comes in next; nil: it has none.
  private func fixedExpiration(_ sending: Sending) -> UInt32? {
    switch sending.notification.lifetime {
    case .until, .ttl(0): nil
    case .configured where settings.ttl == 0: nil
    case .configured, .ttl: UInt64(sending.expiration) < Envelope.dateMin ? nil : sending.expiration
    }
  }

  // MARK: - Summaries

  /// Makes ready the summary of a storm that is over, or that nobody would tell of any more.
  @inline(never)
  mutating func summaryStep() -> Step? {
    let isEnding = isStopping || settings.isOnce && isAllSent
    guard let storm = limits.storms.next(at: time.now, isEnding: isEnding) else { return nil }
    recorder.summarize(storm, in: limits.storms, settings.summaryWords)
    later.setSummaryName(for: storm.token, since: storm.beganAt, wall: time.wallSeconds)
    reports.add(.summarized(alerts: storm.alerts, storm.token.firstDigits))
    return .record
  }

  /// Whether the summary is in `later/`, from where it goes at once.
  mutating func summarized(_ isRecorded: Bool) {
    if isRecorded {
      limits.storms.removeSummarized()
      counters.summaries += 1
      recorder.isUnsynced = true
      later.written()
    } else if isStopping || settings.isOnce {
      // The alerts themselves are in `failed/`.
      limits.storms.forget()
    } else {
      limits.storms.retrySummaries(at: time.now + StuckFiles.pauseMin)
    }
  }

  // MARK: - The same again

  /// Whether the same went to the same token within its `again-after`. Of what is delivered again since its file is, the
  /// first time does not count.
  private mutating func isDuplicate(
    _ notification: Notification, _ token: DeviceToken, of now: Reading
  ) -> Bool {
    guard notification.againAfter > 0,
      let known = recentlySent.find(contentKey(notification, token, of: now)),
      known.source != sourceKey(notification, of: now)
    else { return false }
    let sentAt = Instant(milliseconds: known.value)
    guard time.now < sentAt + .seconds(UInt64(notification.againAfter)) else { return false }
    counters.duplicates += 1
    return true
  }

  /// A notification that was sent did not arrive, and does not go again: the next one of its kind goes.
  mutating func forgetSending(_ notification: Notification, _ token: DeviceToken, of now: Reading) {
    guard notification.againAfter > 0 else { return }
    let key = contentKey(notification, token, of: now)
    if recentlySent.find(key)?.source == sourceKey(notification, of: now) {
      recentlySent.remove(key)
    }
  }

  /// What two notifications share that say the same to a token: the `collapse-id`, or else what they show.
  @inline(never)
  private func contentKey(
    _ notification: Notification, _ token: DeviceToken, of now: Reading
  ) -> UInt64 {
    let text = now.text(in: reader.input)
    var hash = Hash()
    if notification.collapseID.isEmpty {
      hash.add(text.extracting(notification.payload.range))
      hash.add(text.extracting(notification.localized))
    } else {
      hash.add(text.extracting(notification.collapseID))
    }
    hash.add(token.bytes.span)
    return max(hash.value, 1)
  }

  /// Which notification it is, however often its file is read.
  @inline(never)
  private func sourceKey(_ notification: Notification, of now: Reading) -> UInt64 {
    let identity = claims[now.claim].identity
    var hash = Hash()
    hash.add(identity.inode)
    hash.add(UInt64(bitPattern: identity.changeTimeNs))
    hash.add(UInt64(now.inputOffset + Int64(notification.object.lowerBound)))
    return hash.value
  }
}
