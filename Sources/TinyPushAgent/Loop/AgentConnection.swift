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

  /// Gives the link its token for the service, or logs why there is none.
  mutating func authorize() {
    prepareChannel()
    let time = Clock.time()
    let answer =
      lane == .devices
      ? providerToken.token(time) : vapidToken.token(for: link.authority, config, time)
    var text = Text(capacity: Int(CMBED_TEXT_MAX) + 4300)
    switch answer {
    case .ready(let issuedAt):
      connectionState.configWorks()
      let token = lane == .devices ? providerToken.text.unsafeBytes : vapidToken.text.unsafeBytes
      return link.authorized(token, issuedAt: issuedAt)
    case .clockNotSet:
      text.append("this machine's clock is not set, so no ")
      text.append(lane == .devices ? "provider token" : "token for browsers")
      text.append(" can be made")
      link.notAuthorized(until: time.now + Self.clockPatience)
    case .failed:
      text.append(
        bytes: lane == .devices ? providerToken.problem.unsafeBytes : vapidToken.problem.unsafeBytes
      )
      link.notAuthorized(until: time.now + Self.keyPatience)
      connectionState.failed(isOurFault: true, wasUp: false)
    }
    connectionState.lacksToken = true
    publish(.down, text.bytes)
    output.log(.error, text, about: .connection)
  }

  // A wait for the clock ends early when the clock is set. No event tells that a key file was
  // changed.
  private static let clockPatience = Duration.seconds(30)
  private static let keyPatience = Duration.seconds(60)

  mutating func write() {
    guard link.isUp, connection.phase == .up else { return }
    let result = connection.write(link.batchContents())
    if result >= 0 {
      if lane == .devices, link.pushProtocol == .binary {
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
    let times = times()
    link.sampled(
      unacknowledged: unacknowledged < 0 ? Int.max : Int(unacknowledged),
      since: times?.since ?? .milliseconds(0),
      roundTrip: times?.roundTrip ?? .milliseconds(UInt64(UInt32.max) / 1000))
  }

  private func roundTrip() -> Duration { times()?.roundTrip ?? .milliseconds(0) }

  /// Returns the round trip and the time since the last acknowledgement, if the system knows them.
  private func times() -> (roundTrip: Duration, since: Duration)? {
    var roundTripUs: UInt32 = 0
    var sinceMs: UInt32 = 0
    guard clinux_tcp_times(connection.descriptor, &roundTripUs, &sinceMs) == 0 else { return nil }
    return (.milliseconds(UInt64(roundTripUs) / 1000), .milliseconds(UInt64(sinceMs)))
  }
}
