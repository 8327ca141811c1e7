import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushMQTT
import TinyPushRules

/// What the bridge logs.
extension BridgeLoop {
  /// Logs the state of the connection, which `systemctl status` shows, too.
  mutating func tell(_ priority: Log.Priority, _ state: borrowing Text) {
    log.write(priority, state, about: .connection)
    showsRefusal = false
    var text = Text()
    text.append("STATUS=", state)
    text.withCString { clinux_notify($0) }
  }

  mutating func logStart() {
    var text = Text()
    text.append("messages from ", cString: config.broker.pointer)
    text.append(
      ", ", bridge.rules.count, bridge.rules.count == 1 ? " rule, into " : " rules, into ")
    text.append(cString: spool.pointer)
    log.write(.info, text)
    if access(spool.pointer, F_OK) != 0 {
      text.clear()
      text.append("there is no spool ", cString: spool.pointer)
      text.append(": name the right one with --config FILE or -o spool=DIR; until then the broker")
      text.append(" keeps the messages")
      log.write(.error, text)
    }
    bridge.subscriptions.filters.forEachOverlap { one, other in
      var text = Text(capacity: 1024)
      bridge.subscriptions.filters.appendOverlap(one, other, to: &text)
      log.write(.warning, text)
    }
  }

  mutating func logConnection(_ hasSession: Bool, isLost: Bool) {
    var text = Text()
    text.append("connected to the broker ", cString: config.broker.pointer)
    if bridge.version == .v3 { text.append(" with MQTT 3.1.1") }
    if isLost {
      text.append(
        ", which has lost the session, and the messages since then; with Mosquitto, set")
      text.append(" persistence true")
    } else {
      text.append(hasSession ? ", which kept the session" : ", in a new session")
    }
    if bridge.sessionSeconds < config.session.sessionSeconds {
      text.append("; it keeps messages for an absent program only for ")
      text.append(roundedSeconds: Int64(bridge.sessionSeconds))
    }
    tell(isLost ? .warning : .info, text)
  }

  /// Logs a refused subscription; the other subscriptions bring messages.
  mutating func logRefusal(of filter: Int, _ reason: UInt8) {
    var text = Text()
    bridge.subscriptions.filters.appendRefusal(of: filter, reason, to: &text)
    text.append("; the program asks again in 5 minutes")
    tell(.error, text)
    showsRefusal = true
  }

  /// Logs that the broker asks for no acknowledgements, or that it refuses no subscription any more.
  mutating func logAcceptance(of filter: Int, _ quality: UInt8, hasRefused: Bool) {
    if showsRefusal, !hasRefused {
      var text = Text()
      text.append("the broker ", cString: config.broker.pointer)
      text.append(" accepts each subscription now")
      tell(.info, text)
    }
    guard quality == 0 else { return }
    var text = Text()
    bridge.subscriptions.filters.appendQuality(of: filter, to: &text)
    tell(.warning, text)
  }

  mutating func logNothingToTake() {
    var text = Text()
    text.append("the broker keeps nothing for the client ID ")
    text.append(printable: config.login.clientID.bytes)
    log.write(.error, text)
  }

  mutating func logUnpublished(_ reason: UInt8) {
    var text = Text()
    text.append("the broker refused the state of this box for its fleet, topic ")
    text.append(printable: bridge.lastPublishedTopic)
    text.append(": ")
    BrokerProblem.append(reason, to: &text)
    log.write(.warning, text, about: .page)
  }

  mutating func logUnanswered() {
    var text = Text()
    text.append("the broker has ended the connection, and not answered a message of this box to")
    text.append(" its fleet: the next one follows in 10 minutes; may this user publish to topic ")
    text.append(printable: bridge.lastPublishedTopic)
    text.append("?")
    log.write(.warning, text, about: .page)
  }

  mutating func logUnheard() {
    var text = Text(capacity: 1024)
    text.append("no room to listen to topic ", printable: bridge.topic)
    text.append(": its silence will not ring; make the topic filters of rules with silent-for")
    text.append(" match fewer topics")
    log.write(.warning, text, about: .mistakes)
  }

  mutating func logSilence(_ rule: Int) {
    var text = Text()
    text.append("silence: the rule in line ", bridge.rules.line(of: rule))
    text.append(" rings for [", printable: bridge.rules.filter(rule), "]")
    log.write(.info, text, about: .messages)
  }

  /// Logs why a message makes no notification.
  mutating func logDropped(_ reason: Bridge.Reason) {
    var text = Text(capacity: 1024)
    text.append(reason == .tooLarge || reason == .cut ? "message dropped" : "message ignored")
    switch reason {
    case .ignored: return logIgnored()
    case .tooLarge:
      text.append(", topic ", printable: bridge.topic)
      text.append(": its notification would have more than ", NotificationReader.objectBytesMax)
      text.append(" bytes; take less of the payload into the rule, or send less")
      return log.write(.error, text, about: .mistakes)
    case .cut:
      text.append(", topic ", printable: bridge.topic)
      text.append(": it has more than ", config.session.packetBytesMax)
      text.append(" bytes; send less, or subscribe to fewer topics")
      return log.write(.error, text, about: .mistakes)
    case .retained:
      text.append(", topic ", printable: bridge.topic)
      text.append(": it is a retained one, and may be old; retained = yes in its rule takes it")
    case .unchanged:
      text.append(", topic ", printable: bridge.topic)
      text.append(": the notification is the same as the one before")
    }
    log.write(.info, text, about: .messages)
  }

  /// Logs why a message makes no notification.
  ///
  /// Lines are folded. Each topic without a rule is a kind of its own. Messages that do not meet the
  /// conditions are the normal case, and all of one kind.
  private mutating func logIgnored() {
    var text = Text(capacity: 1024)
    text.append("message ignored")
    let isBroken = RuleTrial.isBrokenJSON(bridge.payload)
    if bridge.payload.count == 0 {
      text.append(", topic ", printable: bridge.topic)
      text.append(": it is empty, which clears a retained message")
    } else if let rule = bridge.rules.first(for: bridge.topic) {
      text.append(": the conditions of the rule in line ", bridge.rules.line(of: rule))
      text.append(" do not hold; topic ", printable: bridge.topic)
      if isBroken { text.append("; the payload is not valid JSON") }
    } else {
      text.append(", topic ", printable: bridge.topic)
      text.append(": no rule matches the topic")
      if isBroken { text.append(", and the payload is not valid JSON") }
      text.append(
        bridge.subscriptions.filters.mayReceive(bridge.topic)
          ? "; tinypush-mqtt check shows how rules work"
          : "; the broker remembers a subscription that is no longer in the rules")
    }
    log.write(isBroken ? .warning : .info, text, about: isBroken ? .mistakes : .messages)
  }

  mutating func logTotals() {
    var text = Text()
    text.append("messages: ", bridge.counts.messages, ", ")
    text.append(bridge.counts.repeated)
    text.append(" repeated; notifications: ", bridge.counts.notifications, "; files: ")
    text.append(bridge.counts.files)
    text.append("; ignored: ", bridge.counts.ignored, "; too large: ")
    text.append(bridge.counts.tooLarge)
    log.flush()
    log.write(.info, text)
  }
}
