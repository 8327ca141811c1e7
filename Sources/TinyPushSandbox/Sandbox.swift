import CLinux
import TinyPush

/// A push gateway and a feedback service on this machine, for trying and testing: it answers as the real ones are
/// documented to, and shows what it is sent.
///
/// One thread and one epoll set. Each connection is its own state machine; this is the loop that feeds them.
public final class Sandbox {
  /// More than any agent opens. Past it, connections wait in the kernel's queue.
  static let connectionsMax = 64

  private let home: Home
  private let devices: Devices
  private let isAnyToken: Bool
  private let journal: Journal
  private let gatekeeper: Gatekeeper
  private let requests: RequestGatekeeper
  private let post: StoreAndForward
  private let commands: DeviceCommands
  private let control: ControlListener
  private var controlConnection: ControlConnection?
  /// Wakes the loop when the wall clock is set, by which notifications expire.
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
  /// When to look again whether there are descriptors, having run out of them.
  private var retryMs: Int64?
  private static let retryAfterMs: Int64 = 1_000

  private enum Stage {
    case running
    /// As many connections are open as may be, or descriptors have run out: nobody else is let in.
    case full
    case stopping
  }

  /// Runs a sandbox until a signal ends it. Returns the exit status (sysexits): 0; 69 when a port is taken, 73 when the
  /// directory cannot be made, 75 when another sandbox uses it.
  public static func run(_ options: consuming SandboxOptions) -> Int32 {
    do throws(SandboxFailure) {
      let sandbox = try Sandbox(options)
      return sandbox.run()
    } catch {
      return error.rawValue
    }
  }

  private init(_ options: consuming SandboxOptions) throws(SandboxFailure) {
    // First of all, so that a signal during the making of keys is not lost.
    let signals = clinux_signal_descriptor()
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
    gatekeeper = Gatekeeper(
      payloadLimit: options.payloadLimit ?? SandboxOptions.payloadLimitDefault,
      invalidTokens: options.invalidTokens, devices: isAnyToken ? nil : devices)
    requests = RequestGatekeeper(
      payloadLimit: payloadLimit, gatekeeper: gatekeeper, devices: isAnyToken ? nil : devices,
      key: key)
    post = StoreAndForward(devices, in: home, journal: journal)
    commands = DeviceCommands(devices, post, journal)
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

  /// Waits for something to do, and does it; `false` when it is to end at once.
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
      // The wall clock's time by the other clock; it is worked out anew when the wall clock is set.
      next = min(next, clock.monotonicMs + expiration * 1000 - clock.unixMs)
    }
    guard next < .max else { return -1 }
    return Int32(max(0, min(next - clock.monotonicMs, Int64(Int32.max))))
  }

  /// The second signal ends it at once.
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
          number: lastNumber, gatekeeper: gatekeeper, requests: requests, faults: faults,
          post: post, journal: journal))
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

  /// Lets nobody in until a connection ends: who waits in the queue would wake the loop again and again.
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
      text.append("no connection can be accepted (", cString: clinux_error_text(error), ")")
    }
    text.append(": others wait until one is closed")
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
    playFaults()
  }

  /// Those of the connections that are open to the gateway.
  private var protocols: Fault.Protocols {
    var protocols: Fault.Protocols = []
    for index in 0..<Self.connectionsMax {
      if let connection = connections[index] { protocols.formUnion(connection.protocols) }
    }
    return protocols
  }

  /// Those by time, on every connection to the gateway that is open.
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

  /// One at a time: the others wait in the kernel's queue.
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

  /// Waits for what a connection waits for now, or frees it when it is over.
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

  /// Lets others in again. The time to retry stands until somebody has been let in, so that the same trouble is
  /// said once.
  private func resume() {
    stage = .running
    eachListener { poller, listener in poller.change(listener, EPOLLIN.rawValue) }
  }
}
