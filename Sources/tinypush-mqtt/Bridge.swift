import CLinux
import CMbed
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// Takes messages from the broker into the spool.
///
/// Messages that come together go into one notification file, a line each. They are acknowledged
/// once the file is in `new/` and on disk, so that the broker sends again each message that a crash
/// or a power cut took away.
struct Bridge: ~Copyable {
  /// Bytes of one notification file at most.
  private static let batchBytesMax = 512 * 1024
  /// The wait after a problem that only a person can solve.
  private static let pause = Duration.seconds(30)
  /// The time after which a refused subscription is asked for again.
  private static let subscriptionPause = Duration.seconds(300)
  /// The time of silence after which nothing is left to take over.
  private static let quietTime = Duration.seconds(3)
  /// How long the broker has for closing the connection.
  private static let farewell = Duration.seconds(3)
  /// A connection that ends before this time is no progress.
  private static let shortTime = Duration.seconds(60)

  private var broker: CString
  /// The file of the broker and the rules.
  private let path: UnsafePointer<CChar>
  private let spool: CString
  private var config: BridgeConfig
  private var session: BrokerSession
  private var connection: TLSConnection
  private var events = EventPoll()
  private var log = Log()
  private var backoff: Backoff
  private var dialAt: Instant?
  private var isSessionUp = false
  /// The version of MQTT of the next attempt to connect.
  private var version = BrokerSession.Version.v5
  /// Whether the broker has accepted the connection and was sent the subscriptions.
  private var isSubscribed = false
  /// The notifications that wait to be written, and the number of messages to acknowledge with
  /// them.
  private var batch = Text(capacity: Bridge.batchBytesMax)
  private var openInBatch = 0
  private var notificationsInBatch: UInt64 = 0
  /// Whether a message of QoS 0 waits to be written, which the broker does not send again.
  private var isBatchUnrepeated = false
  private var isStopping = false
  private var isReloadWanted = false
  /// When the broker accepted the last connection.
  private var connectedAt: Instant?
  /// Whether the broker has accepted a connection with these settings.
  private var hadSession = false
  /// For each subscription, the number under which the broker was asked for it.
  private var asked = InlineArray<32, UInt16>(repeating: 0)
  /// The subscriptions that the broker refused, a bit for each.
  private var refused: UInt32 = 0
  /// Whether the state that `systemctl status` shows is a refused subscription.
  private var showsRefusal = false
  /// When to ask for them again.
  private var askAt: Instant?
  /// The connections one after the other that ended within ``shortTime``.
  private var shortCount = 0
  /// Subscriptions of earlier rules, which the broker must forget.
  private var gone = FilterList()
  /// Whether SIGHUP means that the terminal has closed.
  ///
  /// For a service it asks to read the rules again.
  private let endsWithTerminal =
    getenv(("NOTIFY_SOCKET" as StaticString).cString) == nil
    && (isatty(STDIN_FILENO) == 1 || isatty(STDERR_FILENO) == 1)
  /// The agent's status page.
  private let page: CString
  private var fleet: FleetState
  private var counts = Counts()
  /// Whether the session belongs to another box, whose messages this one takes over.
  private let isTakeover: Bool
  /// When nothing is left to take over.
  private var quietAt: Instant?
  private var status = ExitStatus.ok

  /// Counts of what became of the messages.
  private struct Counts {
    var messages: UInt64 = 0
    var repeated: UInt64 = 0
    var notifications: UInt64 = 0
    var tooLarge: UInt64 = 0
    var ignored: UInt64 = 0
    var files: UInt64 = 0
  }

  /// - Parameters:
  ///   - path: the file of the broker and the rules, which SIGHUP makes the bridge read again.
  ///   - spool: the spool's directory.
  ///   - page: the agent's status page.
  ///   - isTakeover: whether the client ID is another box's, whose messages this one takes over.
  init(
    _ config: consuming BridgeConfig, rules path: UnsafePointer<CChar>, spool: Span<UInt8>,
    page: Span<UInt8>, isTakeover: Bool = false
  ) {
    self.isTakeover = isTakeover
    broker = CString(config.broker.span)
    self.path = path
    self.spool = CString(spool)
    session = BrokerSession(config.session)
    connection = TLSConnection(
      address: config.broker.span, port: config.port, config.tls, isPlain: !config.isEncrypted)
    var seed: UInt64 = 0
    _ = getrandom(&seed, 8, 0)
    backoff = Backoff(seed: seed)
    dialAt = Clock.now()
    self.page = CString(page)
    fleet = FleetState(config, page: page)
    self.config = config
  }

  deinit {}

  // MARK: - The loop

  /// Works until SIGTERM or SIGINT, or until all is taken over.
  mutating func run() -> ExitStatus {
    logStart()
    clinux_notify("READY=1")
    while !isStopping {
      if isReloadWanted { reload() }
      log.catchUp()
      let now = Clock.now()
      if let dialAt, dialAt <= now {
        // The socket is not connected before its first event.
        dial(at: now)
      } else {
        advance(at: now)
      }
      if isSubscribed {
        if let askAt, askAt <= now { askAgain(at: now) }
        fleet.publish(&session, at: now)
        if let due = config.rules.silentAt, due <= now { ringForSilence(at: now) }
      }
      send(at: now)
      if let quietAt, quietAt <= now { break }
      if isStopping { break }
      sleep()
    }
    // Nothing may follow this packet. What was not acknowledged, the broker sends again.
    session.disconnect()
    finishSending()
    connection.hangUp(epoll: events.epoll, closeNotify: false)
    logTotals()
    return status
  }

  private mutating func sleep() {
    var wake = dialAt ?? session.wakeAt
    wake.include(connection.deadline)
    wake.include(askAt)
    wake.include(quietAt)
    if isSubscribed {
      if session.mayPublish { wake.include(fleet.dueAt) }
      wake.include(config.rules.silentAt)
    }
    if connection.hasMore { wake = Clock.now() }
    let timeout = wake.map { Int32(clamping: Clock.now().until($0).milliseconds) } ?? -1
    let count = events.wait(timeout)
    for index in 0..<count {
      switch events.source(index) {
      case .signals:
        while let signal = events.takeSignal() {
          if signal == UInt32(SIGHUP), !endsWithTerminal, !isTakeover {
            isReloadWanted = true
          } else {
            clinux_notify("STOPPING=1")
            isStopping = true
          }
        }
      case .clock:
        _ = events.takeClockChange()
      case .descriptor: break
      }
    }
  }

  // MARK: - The connection

  private mutating func dial(at now: Instant) {
    dialAt = nil
    if case .failed = connection.dial(epoll: events.epoll, at: now) { connectionFailed() }
  }

  private mutating func connectionFailed() {
    var text = Text()
    text.append("cannot connect to the broker ")
    text.append(cString: broker.pointer)
    text.append(": ", bytes: connection.problem.bytes)
    tell(connection.isOurFault ? .error : .warning, text)
    hangUp(pause: connection.isOurFault)
  }

  private mutating func hangUp(pause: Bool) {
    connection.hangUp(epoll: events.epoll, closeNotify: true)
    session.ended()
    if batch.count > 0 { config.rules.forgetChanges() }
    config.rules.silencesTold(isKept: false)
    clearBatch()
    isSessionUp = false
    isSubscribed = false
    askAt = nil
    fleet.ended()
    if let start = connectedAt.take() {
      if isTakeover { stopTakeover(.tryLater) }
      let isShort = Clock.now() < start + Self.shortTime
      shortCount = isShort ? shortCount + 1 : 0
      if !isShort { backoff.reset() }
    }
    dialAt = Clock.now() + (pause ? Self.pause : backoff.fail())
  }

  /// Goes on with the connection, and reads from it.
  private mutating func advance(at now: Instant) {
    switch connection.phase {
    case .none: return
    case .connecting, .tunnelling, .open, .handshaking:
      guard !isSessionUp else { return receive(at: now) }
      switch connection.proceed(epoll: events.epoll, at: now, config: config.tls) {
      case .failed: connectionFailed()
      case .wants: break
      case .done:
        logIn(at: now)
      }
    case .up: receive(at: now)
    }
  }

  private mutating func logIn(at now: Instant) {
    if let problem = config.readPassword() {
      var text = Text()
      text.append("password-file ", problem)
      tell(.error, text)
      return hangUp(pause: true)
    }
    isSessionUp = true
    fleet.appendWill(to: &config.login)
    session.connect(config.login, version, at: now)
    config.forgetPassword()
  }

  /// Reads what has come, and takes it into the spool.
  ///
  /// While messages keep coming, the loop looks at signals and clocks after each file.
  private mutating func receive(at now: Instant) {
    let files = counts.files
    do throws(BrokerProblem) {
      while true {
        try takeEvents(at: now)
        guard connection.phase != .none else { return }
        guard counts.files == files else { break }
        let result = connection.read(session.makeRoom())
        guard result > 0 else {
          guard result != CMBED_WANT_READ else { break }
          if isBatchUnrepeated { write(at: now) }
          return isSessionUp ? connectionEnded() : ()
        }
        session.take(Int(result))
      }
      write(at: now)
    } catch {
      brokerFailed(error)
    }
  }

  private mutating func connectionEnded() {
    var text = Text()
    text.append("connection to the broker ")
    text.append(cString: broker.pointer)
    text.append(" ended: ", bytes: connection.problem.bytes)
    if !isSubscribed {
      text.append(" before the broker answered; does it want tls = yes? The next attempt is with ")
      tryOtherVersion(&text)
    } else if shortCount > 0 {
      // Mosquitto 2.0 does not say so.
      text.append(": if another client uses the same client ID, set client-id")
    }
    tell(.warning, text)
    hangUp(pause: false)
  }

  private mutating func brokerFailed(_ problem: BrokerProblem) {
    session.disconnect(after: problem)
    send(at: Clock.now())
    var text = Text()
    text.append("broker ")
    text.append(cString: broker.pointer)
    text.append(": ")
    problem.append(to: &text)
    var hasOtherWay = false
    if problem == .refused(0x87) { hasOtherWay = fleet.notAuthorized(&text) }
    // A broker of MQTT 3.1.1 may wait for more bytes than MQTT 5 sends.
    if problem.isOfVersion || problem == .silent && !isSubscribed {
      text.append("; the next attempt is with ")
      tryOtherVersion(&text)
      // After both versions the program waits.
      hasOtherWay = version == .v3
    }
    tell(problem.isConfiguration ? .error : .warning, text)
    hangUp(pause: problem.isConfiguration && !hasOtherWay)
  }

  private mutating func tryOtherVersion(_ text: inout Text) {
    version = version == .v5 ? .v3 : .v5
    text.append(version == .v5 ? "MQTT 5" : "MQTT 3.1.1")
  }

  private mutating func send(at now: Instant) {
    while isSessionUp, !session.output.isEmpty {
      let result = connection.write(session.output)
      guard result > 0 else {
        let epoll = events.epoll
        connection.watch(epoll: epoll, writable: true)
        return
      }
      session.written(Int(result), at: now)
    }
    if isSessionUp { connection.watch(epoll: events.epoll, writable: false) }
  }

  /// Sends what waits, and reads until the broker closes the connection, a few seconds at most.
  ///
  /// If a socket is closed with unread bytes in it, the kernel sends a reset, and the broker loses
  /// the acknowledgements that it has not read: it would send their messages again.
  private mutating func finishSending() {
    let end = Clock.now() + Self.farewell
    var isSent = false
    while isSessionUp {
      let now = Clock.now()
      guard now < end else { return }
      send(at: now)
      if !isSent, session.output.isEmpty {
        connection.endSending()
        isSent = true
      }
      while true {
        let result = connection.read(session.makeRoom())
        if result == CMBED_WANT_READ { break }
        guard result > 0 else { return }
      }
      let count = events.wait(Int32(clamping: now.until(end).milliseconds))
      for index in 0..<count {
        // A second signal ends the program at once.
        if case .signals = events.source(index) { return }
      }
    }
  }

  // MARK: - Messages

  private mutating func takeEvents(at now: Instant) throws(BrokerProblem) {
    while let event = try session.next(at: now) {
      switch event {
      case .connected(let hasSession):
        connectedAt = now
        isSubscribed = true
        logConnection(hasSession)
        hadSession = true
        refused = 0
        if isTakeover {
          takeOver(hasSession, at: now)
          break
        }
        config.rules.connected(at: now)
        for index in 0..<gone.count { _ = session.unsubscribe(gone.filter(index), at: now) }
        gone.clear()
        for index in 0..<config.subscriptions.count { subscribe(index, at: now) }
        if config.subscriptions.count == 0 { fleet.subscribed(at: now) }
      case .subscribed(let answer):
        for index in 0..<config.subscriptions.count where asked[index] == answer.packetID {
          if answer.reason >= 0x80 {
            refuse(index, answer.reason, at: now)
          } else {
            accepted(index)
            if answer.reason == 0 { warnOfQuality(index) }
          }
        }
        if answer.isLast { fleet.subscribed(at: now) }
      case .published(let reason):
        if reason >= 0x80 { logUnpublished(reason) }
        fleet.published(isRefused: reason >= 0x80, at: now)
      case .message(let message): take(message, at: now)
      }
    }
  }

  private mutating func subscribe(_ index: Int, at now: Instant) {
    guard isSubscribed else { return }
    let filter = config.subscriptions.filter(index)
    if let reason = session.lack(for: filter) { return refuse(index, reason, at: now) }
    guard let packetID = session.subscribe(filter, isState: false, at: now) else {
      // There is room on a new connection.
      return hangUp(pause: false)
    }
    asked[index] = packetID
  }

  /// Ends the subscriptions of the other box, and waits for the messages that the broker has kept
  /// for it.
  ///
  /// The session stays, so that a message that comes late is not lost.
  private mutating func takeOver(_ hasSession: Bool, at now: Instant) {
    guard hasSession else {
      var text = Text()
      text.append("the broker keeps nothing for the client ID ")
      text.append(printable: config.login.clientID.bytes)
      log.write(.error, text)
      return stopTakeover(.noInput)
    }
    for index in 0..<config.subscriptions.count {
      _ = session.unsubscribe(config.subscriptions.filter(index), at: now)
    }
    quietAt = now + Self.quietTime
  }

  private mutating func stopTakeover(_ status: ExitStatus) {
    self.status = status
    isStopping = true
  }

  /// Logs a refused subscription; the other subscriptions bring messages.
  private mutating func refuse(_ index: Int, _ reason: UInt8, at now: Instant) {
    refused |= 1 << UInt32(index)
    askAt = now + Self.subscriptionPause
    var text = Text()
    config.subscriptions.appendRefusal(of: index, reason, to: &text)
    text.append("; the program asks again in 5 minutes")
    tell(.error, text)
    showsRefusal = true
  }

  /// Logs that no subscription is refused any more.
  private mutating func accepted(_ index: Int) {
    refused &= ~(1 << UInt32(index))
    guard showsRefusal, refused == 0 else { return }
    var text = Text()
    text.append("the broker ", cString: broker.pointer)
    text.append(" accepts each subscription now")
    tell(.info, text)
  }

  /// Logs that the broker asks for no acknowledgements of a subscription's messages.
  private mutating func warnOfQuality(_ index: Int) {
    var text = Text()
    config.subscriptions.appendQuality(of: index, to: &text)
    tell(.warning, text)
  }

  private mutating func askAgain(at now: Instant) {
    askAt = nil
    for index in 0..<config.subscriptions.count where refused & 1 << UInt32(index) != 0 {
      subscribe(index, at: now)
    }
  }

  private mutating func logUnpublished(_ reason: UInt8) {
    var text = Text()
    text.append("the broker refused a message of this box to its fleet: ")
    BrokerProblem.append(reason, to: &text)
    text.append("; topic ", printable: session.lastPublishedTopic)
    log.write(.warning, text, about: .page)
  }

  private mutating func take(_ message: BrokerSession.Message, at now: Instant) {
    let topic = session.bytes(message.topic)
    let payload = session.bytes(message.payload)
    counts.messages += 1
    if isTakeover { quietAt = now + Self.quietTime }
    if message.isRepeated { counts.repeated += 1 }
    // Room for the largest notification: a larger one is dropped.
    if batch.count > Self.batchBytesMax - 2 * NotificationReader.objectBytesMax {
      write(at: now)
      // The spool failed: the broker sends this message again.
      guard isSessionUp else { return }
    }
    if !isTakeover, !config.rules.hear(topic: topic, payload: payload, at: now) {
      logUnheard(topic)
    }
    makeNotifications(topic, payload, message)
    if message.packetID == nil { isBatchUnrepeated = true } else { openInBatch += 1 }
    if openInBatch >= config.session.openMax { write(at: now) }
  }

  /// Appends the notifications of a message to the batch.
  private mutating func makeNotifications(
    _ topic: Span<UInt8>, _ payload: Span<UInt8>, _ message: BrokerSession.Message
  ) {
    var first = 0
    while true {
      let outcome = config.rules.append(
        topic: topic, payload: payload, packetID: message.packetID,
        isRetained: message.isRetained, from: first, to: &batch)
      switch outcome {
      case .rule(let rule):
        notificationsInBatch += 1
        guard config.rules.goesOn(rule) else { return }
        first = rule + 1
        continue
      case .notification: notificationsInBatch += 1
      case .tooLarge:
        counts.tooLarge += 1
        logTooLarge(topic)
      case .heard: break
      case .ignored, .retained, .unchanged:
        guard first == 0 else { return }
        counts.ignored += 1
        switch outcome {
        case .retained: logRetained(topic)
        case .unchanged: logUnchanged(topic)
        default: logIgnored(topic, payload)
        }
      }
      return
    }
  }

  /// Tells which topics are silent for too long.
  private mutating func ringForSilence(at now: Instant) {
    while batch.count <= Self.batchBytesMax - 2 * NotificationReader.objectBytesMax,
      let rule = config.rules.appendSilence(at: now, to: &batch)
    {
      notificationsInBatch += 1
      var text = Text()
      text.append("silence: the rule in line ", config.rules.line(of: rule))
      text.append(" rings for [", printable: config.rules.filter(rule), "]")
      log.write(.info, text, about: .messages)
    }
    write(at: now)
    if isSessionUp { config.rules.silencesTold(isKept: true) }
  }

  /// Writes the notifications that wait into one file of the spool, and then acknowledges their
  /// messages.
  private mutating func write(at now: Instant) {
    if batch.count > 0 {
      do throws(DropBox.Problem) {
        var box = try DropBox(spool.pointer)
        try box.write(batch.bytes)
        _ = try box.drop(isSynced: true)
        counts.files += 1
      } catch {
        var text = error.text(spool.pointer)
        text.append("; the broker keeps the messages, and sends them again in 30 s")
        log.write(.error, text, about: .spool)
        return hangUp(pause: true)
      }
    }
    counts.notifications += notificationsInBatch
    session.acknowledge(openInBatch, at: now)
    clearBatch()
    // While messages keep coming, a crash would repeat all whose acknowledgement is not sent.
    send(at: now)
  }

  private mutating func clearBatch() {
    batch.clear()
    openInBatch = 0
    notificationsInBatch = 0
    isBatchUnrepeated = false
  }

  // MARK: - New rules

  /// Reads the file again; a mistake in it changes nothing.
  private mutating func reload() {
    isReloadWanted = false
    var fresh = BridgeConfig()
    var text = Text(capacity: 2048)
    do throws(ExitStatus) {
      var message = Text(capacity: 2048)
      do throws(ExitStatus) {
        try BridgeConfig.read(path, into: &fresh, message: &message)
      } catch {
        text.append("the old rules stay in use: ")
        text.append(message)
        throw error
      }
    } catch {
      return log.write(.error, text)
    }
    let isSameConnection = fresh.connectionHash == config.connectionHash
    let now = Clock.now()
    swap(&config, &fresh)
    for index in 0..<fresh.subscriptions.count {
      let filter = fresh.subscriptions.filter(index)
      if config.subscriptions.contains(filter) { continue }
      if isSubscribed, isSameConnection {
        _ = session.unsubscribe(filter, at: now)
      } else {
        _ = gone.append(filter)
      }
    }
    if isSameConnection {
      asked = InlineArray(repeating: 0)
      refused = 0
      for index in 0..<config.subscriptions.count { subscribe(index, at: now) }
      if isSubscribed { config.rules.connected(at: now) }
    } else {
      reconnect(at: now)
    }
    text.append(
      "the new rules are in use: ", config.rules.count, config.rules.count == 1 ? " rule" : " rules"
    )
    log.write(.info, text)
  }

  /// Connects again, with the new settings.
  private mutating func reconnect(at now: Instant) {
    session.disconnect()
    send(at: now)
    connection.hangUp(epoll: events.epoll, closeNotify: true)
    isSessionUp = false
    isSubscribed = false
    hadSession = false
    version = .v5
    broker = CString(config.broker.span)
    session = BrokerSession(config.session)
    connection = TLSConnection(
      address: broker.span, port: config.port, config.tls, isPlain: !config.isEncrypted)
    fleet = FleetState(config, page: page.span)
    backoff.reset()
    dialAt = now
  }

  // MARK: - The log

  /// Logs the state of the connection, which `systemctl status` shows, too.
  private mutating func tell(_ priority: Log.Priority, _ state: borrowing Text) {
    log.write(priority, state, about: .connection)
    showsRefusal = false
    var text = Text()
    text.append("STATUS=")
    text.append(state)
    text.withCString { clinux_notify($0) }
  }

  /// Logs that a message is lost since its notification is too large.
  private mutating func logTooLarge(_ topic: Span<UInt8>) {
    var text = Text(capacity: 1024)
    text.append("message dropped, topic ", printable: topic)
    text.append(": its notification would have more than ", NotificationReader.objectBytesMax)
    text.append(" bytes; take less of the payload into the rule, or send less")
    log.write(.error, text, about: .mistakes)
  }

  /// Logs why a message makes no notification.
  ///
  /// Lines are folded. Each topic without a rule is a kind of its own. Messages that do not meet the
  /// conditions are the normal case, and all of one kind.
  private mutating func logIgnored(_ topic: Span<UInt8>, _ payload: Span<UInt8>) {
    var text = Text(capacity: 1024)
    text.append("message ignored")
    if payload.count == 0 {
      text.append(", topic ", printable: topic)
      text.append(": it is empty, which clears a retained message")
    } else if let rule = config.rules.first(for: topic) {
      text.append(": the conditions of the rule in line ", config.rules.line(of: rule))
      text.append(" do not hold; topic ", printable: topic)
    } else {
      text.append(", topic ", printable: topic)
      text.append(": no rule matches the topic")
      if payload.count > 0, payload[0] == .openBrace, !PayloadPath.isJSON(payload) {
        text.append(", and the payload is not valid JSON")
      }
      text.append(
        config.mayReceive(topic)
          ? "; tinypush-mqtt check shows how rules work"
          : "; the broker remembers a subscription that is no longer in the rules")
    }
    log.write(.info, text, about: .messages)
  }

  private mutating func logRetained(_ topic: Span<UInt8>) {
    var text = Text(capacity: 1024)
    text.append("message ignored, topic ", printable: topic)
    text.append(": it is a retained one, and may be old; retained = yes in its rule takes it")
    log.write(.info, text, about: .messages)
  }

  private mutating func logUnchanged(_ topic: Span<UInt8>) {
    var text = Text(capacity: 1024)
    text.append("message ignored, topic ", printable: topic)
    text.append(": the notification is the same as the one before")
    log.write(.info, text, about: .messages)
  }

  private mutating func logUnheard(_ topic: Span<UInt8>) {
    var text = Text(capacity: 1024)
    text.append("no room to listen to topic ", printable: topic)
    text.append(": its silence will not ring; make the topic filters of rules with silent-for")
    text.append(" match fewer topics")
    log.write(.warning, text, about: .mistakes)
  }

  private mutating func logStart() {
    var text = Text()
    text.append("messages from ", cString: broker.pointer)
    text.append(
      ", ", config.rules.count, config.rules.count == 1 ? " rule, into " : " rules, into ")
    text.append(cString: spool.pointer)
    log.write(.info, text)
    if access(spool.pointer, F_OK) != 0 {
      text.clear()
      text.append("there is no spool ", cString: spool.pointer)
      text.append(": name the right one with --config FILE or -o spool=DIR; until then the broker")
      text.append(" keeps the messages")
      log.write(.error, text)
    }
    config.subscriptions.forEachOverlap { one, other in
      var text = Text(capacity: 1024)
      config.subscriptions.appendOverlap(one, other, to: &text)
      log.write(.warning, text)
    }
  }

  private mutating func logConnection(_ hasSession: Bool) {
    var text = Text()
    text.append("connected to the broker ", cString: broker.pointer)
    if version == .v3 { text.append(" with MQTT 3.1.1") }
    let isLost = hadSession && !hasSession
    if isLost {
      text.append(
        ", which has lost the session, and the messages since then; with Mosquitto, set")
      text.append(" persistence true")
    } else {
      text.append(hasSession ? ", which kept the session" : ", in a new session")
    }
    if session.sessionSeconds < config.session.sessionSeconds {
      text.append("; it keeps messages for an absent program only for ")
      text.append(roundedSeconds: Int64(session.sessionSeconds))
    }
    tell(isLost ? .warning : .info, text)
  }

  private mutating func logTotals() {
    var text = Text()
    text.append("messages: ", counts.messages, ", ")
    text.append(counts.repeated)
    text.append(" repeated; notifications: ", counts.notifications, "; files: ")
    text.append(counts.files)
    text.append("; ignored: ", counts.ignored, "; too large: ")
    text.append(counts.tooLarge)
    log.flush()
    log.write(.info, text)
  }
}
