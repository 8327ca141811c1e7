/// Records of messages that wait, and of alerts over a limit.
extension Recorder {
  /// Prepares the record of a message that waits for its limit, its service or a lane.
  mutating func postpone(
    _ notification: Notification, _ message: MessageNumber, in outbox: borrowing Outbox
  ) {
    let entry = outbox[message]
    text.clear()
    text.append("{")
    FailedLine.appendAddressed(
      notification, of: outbox.text(entry.text), for: entry.token, outbox.subscription(entry),
      entry.language, &text)
    pending = Pending(
      task: .postponed, file: outbox[text: entry.text].file, message: message,
      settlement: Settlement(.postponed, of: outbox[text: entry.text], to: entry))
  }

  /// Prepares the record of an alert to one token that is over a limit.
  ///
  /// - Parameter topic: the number of its topic; nil: no summary counts it.
  mutating func limit(
    _ refusal: Limits.Refusal, _ notification: Notification, _ message: MessageNumber,
    topic: UInt8?, in outbox: borrowing Outbox, _ files: borrowing TakenFiles
  ) {
    let entry = outbox[message]
    let source = outbox[text: entry.text]
    var reason = Text(capacity: 512)
    reason.append(refusal.isOverall ? "limit-all allows " : "limit allows ")
    refusal.limit.append(to: &reason)
    reason.append(refusal.isOverall ? " from this machine" : " to one token")
    reason.append(
      topic != nil
        ? ", and there were more: a summary is sent instead. To send this alert, run: tinypush queue retry "
        : ", and there were more. To send this alert, run: tinypush queue retry ")
    reason.append(operand: files.name(source.file))
    begin(reason, "limited", source.file, files)
    FailedLine.append("offset", source.offset, to: &text)
    FailedLine.end(
      notification, of: outbox.text(entry.text), for: entry.token, outbox.subscription(entry),
      entry.language, &text)
    pending = Pending(
      task: .failure, file: source.file, message: message,
      settlement: Settlement(.limited, of: source, to: entry))
    if let topic { pending?.limited = (entry.token, topic) }
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
      task: .summary, settlement: Settlement(outcome: .postponed, token: storm.token))
  }
}
