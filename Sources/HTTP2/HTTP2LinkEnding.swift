import CHTTP2
import TinyPush

extension HTTP2Link {
  /// The current connection is over: what has no answer goes again. Returns of how many notifications nobody knows.
  @discardableResult
  mutating func end() -> Int {
    let uncertain = giveBackAll(on: .current)
    session?.free()
    session = nil
    batch.clear()
    stream = ByteStream()
    liveness.probe = nil
    liveness.pongDue = nil
    return uncertain
  }

  /// The same of the one that is leaving.
  @discardableResult
  mutating func endAside() -> Int {
    let uncertain = giveBackAll(on: .leaving)
    aside?.free()
    aside = nil
    mustCloseAside = false
    return uncertain
  }

  /// From the last one on, so that each goes again before the one that was told before it.
  private mutating func giveBackAll(on connection: Requests.Connection) -> Int {
    var uncertain = 0
    var place = requests.newest
    var isAny = false
    while place != Requests.none {
      let older = requests[place].older
      let request = requests[place]
      if request.connection == connection {
        isAny = true
        if request.sentAt == nil, !batch.isBlocked {
          goesAgain(place)
        } else {
          decideUncertain(place, .connectionLost)
          uncertain += 1
        }
      }
      place = older
    }
    if isAny { endings &+= 1 }
    return uncertain
  }

  /// No more goes on the current connection; its answers are waited for while the next one begins.
  mutating func leave(dialAt: Instant) {
    guard state == .up else { return }
    state = .leaving(dialAt: dialAt)
  }

  /// The shell sets the connection aside, or closes it where no answer is to come.
  mutating func setAside(_ dialAt: Instant) -> Courier.Step {
    // What was not written goes on the next connection.
    var place = requests.newest
    while place != Requests.none, requests[place].sentAt == nil, !batch.isBlocked {
      let older = requests[place].older
      if requests[place].connection == .current {
        session?.forget(place)
        goesAgain(place)
      }
      place = older
    }
    guard requests.currentCount > 0, !batch.isBlocked else {
      end()
      state = .down(dialAt: dialAt)
      return .disconnect
    }
    if aside != nil {
      // Only one waits: the answers of the other one come too late.
      endAside()
      return .closeAside
    }
    endings &+= 1
    requests.moveToLeaving()
    aside = session
    session = nil
    batch.clear()
    stream = ByteStream()
    state = .down(dialAt: dialAt)
    return .setAside
  }

  /// The service has said that it ends the connection.
  mutating func serviceLeaves() {
    let error = session!.leavingError
    if error != 0 { reports.add(.leaves(error: error)) }
    leave(dialAt: dialAt())
  }

  /// The other end does not keep to HTTP/2, or it asks for too much.
  mutating func isBroken() {
    guard state == .up else { return }
    reports.add(.brokenProtocol(uncertain: end()))
    hasProgressed = false
    state = .closing(dialAt: dialAt())
  }
}
