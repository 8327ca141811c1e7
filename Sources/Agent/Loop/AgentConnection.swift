import CLinux
import CMbed
import TinyPush

/// The agent's side of the connection.
extension Agent {
  mutating func dial() {
    output.publish(.connecting, gateway.span)
    if case .failed = connection.dial(epoll: events.epoll, at: Clock.now()) { dialFailed() }
  }

  mutating func proceed() {
    switch connection.proceed(epoll: events.epoll, at: Clock.now(), config: config) {
    case .wants: break
    case .failed: dialFailed()
    case .done:
      guard connection.phase == .up else { return }
      if connectionState.wasCutOff {
        connectionState.beginProbation(at: Clock.now(), roundTrip: roundTrip())
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

  /// The connection has lasted.
  mutating func endProbation() {
    guard connection.phase == .up, connectionState.hasLasted(at: Clock.now()) else { return }
    connected()
  }

  mutating func dialFailed() {
    output.outage.failed(at: Clock.now())
    connectionState.failed(isOurFault: connection.isOurFault, wasUp: connection.phase == .up)
    var text = Text()
    text.append("cannot connect to ")
    // Where it is about an address, it begins with that.
    if !connection.problem.bytes.begins(with: gateway.span) {
      text.append(cString: gateway.pointer)
      text.append(": ")
    }
    text.append(bytes: connection.problem.bytes)
    if connection.isClockWrong {
      text.append(" (this machine's clock seems not to be set)")
    }
    if connectionState.wasCutOff, !connection.isOurFault {
      text.append(" It did so right after the handshake: \"tinypush check\" tests it further.")
    }
    countFiles()
    output.publish(.down, text.bytes)
    output.log(connection.isOurFault ? .error : .warning, text, about: .connection)
    connection.hangUp(epoll: events.epoll, sayGoodbye: false)
    link.disconnected(at: Clock.now(), byPeer: false)
  }

  /// While there is no connection nothing is scanned; but whoever looks wants to know what waits. A great many are counted once.
  private mutating func countFiles() {
    guard !courier.areFilesKnown, output.outage.tries == 1 || filesFound < Self.recountedMax else {
      return
    }
    filesFound = spool.count(scratch.room())
  }

  private static let recountedMax = 100_000

  /// Reads what there is before anything else is written: an answer may lie behind a reset. But no more at a time than is
  /// soon read: what is left ``ConnectionState/isUnread``.
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
        if connectionState.isOnProbation { dialFailed() } else { connectionEnded() }
        return
      }
      if connectionState.isOnProbation { connected() }
      connectionState.heard()
      link.received(scratch.looseSpan(0..<Int(result)))
    }
    connectionState.isUnread = true
  }

  private static let readsMax = 16

  /// The same on the connection that was set aside, to which nothing is written any more.
  mutating func receiveAside() {
    let room = scratch.room()
    for _ in 0..<Self.asideReadsMax {
      let result = aside.read(room)
      guard result != CMBED_WANT_READ else { return }
      guard result > 0 else { break }
      link.receivedAside(scratch.looseSpan(0..<Int(result)))
    }
    aside.hangUp(epoll: events.epoll, sayGoodbye: false)
    link.asideEnded()
  }

  /// More than this is no answer to what was asked.
  private static let asideReadsMax = 4096

  mutating func connectionEnded() {
    let isNews = link.isUp && !link.isAwaitingEnd
    connectionState.ended(
      isOurFault: connection.isOurFault, wasUp: link.isUp, isProgress: link.hasProgressed)
    let isByPeer = connection.isEndedByPeer
    connection.hangUp(epoll: events.epoll, sayGoodbye: false)
    link.disconnected(at: Clock.now(), byPeer: isByPeer)
    guard isNews || connection.isOurFault else { return }
    var text = Text()
    text.append("connection to ")
    text.append(cString: gateway.pointer)
    text.append(" ended: ")
    text.append(bytes: connection.problem.bytes)
    output.publish(.down, text.bytes)
    output.log(connection.isOurFault ? .error : .notice, text, about: .connection)
    output.outage.ended()
  }

  /// Makes ready the token by which the service knows us, or says why there is none.
  mutating func authorize() {
    let now = Clock.time()
    var text = Text(capacity: Int(CMBED_TEXT_MAX) + 4300)
    let refused = link.refusedTokenIssuedAt
    switch providerToken.token(now, refused: refused) {
    case .ready(let issuedAt):
      link.authorized(providerToken.text.looseBytes, issuedAt: issuedAt)
      guard !providerToken.problem.bytes.isEmpty else { return }
      text.append(bytes: providerToken.problem.bytes)
      return output.log(.warning, text, about: .connection)
    case .wait(let until):
      text.append("the service refuses the provider token, and takes no other one yet: waiting")
      link.notAuthorized(until: until)
    case .clockNotSet:
      text.append("this machine's clock is not set: without the time no provider token can be made")
      link.notAuthorized(until: now.now + Self.clockPatience)
    case .failed:
      text.append(bytes: providerToken.problem.bytes)
      link.notAuthorized(until: now.now + Self.keyPatience)
      connectionState.failed(isOurFault: true, wasUp: false)
    }
    output.publish(.down, text.bytes)
    output.log(.error, text, about: .connection)
  }

  /// How long to wait for a clock that is set, which is told, and for a key that can be used.
  private static let clockPatience = Duration.seconds(30)
  private static let keyPatience = Duration.seconds(60)

  mutating func write() {
    guard link.isUp, connection.phase == .up else { return }
    let result = connection.write(link.batchContents())
    if result >= 0 {
      if link.service == .binary { output.page.count(courier, link, since: clockSetAt) }
      link.wrote(wireEnd: connection.wireEnd)
    } else if result == CMBED_WANT_WRITE {
      link.blocked()
      connection.watch(epoll: events.epoll, writable: true)
    } else {
      readRest()
    }
  }

  /// After a failed write: what the gateway said before it closed may still be there.
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
