import CLinux
import CMbed
import TinyPush

/// Dialing, reading from and writing to the connection.
extension Agent {
  mutating func dial() {
    prepareChannel()
    publish(.connecting, service)
    if case .failed = connection.dial(epoll: events.epoll, at: Clock.now()) { dialFailed() }
  }

  mutating func proceed() {
    switch connection.proceed(epoll: events.epoll, at: Clock.now(), config: config) {
    case .wants: break
    case .failed: dialFailed()
    case .done:
      guard connection.phase == .up else { return }
      if connectionState.wasCutOff {
        connectionState.beginQuietPeriod(at: Clock.now(), roundTrip: roundTrip())
      } else {
        connected()
      }
    }
  }

  private mutating func connected() {
    connectionState.connected()
    link.connected()
    logConnection()
  }

  /// Starts to use the connection if its quiet period is over.
  mutating func endQuietPeriod() {
    guard connection.phase == .up, connectionState.isQuietPeriodOver(at: Clock.now()) else {
      return
    }
    connected()
  }

  mutating func dialFailed() {
    outage.failed(at: Clock.now())
    connectionState.failed(isOurFault: connection.isOurFault, wasUp: connection.phase == .up)
    var text = Text()
    text.append("cannot connect to ")
    // A problem with an address begins with that address.
    if !connection.problem.unsafeBytes.begins(with: service) {
      text.append(cString: channels.gateway(of: lane))
      text.append(": ")
    }
    let start = text.count
    text.append(bytes: connection.problem.unsafeBytes)
    if connectionState.wasCutOff, !connection.isOurFault {
      text.append(" It did so right after the handshake: run \"tinypush check\" to find out why.")
    }
    publish(.down, text.bytes, from: start)
    output.log(connection.isOurFault ? .error : .warning, text, about: .connection)
    connection.hangUp(epoll: events.epoll, closeNotify: false)
    link.disconnected(at: Clock.now(), byPeer: false)
  }

  /// Reads the received bytes before anything is written: an answer may be followed by a reset.
  ///
  /// The amount is limited; ``ConnectionState/isUnread`` tells whether more is left.
  mutating func receive() {
    let room = scratch.room()
    for _ in 0..<Self.readsMax {
      let result = connection.read(room)
      guard result != CMBED_WANT_READ else {
        connectionState.isUnread = connection.hasMore
        return
      }
      guard result > 0 else {
        connectionState.isUnread = false
        if connectionState.isInQuietPeriod { dialFailed() } else { connectionEnded() }
        return
      }
      if connectionState.isInQuietPeriod { connected() }
      connectionState.received()
      link.received(scratch.unsafeSpan(0..<Int(result)))
    }
    connectionState.isUnread = true
  }

  private static let readsMax = 16

  /// Reads from the connection that was set aside, to which nothing more is written.
  mutating func receiveAside() {
    let room = scratch.room()
    for _ in 0..<Self.asideReadsMax {
      let result = aside.read(room)
      guard result != CMBED_WANT_READ else { return }
      guard result > 0 else { break }
      link.receivedAside(scratch.unsafeSpan(0..<Int(result)))
    }
    aside.hangUp(epoll: events.epoll, closeNotify: false)
    link.asideEnded()
  }

  // More reads than the answers to all open requests can take.
  private static let asideReadsMax = 4096

  mutating func connectionEnded() {
    let isNews = link.isUp && !link.isAwaitingEnd
    connectionState.ended(
      isOurFault: connection.isOurFault, wasUp: link.isUp, isProgress: link.hasProgressed)
    let isByPeer = connection.isEndedByPeer
    connection.hangUp(epoll: events.epoll, closeNotify: false)
    link.disconnected(at: Clock.now(), byPeer: isByPeer)
    guard isNews || connection.isOurFault else { return }
    var text = Text()
    text.append("connection to ", cString: channels.gateway(of: lane), " ended: ")
    let start = text.count
    text.append(bytes: connection.problem.unsafeBytes)
    publish(.down, text.bytes, from: start)
    output.log(connection.isOurFault ? .error : .notice, text, about: .connection)
    outage.ended()
  }

  /// Gives the link the provider token, or logs why there is none.
  mutating func authorize() {
    let now = Clock.time()
    var text = Text(capacity: Int(CMBED_TEXT_MAX) + 4300)
    guard lane == .devices else { return authorizeForBrowsers(now) }
    switch providerToken.token(now) {
    case .ready(let issuedAt):
      connectionState.configWorks()
      return link.authorized(providerToken.text.unsafeBytes, issuedAt: issuedAt)
    case .clockNotSet:
      text.append("this machine's clock is not set, so no provider token can be made")
      link.notAuthorized(until: now.now + Self.clockPatience)
    case .failed:
      text.append(bytes: providerToken.problem.bytes)
      link.notAuthorized(until: now.now + Self.keyPatience)
      connectionState.failed(isOurFault: true, wasUp: false)
    }
    lacksToken(text)
  }

  /// Gives the link to a service of browsers its token, or logs why there is none.
  private mutating func authorizeForBrowsers(_ now: Time) {
    prepareChannel()
    var text = Text(capacity: Int(CMBED_TEXT_MAX) + 4300)
    if let wall = now.wallSeconds {
      let issue = TokenSchedule.vapid.issue(at: wall)
      if vapidToken.make(for: link.authority, config, issuedAt: issue) {
        connectionState.configWorks()
        return link.authorized(vapidToken.text.unsafeBytes, issuedAt: issue)
      }
      text.append(bytes: vapidToken.problem.bytes)
      link.notAuthorized(until: now.now + Self.keyPatience)
      connectionState.failed(isOurFault: true, wasUp: false)
    } else {
      text.append("this machine's clock is not set, so no token for browsers can be made")
      link.notAuthorized(until: now.now + Self.clockPatience)
    }
    lacksToken(text)
  }

  /// Shows and logs why there is no token.
  private mutating func lacksToken(_ why: borrowing Text) {
    connectionState.lacksToken = true
    publish(.down, why.bytes)
    output.log(.error, why, about: .connection)
  }

  // A wait for the clock ends early when the clock is set. No event tells that a key file was
  // changed.
  private static let clockPatience = Duration.seconds(30)
  private static let keyPatience = Duration.seconds(60)

  mutating func write() {
    guard link.isUp, connection.phase == .up else { return }
    let result = connection.write(link.batchContents())
    if result >= 0 {
      if lane == .devices, link.service == .binary {
        output.page.count(courier, link, since: clockSetAt, areWritten: true)
      }
      link.wrote(wireEnd: connection.wireEnd)
      // A connection without a token shows as down.
      if connectionState.lacksToken, link.obstacle(payloadBytes: 0) != .closed {
        connectionState.lacksToken = false
        logConnection()
      }
    } else if result == CMBED_WANT_WRITE {
      link.blocked()
      connection.watch(epoll: events.epoll, writable: true)
    } else {
      readRest()
    }
  }

  /// After a failed write, reads what the gateway sent before it closed the connection.
  mutating func readRest() {
    receive()
    if connection.phase == .up { connectionEnded() }
  }

  mutating func sample() {
    let unacknowledged = clinux_unacknowledged(connection.descriptor)
    var roundTripUs: UInt32 = 0
    var sinceMs: UInt32 = 0
    if clinux_tcp_times(connection.descriptor, &roundTripUs, &sinceMs) != 0 {
      roundTripUs = UInt32.max
      sinceMs = 0
    }
    link.sampled(
      unacknowledged: unacknowledged < 0 ? Int.max : Int(unacknowledged),
      since: .milliseconds(UInt64(sinceMs)),
      roundTrip: .milliseconds(UInt64(roundTripUs) / 1000))
  }

  private func roundTrip() -> Duration {
    var roundTripUs: UInt32 = 0
    var sinceMs: UInt32 = 0
    guard clinux_tcp_times(connection.descriptor, &roundTripUs, &sinceMs) == 0 else {
      return .milliseconds(0)
    }
    return .milliseconds(UInt64(roundTripUs) / 1000)
  }
}
