import CLinux
import CMbed
import TinyPush

/// A TLS connection to the gateway or the feedback service, from the name to the close.
///
/// Only ``connect(epoll:config:to:)`` blocks: a child process looks up the name.
///
/// Public because Embedded Swift sees only public deinitializers of another module.
public struct TLSConnection: ~Copyable {
  private let pinned = Pinned()
  package enum Phase {
    case none
    /// A child process looks up the name.
    case lookingUp
    case connecting
    /// The proxy was asked for a tunnel to the server.
    case tunnelling
    /// The TCP connection or tunnel to the server is open.
    case open
    case handshaking
    case up
  }

  /// Whom a connection leads to.
  package enum Peer {
    /// The service that the configuration names, or a server for MQTT.
    case configured
    /// The same without TLS.
    case plain
    /// A push service that a browser chose.
    case browsers
  }

  /// The result of a step of the handshake, or of a call on the connection.
  package enum Outcome {
    case done
    case wants(read: Bool)
    case failed
  }

  package private(set) var phase = Phase.none
  /// The furthest phase since the last dial; ``Phase/none`` if the name was not found.
  private(set) var reached = Phase.none
  private(set) var descriptor: Int32 = -1
  package private(set) var deadline: Instant?
  /// Why the last connection failed or ended, for the user.
  package private(set) var problem = Text(capacity: Int(CMBED_TEXT_MAX))
  /// The reason as a code of CMbed; CMBED_OK if there is none, or a network error.
  private(set) var failure = Int32(CMBED_OK)
  /// Whether the user must fix the configuration: a file is missing or wrong, or our certificate is
  /// refused.
  package var isOurFault: Bool {
    failure <= CMBED_FILE_MISSING && failure >= CMBED_KEY_MISMATCH
      || failure == CMBED_REFUSED_CERTIFICATE || tunnel.isOurFault
  }
  /// Whether the gateway's certificate is not valid yet, because the clock is probably not set.
  var isClockWrong: Bool { failure == CMBED_PEER_NOT_YET_VALID }
  /// Where to store the gateway's certificates; nil if they are not needed.
  ///
  /// It must outlive the handshake.
  var peer: UnsafeMutablePointer<cmbed_chain>?

  private var session: OpaquePointer?
  private let resumption = cmbed_resumption_new()
  /// The process that looks up the host; 0: there is none.
  private var lookup: Int32 = 0
  /// The addresses of the host, and the number of those that were tried.
  private var addresses: UnsafeMutablePointer<clinux_addresses>?
  private var triedAddresses: Int32 = 0
  private let timeout: Duration
  private let kind: Peer
  private let allowsPrivate: Bool
  private var isPlain: Bool { kind == .plain }
  private var tunnel = ProxyTunnel()
  let server: HostPort
  /// The proxy in front of the server; its host is empty if absent.
  let proxy: HostPort
  var isProxied: Bool { !proxy.isEmpty }

  /// Prepares a connection.
  ///
  /// - Parameters:
  ///   - address: `HOST` or `HOST:PORT`, the latter with brackets if the host has colons.
  ///   - port: the default port.
  ///   - kind: whom the connection leads to.
  @inline(never)
  package init(
    address: Span<UInt8>, port: StaticString, _ config: borrowing Config,
    _ kind: Peer = .configured
  ) {
    self.kind = kind
    allowsPrivate = kind != .browsers || config.allowsPrivateEndpoints
    server = HostPort(address, port: port)
    proxy = HostPort(config.proxy.span, port: "")
    timeout = config.connectTimeout
  }

  deinit {
    cmbed_session_free(session)
    cmbed_resumption_free(resumption)
    if descriptor >= 0 { CLinux.close(descriptor) }
    clinux_end_lookup(lookup)
    addresses?.deallocate()
  }

  var version: UnsafePointer<CChar>? { session.map { cmbed_version($0) } }
  var suite: UnsafePointer<CChar>? { session.map { cmbed_suite($0) } }
  var isCertificateShown: Bool { session.map { cmbed_sent_certificate($0) != 0 } ?? false }
  var isResumed: Bool { session.map { cmbed_resumed($0) != 0 } ?? false }
  var wireEnd: UInt64 { session.map { cmbed_wire_written($0) } ?? 0 }

  // MARK: - Connecting

  /// Connects up to a phase and blocks meanwhile; returns whether that phase was reached.
  ///
  /// - Parameter goal: ``Phase/open`` or ``Phase/up``.
  @inline(never)
  package mutating func connect(
    epoll: Int32, config: borrowing Config, to goal: Phase = .up
  ) -> Bool {
    var outcome = Outcome.wants(read: false)
    if phase != .open { outcome = dial(epoll: epoll, at: Clock.now()) }
    while phase != goal, case .wants = outcome {
      let wait = deadline.map { Clock.now().until($0).milliseconds } ?? 0
      var event = epoll_event()
      epoll_wait(epoll, &event, 1, Int32(clamping: wait))
      outcome = proceed(epoll: epoll, at: Clock.now(), config: config)
    }
    return phase == goal
  }

  /// Begins to look up the name.
  @inline(never)
  package mutating func dial(epoll: Int32, at now: Instant) -> Outcome {
    hangUp(epoll: epoll, closeNotify: false)
    failure = Int32(CMBED_OK)
    reached = .none
    tunnel.reset()
    let found = UnsafeMutablePointer<clinux_addresses>.allocate(capacity: 1)
    addresses = found
    triedAddresses = 0
    let error =
      isProxied
      ? clinux_look_up(proxy.host.pointer, proxy.port.pointer, found, &lookup, &descriptor)
      : clinux_look_up(server.host.pointer, server.port.pointer, found, &lookup, &descriptor)
    guard error == 0 else {
      explain(-error)
      return .failed
    }
    guard lookup > 0 else { return connectFirst(epoll: epoll, at: now) }
    phase = .lookingUp
    deadline = now + max(timeout, Self.lookupPatience)
    _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, descriptor, EPOLLIN.rawValue)
    return .wants(read: true)
  }

  /// By default the resolver asks three name servers twice, for 5 seconds each.
  private static let lookupPatience = Duration.seconds(30)

  /// Starts to connect to the first address of the name.
  private mutating func connectFirst(epoll: Int32, at now: Instant) -> Outcome {
    closeSocket(epoll: epoll)
    guard let found = addresses?.pointee, found.error == 0 else {
      explainLookup(cString: gai_strerror(addresses?.pointee.error ?? EAI_AGAIN))
      return .failed
    }
    reached = .connecting
    return connectNext(epoll: epoll, at: now)
  }

  private mutating func explainLookup(cString reason: UnsafePointer<CChar>) {
    problem.clear()
    problem.append(isProxied ? "proxy " : "")
    problem.append(cString: isProxied ? proxy.host.pointer : server.host.pointer)
    problem.append(": ", cString: reason)
    problem.append(": is the name right, and is there a network?")
  }

  /// Whether an address of the server is public.
  ///
  /// A proxy looks up names, so behind it only a host that is given as an address is known.
  private func isPublic(_ found: UnsafePointer<clinux_addresses>, _ number: Int32) -> Bool {
    isProxied
      ? clinux_is_private_host(server.host.pointer) == 0 : clinux_is_public_at(found, number) != 0
  }

  private mutating func connectNext(epoll: Int32, at now: Instant) -> Outcome {
    closeSocket(epoll: epoll)
    while let addresses, triedAddresses < addresses.pointee.count {
      let number = triedAddresses
      triedAddresses += 1
      // The browser chose the host, and must not reach what only this machine can reach.
      guard allowsPrivate || isPublic(addresses, number) else {
        problem.clear()
        server.append(to: &problem)
        problem.append(
          ": this address is private: remove the subscription, or set private-endpoints = yes")
        continue
      }
      let socket = clinux_connect(addresses, number)
      guard socket >= 0 else {
        explain(-socket)
        continue
      }
      descriptor = socket
      phase = .connecting
      deadline = now + timeout
      _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, socket, EPOLLOUT.rawValue)
      return .wants(read: false)
    }
    phase = .none
    deadline = nil
    return .failed
  }

  /// Continues after an event of the socket or after the deadline.
  @inline(never)
  package mutating func proceed(
    epoll: Int32, at now: Instant, config: borrowing Config
  ) -> Outcome {
    if let deadline, now >= deadline {
      guard phase != .lookingUp else {
        explainLookup(cString: gai_strerror(EAI_AGAIN))
        closeSocket(epoll: epoll)
        return .failed
      }
      explain(ETIMEDOUT)
      problem.append("; if the network is slow, increase connect-timeout")
      return connectNext(epoll: epoll, at: now)
    }
    if phase == .lookingUp {
      guard let addresses, clinux_looked_up(descriptor, addresses) != 0 else {
        return .wants(read: true)
      }
      return connectFirst(epoll: epoll, at: now)
    }
    if phase == .connecting {
      let error = clinux_socket_error(descriptor)
      guard error == 0 else {
        explain(error)
        return connectNext(epoll: epoll, at: now)
      }
      setOptions()
      guard !isProxied else { return askProxy(epoll: epoll, at: now, config) }
      return open(epoll: epoll)
    }
    if phase == .tunnelling { return hearProxy(epoll: epoll, at: now) }
    if phase == .open {
      guard !isPlain else { return finish(epoll: epoll) }
      guard openSession(config) else { return .failed }
      phase = .handshaking
      deadline = now + timeout
    }
    guard phase == .handshaking, let session else { return .done }
    let result = cmbed_handshake(session)
    switch Int(result) {
    case Int(CMBED_OK):
      guard isExpectedProtocol(config) else { return .failed }
      return finish(epoll: epoll)
    case Int(CMBED_WANT_READ):
      watch(epoll: epoll, writable: false)
      return .wants(read: true)
    case Int(CMBED_WANT_WRITE):
      watch(epoll: epoll, writable: true)
      return .wants(read: false)
    default:
      record(result)
      // Another address may be another machine, but all machines refuse the same certificate.
      if result == CMBED_RESET || result == CMBED_CLOSED {
        return connectNext(epoll: epoll, at: now)
      }
      return .failed
    }
  }

  /// Records that the connection is up.
  private mutating func finish(epoll: Int32) -> Outcome {
    phase = .up
    deadline = nil
    freeAddresses()
    watch(epoll: epoll, writable: false)
    return .done
  }

  private mutating func open(epoll: Int32) -> Outcome {
    phase = .open
    reached = .open
    // The socket is writable, so epoll wakes the agent at once.
    watch(epoll: epoll, writable: true)
    return .wants(read: false)
  }

  // MARK: - Through a proxy

  private mutating func askProxy(
    epoll: Int32, at now: Instant, _ config: borrowing Config
  ) -> Outcome {
    tunnel.reset()
    let error = tunnel.ask(descriptor, server: server, config)
    guard error == 0 else {
      explain(error)
      return connectNext(epoll: epoll, at: now)
    }
    phase = .tunnelling
    reached = .tunnelling
    deadline = now + timeout
    watch(epoll: epoll, writable: false)
    return .wants(read: true)
  }

  private mutating func hearProxy(epoll: Int32, at now: Instant) -> Outcome {
    let (progress, outcome) = tunnel.readAnswer(descriptor)
    switch progress {
    case .waiting: return .wants(read: true)
    case .open: return open(epoll: epoll)
    case .ended, .refused:
      problem.clear()
      tunnel.explain(outcome, proxy: proxy, server: server, in: &problem)
      guard progress == .ended || tunnel.isProxyBroken else { return .failed }
      return connectNext(epoll: epoll, at: now)
    }
  }

  /// Whether the service agreed to HTTP/2, if that is the configured protocol.
  private mutating func isExpectedProtocol(_ config: borrowing Config) -> Bool {
    guard speaksHTTP2(config), let session,
      !CString.span(cmbed_alpn(session)).equals("h2")
    else { return true }
    failure = Int32(CMBED_PROTOCOL)
    problem.clear()
    problem.append("The server ", cString: server.host.pointer)
    problem.append(" does not speak HTTP/2")
    problem.append(
      kind == .browsers
        ? ", which every push service of a browser must."
        : ". Correct gateway, or for a gateway of the binary protocol set protocol = binary.")
    return false
  }

  private func speaksHTTP2(_ config: borrowing Config) -> Bool {
    kind == .browsers || config.courier.rules.pushProtocol == .http2
  }

  private func setOptions() {
    _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    // Detects a dead connection within minutes, or within one minute if something is under way.
    _ = clinux_set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
    _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 600)
    _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 30)
    _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, 4)
    _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 60_000)
  }

  private mutating func openSession(_ config: borrowing Config) -> Bool {
    var options = cmbed_client_options()
    options.ca = config.ca.pointer
    if kind != .browsers {
      options.certificate = config.certificate.isEmpty ? nil : config.certificate.pointer
      options.key = config.key.isEmpty ? nil : config.key.pointer
    }
    options.host = server.host.pointer
    if speaksHTTP2(config) { options.alpn = ("h2" as StaticString).cString }
    options.peer = peer
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { text.deallocate() }
    text[0] = 0
    let result = config.keyPassword.with {
      options.key_password = $0
      return cmbed_client_new(&session, descriptor, &options, resumption, text)
    }
    guard result == CMBED_OK else {
      problem.clear()
      problem.append(cString: text)
      failure = result
      return false
    }
    return true
  }

  // MARK: - Using it

  /// Whether the peer closed or reset the connection; false if the network failed.
  var isEndedByPeer: Bool {
    guard let session else { return false }
    let error = cmbed_error(session)
    return error == 0 || error == ECONNRESET || error == EPIPE
  }

  /// Reads bytes; returns their number or a code of CMbed.
  package mutating func read(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
    if isPlain {
      return plainResult(recv(descriptor, room.baseAddress, room.count, 0), CMBED_WANT_READ)
    }
    guard let session else { return Int32(CMBED_CLOSED) }
    let result = cmbed_read(session, room.baseAddress, room.count)
    if result < 0 && result != CMBED_WANT_READ { record(result) }
    return result
  }

  /// Whether the session contains received bytes that epoll does not report.
  package var hasMore: Bool { session.map { cmbed_pending($0) != 0 } ?? false }

  /// Writes bytes; returns their number or a code of CMbed.
  package mutating func write(_ bytes: Span<UInt8>) -> Int32 {
    if isPlain {
      let flags = Int32(MSG_NOSIGNAL)
      let sent = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) }
      return plainResult(sent, CMBED_WANT_WRITE)
    }
    guard let session else { return Int32(CMBED_CLOSED) }
    let result = bytes.withUnsafeBytes { cmbed_write(session, $0.baseAddress, $0.count) }
    if result < 0 && result != CMBED_WANT_WRITE { record(result) }
    return result
  }

  /// Turns the result of a call on a plain socket into bytes or a code of CMbed.
  private mutating func plainResult(_ result: Int, _ again: Int) -> Int32 {
    guard result <= 0 else { return Int32(result) }
    guard result < 0 else {
      problem.clear()
      problem.append("the server closed the connection")
      return Int32(CMBED_CLOSED)
    }
    let error = clinux_errno()
    if error == EAGAIN || error == EINTR { return Int32(again) }
    explain(error)
    return Int32(CMBED_RESET)
  }

  /// Sets whether epoll reports that the socket is writable, in addition to readable.
  package func watch(epoll: Int32, writable: Bool) {
    let events = EPOLLIN.rawValue | EPOLLRDHUP.rawValue | (writable ? EPOLLOUT.rawValue : 0)
    _ = clinux_epoll_set(epoll, EPOLL_CTL_MOD, descriptor, events)
  }

  /// Tells the peer that nothing follows; what it still sends can be read.
  package func endSending() {
    if let session, phase == .up { cmbed_close_notify(session) }
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Closes the connection.
  ///
  /// - Parameter closeNotify: whether to send a close_notify alert.
  @inline(never)
  package mutating func hangUp(epoll: Int32, closeNotify: Bool) {
    if let session {
      if closeNotify && phase == .up { cmbed_close_notify(session) }
      cmbed_session_free(session)
    }
    session = nil
    closeSocket(epoll: epoll)
    freeAddresses()
    phase = .none
    deadline = nil
  }

  /// Makes the close discard unacknowledged bytes, because their notifications are sent again.
  func dropUnsent() {
    if clinux_unacknowledged(descriptor) > 0 { clinux_drop_unsent(descriptor) }
  }

  // MARK: - Parts

  @inline(never)
  private mutating func closeSocket(epoll: Int32) {
    if let session { cmbed_session_free(session) }
    session = nil
    clinux_end_lookup(lookup)
    lookup = 0
    guard descriptor >= 0 else { return }
    _ = clinux_epoll_set(epoll, EPOLL_CTL_DEL, descriptor, 0)
    CLinux.close(descriptor)
    descriptor = -1
  }

  @inline(never)
  private mutating func freeAddresses() {
    addresses?.deallocate()
    addresses = nil
  }

  @inline(never)
  private mutating func record(_ result: Int32) {
    failure = result
    problem.clear()
    if let session { problem.append(cString: cmbed_session_text(session)) }
  }

  @inline(never)
  private mutating func explain(_ error: Int32) {
    problem.clear()
    if isProxied {
      problem.append("proxy ")
      proxy.append(to: &problem)
    } else {
      server.append(to: &problem)
    }
    problem.append(": ", cString: clinux_error_text(error))
    if error == ECONNREFUSED { problem.append(": nothing listens there") }
  }
}
