import CLinux
import CMbed
import TinyPush

/// A push gateway and a feedback service on this machine, for trying and testing: it answers as the real ones are
/// documented to, and shows what it is sent.
///
/// One thread and one epoll set. Each connection is its own state machine; this is the loop that feeds them.
public final class Sandbox {
  /// More than any agent opens. Past it, connections wait in the kernel's queue.
  static let connectionsMax = 64
  private static let eventsMax = 64

  private let home: Home
  private let journal: Journal
  private let gatekeeper: Gatekeeper
  private let server: OpaquePointer
  private let gateway: Listener
  private let feedback: Listener
  private let epoll: Int32
  private let signals: Int32
  private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: eventsMax)
  private var clock = SystemClock()
  private var connections: [Connection?] = Array(repeating: nil, count: connectionsMax)
  private var connectionCount = 0
  private var lastNumber: Int64 = 0
  private var stage: Stage = .running

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
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard signals >= 0, epoll >= 0 else { throw .software }
    let port = options.port
    let feedbackPort = options.feedbackPort
    let home = try Home(options.directory)
    let gateway = try Listener(port: port, option: "--port")
    let feedback = try Listener(port: feedbackPort, option: "--feedback-port")
    _ = try Credentials(in: home, now: clock.unixSeconds)
    try ConfigFile(home: home, port: gateway.port, feedbackPort: feedback.port).keep()
    server = try Self.makeServer(home)
    journal = Journal(isJSON: options.isJSON, isQuiet: options.isQuiet)
    gatekeeper = Gatekeeper(
      payloadLimit: options.payloadLimit, invalidTokens: options.invalidTokens)
    self.home = home
    self.gateway = gateway
    self.feedback = feedback
    self.signals = signals
    self.epoll = epoll
  }

  deinit {
    cmbed_server_free(server)
    events.deallocate()
    close(epoll)
    close(signals)
  }

  private static func makeServer(_ home: Home) throws(SandboxFailure) -> OpaquePointer {
    let words = FixedBuffer<CChar>(capacity: Int(CMBED_TEXT_MAX))
    let text = words.room(from: 0).baseAddress!
    var made: OpaquePointer?
    _ = home.withPath("/ca.pem") { authority in
      home.withPath("/gateway.pem") { certificate in
        home.withPath("/gateway-key.pem") { key in
          var options = cmbed_server_options()
          options.ca = authority
          options.certificate = certificate
          options.key = key
          return cmbed_server_new(&made, &options, text)
        }
      }
    }
    if let made { return made }
    var failure = Text()
    failure.append(cString: text)
    SandboxFailure.say(failure)
    throw .cannotCreate
  }

  // MARK: - The loop

  private func run() -> Int32 {
    _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, signals, EPOLLIN.rawValue)
    listen(EPOLL_CTL_ADD, EPOLLIN.rawValue)
    journal.tick(clock)
    journal.listening(gateway, feedback, home)
    while true {
      if case .stopping = stage, connectionCount == 0 { break }
      guard turn() else { break }
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
    let count = epoll_wait(
      epoll, events, Int32(Self.eventsMax), timeoutMs())
    clock.tick()
    journal.tick(clock)
    for index in 0..<Int(max(count, 0)) {
      let descriptor = clinux_epoll_descriptor(events + index)
      if descriptor == signals {
        guard takeSignal() else { return false }
      } else if descriptor == gateway.v4 || descriptor == gateway.v6 {
        accept(descriptor, .gateway)
      } else if descriptor == feedback.v4 || descriptor == feedback.v6 {
        accept(descriptor, .feedback)
      } else {
        serve(descriptor)
      }
    }
    expire()
    return true
  }

  private func timeoutMs() -> Int32 {
    var next: Int64?
    for index in 0..<Self.connectionsMax {
      guard let deadline = connections[index]?.deadlineMs else { continue }
      next = min(next ?? .max, deadline)
    }
    // Descriptors have run out although nothing is open that could give one back: look again in a while.
    if case .full = stage, connectionCount == 0 { return 1000 }
    guard let next else { return -1 }
    return Int32(max(0, min(next - clock.monotonicMs, 60_000)))
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
    listen(EPOLL_CTL_DEL, 0)
    for index in 0..<Self.connectionsMax {
      guard let connection = connections[index] else { continue }
      connection.stop(nowMs: clock.monotonicMs)
      settle(index)
    }
  }

  // MARK: - Connections

  private func listen(_ operation: Int32, _ interest: UInt32) {
    _ = clinux_epoll_set(epoll, operation, gateway.v4, interest)
    _ = clinux_epoll_set(epoll, operation, feedback.v4, interest)
    if gateway.v6 >= 0 { _ = clinux_epoll_set(epoll, operation, gateway.v6, interest) }
    if feedback.v6 >= 0 { _ = clinux_epoll_set(epoll, operation, feedback.v6, interest) }
  }

  private func accept(_ listener: Int32, _ service: ServiceName) {
    guard case .running = stage else { return }
    var peerPort: UInt16 = 0
    let descriptor = clinux_accept(listener, &peerPort)
    if descriptor == -EAGAIN || descriptor == -ECONNABORTED { return }
    guard descriptor >= 0 else { return pause(error: -descriptor) }
    guard let link = Link(accepting: descriptor, for: server) else { return }
    lastNumber += 1
    let session: Connection.Service
    switch service {
    case .gateway:
      session = .gateway(
        GatewaySession(number: lastNumber, gatekeeper: gatekeeper, journal: journal))
    case .feedback:
      session = .feedback(FeedbackSession(number: lastNumber, home: home, journal: journal))
    }
    let connection = Connection(
      number: lastNumber, link: link, peerPort: peerPort, service: session, journal: journal,
      nowMs: clock.monotonicMs)
    var index = 0
    while connections[index] != nil { index += 1 }
    connections[index] = connection
    connectionCount += 1
    _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, descriptor, connection.interest)
    if connectionCount == Self.connectionsMax { pause(error: 0) }
  }

  /// Lets nobody in until a connection ends: who waits in the queue would wake the loop again and again.
  private func pause(error: Int32) {
    stage = .full
    listen(EPOLL_CTL_MOD, 0)
    var text = Text()
    if error == 0 {
      text.append(connectionCount)
      text.append(" connections are open")
    } else {
      text.append("no connection can be accepted (")
      text.append(cString: clinux_error_text(error))
      text.append(")")
    }
    text.append(": others wait until one is closed")
    journal.note(text)
  }

  private func serve(_ descriptor: Int32) {
    for index in 0..<Self.connectionsMax where connections[index]?.descriptor == descriptor {
      guard let connection = connections[index] else { continue }
      let interest = connection.interest
      connection.ready(nowMs: clock.monotonicMs)
      if !connection.isOver && connection.interest != interest {
        _ = clinux_epoll_set(epoll, EPOLL_CTL_MOD, descriptor, connection.interest)
      }
      settle(index)
      return
    }
  }

  private func expire() {
    for index in 0..<Self.connectionsMax {
      guard let connection = connections[index], let deadline = connection.deadlineMs,
        deadline <= clock.monotonicMs
      else { continue }
      connection.expire()
      settle(index)
    }
    if case .full = stage, connectionCount == 0 { resume() }
  }

  /// Frees a connection that is over.
  private func settle(_ index: Int) {
    guard let connection = connections[index], connection.isOver else { return }
    connections[index] = nil
    connectionCount -= 1
    if case .full = stage { resume() }
  }

  private func resume() {
    stage = .running
    listen(EPOLL_CTL_MOD, EPOLLIN.rawValue)
  }
}
