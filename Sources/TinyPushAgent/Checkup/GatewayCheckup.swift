import CLinux
import CMbed
import TinyPush

extension Checkup {
  /// The number of days before the end of the gateway's certificate from which it gets a warning.
  ///
  /// Servers renew their certificates late, but not as late as this.
  private static var peerWarningDays: Int64 { 7 }

  /// Checks the connection to the gateway, from its name to its answer.
  @inline(never)
  mutating func checkGateway(_ config: borrowing Config) {
    var address = Text(capacity: 300)
    config.gatewayAddress(in: &address)
    report.begin("gateway")
    var connection = TLSConnection(address: address.bytes, port: config.gatewayPort, config)
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    let chain = UnsafeMutablePointer<cmbed_chain>.allocate(capacity: 1)
    defer {
      close(epoll)
      chain.deallocate()
    }
    guard reportRoute(&connection, config, epoll, isGateway: true) else {
      return skip("there is no connection")
    }
    guard hasCertificate else {
      return skip(
        config.signingKey.isEmpty
          ? "the certificate, its key or the authorities cannot be used"
          : "the signing key or the authorities cannot be used")
    }
    chain.initialize(to: cmbed_chain())
    connection.peer = chain
    report.wait(for: "shaking hands with ", address.bytes)
    let since = Clock.now()
    let isUp = connection.connect(epoll: epoll, config: config)
    connection.peer = nil
    guard isUp else {
      reportFailure(connection, "handshake")
      reportPeer(chain)
      report.report("answer", .skipped, "not tested: there is no connection")
      return
    }
    report.message.append(cString: connection.version)
    report.message.append(", ", cString: connection.suite)
    appendTime(since: since)
    report.report("handshake")
    reportPeer(chain)
    if config.courier.rules.pushProtocol == .http2 {
      reportService(config, &connection, epoll)
    } else {
      reportAnswer(config, &connection, epoll)
    }
    connection.hangUp(epoll: epoll, closeNotify: true)
  }

  /// Checks only the TCP connection to the feedback service.
  ///
  /// The service sends its list at once on a TLS connection, and then deletes the list.
  @inline(never)
  mutating func checkFeedback(_ config: borrowing Config) {
    var address = Text(capacity: 300)
    config.feedbackAddress(in: &address)
    report.begin("feedback")
    var connection = TLSConnection(address: address.bytes, port: Config.feedbackPort, config)
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    defer { close(epoll) }
    _ = reportRoute(&connection, config, epoll, isGateway: false)
    connection.hangUp(epoll: epoll, closeNotify: false)
  }

  @inline(never)
  private mutating func skip(_ why: StaticString) {
    report.report("handshake", .skipped, why)
    report.report("answer", .skipped, why)
  }

  @inline(never)
  private mutating func appendTime(since: Instant) {
    report.message.append(", in ", since.until(Clock.now()).milliseconds, " ms")
  }

  // MARK: - Before TLS

  /// Reports the name, the address and the proxy of a server, and returns whether it can be
  /// reached.
  @inline(never)
  private mutating func reportRoute(
    _ connection: inout TLSConnection, _ config: borrowing Config, _ epoll: Int32, isGateway: Bool
  ) -> Bool {
    let since = Clock.now()
    report.wait(for: "connecting", Span())
    let isOpen = connection.connect(epoll: epoll, config: config, to: .open)
    let state: CheckupReport.State =
      isOpen
      ? .well : isGateway ? .wrong(connection.isOurFault ? .config : .unavailable) : .warning
    if connection.reached == .none {
      take(connection.problem.bytes)
      report.report("name", state)
      return false
    }
    if connection.isProxied {
      report.message.append("proxy ")
      append(connection.proxy)
    } else {
      append(connection.server)
    }
    report.report("name")
    if connection.reached == .connecting {
      take(connection.problem.bytes)
      report.advice.append(
        "is the port right, is there a network, and does a firewall keep the port closed?")
      if isGateway, !connection.isProxied, connection.server.port.span.equals("443") {
        report.advice.append(" Apple's service has port 443 and port 2197")
      }
      report.report("address", state)
      return false
    }
    if isOpen {
      connection.describePeer(in: &report.message)
      report.report("address")
    }
    guard connection.isProxied else { return isOpen }
    if isOpen {
      report.message.append("opens a tunnel to ")
      append(connection.server)
      appendTime(since: since)
    } else {
      take(connection.problem.bytes)
      if report.advice.count == 0 { report.advice.append("is it an HTTP proxy?") }
    }
    report.report("proxy", state)
    return isOpen
  }

  @inline(never)
  private mutating func append(_ place: borrowing HostPort) {
    report.message.append(printable: place.host.span)
    report.message.append(", port ", printable: place.port.span)
  }

  // MARK: - TLS

  @inline(never)
  mutating func reportFailure(_ connection: borrowing TLSConnection, _ item: StaticString) {
    take(connection.problem.bytes)
    switch connection.failure {
    case Int32(CMBED_REFUSED_CERTIFICATE):
      // The check of the certificate already gave the advice.
      if isCertificateWrong { report.advice.clear() }
    case Int32(CMBED_PEER_EXPIRED), Int32(CMBED_PEER_NOT_YET_VALID): break
    default:
      if report.advice.count == 0 {
        report.advice.append("are the host and the port those of a push gateway?")
      }
    }
    let isOurs =
      connection.isOurFault
      || connection.failure <= CMBED_PEER_HOST && connection.failure >= CMBED_PEER_SELF_SIGNED
    report.report(
      item,
      .wrong(
        connection.isClockWrong && !isClockSet ? .tryLater : isOurs ? .config : .unavailable))
  }

  /// Reports the gateway's certificates, if they were received.
  @inline(never)
  private mutating func reportPeer(_ chain: UnsafePointer<cmbed_chain>) {
    let count = min(Int(chain.pointee.count), Int(CMBED_CHAIN_MAX))
    guard count > 0 else { return }
    let leaf = cmbed_chain_link(chain, 0)!
    append(chain, count)
    report.message.append("; ")
    report.message.append(day: leaf.pointee.not_before)
    report.message.append(" to ")
    report.message.append(day: leaf.pointee.not_after)
    let now = Clock.wallSeconds()
    guard now >= leaf.pointee.not_before, now <= leaf.pointee.not_after else {
      return report.report(
        "certificate", .skipped, ": not valid at the time of this machine's clock")
    }
    let left = (leaf.pointee.not_after - now) / Self.daySeconds
    report.message.append(", ")
    report.message.append(days: left)
    report.message.append(" left")
    guard left > Self.peerWarningDays else {
      report.advice.append("the operator of the gateway must renew it")
      return report.report("certificate", .warning)
    }
    report.report("certificate")
  }
}

extension TLSConnection {
  /// Appends the address that it is connected to, and the round trip time.
  fileprivate func describePeer(in text: inout Text) {
    var address = sockaddr_storage()
    var count = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let words = FixedBuffer<CChar>(capacity: 64)
    withUnsafeMutableBytes(of: &address) { bytes in
      let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      if getpeername(descriptor, address, &count) == 0,
        getnameinfo(address, count, words.room().baseAddress, 64, nil, 0, NI_NUMERICHOST) == 0
      {
        text.append(cString: words.room().baseAddress)
      }
    }
    var roundTripUs: UInt32 = 0
    var since: UInt32 = 0
    _ = clinux_tcp_times(descriptor, &roundTripUs, &since)
    text.append(", round trip ", roundTripUs / 1000, ".")
    text.append(roundTripUs % 1000 / 10, digits: 2)
    text.append(" ms")
  }
}
