import TinyPush

/// What rules remember of earlier messages: the last notification, and when a topic was heard.
extension MessageRules {
  // MARK: - Changes

  /// What a rule for changes compares: the notifications with one collapse ID, or else those of one
  /// topic.
  mutating func changeKey(_ rule: Int, _ message: MessageText) -> UInt64 {
    scratch.clear()
    for index in entryRange(rule) where entries[index].key == .collapseID {
      render(entries[index], message)
    }
    var hash = Hash()
    hash.add(UInt64(rule))
    if scratch.count > 0 { hash.add(scratch.bytes) } else { hash.add(message.address) }
    return hash.value
  }

  /// Lets the next notification of a rule count as a change, since this message makes another one
  /// or none.
  mutating func forgetChange(_ rule: Int, _ message: MessageText) {
    if hasChanges, isSet(.onChange, in: rule) { changes.forget(changeKey(rule, message)) }
  }

  mutating func forgetChanges(behind rule: Int, _ message: MessageText) {
    guard hasChanges else { return }
    for other in rule + 1..<count where TopicFilter.matches(filter(other), message.address) {
      forgetChange(other, message)
    }
  }

  /// Notes that the notifications are not in the spool: their messages come again.
  public mutating func forgetChanges() { changes.clear() }

  // MARK: - Silence

  /// Before this time, no topic is silent for too long; nil: no rule is for silence.
  public var silentAt: Instant? { silences.dueAt }

  /// How long a topic must be silent for a rule to ring; nil: the rule rings for messages.
  func silence(_ rule: Int) -> Duration? {
    guard hasSilences else { return nil }
    for index in entryRange(rule) where entries[index].key == .silentFor {
      return .seconds(value(entries[index]).wholeNumber ?? 0)
    }
    return nil
  }

  /// Stops the time of silence, since the connection has ended.
  public mutating func disconnected(at now: Instant) { silences.disconnected(at: now) }

  /// Notes that nothing could be heard for a time that has just passed.
  public mutating func slept(_ time: Duration) { silences.slept(time) }

  /// Listens to the topics of the rules for silence, and to those heard before.
  public mutating func connected(at now: Instant) {
    guard hasSilences else { return }
    silences.connected(at: now)
    for rule in 0..<count where TopicFilter.isTopic(filter(rule)) {
      guard let wait = silence(rule), !silences.knows(filter(rule), rule: rule) else { continue }
      _ = silences.note(filter(rule), rule: rule, wait: wait, at: now)
    }
  }

  /// Notes that a message came, for the rules for silence whose conditions the message meets.
  ///
  /// Returns false if there is no room for another topic, whose silence nobody will hear.
  ///
  /// Brokers send a retained message again at each subscription: it is no sign of life of a topic
  /// that was heard before.
  public mutating func note(
    topic: Span<UInt8>, payload: Span<UInt8>, isRetained: Bool = false, at now: Instant
  ) -> Bool {
    guard hasSilences, payload.count > 0 else { return true }
    let message = MessageText(topic, payload: payload, of: source)
    var hasRoom = true
    for rule in 0..<count where TopicFilter.matches(filter(rule), topic) {
      guard let wait = silence(rule), holds(rule, message) else { continue }
      if isRetained, silences.knows(topic, rule: rule) { continue }
      if !silences.note(topic, rule: rule, wait: wait, at: now) { hasRoom = false }
    }
    return hasRoom
  }

  /// Appends the notification of the next topic that is silent for too long; returns its rule, or
  /// nil if there is no more.
  ///
  /// The line has room for a notification.
  public mutating func appendSilence(at now: Instant, to line: inout Text) -> Int? {
    guard let index = silences.next(at: now) else { return nil }
    let rule = silences.rule(index)
    let payload = ("" as StaticString).span
    append(
      rule, of: MessageText(silences.topic(index), payload: payload, of: source), key: nil,
      to: &line)
    return rule
  }

  /// Notes that the notifications of silent topics are in the spool, or must be made again.
  public mutating func silencesTold(isKept: Bool) { silences.told(isKept: isKept) }
}
