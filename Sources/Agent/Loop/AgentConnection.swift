import CLinux
import CMbed
import TinyPush

/// The agent's side of the connection.
extension Agent {
  mutating func dial() {
    tell(.connecting, gateway.span)
    if case .failed = connection.dial(epoll: epoll, at: Clock.now()) { dialFailed() }
  }

  mutating func proceed() {
    switch connection.proceed(epoll: epoll, at: Clock.now(), config: config) {
    case .wants: break
    case .failed: dialFailed()
    case .done:
      guard connection.phase == .up else { return }
      if wasCutOff {
        provenAt = Clock.now() + Self.probation + roundTrip() + roundTrip()
      } else {
        connected()
      }
    }
  }

  private mutating func connected() {
    provenAt = nil
    wasCutOff = false
    isHeard = false
    link.connected()
    sayConnected()
  }

  /// In TLS 1.3 a gateway that refuses our certificate does so after the handshake, and others close then without a word. After a
  /// connection that ended so nothing is written to the next one before it has lasted for so long, besides two round trips:
  /// otherwise nobody could tell whether it is the gateway or a notification at which connections end.
  private static let probation = Duration.milliseconds(300)

  /// The connection has lasted.
  mutating func endProbation() {
    guard let provenAt, connection.phase == .up, Clock.now() >= provenAt else { return }
    connected()
  }

  mutating func dialFailed() {
    outage.failed(at: Clock.now())
    isConfigBroken = connection.isOurFault
    wasCutOff = connection.phase == .up
    provenAt = nil
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
    if wasCutOff, !connection.isOurFault {
      text.append(" It did so right after the handshake: \"tinypush check\" tests it further.")
    }
    countFiles()
    tell(.down, text.bytes)
    say(connection.isOurFault ? .error : .warning, text, about: .connection)
    connection.hangUp(epoll: epoll, sayGoodbye: false)
    link.disconnected(at: Clock.now(), byPeer: false)
  }

  /// While there is no connection nothing is scanned; but whoever looks wants to know what waits. A great many are counted once.
  private mutating func countFiles() {
    guard !courier.areFilesKnown, outage.tries == 1 || filesFound < Self.recountedMax else {
      return
    }
    filesFound = spool.count(scratch.room())
  }

  private static let recountedMax = 100_000

  /// Reads what there is before anything else is written: an answer may lie behind a reset. But no more at a time than is
  /// soon read: what is left ``isUnread``.
  mutating func receive() {
    let room = scratch.room()
    for _ in 0..<Self.readsMax {
      let result = connection.read(room)
      guard result != CMBED_WANT_READ else {
        isUnread = connection.hasMore
        return
      }
      guard result > 0 else {
        isUnread = false
        if provenAt != nil { dialFailed() } else { connectionEnded() }
        return
      }
      if provenAt != nil { connected() }
      isHeard = true
      link.received(scratch.looseSpan(0..<Int(result)))
    }
    isUnread = true
  }

  private static let readsMax = 16

  mutating func connectionEnded() {
    let isNews = link.isUp && !link.isAwaitingEnd
    wasCutOff = link.isUp && !isHeard && !link.hasProgressed
    isConfigBroken = connection.isOurFault
    let isByPeer = connection.isEndedByPeer
    connection.hangUp(epoll: epoll, sayGoodbye: false)
    link.disconnected(at: Clock.now(), byPeer: isByPeer)
    guard isNews || connection.isOurFault else { return }
    var text = Text()
    text.append("connection to ")
    text.append(cString: gateway.pointer)
    text.append(" ended: ")
    text.append(bytes: connection.problem.bytes)
    tell(.down, text.bytes)
    say(connection.isOurFault ? .error : .notice, text, about: .connection)
    outage.ended()
  }

  mutating func write() {
    guard link.isUp, connection.phase == .up else { return }
    let result = connection.write(link.batchContents())
    if result >= 0 {
      page.count(courier, link, since: clockSetAt)
      link.wrote(wireEnd: connection.wireEnd)
    } else if result == CMBED_WANT_WRITE {
      link.blocked()
      connection.watch(epoll: epoll, writable: true)
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
