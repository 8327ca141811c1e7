/// Limits on alerts, and notifications that repeat within their `again-after`.
///
/// An alert over a limit goes to `failed/`, and its token gets a summary after the storm. An alert
/// with a `collapse-id` waits in `later/` until the limit has room, and a newer one can replace it
/// there. The memory for this has a fixed size. If an entry is forgotten, one alert too many is
/// sent, or a summary counts one too few.
extension Courier {
  /// Whether a message may be sent for the first time.
  ///
  /// If not, there is a failure to record or a settlement to report.
  @inline(never)
  mutating func admit(_ message: MessageNumber, _ notification: Notification) -> Bool {
    let entry = outbox[message]
    if isDuplicate(notification, entry) {
      recordSettlement(of: message, .duplicate)
      return false
    }
    // Somebody who sends a refused alert again wants the alert in spite of the limit.
    if limits.areSet, notification.pushType == .alert, !notification.isUrgent,
      !notification.isRetried,
      let refusal = limits.take(entry.token.identity, at: time.now)
    {
      outbox.touch(entry.text)
      limit(refusal, notification, message)
      return false
    }
    remember(notification, entry)
    return true
  }

  // MARK: - Over a limit

  private mutating func limit(
    _ refusal: Limits.Refusal, _ notification: Notification, _ message: MessageNumber
  ) {
    let entry = outbox[message]
    if entry.subscription == Outbox.none, limits.storms.recordLimited(entry.token, at: time.now) {
      reports.add(
        .stormBegan(refusal.limit, isOverall: refusal.isOverall, entry.token.firstDigits))
    }
    if notification.collapseKey != 0, isReplaced(entry.text) {
      supersede(outbox[text: entry.text].file, 1)
      return recorder.settle(.superseded, entry.text, message, in: outbox)
    }
    // A due time needs a clock that is set.
    if notification.collapseKey != 0, let wall = time.wallSeconds {
      // The wall clock's second began up to a second ago.
      let untilRoom = Int64((time.now.until(refusal.roomAt).milliseconds + 1999) / 1000)
      // If many wait, few of them find room. The wait grows with the age, so that the others are
      // not all written again each time.
      let longest = Int64(refusal.limit.period.milliseconds / 1000)
      let wait = max(untilRoom, min(age(of: entry.text) / 2, longest))
      replaceRest(of: entry.text)
      return postpone(message, notification, until: UInt32(clamping: wall + wait))
    }
    // A summary is sent to a device token.
    let topic =
      entry.subscription == Outbox.none && limits.storms.isUnderWay(for: entry.token)
      ? limits.storms.topicNumber(of: notification, in: outbox.text(entry.text)) : nil
    recorder.limit(refusal, notification, message, topic: topic, in: outbox, files)
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
    return recordStep()
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
      limits.storms.retrySummaries(at: time.now + DiskTroubles.pauseMin)
    }
  }

  // MARK: - Duplicates

  /// Whether the same content was sent to the token within the `again-after`.
  ///
  /// A notification that is delivered again together with its file is no duplicate of itself.
  private mutating func isDuplicate(
    _ notification: Notification, _ entry: Outbox.Entry
  ) -> Bool {
    guard notification.againAfter > 0,
      let known = recentlySent.find(contentKey(notification, entry)),
      known.number != outbox[text: entry.text].identity
    else { return false }
    let sentAt = Instant(milliseconds: known.value)
    guard time.now < sentAt + .seconds(UInt64(notification.againAfter)) else { return false }
    counters.duplicates += 1
    return true
  }

  /// Remembers a notification that is sent, if it has an `again-after`.
  ///
  /// Without one, it ends the time of those with the same `collapse-id`: a leak that comes after
  /// "cleared" is a new one.
  @inline(never)
  mutating func remember(_ notification: Notification, _ entry: Outbox.Entry) {
    if notification.againAfter > 0 {
      recentlySent.put(
        RecentKeys.Entry(
          key: contentKey(notification, entry), value: time.now.milliseconds,
          number: outbox[text: entry.text].identity))
    } else if recentlySent.isUsed, !notification.collapseID.isEmpty {
      recentlySent.remove(contentKey(notification, entry))
    }
  }

  /// Forgets a notification that was sent, did not arrive, and is not sent again.
  ///
  /// So it does not hold back the next one with the same content.
  mutating func forgetSending(_ notification: Notification, _ entry: Outbox.Entry) {
    guard notification.againAfter > 0 else { return }
    let key = contentKey(notification, entry)
    if recentlySent.find(key)?.number == outbox[text: entry.text].identity {
      recentlySent.remove(key)
    }
  }

  /// Returns the key of the content: the `collapse-id` if there is one, else the payload.
  @inline(never)
  private func contentKey(_ notification: Notification, _ entry: Outbox.Entry) -> UInt64 {
    let text = outbox.text(entry.text)
    var hash = Hash()
    if notification.collapseID.isEmpty {
      hash.add(text.extracting(notification.payload.range))
      hash.add(text.extracting(notification.localized))
    } else {
      hash.add(text.extracting(notification.collapseID))
    }
    hash.add(entry.token.identity.bytes)
    return hash.value
  }
}
