import CLinux
import TinyPush

/// A push gateway and a feedback service on this machine, to try and test with.
///
/// They answer as the documentation of Apple's services says, and show what they are sent.
/// One thread and one epoll set serve everything. Each connection is a state machine; this class is
/// the loop that feeds them.
public final class Sandbox {
  /// The most open connections, more than any agent needs.
  ///
  /// Further connections wait in the kernel's queue.
  static let connectionsMax = 64

  private let home: Home
  private let devices: Devices
  private let isAnyToken: Bool
  private let journal: Journal
  private let frameCheck: FrameCheck
  private let requestCheck: RequestCheck
  private let messageCheck: MessageCheck
  private let post: StoreAndForward
  private let commands: DeviceCommands
  private let control: ControlListener
  private var controlConnection: ControlConnection?
  /// A descriptor that wakes the loop when the wall clock is set, since that changes expirations.
  private let clockWatch: Int32
  private let faults: Faults
  private let server: Server
  private let gateway: Listener
  private let feedback: Listener
  private let poller: Poller
  private let signals: Int32
  private var clock = SystemClock()
  private var connections: [Connection?] = Array(repeating: nil, count: connectionsMax)
  private var connectionCount = 0
  private var lastNumber: Int64 = 0
  private var stage: Stage = .running
  /// When to try again to accept connections, after the system had no more descriptors.
  private var retryMs: Int64?
  private static let retryAfterMs: Int64 = 1_000

  private enum Stage {
    case running
    /// No connections are accepted: the most are open, or there are no more descriptors.
    case full
    case stopping
  }

  /// Runs a sandbox until a signal ends it, and returns the exit status.
  ///
  /// The status is that of sysexits: 0; 69 a port is in use; 73 the directory cannot be created; 75
  /// another sandbox uses the directory.
  public static func run(_ options: consuming SandboxOptions) -> Int32 {
    do throws(SandboxFailure) {
      let sandbox = try Sandbox(options)
      return sandbox.run()
    } catch {
      return error.rawValue
    }
  }

  private init(_ options: consuming SandboxOptions) throws(SandboxFailure) {
    // Before anything else: a signal that comes while keys are made must not be lost.
    let signals = clinux_signal_descriptor(1)
    guard signals >= 0, let poller = Poller() else { throw .software }
    let port = options.port
    let feedbackPort = options.feedbackPort
    let payloadLimit = options.payloadLimit
    let home = try Home(options.directory)
    let gateway = try Listener(port: port, option: "--port")
    let feedback = try Listener(port: feedbackPort, option: "--feedback-port")
    _ = try Credentials(in: home, now: clock.unixSeconds, isRSA: options.isRSA)
    let key = try SigningKey(in: home)
    try ConfigFile.keepAll(home: home, port: gateway.port, feedbackPort: feedback.port)
    server = try Server(home)
    let journal = Journal(isJSON: options.isJSON, isQuiet: options.isQuiet)
    let devices = try Devices(in: home, now: clock.unixSeconds)
    control = try ControlListener(in: home)
    let isAnyToken = options.isAnyToken
    frameCheck = FrameCheck(
      payloadLimit: options.payloadLimit ?? SandboxOptions.payloadLimitDefault,
      invalidTokens: options.invalidTokens, devices: isAnyToken ? nil : devices)
    requestCheck = RequestCheck(
      payloadLimit: payloadLimit, frameCheck: frameCheck, devices: isAnyToken ? nil : devices,
      key: key)
    messageCheck = MessageCheck(
      payloadLimit: payloadLimit, frameCheck: frameCheck, devices: devices)
    post = StoreAndForward(devices, in: home, journal: journal)
    commands = DeviceCommands(devices, post, journal, port: gateway.port)
    clockWatch = clinux_clock_descriptor()
    self.devices = devices
    self.journal = journal
    self.isAnyToken = isAnyToken
    faults = options.faults
    faults.start(nowMs: clock.monotonicMs, seed: options.seed)
    self.home = home
    self.gateway = gateway
    self.feedback = feedback
    self.signals = signals
    self.poller = poller
  }

  deinit {
    close(signals)
    if clockWatch >= 0 { close(clockWatch) }
  }

  // MARK: - The loop

  private func run() -> Int32 {
    poller.add(signals, EPOLLIN.rawValue)
    if clockWatch >= 0 { poller.add(clockWatch, EPOLLIN.rawValue) }
    poller.add(control.descriptor, EPOLLIN.rawValue)
    eachListener { poller, listener in poller.add(listener, EPOLLIN.rawValue) }
    journal.tick(clock)
    journal.listening(gateway, feedback, home, faults, isAnyToken ? nil : devices)
    post.expire(now: clock.unixSeconds)
    devices.save()
    while true {
      if case .stopping = stage, connectionCount == 0 { break }
      let goesOn = turn()
      devices.save()
      guard goesOn else { break }
      journal.flush()
      if journal.isLost, isRunning { stop() }
    }
    for index in 0..<Self.connectionsMax { connections[index] = nil }
    journal.stopped()
    return journal.isLost ? SandboxFailure.outputLost.rawValue : 0
  }

  private var isRunning: Bool {
    if case .stopping = stage { false } else { true }
  }

  /// Waits for events and handles them; false: the sandbox must end at once.
  private func turn() -> Bool {
    let count = poller.wait(ms: timeoutMs())
    clock.tick()
    journal.tick(clock)
    for index in 0..<count {
      let descriptor = poller.descriptor(index)
      if descriptor == signals {
        guard takeSignal() else { return false }
      } else if descriptor == gateway.v4 || descriptor == gateway.v6 {
        accept(descriptor, .gateway)
      } else if descriptor == feedback.v4 || descriptor == feedback.v6 {
        accept(descriptor, .feedback)
      } else if descriptor == control.descriptor {
        acceptControl()
      } else if descriptor == controlConnection?.descriptor {
        controlConnection?.ready(commands)
        settleControl()
      } else if descriptor == clockWatch {
        _ = clinux_clock_was_set(clockWatch)
      } else {
        serve(descriptor)
      }
    }
    expire()
    return true
  }

  private func timeoutMs() -> Int32 {
    var next = Int64.max
    if case .full = stage, let retryMs { next = retryMs }
    for index in 0..<Self.connectionsMax {
      if let deadline = connections[index]?.deadlineMs { next = min(next, deadline) }
    }
    if let time = faults.nextMs(on: protocols) { next = min(next, time) }
    if let deadline = controlConnection?.deadlineMs { next = min(next, deadline) }
    if let expiration = post.nextExpiration {
      // Convert to the monotonic clock; when the wall clock is set, the loop wakes and comes here.
      next = min(next, clock.monotonicMs + expiration * 1000 - clock.unixMs)
    }
    guard next < .max else { return -1 }
    return Int32(max(0, min(next - clock.monotonicMs, Int64(Int32.max))))
  }

  /// Handles a signal: the first one stops the sandbox in order, the second one at once.
  private func takeSignal() -> Bool {
    var signal = signalfd_siginfo()
    _ = CLinux.read(signals, &signal, MemoryLayout<signalfd_siginfo>.size)
    guard isRunning else { return false }
    stop()
    return true
  }

  private func stop() {
    stage = .stopping
    retryMs = nil
    eachListener { poller, listener in poller.remove(listener) }
    for index in 0..<Self.connectionsMax {
      guard let connection = connections[index] else { continue }
      connection.stop(nowMs: clock.monotonicMs)
      settle(index)
    }
  }

  // MARK: - Connections

  private func eachListener(_ body: (borrowing Poller, Int32) -> Void) {
    body(poller, gateway.v4)
    body(poller, feedback.v4)
    if gateway.v6 >= 0 { body(poller, gateway.v6) }
    if feedback.v6 >= 0 { body(poller, feedback.v6) }
  }

  private func accept(_ listener: Int32, _ service: ServiceName) {
    guard case .running = stage else { return }
    var peerPort: UInt16 = 0
    let descriptor = clinux_accept(listener, &peerPort)
    if descriptor == -EAGAIN || descriptor == -ECONNABORTED { return }
    guard descriptor >= 0 else { return pause(error: -descriptor) }
    guard let stream = TLSStream(accepting: descriptor, for: server.pointer) else {
      return pause(error: ENOMEM)
    }
    retryMs = nil
    lastNumber += 1
    let session: Connection.Service
    switch service {
    case .gateway:
      session = .gateway(
        GatewaySession(
          number: lastNumber, frameCheck: frameCheck, requestCheck: requestCheck,
          messageCheck: messageCheck, faults: faults, post: post, journal: journal))
    case .feedback:
      session = .feedback(
        FeedbackSession(number: lastNumber, home: home, post: post, journal: journal))
    }
    let connection = Connection(
      number: lastNumber, stream: stream, peerPort: peerPort, service: session, journal: journal,
      nowMs: clock.monotonicMs)
    var index = 0
    while connections[index] != nil { index += 1 }
    connections[index] = connection
    connectionCount += 1
    connection.watched = connection.interest
    poller.add(descriptor, connection.interest)
    if connectionCount == Self.connectionsMax { pause(error: 0) }
  }

  /// Stops accepting connections until one ends, and logs why.
  ///
  /// Otherwise, the connections in the kernel's queue would wake the loop again and again.
  private func pause(error: Int32) {
    let isRepeated = retryMs != nil
    stage = .full
    retryMs = error == 0 ? nil : clock.monotonicMs + Self.retryAfterMs
    eachListener { poller, listener in poller.change(listener, 0) }
    if isRepeated { return }
    var text = Text()
    if error == 0 {
      text.append(connectionCount)
      text.append(" connections are open")
    } else {
      text.append("cannot accept connections (", cString: clinux_error_text(error), ")")
    }
    text.append(": further connections wait until one is closed")
    journal.record(text)
  }

  private func serve(_ descriptor: Int32) {
    for index in 0..<Self.connectionsMax where connections[index]?.descriptor == descriptor {
      guard let connection = connections[index] else { continue }
      connection.ready(nowMs: clock.monotonicMs)
      settle(index)
      return
    }
  }

  private func expire() {
    playFaults()
    for index in 0..<Self.connectionsMax {
      guard let connection = connections[index], let deadline = connection.deadlineMs,
        deadline <= clock.monotonicMs
      else { continue }
      connection.expire(nowMs: clock.monotonicMs)
      settle(index)
    }
    if case .full = stage, let retryMs, retryMs <= clock.monotonicMs { resume() }
    if let deadline = controlConnection?.deadlineMs, deadline <= clock.monotonicMs { endControl() }
    post.expire(now: clock.unixSeconds)
  }

  /// The protocols of the open connections to the gateway.
  private var protocols: Fault.Protocols {
    var protocols: Fault.Protocols = []
    for index in 0..<Self.connectionsMax {
      if let connection = connections[index] { protocols.formUnion(connection.protocols) }
    }
    return protocols
  }

  /// Plays a fault whose time has come, on all open connections to the gateway.
  private func playFaults() {
    guard isRunning, let fault = faults.nextDue(nowMs: clock.monotonicMs, on: protocols) else {
      return
    }
    for index in 0..<Self.connectionsMax {
      connections[index]?.play(fault, nowMs: clock.monotonicMs)
      settle(index)
    }
  }

  // MARK: - The control socket

  /// Accepts a connection to the control socket, one at a time; others wait in the kernel's queue.
  private func acceptControl() {
    guard controlConnection == nil else { return }
    var ignored: UInt16 = 0
    let descriptor = clinux_accept(control.descriptor, &ignored)
    guard descriptor >= 0 else { return }
    poller.change(control.descriptor, 0)
    controlConnection = ControlConnection(descriptor, nowMs: clock.monotonicMs)
    poller.add(descriptor, EPOLLIN.rawValue)
  }

  private func settleControl() {
    guard let connection = controlConnection else { return }
    if connection.isOver {
      endControl()
    } else {
      poller.change(connection.descriptor, connection.interest)
    }
  }

  private func endControl() {
    controlConnection = nil
    poller.change(control.descriptor, EPOLLIN.rawValue)
  }

  /// Tells epoll what a connection waits for, or frees the connection if it is over.
  private func settle(_ index: Int) {
    guard let connection = connections[index] else { return }
    guard connection.isOver else {
      if connection.interest != connection.watched {
        connection.watched = connection.interest
        poller.change(connection.descriptor, connection.interest)
      }
      return
    }
    connections[index] = nil
    connectionCount -= 1
    if case .full = stage { resume() }
  }

  /// Accepts connections again.
  ///
  /// `retryMs` is kept until a connection has been accepted, so that the same error is logged once.
  private func resume() {
    stage = .running
    eachListener { poller, listener in poller.change(listener, EPOLLIN.rawValue) }
  }
}
