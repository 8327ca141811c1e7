import CLinux
import CMbed

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
      courier.connected()
      sayConnected()
    }
  }

  mutating func dialFailed() {
    outage.failed(at: Clock.now())
    isConfigBroken = connection.isOurFault
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
    countFiles()
    tell(.down, text.bytes)
    say(connection.isOurFault ? .error : .warning, text, about: .connection)
    connection.hangUp(epoll: epoll, sayGoodbye: false)
    courier.disconnected(at: Clock.now(), byPeer: false)
  }

  /// While there is no connection nothing is scanned; but whoever looks wants to know what waits. A great many are counted once.
  private mutating func countFiles() {
    guard !courier.areFilesKnown, outage.tries == 1 || filesFound < Self.recountedMax else {
      return
    }
    filesFound = spool.count(scratch.room())
  }

  private static let recountedMax = 100_000

  /// Reads all there is before anything else is written: an answer may lie behind a reset.
  mutating func receive() {
    let room = scratch.room()
    while connection.phase == .up {
      let result = connection.read(room)
      if result == CMBED_WANT_READ || result == CMBED_WANT_WRITE { return }
      guard result > 0 else {
        connectionEnded()
        return
      }
      courier.received(scratch.looseSpan(0..<Int(result)))
    }
  }

  mutating func connectionEnded() {
    var text = Text()
    text.append("connection to ")
    text.append(cString: gateway.pointer)
    text.append(" ended: ")
    text.append(bytes: connection.problem.bytes)
    let isByPeer = connection.isEndedByPeer
    connection.hangUp(epoll: epoll, sayGoodbye: false)
    let isNews = courier.isUp
    courier.disconnected(at: Clock.now(), byPeer: isByPeer)
    guard isNews, !courier.isAwaitingEnd else { return }
    tell(.down, text.bytes)
    say(.notice, text, about: .connection)
    outage.ended()
  }

  mutating func write() {
    guard courier.isUp, connection.phase == .up else { return }
    let result = connection.write(courier.batchContents())
    if result >= 0 {
      page.count(courier, since: clockSetAt)
      courier.wrote(wireEnd: connection.wireEnd)
    } else if result == CMBED_WANT_WRITE || result == CMBED_WANT_READ {
      courier.blocked()
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
    courier.sampled(
      unacknowledged: unacknowledged < 0 ? Int.max : Int(unacknowledged),
      since: .milliseconds(UInt64(sinceMs)),
      roundTrip: .milliseconds(UInt64(roundTripUs) / 1000))
  }
}
