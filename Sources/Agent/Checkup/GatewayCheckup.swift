import CLinux
import CMbed
import TinyPush

extension Checkup {
  /// A gateway that refuses our certificate in TLS 1.3 does so after the handshake: so long its first words are waited for.
  private static var refusalMs: UInt64 { 300 }
  /// The gateway's answer is waited for so long.
  static func answerSeconds(_ timeout: Duration) -> UInt64 {
    min(timeout.milliseconds / 1000, 5)
  }
  /// Servers renew their certificates at the last moment, but not at the very last.
  private static var peerWarningDays: Int64 { 7 }

  /// The way to the gateway, from its name to its answer.
  @inline(never)
  mutating func checkGateway(_ config: borrowing Config) {
    var address = Text(capacity: 300)
    config.gatewayAddress(in: &address)
    report.begin("gateway")
    var connection = TLSConnection(address: address.bytes, port: config.gatewayPort, config)
    let addresses = resolve(connection, isGateway: true)
    guard let first = sayAddresses(config, addresses, isGateway: true) else {
      if addresses.failure == 0, !connection.isProxied { sayOtherPort(config, connection) }
      return skip("there is no connection")
    }
    guard hasCertificate else {
      return skip(
        config.signingKey.isEmpty
          ? "the certificate, its key or the authorities cannot be used"
          : "the signing key or the authorities cannot be used")
    }
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    let chain = UnsafeMutablePointer<cmbed_chain>.allocate(capacity: 1)
    defer {
      close(epoll)
      chain.deallocate()
    }
    chain.initialize(to: cmbed_chain())
    connection.peer = chain
    let socket = addresses.takeSocket(first)
    guard openTunnel(&connection, config, epoll, over: socket, isGateway: true) else {
      return skip("there is no connection")
    }
    report.wait(for: "shaking hands with ", address.bytes)
    let since = Clock.now()
    let isUp = connection.connect(epoll: epoll, config: config, over: socket)
    connection.peer = nil
    guard isUp else {
      sayFailure(connection, "handshake")
      sayPeer(chain)
      report.say("answer", .skipped, "not asked for: there is no connection")
      return
    }
    report.message.append(cString: connection.version)
    report.message.append(", ")
    report.message.append(cString: connection.suite)
    report.message.append(", with ")
    addresses.describe(first, in: &report.message)
    report.message.append(" in ")
    report.message.append(since.until(Clock.now()).milliseconds)
    report.message.append(" ms")
    report.say("handshake")
    sayPeer(chain)
    if config.courier.rules.service == .http2 {
      sayService(config, &connection, epoll)
    } else {
      sayAnswer(config, &connection, epoll)
    }
    connection.hangUp(epoll: epoll, sayGoodbye: true)
  }

  /// The feedback service is dialled, and no more: it forgets what it has told, and a connection is told at once.
  @inline(never)
  mutating func checkFeedback(_ config: borrowing Config) {
    var address = Text(capacity: 300)
    config.feedbackAddress(in: &address)
    report.begin("feedback")
    var connection = TLSConnection(address: address.bytes, port: Config.feedbackPort, config)
    let addresses = resolve(connection, isGateway: false)
    guard let first = sayAddresses(config, addresses, isGateway: false), connection.isProxied else {
      return
    }
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    defer { close(epoll) }
    let socket = addresses.takeSocket(first)
    _ = openTunnel(&connection, config, epoll, over: socket, isGateway: false)
    connection.hangUp(epoll: epoll, sayGoodbye: false)
  }

  /// Has the proxy, if there is one, open the way to the server; whether nothing hinders the connection.
  @inline(never)
  private mutating func openTunnel(
    _ connection: inout TLSConnection, _ config: borrowing Config, _ epoll: Int32,
    over socket: Int32, isGateway: Bool
  ) -> Bool {
    guard connection.isProxied else { return true }
    report.wait(for: "asking the proxy for ", connection.server.host.span)
    let since = Clock.now()
    guard connection.connect(epoll: epoll, config: config, over: socket, to: .open) else {
      take(connection.problem.bytes)
      if report.advice.count == 0 { report.advice.append("is it an HTTP proxy?") }
      let isOurs = connection.isOurFault
      report.say("proxy", isGateway ? .wrong(isOurs ? .config : .unavailable) : .warning)
      return false
    }
    report.message.append("opens the way to ")
    report.message.append(printable: connection.server.host.span)
    report.message.append(", port ")
    report.message.append(printable: connection.server.port.span)
    report.message.append(", in ")
    report.message.append(since.until(Clock.now()).milliseconds)
    report.message.append(" ms")
    report.say("proxy")
    return true
  }

  @inline(never)
  private mutating func skip(_ why: StaticString) {
    report.say("handshake", .skipped, why)
    report.say("answer", .skipped, why)
  }

  // MARK: - Names and addresses

  @inline(never)
  private mutating func resolve(
    _ connection: borrowing TLSConnection, isGateway: Bool
  ) -> HostAddresses {
    if connection.isProxied { return resolve(connection.proxy, isProxy: true, isGateway) }
    return resolve(connection.server, isProxy: false, isGateway)
  }

  @inline(never)
  private mutating func resolve(
    _ place: borrowing HostPort, isProxy: Bool, _ isGateway: Bool
  ) -> HostAddresses {
    report.wait(for: "looking up ", place.host.span)
    let addresses = HostAddresses(place.host.pointer, place.port.pointer)
    if isProxy { report.message.append("proxy ") }
    report.message.append(printable: place.host.span)
    let failure = addresses.failure
    guard failure != 0 else {
      report.message.append(", port ")
      report.message.append(printable: place.port.span)
      report.say("name")
      return addresses
    }
    report.message.append(": ")
    report.message.append(cString: gai_strerror(failure))
    report.advice.append(
      failure == EAI_AGAIN
        ? "is there a network, and a name server? See /etc/resolv.conf"
        : "is the name right, and is there a network?")
    report.say("name", isGateway ? .wrong(.unavailable) : .warning)
    return addresses
  }

  /// Which of them can be reached. Returns the first that can.
  @inline(never)
  private mutating func sayAddresses(
    _ config: borrowing Config, _ addresses: HostAddresses, isGateway: Bool
  ) -> Int? {
    guard addresses.failure == 0 else { return nil }
    report.wait(for: "connecting", Span())
    addresses.connect(within: config.connectTimeout)
    let first = addresses.firstConnected
    for index in 0..<addresses.count {
      let address = addresses.list[index]
      addresses.describe(index, in: &report.message)
      guard !address.isConnected else {
        report.message.append(", connected, round trip ")
        report.message.append(microseconds: address.roundTripUs)
        report.say("address")
        continue
      }
      report.message.append(": ")
      report.message.append(cString: clinux_error_text(address.error))
      if first != nil {
        report.advice.append("the agent goes on to the next address")
      } else {
        report.advice.append(Self.advice(for: address.error))
      }
      report.say("address", isGateway && first == nil ? .wrong(.unavailable) : .warning)
    }
    return first
  }

  private static func advice(for error: Int32) -> StaticString {
    switch error {
    case ECONNREFUSED: "nothing listens there: is the port right?"
    case ETIMEDOUT: "does a firewall or the provider keep this port closed?"
    case ENETUNREACH, EHOSTUNREACH: "is there a network? See ip route"
    default: "is there a network, and does a firewall keep this port closed?"
    }
  }

  /// Apple's service listens at two ports, so that a firewall which closes one may leave the other.
  @inline(never)
  private mutating func sayOtherPort(
    _ config: borrowing Config, _ connection: borrowing TLSConnection
  ) {
    let ports: InlineArray<2, StaticString> = ["443", "2197"]
    let present = CString.span(connection.server.port.pointer)
    let isFirst = present.equals(ports[0].span)
    guard config.courier.rules.service == .http2, isFirst || present.equals(ports[1].span) else {
      return
    }
    let other = ports[isFirst ? 1 : 0]
    report.wait(for: "connecting to port ", other.span)
    let addresses = HostAddresses(connection.server.host.pointer, other.cString)
    addresses.connect(within: config.connectTimeout)
    report.message.append("port ")
    report.message.append(other)
    guard addresses.firstConnected != nil else {
      report.advice.append(
        "if other hosts can be reached, a firewall keeps both ports closed: have it let one of them out"
      )
      return report.say("port", .warning, " cannot be reached either")
    }
    report.advice.append("set gateway = ")
    report.advice.append(printable: connection.server.host.span)
    report.advice.append(":")
    report.advice.append(other)
    report.say("port", .warning, " can be reached")
  }

  // MARK: - TLS

  @inline(never)
  mutating func sayFailure(_ connection: borrowing TLSConnection, _ item: StaticString) {
    take(connection.problem.bytes)
    switch connection.failure {
    case Int32(CMBED_REFUSED_CERTIFICATE):
      // What to do with one that is wrong has been said of the certificate.
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
    report.say(
      item,
      .wrong(
        connection.isClockWrong && !isClockSet ? .tryLater : isOurs ? .config : .unavailable))
  }

  /// The gateway's certificates, as far as they came to be verified.
  @inline(never)
  private mutating func sayPeer(_ chain: UnsafePointer<cmbed_chain>) {
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
      return report.say("certificate", .skipped, ": not at the time that this machine's clock says")
    }
    let left = (leaf.pointee.not_after - now) / Self.daySeconds
    report.message.append(", ")
    report.message.append(days: left)
    report.message.append(" left")
    guard left > Self.peerWarningDays else {
      report.advice.append("whoever runs the gateway must renew it")
      return report.say("certificate", .warning)
    }
    report.say("certificate")
  }

  // MARK: - The answer

  /// Has the gateway refuse a frame, which shows that it is one, and delivers nothing.
  @inline(never)
  private mutating func sayAnswer(
    _ config: borrowing Config, _ connection: inout TLSConnection, _ epoll: Int32
  ) {
    let room = FixedBuffer<UInt8>(capacity: 256)
    var reader = ErrorResponseReader()
    let early = hear(&connection, epoll, room, &reader, Self.refusalMs)
    if case .ended = early { return sayFailure(connection, "client") }
    sayClient(connection)
    if case .answered = early { return sayHeard(config, early, 0, asked: 0) }
    if config.courier.confirm == .settle {
      return report.say("answer", .skipped, "not asked for: confirm = settle")
    }
    if config.courier.format == .simple {
      return report.say("answer", .skipped, "not asked for: with format = 0 there is none")
    }
    report.wait(for: "waiting for an answer", Span())
    let end = Frame.writeRefusable(
      config.courier.format, identifier: Self.identifier, to: room)
    let since = Clock.now()
    let written = room.withSpan(0..<end) { connection.write($0) }
    guard written >= 0 else { return sayFailure(connection, "answer") }
    let heard = hear(
      &connection, epoll, room, &reader,
      Self.answerSeconds(config.connectTimeout) * 1000)
    sayHeard(config, heard, since.until(Clock.now()).milliseconds, asked: Self.identifier)
  }

  /// Our certificate was not refused.
  @inline(never)
  mutating func sayClient(_ connection: borrowing TLSConnection) {
    guard !connection.isCertificateShown else {
      return report.say("client", .well, "shown, and not refused")
    }
    report.advice.append("a push gateway does: are the host and the port right?")
    report.say("client", .warning, "it did not ask for our certificate")
  }

  private static var identifier: UInt32 { 1 }

  private enum Heard {
    case nothing
    case answered(ErrorResponse)
    case garbage(UInt8)
    case ended
  }

  /// What the gateway says within so long.
  @inline(never)
  private func hear(
    _ connection: inout TLSConnection, _ epoll: Int32, _ room: borrowing FixedBuffer<UInt8>,
    _ reader: inout ErrorResponseReader, _ milliseconds: UInt64
  ) -> Heard {
    let deadline = Clock.now() + .milliseconds(milliseconds)
    while true {
      let count = connection.read(room.room())
      if count == CMBED_WANT_READ {
        let now = Clock.now()
        guard now < deadline else { return .nothing }
        var event = epoll_event()
        epoll_wait(epoll, &event, 1, Int32(clamping: now.until(deadline).milliseconds))
        continue
      }
      guard count > 0 else { return .ended }
      for index in 0..<Int(count) {
        do throws(ErrorResponseReader.Garbage) {
          if let response = try reader.take(room[index]) { return .answered(response) }
        } catch {
          switch error {
          case .command(let byte): return .garbage(byte)
          }
        }
      }
    }
  }

  @inline(never)
  private mutating func sayHeard(
    _ config: borrowing Config, _ heard: Heard, _ milliseconds: UInt64, asked identifier: UInt32
  ) {
    let unproved: StaticString =
      "it cannot prove what has arrived: if it stays so, set confirm = settle"
    switch heard {
    case .nothing:
      report.message.append("none to a frame that it must refuse, within ")
      report.message.append(Self.answerSeconds(config.connectTimeout))
      report.message.append(" s")
      report.advice.append(unproved)
      report.say("answer", .warning)
    case .ended:
      report.message.append("none to a frame that it must refuse: it closed")
      report.advice.append(unproved)
      report.say("answer", .warning)
    case .garbage(let byte):
      report.message.append("what it says begins with ")
      report.message.append(byte)
      report.message.append(", and is no answer of a push gateway")
      report.advice.append("are the host and the port right?")
      report.say("answer", .wrong(.config))
    case .answered(let response):
      report.message.append("within ")
      report.message.append(milliseconds + 1)
      report.message.append(" ms: status ")
      report.message.append(response.status.rawValue)
      report.message.append(", ")
      report.message.append(response.status.rejection.text)
      sayAnswered(response, asked: identifier)
    }
  }

  @inline(never)
  private mutating func sayAnswered(_ response: ErrorResponse, asked identifier: UInt32) {
    switch response.status {
    case .missingTopic, .invalidTopicSize:
      report.advice.append(response.status.rejection.advice)
      report.say("answer", .wrong(.config))
    case .shutdown:
      report.say("answer", .well, ": it goes out of service, and another takes its place")
    default:
      guard response.identifier == identifier else {
        report.message.append(", but of notification ")
        report.message.append(response.identifier)
        report.message.append(" instead of ")
        report.message.append(identifier)
        report.advice.append("it cannot say which one it refuses: what it refuses is sent again")
        return report.say("answer", .warning)
      }
      report.say("answer", .well, ", to a frame that it must refuse")
    }
  }
}
