/// Limits on alerts, and notifications that repeat within their `again-after`.
///
/// An alert over a limit goes to `failed/`, and its token gets a summary after the storm. An alert
/// with a `collapse-id` waits in `later/` until the limit has room, and a newer one can replace it
/// there. The memory for this has a fixed size. If an entry is forgotten, one alert too many is
/// sent, or a summary counts one too few.
extension Courier {
  /// Whether a notification may be sent to a token for the first time.
  ///
  /// If not, there is a failure to record or a settlement to report.
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
      let refusal = limits.take(token.identity, at: time.now)
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
    // A due time needs a clock that is set.
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

  /// Returns the expiration to write into `later/`, instead of a `ttl`; nil: none is needed.
  ///
  /// A `ttl` would begin again when the file comes back to `new/`.
  private func fixedExpiration(_ sending: Sending) -> UInt32? {
    switch sending.notification.lifetime {
    case .until, .ttl(0): nil
    case .configured where settings.ttl == 0: nil
    case .configured, .ttl: UInt64(sending.expiration) < Envelope.dateMin ? nil : sending.expiration
    }
  }

  // MARK: - Summaries

  /// Returns the step that writes the next summary, if a storm is over.
  ///
  /// At a stop, and at the end of `--once`, all storms are over.
  @inline(never)
  mutating func summaryStep() -> Step? {
    let isEnding = isStopping || settings.isOnce && isAllSent
    guard let storm = limits.storms.next(at: time.now, isEnding: isEnding) else { return nil }
    recorder.summarize(storm, in: limits.storms, settings.summaryWords)
    later.setSummaryName(for: storm.token, since: storm.beganAt, wall: time.wallSeconds)
    reports.add(.summarized(alerts: storm.alerts, storm.token.firstDigits))
    return .record
  }

  /// Handles the result of writing a summary to `later/`, from where it is sent at once.
  mutating func summarized(_ isRecorded: Bool) {
    if isRecorded {
      limits.storms.removeSummarized()
      counters.summaries += 1
      recorder.isUnsynced = true
      later.written()
    } else if isStopping || settings.isOnce {
      // The alerts themselves are recorded in `failed/`.
      limits.storms.forget()
    } else {
      limits.storms.retrySummaries(at: time.now + StuckFiles.pauseMin)
    }
  }

  // MARK: - Duplicates

  /// Whether the same content was sent to the token within the `again-after`.
  ///
  /// A notification that is delivered again together with its file is no duplicate of itself.
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

  /// Forgets a notification that was sent, did not arrive, and is not sent again.
  ///
  /// So it does not hold back the next one with the same content.
  mutating func forgetSending(_ notification: Notification, _ token: DeviceToken, of now: Reading) {
    guard notification.againAfter > 0 else { return }
    let key = contentKey(notification, token, of: now)
    if recentlySent.find(key)?.source == sourceKey(notification, of: now) {
      recentlySent.remove(key)
    }
  }

  /// Returns the key of the content: the `collapse-id` if there is one, else the payload.
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
    hash.add(token.identity.bytes)
    return max(hash.value, 1)
  }

  /// Returns a key for the notification that is the same at each reading of its file.
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
