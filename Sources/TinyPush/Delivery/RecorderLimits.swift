/// Records of alerts over a limit.
extension Recorder {
  /// Prepares the record of a notification to one token that waits until a limit has room.
  ///
  /// - Parameter expiration: replaces its `ttl`; nil: the `ttl` stays.
  mutating func postpone(
    _ notification: Notification, for token: DeviceToken, _ language: LanguageTag?,
    expiration: UInt32?, of now: Reading, in input: borrowing FixedBuffer<UInt8>
  ) {
    text.clear()
    text.append("{")
    FailedLine.appendAddressed(
      notification, of: now.text(in: input), for: token, language, expiration: expiration, &text)
    pending = Pending(
      claim: now.claim, kind: .postponed,
      settlement: Settlement(
        outcome: .postponed, token: token,
        offset: now.inputOffset + Int64(notification.object.lowerBound)))
  }

  /// Prepares the record of an alert to one token that is over a limit.
  ///
  /// - Parameter topic: the number of its topic; nil: no summary counts it.
  mutating func limit(
    _ refusal: Limits.Refusal, _ notification: Notification, _ token: DeviceToken,
    _ language: LanguageTag?, topic: UInt8?, of now: Reading,
    in input: borrowing FixedBuffer<UInt8>,
    _ claims: borrowing Claims
  ) {
    var reason = Text(capacity: 512)
    reason.append(refusal.isOverall ? "limit-all allows " : "limit allows ")
    refusal.limit.append(to: &reason)
    reason.append(refusal.isOverall ? " from this machine" : " to one token")
    reason.append(
      ", and there were more: a summary is sent instead. To send this alert, run: tinypush queue retry "
    )
    reason.append(bytes: claims.name(now.claim))
    begin(reason, "limited", now.claim, claims)
    FailedLine.append(
      "offset", now.inputOffset + Int64(notification.object.lowerBound), to: &text)
    FailedLine.end(notification, of: now.text(in: input), for: token, language, &text)
    pending = Pending(
      claim: now.claim, kind: .limited,
      settlement: Settlement(
        outcome: .limited, token: token,
        offset: now.inputOffset + Int64(notification.object.lowerBound)))
    if let topic { pending?.limited = (token, topic) }
  }

  /// Prepares a summary of the alerts to a token that a limit kept back.
  mutating func summarize(
    _ storm: Storms.Storm, in storms: borrowing Storms, _ words: SummaryWords
  ) {
    var alert = Text(capacity: 512)
    words.append(
      alerts: storm.alerts, in: (storm.beganAt.until(storm.lastAt).milliseconds + 500) / 1000,
      to: &alert)
    text.clear()
    text.beginObject()
    text.member("token", hex: storm.token.bytes)
    // No limit applies to an urgent notification.
    text.member("urgent", bool: true)
    if storms.topic(storm.topic).count > 0 {
      text.member("topic", string: storms.topic(storm.topic))
    }
    text.key("payload")
    text.beginObject()
    text.key("aps")
    text.beginObject()
    text.member("alert", string: alert)
    text.endObject()
    text.endObject()
    text.endLine()
    pending = Pending(
      claim: ClaimNumber(0), kind: .summary,
      settlement: Settlement(outcome: .postponed, token: storm.token))
  }
}
