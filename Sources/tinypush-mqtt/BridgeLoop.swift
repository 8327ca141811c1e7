import CLinux
import CMbed
import TinyPush
import TinyPushAgent
import TinyPushMQTT
import TinyPushRules

/// The bridge's loop: its socket, its files, its signals and its log.
struct BridgeLoop: ~Copyable {
  /// How long the broker has for closing the connection.
  private static let farewell = Duration.seconds(3)
  /// How many bytes are read before the loop looks at signals and clocks.
  private static let bytesMax = 1_048_576

  /// The file of the broker and the rules.
  private let path: UnsafePointer<CChar>
  let spool: CString
  var config: BridgeConfig
  var bridge: Bridge
  private var connection: TLSConnection
  private var events = EventPoll()
  var log = Log()
  private var isStopping = false
  /// Whether the last file could not be written.
  private var isSpoolBroken = false
  private var isReloadWanted = false
  private var suspension = Suspension()
  /// Whether the state that `systemctl status` shows is a refused subscription.
  var showsRefusal = false
  /// The agent's status page.
  private let page: CString
  private var fleet: FleetState
  /// Whether the session belongs to another box, whose messages this one takes over.
  private let isTakeover: Bool
  private var status = ExitStatus.ok

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
    self.path = path
    self.spool = CString(spool)
    connection = config.connection()
    var seed: UInt64 = 0
    _ = getrandom(&seed, 8, 0)
    let now = Clock.now()
    bridge = Bridge(config.session, seed: seed, isTakeover: isTakeover, at: now)
    self.page = CString(page)
    fleet = FleetState(config, page: page)
    self.config = config
    bridge.replace(&self.config.rules, &self.config.subscriptions, at: now)
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
      if let time = suspension.lasted() { bridge.slept(time) }
      let now = Clock.now()
      if let dialAt = bridge.dialAt {
        // The socket is not connected before its first event.
        if dialAt <= now { dial(at: now) }
      } else {
        advance(at: now)
      }
      fleet.publish(&bridge, at: now)
      send(at: now)
      if isStopping { break }
      sleep()
    }
    // Nothing may follow this packet. What was not acknowledged, the broker sends again.
    bridge.disconnect()
    finishSending()
    connection.hangUp(epoll: events.epoll, closeNotify: false)
    logTotals()
    return status
  }

  private mutating func sleep() {
    var wake = bridge.wakeAt
    wake.include(connection.deadline)
    if bridge.mayPublish { wake.include(fleet.dueAt) }
    if connection.hasMore { wake = Clock.now() }
    let timeout = wake.map { Int32(clamping: Clock.now().until($0).milliseconds) } ?? -1
    let count = events.wait(timeout)
    for index in 0..<count {
      switch events.source(index) {
      case .signals:
        while let signal = events.takeSignal() {
          if signal == UInt32(SIGHUP), !events.endsWithTerminal, !isTakeover {
            isReloadWanted = true
          } else {
            clinux_notify("STOPPING=1")
            stop(isTakeover ? .tryLater : .ok)
          }
        }
      case .clock:
        if events.takeClockChange() { fleet.clockWasSet() }
      case .descriptor: break
      }
    }
  }

  private mutating func stop(_ status: ExitStatus) {
    self.status = status
    isStopping = true
  }

  // MARK: - The connection

  private mutating func dial(at now: Instant) {
    bridge.dialed()
    if case .failed = connection.dial(epoll: events.epoll, at: now) { connectionFailed() }
  }

  private mutating func connectionFailed() {
    var text = Text()
    BridgeConfig.appendUnreachable(config.broker.span, connection.problem, to: &text)
    tell(connection.isOurFault ? .error : .warning, text)
    hangUp(needsPerson: connection.isOurFault, isHopeless: true)
  }

  /// - Parameter isHopeless: whether another attempt now would fail as well.
  private mutating func hangUp(needsPerson: Bool, isHopeless: Bool = false) {
    connection.hangUp(epoll: events.epoll, closeNotify: true)
    if isTakeover, bridge.isAccepted {
      stop(.tryLater)
    } else if isTakeover, needsPerson || isHopeless {
      stop(.unavailable)
    }
    let now = Clock.now()
    bridge.ended(needsPerson: needsPerson, at: now)
    if fleet.ended(at: now) { logUnanswered() }
  }

  /// Goes on with the connection, and reads from it.
  private mutating func advance(at now: Instant) {
    switch connection.phase {
    case .none: return
    case .lookingUp, .connecting, .tunnelling, .open, .handshaking:
      guard !bridge.isUp else { return receive(at: now) }
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
    var text = Text()
    do throws(ExitStatus) { try config.readPassword(message: &text) } catch {
      tell(.error, text)
      return hangUp(needsPerson: true)
    }
    fleet.appendWill(to: &config.login)
    bridge.logIn(config.login, at: now)
    config.forgetPassword()
  }

  /// Reads what has come, and takes it into the spool.
  ///
  /// While messages keep coming, the loop looks at signals and clocks after each file, and after
  /// ``bytesMax``.
  private mutating func receive(at now: Instant) {
    let files = bridge.counts.files
    var bytes = 0
    do throws(BrokerProblem) {
      while true {
        try performSteps(at: now)
        guard bridge.isUp, bridge.counts.files == files, bytes < Self.bytesMax else { break }
        let result = connection.read(bridge.makeRoom())
        guard result > 0 else {
          guard result != CMBED_WANT_READ else { break }
          return connectionEnded(at: now)
        }
        bridge.take(Int(result))
        bytes += Int(result)
      }
      bridge.flush()
      try performSteps(at: now)
    } catch {
      brokerFailed(error)
    }
  }

  private mutating func connectionEnded(at now: Instant) {
    let other = bridge.closed(at: now)
    // Messages may wait to be written that the broker does not send again.
    if let step = try? bridge.next(at: now), step == .write { write(at: now) }
    guard bridge.isUp else { return }
    var text = Text()
    text.append("connection to the broker ", cString: config.broker.pointer)
    text.append(" ended: ", bytes: connection.problem.bytes)
    if let other {
      text.append(" before the broker answered; does it want tls = yes? The next attempt is with ")
      text.append(other.name)
    } else if bridge.shortCount > 0 {
      // Mosquitto 2.0 does not say so.
      text.append(": if another client uses the same client ID, set client-id")
    }
    tell(.warning, text)
    hangUp(needsPerson: false, isHopeless: other != .v3)
  }

  private mutating func brokerFailed(_ problem: BrokerProblem) {
    let other = bridge.failed(problem)
    send(at: Clock.now())
    var text = Text()
    text.append("broker ", cString: config.broker.pointer, ": ")
    problem.append(to: &text)
    var hasOtherWay = false
    if problem == .refused(0x87) { hasOtherWay = fleet.notAuthorized(&text) }
    if let other {
      text.append("; the next attempt is with ", other.name)
      // After both versions the program waits.
      hasOtherWay = other == .v3
    }
    tell(problem.isConfiguration ? .error : .warning, text)
    hangUp(needsPerson: problem.isConfiguration && !hasOtherWay, isHopeless: !hasOtherWay)
  }

  private mutating func send(at now: Instant) {
    while bridge.isUp, !bridge.output.isEmpty {
      let result = connection.write(bridge.output)
      guard result > 0 else {
        let epoll = events.epoll
        connection.watch(epoll: epoll, writable: true)
        return
      }
      bridge.written(Int(result), at: now)
    }
    if bridge.isUp { connection.watch(epoll: events.epoll, writable: false) }
  }

  /// Sends what waits, and reads until the broker closes the connection, a few seconds at most.
  ///
  /// If a socket is closed with unread bytes in it, the kernel sends a reset, and the broker loses
  /// the acknowledgements that it has not read: it would send their messages again.
  private mutating func finishSending() {
    let end = Clock.now() + Self.farewell
    var isSent = false
    while bridge.isUp {
      let now = Clock.now()
      guard now < end else { return }
      send(at: now)
      if !isSent, bridge.output.isEmpty {
        connection.endSending()
        isSent = true
      }
      while Clock.now() < end {
        let result = connection.read(bridge.makeRoom())
        if result == CMBED_WANT_READ { break }
        guard result > 0 else { return }
      }
      let count = events.wait(Int32(clamping: Clock.now().until(end).milliseconds))
      for index in 0..<count {
        // A second signal ends the program at once.
        if case .signals = events.source(index) { return }
      }
    }
  }

  // MARK: - Steps

  private mutating func performSteps(at now: Instant) throws(BrokerProblem) {
    while !isStopping, let step = try bridge.next(at: now) {
      switch step {
      case .write: write(at: now)
      case .connected(let hasSession, let isLost): logConnection(hasSession, isLost: isLost)
      case .refused(let filter, let reason): logRefusal(of: filter, reason)
      case .accepted(let filter, let quality, let hasRefused):
        logAcceptance(of: filter, quality, hasRefused: hasRefused)
      case .subscribed: fleet.subscribed(at: now)
      case .published(let reason):
        if reason >= 0x80 { logUnpublished(reason) }
        fleet.published(isRefused: reason >= 0x80, at: now)
      case .unheard: logUnheard()
      case .dropped(let reason): logDropped(reason)
      case .silent(let rule): logSilence(rule)
      case .tookOver(let hasSession):
        if !hasSession { logNothingToTake() }
        stop(hasSession ? .ok : .noInput)
      }
    }
  }

  /// Writes the notifications that wait into one file of the spool.
  private mutating func write(at now: Instant) {
    do throws(DropBox.Problem) {
      var box = try DropBox(spool.pointer)
      try box.write(bridge.notifications)
      _ = try box.drop(isSynced: true)
    } catch {
      var text = error.text(spool.pointer)
      text.append("; the broker keeps the messages, and sends them again in 30 s")
      log.write(.error, text, about: .spool)
      isSpoolBroken = true
      return hangUp(needsPerson: true)
    }
    if isSpoolBroken { log.write(.notice, "the spool can be written to again", about: .spool) }
    isSpoolBroken = false
    bridge.wrote(at: Clock.now())
    // While messages keep coming, a crash would repeat all whose acknowledgement is not sent.
    send(at: now)
  }

  // MARK: - New rules

  /// Reads the file again; a mistake in it changes nothing.
  private mutating func reload() {
    isReloadWanted = false
    var fresh = BridgeConfig()
    var text = Text(capacity: 2048)
    var message = Text(capacity: 2048)
    do throws(ExitStatus) {
      try BridgeConfig.read(path, into: &fresh, message: &message)
    } catch {
      text.append("the old rules stay in use: ", message)
      return log.write(.error, text)
    }
    let isSameConnection = fresh.connectionHash == config.connectionHash
    let now = Clock.now()
    swap(&config, &fresh)
    if !isSameConnection { reconnect(at: now) }
    bridge.replace(&config.rules, &config.subscriptions, at: now)
    let count = bridge.rules.count
    text.append("the new rules are in use: ", count, count == 1 ? " rule" : " rules")
    log.write(.info, text)
  }

  /// Connects again, with the new settings.
  private mutating func reconnect(at now: Instant) {
    bridge.disconnect()
    send(at: now)
    connection.hangUp(epoll: events.epoll, closeNotify: true)
    bridge.beginAnew(config.session, at: now)
    connection = config.connection()
    fleet = FleetState(config, page: page.span)
  }
}
